//! Conditions as kcp writes them: with a severity, without a reason where all is well, and a summary called `Ready`.

use apiserver::object::timestamp;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};

/// That something is so, or why it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    True,
    False { severity: &'static str, reason: &'static str, message: String },
}

impl State {
    pub(super) fn error(reason: &'static str, message: impl Into<String>) -> Self {
        Self::False { severity: "Error", reason, message: message.into() }
    }
}

/// The conditions of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    all: Vec<Value>,
}

impl Conditions {
    pub(super) fn read<'a>(found: impl Iterator<Item = &'a Value>) -> Self {
        Self { all: found.cloned().collect() }
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.all.iter().any(|found| found["type"] == name && found["status"] == "True")
    }

    /// The time of a condition is when it last turned.
    pub(super) fn set(&mut self, name: &str, state: &State, now: Instant) {
        let mut new = match state {
            State::True => json!({ "type": name, "status": "True" }),
            State::False { severity, reason, message } => {
                json!({ "type": name, "status": "False", "severity": severity, "reason": reason, "message": message })
            }
        };
        let old = self.all.iter().position(|found| found["type"] == name);
        new["lastTransitionTime"] = match old.map(|at| &self.all[at]) {
            Some(old) if old["status"] == new["status"] => old["lastTransitionTime"].clone(),
            _ => timestamp(now),
        };
        match old {
            Some(at) => self.all[at] = new,
            None => self.all.push(new),
        }
    }

    /// Says in one condition what another says.
    pub(super) fn summarize(&mut self, name: &str, now: Instant) {
        let found = self.all.iter().find(|found| found["type"] == name).cloned();
        let Some(mut summary) = found else { return };
        summary["type"] = json!("Ready");
        let old = self.all.iter().position(|found| found["type"] == "Ready");
        summary["lastTransitionTime"] = match old.map(|at| &self.all[at]) {
            Some(old) if old["status"] == summary["status"] => old["lastTransitionTime"].clone(),
            _ => timestamp(now),
        };
        match old {
            Some(at) => self.all[at] = summary,
            None => self.all.push(summary),
        }
    }

    /// The summary first, the others by name.
    pub(super) fn into_value(mut self) -> Value {
        let name = |found: &Value| found["type"].as_str().unwrap_or_default().to_owned();
        self.all.sort_by_key(|found| (name(found) != "Ready", name(found)));
        Value::Array(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_time_until_it_turns() {
        let at = |seconds| Instant { seconds, nanos: 0 };
        let mut conditions = Conditions::default();
        conditions.set("Good", &State::error("Why", "because"), at(1));
        conditions.set("Good", &State::error("Why", "because of that"), at(2));
        conditions.set("Also", &State::True, at(2));
        conditions.summarize("Good", at(3));
        let told = conditions.clone().into_value();
        assert_eq!(told[0]["type"], "Ready");
        assert_eq!(
            (&told[2]["lastTransitionTime"], &told[2]["message"]),
            (&timestamp(at(1)), &json!("because of that"))
        );
        conditions.set("Good", &State::True, at(4));
        conditions.summarize("Good", at(4));
        assert!(conditions.is_true("Ready") && conditions.is_true("Good"));
        let told = conditions.into_value();
        assert_eq!(told[2], json!({ "type": "Good", "status": "True", "lastTransitionTime": timestamp(at(4)) }));
    }
}
