//! What a cell should hold, and how it gets there.
//!
//! [`render()`] makes of a template and a decision what one cell should hold; [`reduce`] of what the cells say the status
//! of the source. Both are pure, and so is what [`run`], who talks to cells, does next about each object (`run/step.rs`).

pub mod audit;
pub mod mark;
mod overrides;
pub mod reduce;
mod render;
pub mod run;

pub use mark::Origin;
pub use overrides::OverrideError;
pub use render::{Order, RenderError, Rendered, namespace_in_cell, render};

#[cfg(test)]
mod tests;
