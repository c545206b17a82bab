//! What can be done to objects.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// As rules and discovery name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Reads those of many objects that are selected.
    pub fn selects(self) -> bool {
        matches!(self, Self::List | Self::Watch)
    }

    pub fn changes_something(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}
