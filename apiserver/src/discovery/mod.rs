//! What is served here, as documents: discovery in its two forms, and OpenAPI.

pub(crate) mod aggregated;
pub(crate) mod documents;
pub(crate) mod legacy;

pub(crate) use documents::{Document, Documents};
