//! What it means for an `APIService` what was seen of its backend: a condition, in Kubernetes' words, and when to look
//! again.

use crate::controller::Action;
use apiserver::backends::Unreachable;
use apiserver::object::Object;
use openapi::scalar::time::{Instant, Precision};
use serde_json::{Value, json};
use std::time::Duration;

/// How often a backend that is there is looked for: Kubernetes' own pace.
const CHECK_EVERY: Duration = Duration::from_secs(30);
const CHECK_SOON: Duration = Duration::from_secs(1);

/// What was seen of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// This server is meant itself.
    Local,
    /// What this server serves itself was to be served by somebody else.
    BuiltIn,
    Nowhere(Unreachable),
    /// It is somewhere, but does not answer as it should.
    Silent(String),
    Answered,
}

/// The status, reason and message of the condition `Available`.
pub(super) fn condition(seen: &Seen) -> (&'static str, &'static str, String) {
    match seen {
        Seen::Local => ("True", "Local", "Local APIServices are always available".to_owned()),
        Seen::BuiltIn => {
            let message = "this group version is built into the server, and served by nobody else";
            ("True", "Local", message.to_owned())
        }
        Seen::Nowhere(Unreachable { reason, message }) => ("False", reason, message.clone()),
        Seen::Silent(message) => ("False", "FailedDiscoveryCheck", message.clone()),
        Seen::Answered => ("True", "Passed", "all checks passed".to_owned()),
    }
}

fn is_available(condition: &&Value) -> bool {
    condition["type"] == "Available"
}

/// All conditions, if they are other than they were. Those of others stay.
pub(super) fn conditions(
    registered: &Object,
    (status, reason, message): (&str, &str, String),
    now: &Value,
) -> Option<Vec<Value>> {
    let was: Vec<Value> = registered.items(&["status", "conditions"]).cloned().collect();
    let old = was.iter().find(is_available);
    let since = old.filter(|old| old["status"] == status).map_or(now, |old| &old["lastTransitionTime"]);
    let new = json!({
        "type": "Available", "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    let mut all: Vec<Value> = was.iter().filter(|condition| !is_available(condition)).cloned().collect();
    all.push(new);
    (all != was).then_some(all)
}

/// A backend that is gone is looked for as often as it is likely to come back: soon at first, then less often.
pub(super) fn pause(registered: &Object, seen: &Seen, now: Instant) -> Action {
    match seen {
        Seen::Local | Seen::BuiltIn => Action::Done,
        Seen::Answered => Action::After(CHECK_EVERY),
        Seen::Nowhere(_) | Seen::Silent(_) => {
            let mut all = registered.items(&["status", "conditions"]);
            let gone = all.find(|condition| is_available(condition) && condition["status"] == "False");
            let since = gone.and_then(|gone| gone["lastTransitionTime"].as_str());
            let since = since.and_then(|text| Instant::parse(text, Precision::Seconds).ok());
            let waited = since.map_or(0, |since| now.seconds.saturating_sub(since.seconds));
            Action::After(Duration::from_secs(u64::try_from(waited).unwrap_or_default()).clamp(CHECK_SOON, CHECK_EVERY))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registered(conditions: Value) -> Object {
        json!({ "metadata": { "name": "v1.example.com" }, "status": { "conditions": conditions } }).try_into().unwrap()
    }

    #[test]
    fn what_was_seen_becomes_a_condition_in_kubernetes_words() {
        let why = Unreachable { reason: "ServiceNotFound", message: "service/s in \"n\" is not present".to_owned() };
        let told = |seen: &Seen| {
            let (status, reason, _) = condition(seen);
            format!("{status} {reason}")
        };
        assert_eq!(told(&Seen::Local), "True Local");
        assert_eq!(told(&Seen::BuiltIn), "True Local");
        assert_eq!(told(&Seen::Nowhere(why)), "False ServiceNotFound");
        assert_eq!(told(&Seen::Silent("x".to_owned())), "False FailedDiscoveryCheck");
        assert_eq!(told(&Seen::Answered), "True Passed");
    }

    #[test]
    fn since_when_it_holds_changes_with_the_status_alone_and_others_stay() {
        let (then, now) = (json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:00:09Z"));
        let other = json!({ "type": "Other", "status": "True" });
        let first = conditions(&registered(json!([other])), condition(&Seen::Silent("a".to_owned())), &then).unwrap();
        assert_eq!((&first[0], &first[1]["lastTransitionTime"]), (&other, &then));
        let same = conditions(&registered(first.clone().into()), condition(&Seen::Silent("a".to_owned())), &now);
        assert_eq!(same, None);
        let second = conditions(&registered(first.into()), condition(&Seen::Silent("b".to_owned())), &now).unwrap();
        assert_eq!((&second[1]["message"], &second[1]["lastTransitionTime"]), (&json!("b"), &then));
        let third = conditions(&registered(second.into()), condition(&Seen::Answered), &now).unwrap();
        assert_eq!((&third[1]["status"], &third[1]["lastTransitionTime"]), (&json!("True"), &now));
    }

    #[test]
    fn what_is_gone_is_looked_for_soon_and_then_less_often() {
        let gone = registered(
            json!([{ "type": "Available", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z" }]),
        );
        let start = Instant::parse("2026-01-01T00:00:00Z", Precision::Seconds).unwrap();
        let at = |secs: i64| Instant { seconds: start.seconds + secs, ..start };
        let silent = Seen::Silent(String::new());
        let after = |secs| Action::After(Duration::from_secs(secs));
        assert_eq!(pause(&gone, &silent, at(0)), after(1));
        assert_eq!(pause(&gone, &silent, at(7)), after(7));
        assert_eq!(pause(&gone, &silent, at(900)), after(30));
        assert_eq!(pause(&registered(json!([])), &silent, at(900)), after(1));
        assert_eq!(pause(&gone, &Seen::Local, at(0)), Action::Done);
    }
}
