//! What every dialect compiles to: which objects go to which cells, and on what terms.

use super::affinity::Affinity;
use super::affinity::Field;
use super::affinity::Join;
use super::affinity::Toleration;
use super::change::Override;
use crate::apis;
use crate::apis::FieldPath;
use crate::apis::Kind;
use apiserver::selector::LabelSelector;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Unique among the rules that can speak for one object; shown wherever the rule is named.
    pub name: String,
    pub objects: Vec<ObjectSelector>,
    pub cells: CellChoice,
    /// `None` leaves it to other rules; if none of them says anything, every cell gets all replicas.
    pub replicas: Option<Division>,
    /// Whether what the object refers to goes where it goes.
    pub follow: bool,
    pub overrides: Vec<Override>,
    /// Fields that the cell decides about once the object is there.
    pub retain: Vec<FieldPath>,
    pub status: StatusFlow,
    pub upsync: Vec<Upsync>,
    pub namespaces: Option<Namespaces>,
    pub strangers: Option<Strangers>,
    pub suspension: Suspension,
    /// What is in the cells stays there when the object is deleted.
    pub preserve_on_deletion: bool,
    pub nothing_fits: NothingFits,
    pub release: Release,
    pub failover: Failover,
    /// Fields that whoever wrote the rule has set and that nothing here acts upon.
    pub unheeded: BTreeSet<String>,
}

/// What is empty says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectSelector {
    pub kind: Option<Kind>,
    pub workspaces: Vec<String>,
    pub namespace: Option<String>,
    /// With a name, labels are not asked for.
    pub name: Option<String>,
    pub labels: Option<LabelSelector>,
}

/// How closely an object was described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    Everything,
    Labels,
    Name,
}

impl ObjectSelector {
    pub fn strength(&self, object: &Value, workspace: &str) -> Option<Strength> {
        let meta = |key| apis::text(object, &["metadata", key]).unwrap_or_default();
        let kind = self.kind.as_ref().is_none_or(|kind| *kind == Kind::of(object));
        let namespace = self.namespace.as_ref().is_none_or(|namespace| namespace == meta("namespace"));
        let workspace = self.workspaces.is_empty() || self.workspaces.iter().any(|wanted| within(wanted, workspace));
        if !(kind && namespace && workspace) {
            return None;
        }
        match (&self.name, &self.labels) {
            (Some(name), _) => (name == meta("name")).then_some(Strength::Name),
            (None, None) => Some(Strength::Everything),
            (None, Some(labels)) => {
                labels.matches(apis::map(object, &["metadata", "labels"])).then_some(Strength::Labels)
            }
        }
    }
}

/// `root:a` means that workspace, `root:a:*` all below it.
fn within(wanted: &str, workspace: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(above) => workspace.starts_with(above),
        None => wanted == workspace,
    }
}

impl Rule {
    /// How closely the rule describes the object; `None` if it does not speak for it.
    pub fn strength(&self, object: &Value, workspace: &str) -> Option<Strength> {
        self.objects.iter().filter_map(|selector| selector.strength(object, workspace)).max()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellChoice {
    /// Tried in order; none means every cell.
    pub groups: Vec<Group>,
    pub joins: Vec<Join>,
    pub tolerations: Vec<Toleration>,
    pub spread: Vec<Spread>,
    pub ties: Ties,
}

/// Cells that are tried together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub name: String,
    pub affinity: Affinity,
    /// Used in order, for replicas that find no room before.
    pub overflow: Vec<Affinity>,
}

/// Which of two equally good cells comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Objects are scattered: each prefers another cell, always the same one.
    #[default]
    Scattered,
    ByName,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    pub by: SpreadBy,
    /// At least 1.
    pub least: usize,
    /// `None` is no bound.
    pub most: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpreadBy {
    Cell,
    Field(Field),
    Label(String),
    /// Only that it is known where the cell is.
    Known(Field),
}

impl SpreadBy {
    pub fn name(&self) -> String {
        match self {
            Self::Cell => "cell".to_owned(),
            Self::Field(field) | Self::Known(field) => field.name().to_owned(),
            Self::Label(key) => format!("label {key}"),
        }
    }
}

/// How a workload's replicas are divided.
#[derive(Clone, Debug, PartialEq)]
pub enum Division {
    /// Every cell gets all.
    Duplicated,
    /// By fixed weights; the largest that fits a cell counts. Cells without any get none, unless no cell has one.
    /// Room and spread are not looked at.
    Weighted(Vec<Weight>),
    /// By how many find room.
    Available,
    /// Into as few cells as have room.
    Aggregated,
    /// By what is wanted of each cell.
    Preferred(Preferences),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    pub cells: Affinity,
    pub weight: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// By name; `*` for all others.
    pub cells: BTreeMap<String, Preference>,
    /// Whether running replicas may be moved to come closer to what is wanted.
    pub rebalance: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preference {
    pub least: i64,
    pub most: Option<i64>,
    pub weight: i64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusFlow {
    pub up: StatusUp,
    /// Whether cells get to see the status of the source.
    pub down: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum StatusUp {
    /// By kind, or else the worst of the conditions and nothing added up.
    #[default]
    Known,
    /// These numbers of the status are added up; paths within the status.
    Summed(BTreeSet<String>),
    Off,
}

/// Objects that are born in a cell and shown beside what caused them.
#[derive(Clone, Debug, PartialEq)]
pub struct Upsync {
    pub kind: Kind,
    pub labels: Option<LabelSelector>,
}

/// What a namespace is called in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// `ns-<uid of the namespace>`: two workspaces never meet.
    #[default]
    ByUid,
    Same,
}

/// What to do with an object in a cell that nobody here put there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strangers {
    #[default]
    Leave,
    Adopt,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Suspension {
    #[default]
    None,
    Everywhere,
    In(BTreeSet<String>),
}

/// What becomes of a placed object when no cell fits any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NothingFits {
    /// It stays: a label that went missing must not delete a workload.
    #[default]
    Keep,
    Withdraw,
}

/// What becomes of copies when no rule speaks for the object any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    #[default]
    Withdraw,
    /// They stay as they are until the object is deleted or another rule speaks for it.
    Leave,
}

/// How an object leaves a cell that fails.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failover {
    pub application: Option<ApplicationFailover>,
    /// Also from cells that have been silent for too long.
    pub cell: Option<CellFailover>,
    /// Taints that say `NoExecute` send away what is there; otherwise they only keep away what is not.
    pub heeds_taints: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellFailover {
    pub purge: Purge,
    /// As that of applications.
    pub carry: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationFailover {
    /// How long it may be unhealthy.
    pub toleration_seconds: i64,
    pub purge: Purge,
    pub grace_seconds: Option<i64>,
    /// Labels for the new copy, from paths into the status of the old one.
    pub carry: Vec<(String, String)>,
}

/// When the old copy goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purge {
    Directly,
    #[default]
    Gracefully,
    Never,
}
