//! Who owns which fields: `metadata.managedFields`, read and written.

use super::set::{FieldSet, SetError};
use openapi::scalar::time::{Instant, Precision};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Somebody who owns fields, in one of the ways to own them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Empty for those who apply: they stay the same whichever version they apply in.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Owner {
    pub(super) fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Self {
            name: name.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// The same owner in another version of the object.
    pub(super) fn at(&self, api_version: &str) -> Self {
        Self::new(&self.name, self.operation, api_version, &self.subresource)
    }

    /// What Go sorts owners by.
    pub(super) fn identity(&self) -> String {
        let said = [
            ("manager", &*self.name),
            ("operation", self.operation.word()),
            ("apiVersion", &*self.api_version),
            ("subresource", &*self.subresource),
        ];
        let said = said.iter().filter(|(_, word)| !word.is_empty());
        let said: Vec<String> = said.map(|(field, word)| format!("\"{field}\":{}", json!(word))).collect();
        format!("{{{}}}", said.join(","))
    }

    /// As conflicts name it: `"web" with subresource "status" using apps/v1`.
    pub(super) fn told(&self) -> String {
        let mut told = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            told += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            told += &format!(" using {}", self.api_version);
        }
        told
    }
}

/// What one owner owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holding {
    pub(super) fields: FieldSet,
    /// The version of the object in which the fields are named.
    pub(super) api_version: String,
    pub(super) time: Option<Instant>,
}

pub(super) type Holdings = BTreeMap<Owner, Holding>;

/// `managedFields` that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    NoVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    #[error("invalid fieldsType {0:?} in managed fields entry {1}")]
    FieldsType(String, usize),
    #[error("error decoding set: {0}")]
    Fields(#[from] SetError),
}

/// The entries of an object.
pub(super) fn entries(object: &Value) -> &[Value] {
    object.pointer("/metadata/managedFields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// An empty list, or one with a single empty entry, asks to forget all owners.
pub(super) fn is_reset(object: &Value) -> bool {
    match object.pointer("/metadata/managedFields") {
        Some(Value::Array(entries)) => match &**entries {
            [] => true,
            [Value::Object(only)] => only.values().all(Value::is_null),
            _ => false,
        },
        _ => false,
    }
}

pub(super) fn read(entries: &[Value]) -> Result<Holdings, EntryError> {
    entries.iter().enumerate().map(|(at, entry)| read_one(at, entry)).collect()
}

fn read_one(at: usize, entry: &Value) -> Result<(Owner, Holding), EntryError> {
    let word = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    let operation = match word("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(EntryError::Operation),
    };
    if word("apiVersion").is_empty() {
        return Err(EntryError::NoVersion);
    }
    match word("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(EntryError::NoFieldsType(at)),
        other => return Err(EntryError::FieldsType(other.to_owned(), at)),
    }
    let holding = Holding {
        fields: entry.get("fieldsV1").map_or_else(|| Ok(FieldSet::default()), FieldSet::parse)?,
        api_version: word("apiVersion").to_owned(),
        time: Instant::parse(word("time"), Precision::Seconds).ok(),
    };
    Ok((Owner::new(word("manager"), operation, word("apiVersion"), word("subresource")), holding))
}

/// The entries, in the order in which Go writes them.
pub(super) fn write(holdings: &Holdings) -> Vec<Value> {
    let mut all: Vec<(&Owner, &Holding)> = holdings.iter().collect();
    all.sort_by_key(|(owner, holding)| {
        (owner.operation, seconds(holding), &owner.name, &holding.api_version, &owner.subresource)
    });
    all.into_iter().map(|(owner, holding)| write_one(owner, holding)).collect()
}

fn seconds(holding: &Holding) -> i64 {
    holding.time.map_or(0, |time| time.seconds)
}

fn write_one(owner: &Owner, holding: &Holding) -> Value {
    let mut entry = Map::new();
    let words = [
        ("manager", &*owner.name),
        ("operation", owner.operation.word()),
        ("apiVersion", &*holding.api_version),
        ("fieldsType", "FieldsV1"),
        ("subresource", &*owner.subresource),
    ];
    for (field, word) in words.into_iter().filter(|(_, word)| !word.is_empty()) {
        entry.insert(field.to_owned(), word.into());
    }
    if let Some(time) = holding.time.and_then(|time| time.text(Precision::Seconds)) {
        entry.insert("time".to_owned(), time.into());
    }
    entry.insert("fieldsV1".to_owned(), holding.fields.to_value());
    Value::Object(entry)
}

/// Gives an object these owners, or none.
pub(super) fn set(object: &mut Value, holdings: &Holdings) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if holdings.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), write(holdings).into());
    }
}

/// Those who update an object, before the oldest of them are taken together. Those who apply are all kept.
const UPDATERS_MAX: usize = 10;

/// Who those are that were taken together.
const ANCIENT: &str = "ancient-changes";

/// Takes the oldest updaters together, by version, until they are few enough.
pub(super) fn cap(holdings: &mut Holdings) {
    let mut updaters: Vec<Owner> =
        holdings.keys().filter(|owner| owner.operation == Operation::Update).cloned().collect();
    let mut count = updaters.len();
    if count <= UPDATERS_MAX {
        return;
    }
    updaters.sort_by_cached_key(|owner| (holdings.get(owner).map_or(0, seconds), owner.identity()));
    let mut first_of = BTreeMap::<String, Owner>::new();
    for owner in updaters {
        if count <= UPDATERS_MAX {
            return;
        }
        let Some(version) = holdings.get(&owner).map(|holding| holding.api_version.clone()) else { continue };
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, owner);
            continue;
        };
        let bucket = Owner::new(ANCIENT, Operation::Update, &version, "");
        if !holdings.contains_key(&bucket)
            && let Some(oldest) = holdings.remove(first)
        {
            holdings.insert(bucket.clone(), oldest);
        }
        if let (Some(holding), Some(ancient)) = (holdings.remove(&owner), holdings.get_mut(&bucket)) {
            ancient.fields.absorb(holding.fields);
            // The younger of the two.
            ancient.time = holding.time;
        }
        count -= 1;
    }
}
