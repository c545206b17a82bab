//! On what terms an object is in its cells, when several rules speak for it.

use super::change::Override;
use super::reason::Trouble;
use super::rule::Division;
use super::rule::Namespaces;
use super::rule::Release;
use super::rule::Rule;
use super::rule::StatusUp;
use super::rule::Strangers;
use super::rule::Suspension;
use super::rule::Upsync;
use crate::apis::FieldPath;
use std::collections::{BTreeMap, BTreeSet};

/// What the rules say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    pub overrides: Vec<Override>,
    pub retain: BTreeSet<FieldPath>,
    pub status_up: StatusUp,
    pub status_down: bool,
    pub upsync: Vec<Upsync>,
    pub namespaces: Namespaces,
    pub strangers: Strangers,
    pub suspended: Suspension,
    pub preserve_on_deletion: bool,
    pub release: Release,
    pub follow: bool,
    /// Replicas are shared out among cells, not given to each.
    pub divides: bool,
    /// By rule, what is set and not acted upon.
    pub unheeded: BTreeMap<String, BTreeSet<String>>,
}

impl Terms {
    /// Of rules that do not conflict. What one of them asks for is done; what keeps something in a cell wins.
    pub fn of(rules: &[Rule]) -> Self {
        let mut rules: Vec<&Rule> = rules.iter().collect();
        rules.sort_by(|a, b| a.name.cmp(&b.name));
        let down = rules.iter().any(|rule| rule.status.down);
        Self {
            overrides: rules.iter().flat_map(|rule| rule.overrides.clone()).collect(),
            retain: rules.iter().flat_map(|rule| rule.retain.clone()).collect(),
            // What cells are told of a status cannot be made of what they say.
            status_up: if down { StatusUp::Off } else { status_up(&rules) },
            status_down: down,
            upsync: rules.iter().flat_map(|rule| rule.upsync.clone()).collect(),
            namespaces: rules.iter().find_map(|rule| rule.namespaces).unwrap_or_default(),
            strangers: rules.iter().find_map(|rule| rule.strangers).unwrap_or_default(),
            suspended: rules.iter().fold(Suspension::None, |both, rule| suspended(both, &rule.suspension)),
            preserve_on_deletion: rules.iter().any(|rule| rule.preserve_on_deletion),
            release: rules.iter().map(|rule| rule.release).max().unwrap_or_default(),
            follow: rules.iter().any(|rule| rule.follow),
            unheeded: rules.iter().filter(|rule| !rule.unheeded.is_empty()).map(unheeded).collect(),
            divides: rules.iter().any(|rule| rule.replicas.as_ref().is_some_and(|how| *how != Division::Duplicated)),
        }
    }

    /// What is set and not acted upon, in words; `None` if there is nothing.
    pub fn unheeded_in_words(&self) -> Option<String> {
        let words = |(rule, fields): (&String, &BTreeSet<String>)| {
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            format!("rule {rule} sets {}, which is not acted upon", fields.join(", "))
        };
        let told: Vec<String> = self.unheeded.iter().map(words).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    pub fn is_suspended_in(&self, cell: &str) -> bool {
        match &self.suspended {
            Suspension::None => false,
            Suspension::Everywhere => true,
            Suspension::In(cells) => cells.contains(cell),
        }
    }
}

fn unheeded(rule: &&Rule) -> (String, BTreeSet<String>) {
    (rule.name.clone(), rule.unheeded.clone())
}

fn status_up(rules: &[&Rule]) -> StatusUp {
    let summed = |rule: &&&Rule| matches!(rule.status.up, StatusUp::Summed(_));
    if rules.iter().any(|rule| summed(&rule)) {
        let fields = rules.iter().filter_map(|rule| match &rule.status.up {
            StatusUp::Summed(fields) => Some(fields.clone()),
            _ => None,
        });
        return StatusUp::Summed(fields.flatten().collect());
    }
    let off = !rules.is_empty() && rules.iter().all(|rule| rule.status.up == StatusUp::Off);
    if off { StatusUp::Off } else { StatusUp::Known }
}

fn suspended(both: Suspension, rule: &Suspension) -> Suspension {
    match (both, rule) {
        (Suspension::Everywhere, _) | (_, Suspension::Everywhere) => Suspension::Everywhere,
        (Suspension::None, other) => other.clone(),
        (both, Suspension::None) => both,
        (Suspension::In(mut cells), Suspension::In(more)) => {
            cells.extend(more.iter().cloned());
            Suspension::In(cells)
        }
    }
}

/// What cannot hold at the same time. `rules` are sorted by name.
pub(super) fn conflicts(rules: &[&Rule]) -> Vec<Trouble> {
    let found = [
        disagreement(rules, "how replicas are divided", |rule| rule.replicas.clone()),
        disagreement(rules, "the names of namespaces in cells", |rule| rule.namespaces),
        disagreement(rules, "objects that are in a cell already", |rule| rule.strangers),
    ];
    found.into_iter().flatten().collect()
}

fn disagreement<T: PartialEq>(rules: &[&Rule], about: &str, says: impl Fn(&Rule) -> Option<T>) -> Option<Trouble> {
    let said: Vec<(&str, T)> = rules.iter().filter_map(|rule| Some((rule.name.as_str(), says(rule)?))).collect();
    let (_, first) = said.first()?;
    if said.iter().all(|(_, other)| other == first) {
        return None;
    }
    let rules = said.iter().map(|(name, _)| (*name).to_owned()).collect();
    Some(Trouble::Conflict { rules, about: about.to_owned() })
}
