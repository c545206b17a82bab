//! Admission policies: what the administrators of a workspace want of every write, said in expressions.
//!
//! [`Policies`] are those of one workspace. [`Policies::mutate`] changes an object as they say, before webhooks are asked;
//! [`Policies::validate`] refuses what they do not want. [`check`] says what is wrong with an expression when its policy is
//! written, and [`type_checking`] what seems wrong when the types of objects are known. [`MatchConditions`] reads the
//! expressions of webhooks. What is decided and every word of it are those of a Kubernetes API server.

mod authority;
mod change;
mod check;
mod compiled;
mod conditions;
mod constraints;
mod decide;
mod declare;
mod environment;
mod evaluate;
mod look;
mod mutate;
mod params;
mod read;
mod typing;
mod validate;

pub use check::check;
pub use conditions::MatchConditions;
pub use look::{ParamKind, PolicyLook};
pub use mutate::PolicyKey;
pub use typing::type_checking;

use crate::object::Object;
use change::Mutations;
use decide::Validations;
use read::Policy;

/// Policies and bindings of a workspace as they are stored, in any order.
#[derive(Clone, Copy, Debug, Default)]
pub struct PolicyObjects<'a> {
    pub validating: &'a [Object],
    pub validating_bindings: &'a [Object],
    pub mutating: &'a [Object],
    pub mutating_bindings: &'a [Object],
}

/// The policies of one workspace, in the order in which they are asked. Remade when one of them or a binding changes.
#[derive(Debug)]
pub struct Policies {
    mutating: Vec<Policy<Mutations>>,
    validating: Vec<Policy<Validations>>,
}

impl Policies {
    pub fn compile(sets: &PolicyObjects<'_>) -> Self {
        Self {
            mutating: read::policies(sets.mutating, sets.mutating_bindings, Mutations::read),
            validating: read::policies(sets.validating, sets.validating_bindings, Validations::read),
        }
    }

    /// Nothing is bound.
    pub fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}

#[cfg(test)]
mod tests;
