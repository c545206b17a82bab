//! `LimitRanger`: what a namespace gives to containers that ask for nothing, and the bounds of what they may ask for.

use super::Attempt;
use crate::amount::Sums;
use crate::amount::{Amount, Amounts, amounts};
use crate::error::ApiError;
use crate::object::{Object, child};
use crate::strategy::Part;
use serde_json::{Map, Value};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Pods and claims when they are made, claims when they are changed, pods when they are resized.
fn ranges(attempt: &Attempt<'_>, object: &Object) -> Result<Vec<Object>, ApiError> {
    let is_pod = attempt.is_about("", "pods");
    let is_claim = attempt.is_about("", "persistentvolumeclaims");
    let concerns = match (attempt.old, attempt.part) {
        (None, _) => is_pod || is_claim,
        (Some(old), _) if old.is_deleting() => false,
        (Some(_), Part::Main) => is_claim,
        (Some(_), part) => is_pod && part == Part::Resize,
    };
    if concerns { attempt.look.all(("", "limitranges"), object.namespace()) } else { Ok(Vec::new()) }
}

pub(super) fn fill_in(object: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !attempt.is_about("", "pods") {
        return Ok(());
    }
    for range in ranges(attempt, object)? {
        let mut told = Vec::new();
        for (list, kind) in [("containers", "container"), ("initContainers", "init container")] {
            let Some(Value::Array(containers)) = object.spec_mut().get_mut(list) else { continue };
            for container in containers.iter_mut().filter_map(Value::as_object_mut) {
                fill_container(container, &range, kind, &mut told);
            }
        }
        if !told.is_empty() {
            object.set_annotation(ANNOTATION, &format!("LimitRanger plugin set: {}", told.join("; ")));
        }
    }
    Ok(())
}

fn fill_container(container: &mut Map<String, Value>, range: &Object, kind: &str, told: &mut Vec<String>) {
    let name = container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let resources = child(container, "resources");
    for (field, defaults, word) in [("requests", "defaultRequest", "request"), ("limits", "default", "limit")] {
        let amounts = child(resources, field);
        let mut given = Vec::new();
        for (what, amount) in of_type(range, "Container").filter_map(|limit| limit[defaults].as_object()).flatten() {
            // Of several defaults in one range the last one counts.
            if !amounts.contains_key(what) || given.contains(what) {
                amounts.insert(what.clone(), amount.clone());
                if !given.contains(what) {
                    given.push(what.clone());
                }
            }
        }
        if !given.is_empty() {
            given.sort();
            told.push(format!("{} {word} for {kind} {name}", given.join(", ")));
        }
    }
}

fn of_type<'a>(range: &'a Object, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    range.items(&["spec", "limits"]).filter(move |limit| limit["type"] == kind)
}

pub(super) fn enforce(object: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    for range in ranges(attempt, object)? {
        let mut wrong = Vec::new();
        for limit in range.items(&["spec", "limits"]) {
            judge(object, limit, attempt.is_about("", "pods"), &mut wrong);
        }
        if !wrong.is_empty() {
            return Err(attempt.forbidden(object, &together(wrong)));
        }
    }
    Ok(())
}

/// Several reasons stand in brackets, and none twice.
fn together(mut wrong: Vec<String>) -> String {
    let mut seen = Vec::new();
    wrong.retain(|reason| {
        !seen.contains(reason) && {
            seen.push(reason.clone());
            true
        }
    });
    match &wrong[..] {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn judge(object: &Object, limit: &Value, is_pod: bool, wrong: &mut Vec<String>) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let kind = limit["type"].as_str().unwrap_or_default();
    let mut compare = |asked: Asked| bounds(&asked, kind, limit, wrong);
    match (is_pod, kind) {
        (true, "Container") => {
            for list in ["containers", "initContainers"] {
                for container in spec.get(list).and_then(Value::as_array).into_iter().flatten() {
                    let part = |name: &str| amounts(container.get("resources").and_then(|found| found.get(name)));
                    compare(Asked { requests: part("requests"), limits: Some(part("limits")) });
                }
            }
        }
        (true, "Pod") => {
            let of_pods = |name: &str| matches!(name, "cpu" | "memory");
            let limits = Some(Sums::limits(spec).of_pod(of_pods));
            compare(Asked { requests: Sums::requests(spec).of_pod(of_pods), limits });
        }
        (false, "PersistentVolumeClaim") => {
            let requests = amounts(spec.get("resources").and_then(|found| found.get("requests")));
            compare(Asked { requests, limits: None });
        }
        _ => {}
    }
}

/// What somebody asks for. A claim has no limits.
struct Asked {
    requests: Amounts,
    limits: Option<Amounts>,
}

fn bounds(asked: &Asked, kind: &str, limit: &Value, wrong: &mut Vec<String>) {
    let none = Amounts::new();
    let limits = asked.limits.as_ref().unwrap_or(&none);
    for (name, least) in amounts(limit.get("min")) {
        wrong.extend(too_little(&name, kind, least, asked.requests.get(&name), limits.get(&name)));
    }
    for (name, most) in amounts(limit.get("max")) {
        let (request, limit) = (asked.requests.get(&name), limits.get(&name));
        wrong.extend(if asked.limits.is_some() {
            too_much(&name, kind, most, ("limit", limit), ("request", request))
        } else {
            too_much(&name, kind, most, ("request", request), ("request", None))
        });
    }
    if asked.limits.is_some() {
        for (name, most) in amounts(limit.get("maxLimitRequestRatio")) {
            wrong.extend(too_far_apart(&name, kind, most, asked.requests.get(&name), limits.get(&name)));
        }
    }
}

fn too_little(
    name: &str,
    kind: &str,
    least: Amount,
    request: Option<&Amount>,
    limit: Option<&Amount>,
) -> Option<String> {
    let rule = format!("minimum {name} usage per {kind} is {least}");
    match (request, limit) {
        (None, _) => Some(format!("{rule}.  No request is specified")),
        (Some(request), _) if *request < least => Some(format!("{rule}, but request is {request}")),
        (_, Some(limit)) if *limit < least => Some(format!("{rule}, but limit is {limit}")),
        _ => None,
    }
}

type Named<'a> = (&'static str, Option<&'a Amount>);

fn too_much(name: &str, kind: &str, most: Amount, needed: Named<'_>, other: Named<'_>) -> Option<String> {
    let rule = format!("maximum {name} usage per {kind} is {most}");
    let (word, needed) = needed;
    match (needed, other.1) {
        (None, _) => Some(format!("{rule}.  No {word} is specified")),
        (Some(amount), _) if *amount > most => Some(format!("{rule}, but {word} is {amount}")),
        (_, Some(amount)) if *amount > most => Some(format!("{rule}, but {} is {amount}", other.0)),
        _ => None,
    }
}

fn too_far_apart(
    name: &str,
    kind: &str,
    most: Amount,
    request: Option<&Amount>,
    limit: Option<&Amount>,
) -> Option<String> {
    let rule = format!("{name} max limit to request ratio per {kind} is {most}");
    let Some(request) = request.filter(|request| !request.is_zero()) else {
        return Some(format!("{rule}, but no request is specified or request is 0"));
    };
    let Some(limit) = limit.filter(|limit| !limit.is_zero()) else {
        return Some(format!("{rule}, but no limit is specified or limit is 0"));
    };
    let ratio = limit.ratio(*request);
    most.exceeds_ratio(ratio).then(|| format!("{rule}, but provided ratio is {ratio:.6}"))
}
