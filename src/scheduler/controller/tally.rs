//! How many objects each rule speaks for, and how many of them are not where it wants them.

use apiserver::object::Object;
use apiserver::place::Workspace;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// The workspace that a rule is in, and its name.
pub(super) type RuleId = (Workspace, String);

/// Placements are known by workspace and the UID of what they are about.
type Id = (Workspace, String);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) objects: usize,
    pub(super) unplaced: usize,
}

/// It holds as much as there are placements, and rules that speak for any of them.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    rules: HashMap<RuleId, Tally>,
    /// The rules of each placement; and whether any of them is not satisfied.
    placements: HashMap<Id, (BTreeSet<RuleId>, bool)>,
}

impl Tallies {
    pub(super) fn of(&self, rule: &RuleId) -> Tally {
        self.rules.get(rule).copied().unwrap_or_default()
    }

    /// Learns what a placement says now; answers with the rules that it is another matter for.
    pub(super) fn learn(&mut self, id: Id, now: Option<&Object>) -> BTreeSet<RuleId> {
        let now = now.map(said).filter(|(rules, _)| !rules.is_empty());
        let before = match &now {
            Some(now) => self.placements.insert(id, now.clone()),
            None => self.placements.remove(&id),
        };
        if before == now {
            return BTreeSet::new();
        }
        if let Some((rules, unplaced)) = &before {
            rules.iter().for_each(|rule| self.count(rule, |tally| tally.less(*unplaced)));
        }
        if let Some((rules, unplaced)) = &now {
            rules.iter().for_each(|rule| self.count(rule, |tally| tally.more(*unplaced)));
        }
        before.into_iter().chain(now).flat_map(|(rules, _)| rules).collect()
    }

    fn count(&mut self, rule: &RuleId, change: impl FnOnce(Tally) -> Tally) {
        let tally = change(self.of(rule));
        if tally == Tally::default() {
            self.rules.remove(rule);
        } else {
            self.rules.insert(rule.clone(), tally);
        }
    }
}

impl Tally {
    fn more(self, unplaced: bool) -> Self {
        Self { objects: self.objects + 1, unplaced: self.unplaced + usize::from(unplaced) }
    }

    fn less(self, unplaced: bool) -> Self {
        let Self { objects, unplaced: before } = self;
        Self { objects: objects.saturating_sub(1), unplaced: before.saturating_sub(usize::from(unplaced)) }
    }
}

/// Which rules a placement says that it follows, and whether it is in trouble.
fn said(placement: &Object) -> (BTreeSet<RuleId>, bool) {
    let word = |rule: &Value, key: &str| rule[key].as_str().unwrap_or_default().to_owned();
    let rules = placement.items(&["spec", "rules"]);
    let rules = rules.map(|rule| (Workspace::new(&word(rule, "workspace")), word(rule, "name")));
    // Those of other dialects are in namespaces, and tell of themselves in their own way.
    let rules = rules.filter(|(_, name)| !name.contains('/')).collect();
    (rules, placement.items(&["status", "troubles"]).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn placement(rules: &[&str], troubled: bool) -> Object {
        let rules: Vec<Value> = rules.iter().map(|name| json!({ "workspace": "w", "name": name })).collect();
        let troubles: &[Value] = if troubled { &[json!({ "reason": "NoCellFits" })] } else { &[] };
        json!({ "spec": { "rules": rules }, "status": { "troubles": troubles } }).try_into().unwrap()
    }

    #[test]
    fn rules_count_what_they_speak_for_and_what_is_not_placed() {
        let mut tallies = Tallies::default();
        let id = |uid: &str| (Workspace::new("w"), uid.to_owned());
        let mut learn = |uid: &str, now: Option<Object>, concerned: usize| {
            assert_eq!(tallies.learn(id(uid), now.as_ref()).len(), concerned, "{uid}");
            ["a", "b"].map(|rule| {
                let Tally { objects, unplaced } = tallies.of(&id(rule));
                (objects, unplaced)
            })
        };
        assert_eq!(learn("1", Some(placement(&["a"], false)), 1), [(1, 0), (0, 0)]);
        assert_eq!(learn("2", Some(placement(&["a", "b"], true)), 2), [(2, 1), (1, 1)]);
        assert_eq!(learn("2", Some(placement(&["a", "b"], true)), 0), [(2, 1), (1, 1)], "nothing new");
        assert_eq!(learn("2", Some(placement(&["b"], false)), 2), [(1, 0), (1, 0)]);
        assert_eq!(learn("1", Some(placement(&[], false)), 1), [(0, 0), (1, 0)]);
        assert_eq!(learn("2", None, 1), [(0, 0), (0, 0)]);
        assert!(tallies.rules.is_empty() && tallies.placements.is_empty(), "nothing is kept of what is gone");
    }
}
