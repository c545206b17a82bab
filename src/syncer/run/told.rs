//! What is written down of a copy that is there: what it says of itself, and whether it is well.

use super::actual::Actual;
use super::wish::Wish;
use crate::apis::fnv;
use crate::apis::interpret::Operation;
use crate::apis::kinds::Health;
use crate::syncer::mark;
use serde_json::{Value, json};

/// Says that a script failed.
const CANNOT_INTERPRET: &str = "CannotInterpret";

/// What is told of a copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// `None` if it could not be found out: what was told before stays.
    said: Option<(Option<Value>, Health)>,
    /// What it was made of, where a script made it.
    made_of: Option<String>,
    problem: Option<String>,
}

/// Whether more is needed of an object than what its watch keeps.
pub(super) fn needs_whole(wish: &Wish) -> bool {
    wish.interpreter.scripts(Operation::Reflect) || wish.interpreter.scripts(Operation::Health)
}

/// By what is known of the kind.
pub(super) fn plainly(actual: &Actual, wish: &Wish) -> Told {
    let health = match &actual.status {
        Some(status) => {
            let mut there = wish.made.object.clone();
            there["status"] = status.clone();
            there["metadata"]["generation"] = json!(actual.generation);
            wish.interpreter.health(&there).unwrap_or_default()
        }
        None => Health::Unknown,
    };
    Told { said: Some((actual.status.clone(), health)), ..Told::default() }
}

/// By the scripts of its kind, which see all of the object.
pub(super) fn by_scripts(whole: &Value, wish: &Wish) -> Told {
    let made_of = Some(made_of(&Actual::read(whole), wish));
    let whole = mark::as_karmada_marks(whole);
    let said = wish.interpreter.reflect(&whole).and_then(|status| Ok((status, wish.interpreter.health(&whole)?)));
    match said {
        Ok(said) => Told { said: Some(said), made_of, problem: None },
        Err(error) => Told { said: None, made_of, problem: Some(error.to_string()) },
    }
}

/// Changes with whatever scripts are told of, and with the scripts.
pub(super) fn made_of(actual: &Actual, wish: &Wish) -> String {
    let status = actual.status.as_ref().map(Value::to_string).unwrap_or_default();
    let scripts = wish.interpreter.fingerprint().unwrap_or_default();
    let text = format!("{}/{}/{}/{scripts:x}/{status}", actual.uid, actual.generation, wish.generation);
    format!("{:016x}", fnv::hash_64(text.as_bytes()))
}

impl Told {
    /// Adds it to what is written down. `before` is the health that was told last; `now` when it is told.
    pub(super) fn add_to(&self, status: &mut Value, before: &str, now: &Value) {
        status["madeOf"] = json!(self.made_of);
        if let Some((observed, health)) = &self.said {
            status["observed"] = json!(observed);
            let health = Some(*health).filter(|health| *health != Health::Unknown).map(Health::name);
            status["health"] = json!(health);
            if health.unwrap_or_default() != before {
                status["healthSince"] = health.map(|_| now.clone()).unwrap_or_default();
            }
        }
        if let Some(problem) = &self.problem {
            status["reason"] = json!(CANNOT_INTERPRET);
            status["message"] = json!(problem);
        }
    }
}
