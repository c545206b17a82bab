//! The languages in which people say what goes where; each is compiled to the scheduler's rules.

mod book;
pub mod native;

pub use book::Book;
