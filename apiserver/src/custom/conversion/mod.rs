//! Conversion between versions by declared rules: which field becomes which, as it is or by an expression over it.
//!
//! [`check_conversions`] says what is wrong with rules, and [`Conversions`] are those of one definition, compiled. What no
//! rule speaks of keeps its name. What only one version knows can be kept in an annotation while an object is in
//! another, until it comes back. An expression that fails fails the request that needed it, and nothing else.

mod compile;
mod path;

pub use compile::check_conversions;

use super::CustomSchema;
use super::rules::{CALL_COST, OBJECT_COST, SELF};
use crate::object::Object;
use expression::{Budget, Input, Program};
use path::Path;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the names of annotations begin with that keep what another version does not know; its version follows.
pub const KEPT: &str = "preserve.conversion.apis.kcp.io/";

/// The annotation of a definition that says how its versions are converted: a list of conversions in JSON.
pub const CONVERSIONS: &str = "hanse.dev/conversions";

/// What converting the objects of one answer may cost together: many times what honest rules cost on as many objects as
/// a page has, and seconds at most.
pub const ANSWER_COST: u64 = 100_000_000;

/// How the objects of one definition get from one version to another.
#[derive(Debug, Default)]
pub struct Conversions {
    /// By the version that they are from, and the one that they are for.
    between: BTreeMap<(String, String), Between>,
}

#[derive(Debug, Default)]
struct Between {
    rules: Vec<Rule>,
    /// Fields that the other version does not know.
    kept: Vec<Path>,
}

#[derive(Debug)]
struct Rule {
    from: Path,
    to: Path,
    how: How,
}

/// What becomes of the value of a field.
#[derive(Debug)]
enum How {
    Same,
    By(Box<Program>),
    /// Nobody knows: rules are checked when they are written.
    Unknown(String),
}

/// Why an object cannot be converted.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// Of the version that it is in.
    pub field: String,
    pub why: String,
}

impl Conversions {
    /// Compiles what [`check_conversions`] found nothing wrong with.
    pub fn compile(conversions: &[Value], versions: &BTreeMap<String, Arc<CustomSchema>>) -> Self {
        compile::conversions(conversions, |version| Some(versions.get(version)?.structural().root())).0
    }

    /// Makes an object what another version asks for. What it costs is taken from `left`.
    pub fn convert(&self, object: &mut Object, version: &str, left: &mut u64) -> Result<(), Failure> {
        let from = object.api_version().rsplit('/').next().unwrap_or_default().to_owned();
        if from == version {
            return Ok(());
        }
        let nothing = Between::default();
        let between = self.between.get(&(from.clone(), version.to_owned())).unwrap_or(&nothing);
        let original = Value::from(object.clone());
        // All are decided on before anything is changed: fields may change places.
        let mut budget = Budget::from(OBJECT_COST.min(*left));
        let before = budget.cost;
        let given: Result<Vec<(&Rule, Option<Value>)>, Failure> =
            between.rules.iter().map(|rule| Ok((rule, rule.value(&original, &mut budget)?))).collect();
        *left -= before - budget.cost;
        let (mut given, kept) = (given?, between.kept(&original));
        // Whatever contains another comes first, or would take its place.
        given.sort_by_key(|(rule, _)| rule.to.len());
        object.as_tree(|tree| {
            for (rule, _) in &given {
                rule.to.remove(tree);
            }
            for (rule, value) in &given {
                if let Some(value) = value {
                    rule.to.set(tree, value.clone());
                }
            }
        });
        let back = object.annotation(&format!("{KEPT}{version}")).map(str::to_owned);
        if let Some(back) = back {
            restore(object, version, &back, between);
        }
        if !kept.is_empty() {
            object.set_annotation(&format!("{KEPT}{from}"), &Value::Object(kept).to_string());
        }
        Ok(())
    }
}

impl Between {
    /// What has to be kept of an object while it is in another version.
    fn kept(&self, object: &Value) -> Map<String, Value> {
        let found = self.kept.iter().filter_map(|path| Some((path.to_string(), path.get(object)?.clone())));
        found.collect()
    }
}

impl Rule {
    /// What the field that it is for becomes; nothing if there is to be none.
    fn value(&self, object: &Value, budget: &mut Budget) -> Result<Option<Value>, Failure> {
        let Some(value) = self.from.get(object) else { return Ok(None) };
        let failed = |why: String| Failure { field: self.from.to_string(), why };
        let program = match &self.how {
            How::Same => return Ok(Some(value.clone())),
            How::By(program) => program,
            How::Unknown(why) => return Err(failed(why.clone())),
        };
        let mut call = Budget { cost: CALL_COST.min(budget.cost), stop: budget.stop.clone() };
        let before = call.cost;
        let inputs = [(SELF, Input::Json(value))];
        let made = program.run(&inputs, &mut call).and_then(|value| value.to_json());
        budget.cost -= before - call.cost;
        let made = made.map_err(|error| failed(format!("{} becomes {}: {error}", self.from, self.to)))?;
        Ok(Some(made).filter(|made| !made.is_null()))
    }
}

/// Gives an object back what was kept for the version that it is in, except what rules have just said.
fn restore(object: &mut Object, version: &str, kept: &str, between: &Between) {
    if let Some(Value::Object(annotations)) = object.metadata_mut().get_mut("annotations") {
        annotations.remove(&format!("{KEPT}{version}"));
        if annotations.is_empty() {
            object.remove_metadata("annotations");
        }
    }
    // It is the author's: whoever spoiled it loses it.
    let Ok(kept) = serde_json::from_str::<Map<String, Value>>(kept) else { return };
    for (path, value) in kept {
        let Ok(path) = Path::read(&path) else { continue };
        let is_said = |rule: &Rule| rule.to.overlaps(&path);
        if path.is_content() && !between.rules.iter().any(is_said) {
            object.as_tree(|tree| path.set(tree, value));
        }
    }
}

#[cfg(test)]
mod tests;
