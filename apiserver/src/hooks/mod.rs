//! Webhooks: who outside of the server is asked about a write, in which order, and what the answers mean.
//!
//! [`Hooks`] are those of one workspace. [`Hooks::mutate`] asks one after another and changes the object as they say;
//! [`Hooks::validate`] asks all at once. How a hook is reached is [`call`]; [`conversion`] goes the same way. What is
//! asked, what is answered and every word of a refusal are those of a Kubernetes API server.

mod again;
mod answer;
mod ask;
pub mod call;
mod conditions;
pub(crate) mod connect;
mod consult;
pub mod conversion;
mod endpoint;
mod handshake;
mod matching;
mod mutate;
mod review;
mod rules;
mod syntax;
mod told;
mod validate;
mod verdict;
mod versions;
mod view;
mod webhook;

pub use again::Again;
pub use ask::{Answering, Ask, Operation, Readmit};
pub use conditions::{Condition, Conditions, Evaluate, Subject, Unevaluated};
pub use endpoint::{Endpoint, Identity, Token};
pub use mutate::Changed;
pub use told::Told;
pub use versions::Versions;

pub(crate) use ask::Kind;
pub(crate) use matching::{Selector, agreed, meant_version, selects_namespace, selects_object};
pub(crate) use review::without_objects;
pub(crate) use rules::{Rule, words};
pub(crate) use view::{Version, View};

use crate::object::Object;
use serde_json::{Map, Value};
use std::pin::Pin;
use webhook::Webhook;

pub type Labels = Map<String, Value>;

/// What comes in its own time.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The webhooks of one workspace, in the order in which they are asked. Remade when a configuration changes.
#[derive(Debug)]
pub struct Hooks {
    mutating: Vec<Webhook>,
    validating: Vec<Webhook>,
}

impl Hooks {
    /// Reads configurations as they are stored, in any order.
    pub fn compile(mutating: &[Object], validating: &[Object], conditions: &dyn Conditions) -> Self {
        Self { mutating: compiled(mutating, conditions), validating: compiled(validating, conditions) }
    }

    pub fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}

/// By the names of configurations, and within one in the order of its author.
fn compiled(configurations: &[Object], conditions: &dyn Conditions) -> Vec<Webhook> {
    let mut sorted: Vec<&Object> = configurations.iter().collect();
    sorted.sort_by_key(|configuration| configuration.name());
    let of = |configuration: &Object| -> Vec<Webhook> {
        let name = configuration.name();
        configuration.items(&["webhooks"]).map(|item| Webhook::read(name, item, conditions)).collect()
    };
    sorted.into_iter().flat_map(of).collect()
}

#[cfg(test)]
pub(crate) mod tests;
