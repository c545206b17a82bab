//! Workspaces: which there are, how one is made, and what happens to one that goes.
//!
//! A workspace is an object in its parent, and a *logical cluster*: a range of keys under an id of its own, with one
//! object that says what it is. Both are written in one transaction, so a workspace can be used as soon as it was made;
//! and a path is looked up in the objects themselves, so there is no index that could be behind them.
//!
//! [`path`] is pure; [`Finder`] looks paths up; [`Tenancy`] completes new workspaces; [`departure`] empties those that
//! go; [`seed`] is what the first one begins with, and [`address`] says on all where the server is. Who somebody is in a workspace is said in `identity`, who may enter
//! one in `door`, and what nobody but the server writes on objects in `reserved`.
//! What is mounted among workspaces is told in [`mounts`].
//! How workspaces share APIs is told in `sharing`.

pub mod address;
mod birth;
mod conditions;
pub mod departure;
mod door;
mod everywhere;
mod find;
mod homes;
mod identity;
mod index;
mod lifecycle;
mod mine;
pub mod mounts;
pub mod path;
pub mod projects;
mod reach;
mod reserved;
pub mod rest;
pub mod seed;
mod sharing;
mod subjects;
mod types;
mod words;

pub use birth::Tenancy;
pub use find::Finder;
pub use sharing::{bindings, copies, lasting};
pub use words::{HOME, ROOT};

#[cfg(test)]
mod tests;
