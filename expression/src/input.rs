//! What programs are run on, and what a run may use up.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value as Json;

use crate::error::Error;
use crate::value::Value;

/// The value of a variable.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// Read as the variable was declared.
    Json(&'a Json),
    Value(Value<'a>),
    /// An object whose fields are computed when they are asked for.
    Fields(&'a dyn Fields),
}

/// Fields of a variable that are computed when an expression selects them.
pub trait Fields: fmt::Debug {
    /// The value of a field, if there is one by this name. What it costs is taken from the budget.
    fn field<'a>(&'a self, name: &str, budget: &mut Budget) -> Option<Result<Value<'a>, Error>>;
}

/// What a run may use up.
#[derive(Clone, Debug)]
pub struct Budget {
    /// What is left. A run that needs more fails.
    pub cost: u64,
    /// Ends loops once it is set: for when nobody waits for the result any more.
    pub stop: Option<Arc<AtomicBool>>,
}

impl From<u64> for Budget {
    fn from(cost: u64) -> Self {
        Budget { cost, stop: None }
    }
}
