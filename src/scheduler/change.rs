//! What is different in some cells: the changes an object goes through on its way there.

use super::affinity::Affinity;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    pub cells: Affinity,
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Image(ImageChange),
    Command(WordsChange),
    Args(WordsChange),
    Labels(EntriesChange),
    Annotations(EntriesChange),
    /// A document inside a string of the object.
    Document(DocumentChange),
    /// A step of RFC 6902.
    Field(FieldChange),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChange {
    /// Where the image stands, as a JSON pointer; `None` for all containers of a workload.
    pub at: Option<String>,
    pub part: ImagePart,
    pub operation: Operation,
    pub value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImagePart {
    Registry,
    Repository,
    Tag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Remove,
    Replace,
}

impl Operation {
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Add, Self::Remove, Self::Replace].into_iter().find(|operation| operation.name() == text)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Replace => "replace",
        }
    }
}

/// The words of a command, or of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordsChange {
    pub container: String,
    /// Words are added or removed; a replacement is neither.
    pub remove: bool,
    pub words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntriesChange {
    pub operation: Operation,
    pub entries: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DocumentChange {
    /// Where the string stands, as a JSON pointer.
    pub at: String,
    pub syntax: Syntax,
    pub steps: Vec<FieldChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Json,
    Yaml,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// A JSON pointer.
    pub path: String,
    pub operation: Operation,
    pub value: Value,
}
