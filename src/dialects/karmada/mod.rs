//! Karmada's policies, compiled; and bindings, works and clusters as its clients expect to see them.
//!
//! [`policy`] reads what goes where, [`claim()`] says which policy speaks for an object, [`overrides`] what is different
//! where. Where Karmada does harm, this does not, unless it is asked to do as Karmada 1.18 does: see [`Compat`].

mod binding;
mod claim;
mod cluster;
pub mod customization;
pub mod definitions;
mod marks;
mod names;
pub mod namespaces;
pub mod overrides;
mod placement;
pub mod policy;
pub mod rebalancer;
mod schemas;
mod served;
mod work;

pub use binding::{Bound, binding};
pub use claim::claim;
pub use cluster::{cell, cluster};
pub use marks::marks;
pub use names::{binding_name, cluster_of, execution_namespace, work_name};
pub use served::Views;
pub use work::{Report, work};

/// Whether Karmada's hazards are reproduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// A workload that fits nowhere stays; a bound that was left out is none; zones, providers and labels spread.
    #[default]
    Mended,
    /// As Karmada 1.18: it is deleted; the bound is 0, which nothing meets; they only have to be known.
    Karmada118,
}

#[cfg(test)]
mod tests;
