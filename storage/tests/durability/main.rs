//! What survives: kills, loss of power, damaged files, full disks. One program, because it is also its own victim.
//!
//! Everything random follows from a seed that is printed and can be handed in again as `DURABILITY_SEED`. Longer runs:
//! `DURABILITY_KILLS` and `DURABILITY_POWER_CUTS` (per engine), `DURABILITY_TRIALS` (times as many damaged files).
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and says what it did")]

mod child;
mod crash;
mod damage;
mod dice;
mod disk;
mod ext4;
mod load;
mod model;
mod mounts;
mod powercut;

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
