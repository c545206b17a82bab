//! Which cells are meant: by name, by label, by place, and by what an object has in common with a cell.

use super::cell::Cell;
use super::cell::Effect;
use super::cell::Taint;
use super::reason::Reason;
use crate::apis;
use crate::apis::FieldPath;
use apiserver::selector::LabelSelector;
use serde_json::Value;

/// All that is said has to hold; what is empty says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affinity {
    pub labels: Option<LabelSelector>,
    pub fields: Vec<FieldRequirement>,
    pub names: Vec<String>,
    /// These are never meant, whatever else is said.
    pub exclude: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    pub field: Field,
    pub operator: Operator,
    pub values: Vec<String>,
}

/// Where a cell is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Region,
    Zone,
    Provider,
}

impl Field {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "region" => Some(Self::Region),
            "zone" => Some(Self::Zone),
            "provider" => Some(Self::Provider),
            _ => None,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Zone => "zone",
            Self::Provider => "provider",
        }
    }

    /// A cell can be in several zones, and in none; the same goes for what is not known.
    pub fn values<'a>(&self, cell: &'a Cell) -> Vec<&'a str> {
        let known = |text: &'a String| Some(text.as_str()).filter(|text| !text.is_empty());
        match self {
            Self::Region => known(&cell.region).into_iter().collect(),
            Self::Provider => known(&cell.provider).into_iter().collect(),
            Self::Zone => cell.zones.iter().filter_map(known).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Operator {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "In" => Some(Self::In),
            "NotIn" => Some(Self::NotIn),
            "Exists" => Some(Self::Exists),
            "DoesNotExist" => Some(Self::DoesNotExist),
            _ => None,
        }
    }
}

impl FieldRequirement {
    fn holds(&self, cell: &Cell) -> bool {
        let known = self.field.values(cell);
        let among = known.iter().any(|value| self.values.iter().any(|wanted| wanted == value));
        match self.operator {
            Operator::In => among,
            Operator::NotIn => !among,
            Operator::Exists => !known.is_empty(),
            Operator::DoesNotExist => known.is_empty(),
        }
    }
}

impl Affinity {
    pub fn named(names: &[&str]) -> Self {
        Self { names: names.iter().map(|name| (*name).to_owned()).collect(), ..Self::default() }
    }

    pub fn admits(&self, cell: &Cell) -> bool {
        self.objection(cell).is_none()
    }

    pub(super) fn objection(&self, cell: &Cell) -> Option<Reason> {
        if self.exclude.contains(&cell.name) {
            return Some(Reason::Excluded);
        }
        if let Some(labels) = self.labels.as_ref().filter(|labels| !labels.matches(Some(&cell.labels))) {
            return Some(Reason::LabelsDiffer(labels.to_string()));
        }
        if let Some(unmet) = self.fields.iter().find(|requirement| !requirement.holds(cell)) {
            return Some(Reason::FieldDiffers(unmet.field.name()));
        }
        let named = self.names.is_empty() || self.names.contains(&cell.name);
        (!named).then_some(Reason::NotNamed)
    }
}

/// An object and a cell have to agree: `object label|field == cell label`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    pub object: ObjectValue,
    pub cell: CellLabel,
    /// An object without the value may go anywhere; otherwise it can go nowhere.
    pub optional: bool,
}

/// Something an object says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectValue {
    Label(String),
    Annotation(String),
    Field(FieldPath),
}

impl ObjectValue {
    fn of(&self, object: &Value) -> Option<String> {
        let found = match self {
            Self::Label(key) => apis::at(object, &["metadata", "labels", key]),
            Self::Annotation(key) => apis::at(object, &["metadata", "annotations", key]),
            Self::Field(path) => path.get(object),
        };
        match found? {
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(truth) => Some(truth.to_string()),
            _ => None,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Label(key) => format!("label {key}"),
            Self::Annotation(key) => format!("annotation {key}"),
            Self::Field(path) => format!("field {path}"),
        }
    }
}

/// What the cell has to say for an object's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellLabel {
    /// The label has the value.
    Is(String),
    /// There is a label whose key is this prefix and the value, and it says so: `runtime-class.gpu: "true"`.
    Named { prefix: String, says: String },
}

impl Join {
    pub(super) fn objection(&self, object: &Value, cell: &Cell) -> Option<Reason> {
        let Some(wanted) = self.object.of(object) else {
            return (!self.optional).then(|| Reason::ObjectSaysNothing(self.object.name()));
        };
        let (key, expected) = match &self.cell {
            CellLabel::Is(key) => (key.clone(), wanted.clone()),
            CellLabel::Named { prefix, says } => (format!("{prefix}{wanted}"), says.clone()),
        };
        let found = cell.label(&key);
        (found != Some(expected.as_str())).then(|| Reason::JoinDiffers {
            object: self.object.name(),
            wanted,
            label: key,
            found: found.map(str::to_owned),
        })
    }
}

/// What an object puts up with. Empty means "any", as in Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    pub key: String,
    /// `None` tolerates every value.
    pub value: Option<String>,
    pub effect: Option<Effect>,
    pub seconds: Option<i64>,
}

impl Toleration {
    pub(super) fn tolerates(&self, taint: &Taint) -> bool {
        (self.key.is_empty() || self.key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

pub(super) fn untolerated(tolerations: &[Toleration], cell: &Cell) -> Option<Taint> {
    cell.taints().find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}
