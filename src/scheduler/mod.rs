//! What goes where, and why not elsewhere.
//!
//! [`plan()`] is a pure function from everything it depends on ([`Seen`]) to a [`Placement`]: it filters the cells, picks
//! among them, divides replicas, and explains every cell that is not chosen. Start there. [`Rule`] is what policies of
//! every sort are compiled to before they come here.

pub mod affinity;
mod candidate;
pub mod cell;
pub mod change;
pub mod controller;
mod division;
mod estimate;
pub mod evict;
mod filter;
mod groups;
mod load;
mod plan;
mod preferred;
mod reason;
pub mod rule;
mod seen;
mod spread;
mod terms;
pub mod webster;

pub use cell::Cell;
pub use estimate::Request;
pub use load::Mode;
pub use plan::plan;
pub use reason::{Reason, Refusal, Trouble};
pub use rule::Rule;
pub use seen::{Because, Before, Followed, Placement, Seen, Target, Workload};
pub use terms::Terms;

#[cfg(test)]
mod tests;
