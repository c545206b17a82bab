//! What a column is called, and what is in it.

use serde_json::{Value, json};

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    /// The type of its values as the API names it: `string`, `integer`, `boolean`, `date`. Not all keep to it.
    pub kind: &'static str,
    /// `name` where the values are names of objects, else empty.
    pub format: &'static str,
    /// How Kubernetes describes the column, as far as its first sentence or clause.
    pub description: &'static str,
    /// 0, or 1 for what only `kubectl get -o wide` shows.
    pub priority: i32,
}

impl Column {
    /// One of the `columnDefinitions` of a table.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name, "type": self.kind, "format": self.format, "description": self.description,
            "priority": self.priority,
        })
    }

    pub(super) const fn text(name: &'static str, description: &'static str) -> Column {
        Column { name, kind: "string", format: "", description, priority: 0 }
    }

    pub(super) const fn wide(self) -> Column {
        Column { priority: 1, ..self }
    }

    pub(super) const fn named(self) -> Column {
        Column { format: "name", ..self }
    }
}

pub(super) const fn text(name: &'static str, description: &'static str) -> Column {
    Column::text(name, description)
}

pub(super) const fn integer(name: &'static str, description: &'static str) -> Column {
    Column { kind: "integer", ..Column::text(name, description) }
}

pub(super) const fn boolean(name: &'static str, description: &'static str) -> Column {
    Column { kind: "boolean", ..Column::text(name, description) }
}

pub(super) const CREATED: &str =
    "CreationTimestamp is a timestamp representing the server time when this object was created.";
const UNIQUE: &str = "Name must be unique within a namespace.";

pub(super) const NAME: Column = text("Name", UNIQUE).named();
/// A name that clients are not told is one.
pub(super) const PLAIN_NAME: Column = text("Name", UNIQUE);
pub(super) const AGE: Column = text("Age", CREATED);
pub(super) const CREATED_AT: Column = Column { kind: "date", ..text("Created At", CREATED) };
pub(super) const CONTAINERS: Column = text("Containers", "Names of each container in the template.");
pub(super) const IMAGES: Column = text("Images", "Images referenced by each container in the template.");
