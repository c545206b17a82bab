//! What should become of an object, given its owners and what depends on it.

use super::facts::{Facts, Owner};
use super::index::Dependents;
use apiserver::object::Object;
use apiserver::options::Propagation;

/// How an owner stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Solid,
    /// It is to go when what it owns is gone.
    Waiting,
    /// There is no such object, or another one of its name.
    Gone,
    /// Nobody can tell.
    Unknown,
}

impl Standing {
    pub(super) fn of(owner: &Owner, found: Option<&Object>) -> Self {
        match found {
            Some(found) if found.uid() != owner.uid => Self::Gone,
            Some(found) if Facts::of(found).is_waiting() => Self::Waiting,
            Some(_) => Self::Solid,
            None => Self::Gone,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Nothing,
    /// What depends on the object is not known well enough.
    Later,
    Delete(Propagation),
    /// Takes away the references to these owners; others remain.
    Disown(Vec<String>),
    /// Nothing that it waited for is left.
    LetGo,
    /// Sets its dependents free, and then itself.
    Orphan,
}

/// `owners` stand as the references in `facts` do; `dependents` is `None` where they are not known.
pub(super) fn decide(facts: &Facts, owners: &[Standing], dependents: Option<&Dependents>) -> Decision {
    if facts.is_orphaning() {
        return if dependents.is_some() { Decision::Orphan } else { Decision::Later };
    }
    if facts.is_waiting() {
        return match dependents {
            None => Decision::Later,
            Some(dependents) if dependents.blocking => Decision::Nothing,
            Some(_) => Decision::LetGo,
        };
    }
    if facts.going || owners.is_empty() || owners.contains(&Standing::Unknown) {
        return Decision::Nothing;
    }
    if owners.contains(&Standing::Solid) {
        return disown(facts, owners);
    }
    if !owners.contains(&Standing::Waiting) {
        return Decision::Delete(propagation(facts));
    }
    match dependents {
        None => Decision::Later,
        // The owner waits for what the object owns, too.
        Some(dependents) if !dependents.keys.is_empty() => Decision::Delete(Propagation::Foreground),
        Some(_) => Decision::Delete(propagation(facts)),
    }
}

/// An object that has an owner stays, and keeps nobody else waiting.
fn disown(facts: &Facts, owners: &[Standing]) -> Decision {
    let others = facts.owners.iter().zip(owners).filter(|(_, standing)| **standing != Standing::Solid);
    let uids: Vec<String> = others.map(|(owner, _)| owner.uid.clone()).collect();
    if uids.is_empty() { Decision::Nothing } else { Decision::Disown(uids) }
}

/// What the object itself wishes for its dependents.
fn propagation(facts: &Facts) -> Propagation {
    match (facts.orphan, facts.foreground) {
        (true, _) => Propagation::Orphan,
        (_, true) => Propagation::Foreground,
        _ => Propagation::Background,
    }
}

#[cfg(test)]
mod tests {
    use super::Standing::{Gone, Solid, Unknown, Waiting};
    use super::*;

    /// An object as words: `going`, `foreground`, `orphan`; its dependents: `unknown`, `none`, `some`, `blocking`.
    fn check(object: &str, owners: &[Standing], dependents: &str, expect: Decision) {
        let has = |word| object.split(' ').any(|found| found == word);
        let reference = |at: usize| Owner { uid: at.to_string(), ..Owner::default() };
        let facts = Facts {
            uid: "u".to_owned(),
            going: has("going"),
            foreground: has("foreground"),
            orphan: has("orphan"),
            owners: (0..owners.len()).map(reference).collect(),
        };
        let keys = if dependents == "none" { Vec::new() } else { vec!["k".into()] };
        let known = Dependents { keys, blocking: dependents == "blocking" };
        let dependents = (dependents != "unknown").then_some(&known);
        assert_eq!(decide(&facts, owners, dependents), expect, "{object}, {owners:?}");
    }

    fn disowned(uids: &[&str]) -> Decision {
        Decision::Disown(uids.iter().map(|uid| (*uid).to_owned()).collect())
    }

    #[test]
    fn an_object_goes_when_the_last_of_its_owners_is_gone() {
        check("", &[], "unknown", Decision::Nothing);
        check("", &[Solid], "unknown", Decision::Nothing);
        check("", &[Gone], "unknown", Decision::Delete(Propagation::Background));
        check("", &[Gone, Gone], "some", Decision::Delete(Propagation::Background));
        check("", &[Gone, Solid, Waiting], "unknown", disowned(&["0", "2"]));
        check("going", &[Gone], "none", Decision::Nothing);
    }

    #[test]
    fn an_owner_nobody_knows_anything_of_is_left_alone() {
        check("", &[Unknown], "none", Decision::Nothing);
        check("", &[Gone, Unknown], "none", Decision::Nothing);
        check("", &[Solid, Gone, Unknown], "none", Decision::Nothing);
    }

    #[test]
    fn an_owner_that_waits_takes_what_it_owns_along() {
        check("", &[Waiting], "none", Decision::Delete(Propagation::Background));
        check("", &[Waiting, Gone], "some", Decision::Delete(Propagation::Foreground));
        check("", &[Waiting], "unknown", Decision::Later);
        check("going foreground", &[], "blocking", Decision::Nothing);
        check("going foreground", &[], "some", Decision::LetGo);
        check("going foreground", &[Waiting], "none", Decision::LetGo);
        check("going foreground", &[], "unknown", Decision::Later);
    }

    #[test]
    fn what_an_object_wishes_for_its_dependents_is_respected() {
        check("orphan", &[Gone], "some", Decision::Delete(Propagation::Orphan));
        check("foreground", &[Gone], "some", Decision::Delete(Propagation::Foreground));
        check("going orphan", &[], "some", Decision::Orphan);
        check("going orphan", &[Gone], "none", Decision::Orphan);
        check("going orphan", &[], "unknown", Decision::Later);
    }
}
