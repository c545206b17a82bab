//! What exporters claim and what is accepted of it: the one without the other permits nothing. Pure.

use crate::tenancy::conditions::State;
use apiserver::object::Object;
use serde_json::{Value, json};

/// What follows from what was claimed and accepted.
#[derive(Debug)]
pub(super) struct Settled {
    /// Claims that hold, with the selectors under which they do.
    pub(super) applied: Vec<Value>,
    pub(super) valid: State,
}

/// What an export claims. By what name it learnt an identity is its own business.
pub(super) fn asked(export: &Object) -> Vec<Value> {
    let claims = export.items(&["spec", "permissionClaims"]).cloned().map(|mut claim| {
        if let Some(fields) = claim.as_object_mut() {
            fields.remove("export");
        }
        claim
    });
    claims.collect()
}

/// Fills in whose kinds a binding is about, where it does not say so and the export claims only one that could be meant.
pub(super) fn name(binding: &mut Object, export: &Object) {
    let (asked, mut decided) = (asked(export), Vec::new());
    let is_kind =
        |one: &Value, other: &Value| ["group", "resource"].iter().all(|field| word(one, field) == word(other, field));
    for mut claim in binding.items(&["spec", "permissionClaims"]).cloned() {
        let meant: Vec<&Value> = asked.iter().filter(|asked| is_kind(asked, &claim)).collect();
        if let ("", [one]) = (word(&claim, "identityHash"), &*meant)
            && !word(one, "identityHash").is_empty()
        {
            claim["identityHash"] = json!(word(one, "identityHash"));
        }
        decided.push(claim);
    }
    if !decided.is_empty() {
        binding.spec_mut().insert("permissionClaims".to_owned(), Value::Array(decided));
    }
}

/// `asked`: of the export. `decided`: of the binding.
pub(super) fn settle(asked: &[Value], decided: &[Value]) -> Settled {
    let (mut applied, mut unknown) = (Vec::new(), Vec::new());
    for claim in decided.iter().filter(|claim| claim["state"] == "Accepted") {
        let Some(wanted) = asked.iter().find(|asked| is_same(asked, claim)) else {
            unknown.push(described(claim));
            continue;
        };
        let verbs = verbs_of_both(wanted, claim);
        if verbs.is_empty() {
            unknown.push(described(claim));
            continue;
        }
        let mut holds = json!({
            "group": word(claim, "group"), "resource": word(claim, "resource"), "verbs": verbs,
            "selector": claim["selector"],
        });
        holds["identityHash"] = json!(word(claim, "identityHash"));
        applied.push(holds);
    }
    let valid = match &*unknown {
        [] => State::True,
        _ => {
            let told = format!("unexpected/invalid claims for {} (is the identity mismatched?)", unknown.join(", "));
            State::error("InvalidPermissionClaims", told)
        }
    };
    Settled { applied, valid }
}

/// The verbs that both of them name; one that means all of them means those of the other.
fn verbs_of_both(one: &Value, other: &Value) -> Vec<String> {
    let verbs = |claim: &Value| -> Vec<String> {
        let all = claim["verbs"].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (one, other) = (verbs(one), verbs(other));
    let means_all = |verbs: &[String]| verbs.iter().any(|verb| verb == "*");
    if means_all(&one) {
        return other;
    }
    one.into_iter().filter(|verb| means_all(&other) || other.contains(verb)).collect()
}

pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    ["group", "resource", "identityHash"].iter().all(|field| word(one, field) == word(other, field))
}

fn described(claim: &Value) -> String {
    let (group, resource, identity) = (word(claim, "group"), word(claim, "resource"), word(claim, "identityHash"));
    match (group, identity) {
        ("", _) => resource.to_owned(),
        (group, "") => format!("{resource}.{group}"),
        (group, identity) => format!("{resource}.{group}:{identity}"),
    }
}

fn word<'a>(claim: &'a Value, field: &str) -> &'a str {
    claim.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `secrets get,list` with `:hash` after what is somebody's.
    fn claim(text: &str) -> Value {
        let (what, verbs) = text.split_once(' ').unwrap();
        let (what, hash) = what.split_once(':').unwrap_or((what, ""));
        let (resource, group) = what.split_once('.').unwrap_or((what, ""));
        let verbs: Vec<&str> = verbs.split(',').collect();
        json!({ "group": group, "resource": resource, "identityHash": hash, "verbs": verbs,
            "selector": { "matchAll": true }, "state": "Accepted" })
    }

    #[track_caller]
    fn check(asked: &str, accepted: &str, expected: &[&str], told: Option<&str>) {
        let settled = settle(&[claim(asked)], &[claim(accepted)]);
        let verbs: Vec<String> = settled
            .applied
            .iter()
            .flat_map(|claim| claim["verbs"].as_array().unwrap().clone())
            .map(|verb| verb.as_str().unwrap().to_owned())
            .collect();
        assert_eq!(verbs, expected, "{asked} {accepted}");
        match (settled.valid, told) {
            (State::True, None) => {}
            (State::False { message, .. }, Some(told)) => assert!(message.contains(told), "{message}"),
            (state, told) => panic!("{state:?} is not {told:?}"),
        }
    }

    #[test]
    fn a_claim_holds_as_far_as_both_sides_say() {
        check("secrets get,list", "secrets get,delete", &["get"], None);
        check("secrets *", "secrets get,list", &["get", "list"], None);
        check("secrets get", "secrets *", &["get"], None);
        check("secrets *", "secrets *", &["*"], None);
        check("secrets get", "secrets delete", &[], Some("secrets"));
        check("secrets get", "configmaps get", &[], Some("configmaps"));
        check("things.x.io:aa get", "things.x.io:bb get", &[], Some("things.x.io:bb"));
        check("things.x.io:aa get", "things.x.io:aa get", &["get"], None);
    }

    #[test]
    fn what_is_rejected_does_not_hold() {
        let mut rejected = claim("secrets get");
        rejected["state"] = json!("Rejected");
        let settled = settle(&[claim("secrets get")], &[rejected]);
        assert!(settled.applied.is_empty() && settled.valid == State::True);
    }
}
