//! What a decision depends on, and what it is.

use super::cell::Cell;
use super::estimate::Request;
use super::evict::Eviction;
use super::load::Mode;
use super::reason::Refusal;
use super::reason::Trouble;
use super::rule::Rule;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Everything a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub object: &'a Value,
    /// Those that speak for the object.
    pub rules: &'a [Rule],
    pub cells: &'a [Cell],
    /// `None` if the object has no replicas to divide.
    pub workload: Option<&'a Workload>,
    pub before: &'a Before,
    /// Where others want it that refer to it.
    pub followed: &'a [Followed],
    /// What its kind is can be told to cells that do not know it, by rules that let what is needed follow.
    pub brings_definition: bool,
    pub mode: Mode,
    /// Why it could not be found out what the object asks for. Nothing moves until it can.
    pub unclear: Option<&'a Trouble>,
}

impl Seen<'_> {
    /// Whether a cell has something of the object that would have to move. A share of nothing does not count once there
    /// is something to share out: it would hold a place that the cell may have to give up at once.
    pub(super) fn stands_in(&self, cell: &str) -> bool {
        let shares_out = self.workload.is_some_and(|workload| workload.replicas > 0);
        let stands = |target: &Target| target.cell == cell && !(shares_out && target.replicas == Some(0));
        self.before.targets.iter().any(stands)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    pub replicas: i64,
    /// What one of them needs.
    pub request: Request,
    /// How many more find room in a cell, where somebody has looked closer; otherwise it is estimated.
    pub room: BTreeMap<String, i64>,
    /// How many a cell was seen to hold at most.
    pub bounds: BTreeMap<String, i64>,
}

/// What was decided last time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    pub targets: Vec<Target>,
    /// By rule, which of its groups of cells was used.
    pub groups: BTreeMap<String, String>,
    /// Cells that it is leaving.
    pub evictions: Vec<Eviction>,
    /// Cells it was sent away from, and must not return to yet.
    pub evicted: BTreeSet<String>,
}

/// Another object that refers to this one, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    pub by: String,
    pub cells: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// By name of the cell.
    pub targets: Vec<Target>,
    /// Every cell that is no target, by name, once for each rule.
    pub refused: Vec<Refusal>,
    pub groups: BTreeMap<String, String>,
    pub troubles: Vec<Trouble>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub cell: String,
    /// `None` if the object has none to divide.
    pub replicas: Option<i64>,
    pub because: BTreeSet<Because>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Because {
    Rule(String),
    /// Another object refers to it.
    Follows(String),
}
