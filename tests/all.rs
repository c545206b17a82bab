//! The one integration binary of the root crate.

mod architecture;
mod cli;
mod sources;
