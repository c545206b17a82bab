//! A Kubernetes-compatible API server as a library.

pub mod patch;
pub mod print;
pub mod selector;
