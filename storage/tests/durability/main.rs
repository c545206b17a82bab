//! What survives: kills, loss of power, damaged files, full disks. One program, because it is also its own victim.
//!
//! Everything random follows from a seed that is printed and can be handed in again as `DURABILITY_SEED`. Longer runs:
//! `DURABILITY_KILLS` (per engine).

mod child;
mod crash;
mod damage;
mod dice;
mod disk;
mod load;
mod model;
mod mounts;
mod powercut;

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
