//! `Priority`: the number behind a pod's priority class, or behind the one that is everybody's.

use super::Attempt;
use crate::error::ApiError;
use crate::object::Object;
use crate::strategy::Part;
use serde_json::Value;

const CLASSES: (&str, &str) = ("scheduling.k8s.io", "priorityclasses");
const PREEMPTION_POLICY: &str = "PreemptLowerPriority";

pub(super) fn resolve(pod: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !attempt.is_about("", "pods") || attempt.part != Part::Main {
        return Ok(());
    }
    match attempt.old {
        Some(old) => keep(pod, old),
        None => return settle(pod, attempt),
    }
    Ok(())
}

/// What was settled once need not be said again.
fn keep(pod: &mut Object, old: &Object) {
    for field in ["priority", "preemptionPolicy"] {
        if let (None, Some(value)) = (pod.pointer(&["spec", field]), old.pointer(&["spec", field])) {
            pod.spec_mut().insert(field.to_owned(), value.clone());
        }
    }
}

fn settle(pod: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let class = class_of(pod, attempt)?;
    let number = |object: &Object, path: &[&str]| object.pointer(path).and_then(Value::as_i64);
    let value = class.as_ref().and_then(|class| number(class, &["value"])).unwrap_or(0);
    if let Some(said) = number(pod, &["spec", "priority"]).filter(|said| *said != value) {
        let why = format!(
            "the integer value of priority ({said}) must not be provided in pod spec; priority admission controller \
             computed {value} from the given PriorityClass name"
        );
        return Err(attempt.forbidden(pod, &why));
    }
    let policy = class.as_ref().map_or(PREEMPTION_POLICY, |class| class.text(&["preemptionPolicy"])).to_owned();
    let said = pod.text(&["spec", "preemptionPolicy"]);
    if !policy.is_empty() && !said.is_empty() && said != policy {
        let why = format!(
            "the string value of PreemptionPolicy ({said}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        );
        return Err(attempt.forbidden(pod, &why));
    }
    let spec = pod.spec_mut();
    spec.insert("priority".to_owned(), value.into());
    if !policy.is_empty() {
        spec.insert("preemptionPolicy".to_owned(), policy.into());
    }
    if let Some(class) = class {
        spec.insert("priorityClassName".to_owned(), class.name().into());
    }
    Ok(())
}

fn class_of(pod: &Object, attempt: &Attempt<'_>) -> Result<Option<Object>, ApiError> {
    match pod.text(&["spec", "priorityClassName"]) {
        "" => default_class(attempt),
        name => match attempt.look.one(CLASSES, "", name)? {
            None => Err(attempt.forbidden(pod, &format!("no PriorityClass with name {name} was found"))),
            found => Ok(found),
        },
    }
}

/// Of several that want to be everybody's, the least important one.
fn default_class(attempt: &Attempt<'_>) -> Result<Option<Object>, ApiError> {
    let classes = attempt.look.all(CLASSES, "")?.into_iter();
    let meant = classes.filter(|class| class.get("globalDefault") == Some(&Value::Bool(true)));
    Ok(meant.min_by_key(|class| class.get("value").and_then(Value::as_i64)))
}

pub(super) fn check_default(class: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !attempt.is_about(CLASSES.0, CLASSES.1) || class.get("globalDefault") != Some(&Value::Bool(true)) {
        return Ok(());
    }
    match default_class(attempt)? {
        Some(found) if attempt.old.is_none() || found.name() != class.name() => {
            let name = found.name();
            let why = format!("PriorityClass {name} is already marked as default. Only one default can exist");
            Err(attempt.forbidden(class, &why))
        }
        _ => Ok(()),
    }
}
