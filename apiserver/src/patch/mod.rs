//! The three ways to say what should be different: JSON patch, merge patch, strategic merge patch.
//!
//! Each does what a Kubernetes API server does with the same input, its texts included. Trees are as deep as
//! `serde_json` reads them, and none of the three makes a deeper one.

mod json;
mod list;
mod merge;
mod order;
mod schema;
mod strategic;

pub use json::{COPIED_BYTES_MAX, DEPTH_MAX, OPERATIONS_MAX, json};
pub use merge::merge;
pub use strategic::strategic;

/// Why a patch does not apply. The texts are Kubernetes' own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// 413. Kubernetes writes `Request entity too large: ` before it.
    #[error("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {0}")]
    TooManyOperations(usize),
    /// 400: not a patch of this kind at all.
    #[error("{0}")]
    Malformed(String),
    /// 422: a patch, but not for this object. Kubernetes answers 500 for some of them, though the client erred.
    #[error("{0}")]
    Unprocessable(String),
}

fn malformed(text: impl Into<String>) -> PatchError {
    PatchError::Malformed(text.into())
}

fn unprocessable(text: impl Into<String>) -> PatchError {
    PatchError::Unprocessable(text.into())
}

#[cfg(test)]
mod tests;
