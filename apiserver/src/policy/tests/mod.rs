//! Policies, as data.

mod conditions;
mod custom;
mod mutating;
mod stage;
mod validating;
mod vectors;
