//! The one integration binary of the root crate.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

/// As in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod architecture;
mod cli;
mod docs;
mod simulation;
mod sources;
mod story;
