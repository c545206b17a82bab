//! The OpenAPI documents of the built-in kinds.
