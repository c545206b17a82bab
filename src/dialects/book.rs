//! All rules there are, of whatever dialect, found by the workspaces and kinds that they speak of.

use super::native;
use crate::apis::definitions::{GROUP, RULES};
use crate::scheduler::Rule;
use crate::scheduler::controller::{Bound, Concern, Rulebook};
use apiserver::object::Object;
use apiserver::place::Workspace;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The workspace whose rules may speak for the objects of others.
const ROOT: &str = "root";

/// It holds as much as there are rules.
#[derive(Debug, Default)]
pub struct Book {
    /// Guards nothing but itself, and is held for one question.
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    rules: HashMap<Workspace, BTreeMap<String, Rule>>,
    /// How many rules speak of a kind.
    kinds: HashMap<(String, String), usize>,
}

impl Pages {
    fn replace(&mut self, workspace: &Workspace, name: &str, rule: Option<Rule>) -> Concern {
        let beside = self.rules.entry(workspace.clone()).or_default();
        let before = match rule.clone() {
            Some(rule) => beside.insert(name.to_owned(), rule),
            None => beside.remove(name),
        };
        for kind in before.iter().flat_map(kinds) {
            if let Some(count) = self.kinds.get_mut(&kind) {
                *count = count.saturating_sub(1);
            }
        }
        self.kinds.retain(|_, count| *count > 0);
        for kind in rule.iter().flat_map(kinds) {
            *self.kinds.entry(kind).or_default() += 1;
        }
        if before == rule {
            return Concern::default();
        }
        concern(workspace, before.iter().chain(&rule))
    }
}

/// Group and kind of everything that a rule selects.
fn kinds(rule: &Rule) -> BTreeSet<(String, String)> {
    let kinds = rule.objects.iter().filter_map(|selector| selector.kind.as_ref());
    kinds.map(|kind| (kind.group().to_owned(), kind.kind.clone())).collect()
}

fn concern<'a>(workspace: &Workspace, rules: impl Iterator<Item = &'a Rule>) -> Concern {
    let mut concern = Concern::default();
    let mut named = BTreeSet::new();
    for selector in rules.flat_map(|rule| &rule.objects) {
        named.extend(selector.kind.as_ref().map(|kind| (kind.api_version.clone(), kind.kind.clone())));
        concern.everywhere |= reaches_out(workspace, &selector.workspaces);
    }
    concern.kinds = named.into_iter().collect();
    concern
}

fn reaches_out(home: &Workspace, workspaces: &[String]) -> bool {
    home.as_str() == ROOT && !workspaces.is_empty()
}

/// Whether a rule of `home` may speak for objects of `workspace` at all.
fn may_speak(home: &Workspace, workspace: &Workspace) -> bool {
    home == workspace || home.as_str() == ROOT
}

impl Rulebook for Book {
    fn forget(&self) {
        *self.pages.lock() = Pages::default();
    }

    fn reads(&self, group: &str, resource: &str) -> bool {
        (group, resource) == (GROUP, RULES.2)
    }

    fn learn(&self, workspace: &Workspace, before: Option<&Object>, now: Option<&Object>) -> Concern {
        let name = now.or(before).map(Object::name).unwrap_or_default().to_owned();
        let rule = now.filter(|now| !now.is_deleting()).and_then(|now| native::compile(&Value::from(now.clone())));
        self.pages.lock().replace(workspace, &name, rule)
    }

    fn selects(&self, group: &str, kind: &str) -> bool {
        self.pages.lock().kinds.contains_key(&(group.to_owned(), kind.to_owned()))
    }

    fn concerns_of(&self, workspace: &Workspace) -> Vec<Concern> {
        let pages = self.pages.lock();
        let rules = pages.rules.get(workspace).into_iter().flat_map(BTreeMap::values);
        vec![concern(workspace, rules)]
    }

    fn rules_for(&self, workspace: &Workspace, object: &Value) -> Vec<Bound> {
        let pages = self.pages.lock();
        let homes = pages.rules.iter().filter(|(home, _)| may_speak(home, workspace));
        let mut bound = Vec::new();
        for (home, rules) in homes {
            for rule in rules.values() {
                let speaks = rule.objects.iter().any(|selector| {
                    let named = home == workspace || !selector.workspaces.is_empty();
                    named && selector.strength(object, workspace.as_str()).is_some()
                });
                if speaks {
                    bound.push(Bound { home: home.clone(), rule: rule.clone() });
                }
            }
        }
        bound
    }
}
