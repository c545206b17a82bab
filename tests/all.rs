//! The one integration binary of the root crate.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod architecture;
mod cli;
mod docs;
mod simulation;
mod sources;
mod story;
