//! A federation to try things on: cells that are workspaces of this server, in cities, where everything seems to run.
//!
//! [`cities`] says which cells there are, [`prepare`] makes them, and [`pretend`] is what their workloads tell.

mod cities;
mod life;
mod prepare;
mod pretend;

pub use life::controller;
pub use prepare::{Shown, prepare};

/// How large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub cells: usize,
    pub projects: usize,
}
