//! Whether somebody may do something, and all that they may do.

use crate::auth::{Attributes, Authorized, Decision, MASTERS, Objects, Rule, Rulebook, User, aggregate, missing};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use crate::place::Collection;
use crate::resources::Resources;
use crate::selector::{FieldSelector, LabelSelector};
use openapi::validation;
use serde_json::{Map, Value, json};

/// The status of an access review of any kind.
pub(super) async fn review(
    resources: &Resources,
    at: &Authorized<Collection>,
    review: &mut Object,
) -> Result<Value, ApiError> {
    let Collection { resource, workspace, namespace } = at.get();
    if let (None, Some(namespace)) = (review.pointer(&["metadata", "namespace"]), namespace) {
        review.set_metadata("namespace", namespace.as_str());
    }
    check(resource, review)?;
    let place = namespace.as_deref().unwrap_or_default();
    if resource.plural == "localsubjectaccessreviews" && review.text(&["metadata", "namespace"]) != place {
        let why = "spec.resourceAttributes.namespace must match namespace: ";
        return Err(ApiError::bad_request(format!("{why}{place}")));
    }
    let subject = if resource.plural == "selfsubjectaccessreviews" { (**at.user()).clone() } else { subject(review) };
    let decision = resources.authorizer().settle(&subject, workspace, &attributes(review)).await?;
    Ok(status(&decision, &ignored(review)))
}

fn check(resource: &ResourceDef, review: &mut Object) -> Result<(), ApiError> {
    let Some(ty) = resource.stored_type() else { return Ok(()) };
    let errors = review.as_tree(|tree| validation::create(tree, ty));
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid(&resource.group, &resource.kind, "", &errors)) }
}

fn subject(review: &Object) -> User {
    let groups = words(review.pointer(&["spec", "groups"]));
    let extra = review.pointer(&["spec", "extra"]).and_then(Value::as_object);
    let extra = extra.into_iter().flatten().map(|(key, values)| (key.clone(), words(Some(values)))).collect();
    let (name, uid) = (review.text(&["spec", "user"]).to_owned(), review.text(&["spec", "uid"]).to_owned());
    User { name, uid, groups, extra, ..User::default() }
}

fn words(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn attributes(review: &Object) -> Attributes<'_> {
    let of_objects = |field: &str| review.text(&["spec", "resourceAttributes", field]);
    let of_path = |field: &str| review.text(&["spec", "nonResourceAttributes", field]);
    if !review.pointer(&["spec", "resourceAttributes"]).is_some_and(Value::is_object) {
        return Attributes::path(of_path("verb"), of_path("path"));
    }
    let objects = Objects {
        group: of_objects("group"),
        resource: of_objects("resource"),
        subresource: of_objects("subresource"),
        namespace: of_objects("namespace"),
        name: of_objects("name"),
    };
    Attributes::objects(of_objects("verb"), objects)
}

fn status(decision: &Decision, ignored: &[String]) -> Value {
    let mut status = json!({ "allowed": decision.is_allowed() });
    if matches!(decision, Decision::Deny(_)) {
        status["denied"] = true.into();
    }
    if !decision.reason().is_empty() {
        status["reason"] = decision.reason().into();
    }
    if !ignored.is_empty() {
        status["evaluationError"] = ignored.join("; ").into();
    }
    status
}

/// Selectors that nobody understands make a question broader, and the answer says so.
fn ignored(review: &Object) -> Vec<String> {
    let selector = |name: &str| review.pointer(&["spec", "resourceAttributes", name]).and_then(Value::as_object);
    let fields = selector("fieldSelector").map_or(Understood::All, understand_fields);
    let labels = selector("labelSelector").map_or(Understood::All, understand_labels);
    let told = [("fieldSelector", fields), ("labelSelector", labels)].into_iter().filter_map(|(name, read)| {
        let how = match read {
            Understood::All => return None,
            Understood::Some => "partially ignored",
            Understood::None => "ignored",
        };
        Some(format!("spec.resourceAttributes.{name} {how} due to parse error"))
    });
    told.collect()
}

/// How much of a selector is.
enum Understood {
    All,
    Some,
    None,
}

fn understand_fields(selector: &Map<String, Value>) -> Understood {
    understand(
        selector,
        |raw| FieldSelector::parse(raw).is_ok(),
        |requirement| {
            let values = requirement["values"].as_array().map_or(0, Vec::len);
            matches!(requirement["operator"].as_str(), Some("In" | "NotIn")) && values == 1
        },
    )
}

fn understand_labels(selector: &Map<String, Value>) -> Understood {
    understand(
        selector,
        |raw| LabelSelector::parse(raw).is_ok(),
        |requirement| LabelSelector::from_object(&json!({ "matchExpressions": [requirement] })).is_ok(),
    )
}

fn understand(
    selector: &Map<String, Value>,
    raw: impl Fn(&str) -> bool,
    requirement: impl Fn(&Value) -> bool,
) -> Understood {
    let requirements = selector.get("requirements").and_then(Value::as_array);
    if let Some(requirements) = requirements.filter(|requirements| !requirements.is_empty()) {
        return match requirements.iter().filter(|one| requirement(one)).count() {
            all if all == requirements.len() => Understood::All,
            0 => Understood::None,
            _ => Understood::Some,
        };
    }
    let text = selector.get("rawSelector").and_then(Value::as_str).unwrap_or_default();
    if raw(text) { Understood::All } else { Understood::None }
}

/// The status of a review of all rules that somebody has in a namespace.
pub(super) fn rules(resources: &Resources, at: &Authorized<Collection>, review: &Object) -> Result<Value, ApiError> {
    let namespace = review.text(&["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (mut rules, trouble) = resources.rules(&at.get().workspace)?.held(at.user(), namespace);
    let full = Rule::full_authority();
    if at.user().is_in(MASTERS) && !missing(&rules, &full).is_empty() {
        rules.extend(full);
    }
    let told = |rule: &Rule, without: &[&str]| {
        let mut told = json!(rule);
        if let Some(fields) = told.as_object_mut() {
            fields.retain(|field, _| !without.contains(&field.as_str()));
        }
        told
    };
    let objects = rules.iter().filter(|rule| !rule.resources.is_empty()).map(|rule| told(rule, &["nonResourceURLs"]));
    let of_objects = ["apiGroups", "resources", "resourceNames"];
    let paths = rules.iter().filter(|rule| !rule.paths.is_empty()).map(|rule| told(rule, &of_objects));
    let (objects, paths): (Vec<Value>, Vec<Value>) = (objects.collect(), paths.collect());
    let mut status = json!({ "resourceRules": objects, "nonResourceRules": paths, "incomplete": false });
    if resources.asks_elsewhere() {
        // What others would permit is not known before they are asked about one thing.
        status["incomplete"] = true.into();
    }
    if !trouble.is_empty() {
        status["evaluationError"] = aggregate(&trouble).into();
    }
    Ok(status)
}
