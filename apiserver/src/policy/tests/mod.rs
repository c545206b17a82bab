//! Policies, as data.

mod conditions;
mod mutating;
mod stage;
mod validating;
mod vectors;
