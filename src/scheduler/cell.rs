//! What the scheduler knows of a cell.

use crate::apis::Kind;
use crate::apis::Labels;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Stands for a cell that does not answer; whoever tolerates this key is placed there all the same.
pub const NOT_READY: &str = "federation.hanse.dev/not-ready";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub name: String,
    pub labels: Labels,
    /// Empty where it is not known; so are provider and zones.
    pub region: String,
    pub provider: String,
    pub zones: Vec<String>,
    pub taints: Vec<Taint>,
    pub ready: bool,
    /// Since when it is not ready, in seconds, if that is known.
    pub silent_since: Option<i64>,
    /// It is being removed: nothing new is placed there, and what is there goes elsewhere.
    pub leaving: bool,
    pub serves: Serves,
    /// `None` if the cell has said nothing: then it has room for nothing that is counted.
    pub capacity: Option<Capacity>,
}

/// The kinds of objects that a cell can hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Serves {
    #[default]
    Everything,
    /// Shared by all cells that serve the same, as most of a fleet do.
    Listed(Arc<BTreeSet<Kind>>),
}

impl Serves {
    /// Whether the kind is served, in whatever version.
    pub fn holds(&self, kind: &Kind) -> bool {
        match self {
            Self::Everything => true,
            Self::Listed(kinds) => kinds.contains(kind) || kinds.iter().any(|served| served.name() == kind.name()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: Effect,
    /// When it came to be, in seconds; told of those that send objects away.
    pub added: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

impl Effect {
    pub fn parse(text: &str) -> Option<Self> {
        [Self::NoSchedule, Self::PreferNoSchedule, Self::NoExecute].into_iter().find(|effect| effect.name() == text)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.value.is_empty() { String::new() } else { format!("={}", self.value) };
        write!(f, "{}{value}:{}", self.key, self.effect.name())
    }
}

/// What is free in a cell. CPU is counted in thousandths, everything else in units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    pub pods: i64,
    pub resources: BTreeMap<String, i64>,
    /// Nodes of one size each; with them the estimate knows that a large pod does not fit into many small holes.
    pub models: Vec<NodeModel>,
}

/// So many nodes with at least so much free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeModel {
    pub count: i64,
    pub least: BTreeMap<String, i64>,
}

impl Cell {
    /// What keeps new objects away.
    pub fn taints(&self) -> impl Iterator<Item = Taint> {
        let silent = Taint { key: NOT_READY.to_owned(), value: String::new(), effect: Effect::NoSchedule, added: None };
        let silent = (!self.ready).then_some(silent);
        let keeps_away = |taint: &&Taint| taint.effect != Effect::PreferNoSchedule;
        self.taints.iter().filter(keeps_away).cloned().chain(silent)
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key)?.as_str()
    }
}
