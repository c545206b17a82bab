//! Ways to say what goes where. Each dialect is compiled to the scheduler's [`Rule`](crate::scheduler::Rule), and shows
//! what was decided in its own words; none has a scheduler or a syncer of its own.

mod book;
pub mod karmada;
pub mod native;
mod read;
mod schema;

pub use book::{Book, Paths};
pub use read::DialectError;

#[cfg(test)]
mod schema_tests;
