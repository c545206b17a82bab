//! From stored bytes to what the client asked for: the object itself, a table of it, or only its metadata; in JSON,
//! YAML or protobuf.

mod events;
mod lists;
mod metadata;
mod objects;
mod table;

pub use events::Events;
pub use lists::{Chunks, ListHead, list};
pub use objects::{object, status, tree};

use crate::error::ApiError;
use crate::media::Encoding;
use crate::options::Query;

/// What stands in the rows of a table besides the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl IncludeObject {
    pub fn parse(query: &Query) -> Result<Self, ApiError> {
        match query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => {
                let message = format!("unrecognized includeObject value: {other:?}");
                Err(ApiError::bad_request(message))
            }
        }
    }
}

/// A tree in one of the text forms.
fn text(tree: &serde_json::Value, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Yaml => serde_saphyr::to_string(tree).unwrap_or_default().into_bytes(),
        Encoding::Json | Encoding::Protobuf => tree.to_string().into_bytes(),
    }
}
