//! Why applying was refused: others own what would change.

use super::holdings::Owner;
use super::step::Step;
use std::collections::BTreeMap;

/// A field that somebody else owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) owner: Owner,
    pub(super) path: Vec<Step>,
}

/// One field of a refusal, as clients are told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub field: String,
    pub message: String,
}

/// All conflicts, in Kubernetes' own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts {
    pub message: String,
    pub causes: Vec<Cause>,
}

fn written(path: &[Step]) -> String {
    path.iter().map(Step::to_string).collect()
}

impl Conflicts {
    pub(super) fn of(found: &[Conflict]) -> Self {
        let mut by_owner = BTreeMap::<String, Vec<&Conflict>>::new();
        for conflict in found {
            by_owner.entry(conflict.owner.identity()).or_default().push(conflict);
        }
        let in_order: Vec<&Conflict> = by_owner.values().flatten().copied().collect();
        let cause = |conflict: &&Conflict| Cause {
            field: written(&conflict.path),
            message: format!("conflict with {}", conflict.owner.told()),
        };
        let causes: Vec<Cause> = in_order.iter().map(cause).collect();
        let message = match &*causes {
            [one] => format!("Apply failed with 1 conflict: {}: {}", one.message, one.field),
            many => format!("Apply failed with {} conflicts: {}", many.len(), lines(by_owner.values())),
        };
        Self { message, causes }
    }
}

fn lines<'a>(by_owner: impl Iterator<Item = &'a Vec<&'a Conflict>>) -> String {
    let mut lines = Vec::new();
    for conflicts in by_owner {
        lines.extend(conflicts.first().map(|first| format!("conflicts with {}:", first.owner.told())));
        lines.extend(conflicts.iter().map(|conflict| format!("- {}", written(&conflict.path))));
    }
    lines.join("\n")
}
