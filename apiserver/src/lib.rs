//! A Kubernetes-compatible API server as a library.
//!
//! A request goes through the [`pipeline`], which finds out what it is about and whether it is permitted, to one of
//! the `verbs`, which speak HTTP, and from there to [`resources`], which do not; what is stored is bytes, and
//! `render` sends them. Parts of the server itself enter at [`resources`], through a [`client::Client`].

pub mod admission;
pub mod allocate;
pub mod ambient;
mod amount;
pub mod api;
pub mod attend;
pub mod audit;
pub mod auth;
pub mod authn;
pub mod authz;
pub mod backends;
pub mod body;
mod call;
pub mod catalog;
pub mod client;
pub mod computed;
mod convert;
pub mod custom;
mod discovery;
pub mod encryption;
pub mod error;
pub mod fairness;
mod go;
pub mod hooks;
pub mod jsonpath;
pub mod keyspace;
mod lookout;
pub mod managed_fields;
pub mod media;
mod metrics;
pub mod object;
pub mod options;
pub mod passage;
pub mod patch;
pub mod pipeline;
pub mod place;
pub mod policy;
pub mod print;
pub mod relay;
pub mod render;
pub mod resources;
pub mod selector;
pub mod serve;
pub mod strategy;
pub mod target;
pub mod trust;
pub mod verb;
mod verbs;
pub mod view;
pub mod window;
