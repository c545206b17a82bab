//! The API as a client meets it, without a socket: requests go into the pipeline, answers come out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod applying;
mod asking;
mod auditing;
mod backend;
mod behind;
mod crowding;
mod dawdling;
mod defining;
mod deleting;
mod discovering;
mod doors;
mod enduring;
mod filling;
mod flowing;
mod forging;
mod hiding;
mod hooking;
mod listing;
mod patching;
mod permitting;
mod policing;
mod relaying;
mod ruling;
mod stage;
mod strange;
mod versioning;
mod vouching;
mod watching;
mod writing;
