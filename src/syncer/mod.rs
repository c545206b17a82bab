//! What a cell should hold, and how it gets there.
//!
//! [`render()`] makes of a template and a decision what one cell should hold; [`diff()`] the steps from what is there to
//! what should be; [`reduce`] of what the cells say the status of the source. All three are pure; [`run`]
//! is who talks to cells.

pub mod audit;
pub mod diff;
pub mod mark;
mod overrides;
pub mod reduce;
mod render;
pub mod run;

pub use diff::diff;
pub use mark::Origin;
pub use overrides::OverrideError;
pub use render::{Order, Rendered, namespace_in_cell, render};

#[cfg(test)]
mod tests;
