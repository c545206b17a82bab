//! Makes cells hold what they should.

pub mod run;
