//! What is served here, as documents: discovery in its two forms, and OpenAPI.

pub(crate) mod aggregated;
mod custom;
pub(crate) mod documents;
pub(crate) mod legacy;
mod library;
pub(crate) mod remote;

pub(crate) use custom::Schemas;
pub(crate) use documents::{Document, Documents};
pub(crate) use library::Library;
