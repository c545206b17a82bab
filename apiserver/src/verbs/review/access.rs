//! Whether somebody may do something, and all that they may do.

use crate::auth::{Attributes, Authorized, Decision, MASTERS, Objects, Rule, Rulebook, Selector, Selectors, User};
use crate::auth::{aggregate, missing};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use crate::place::Collection;
use crate::resources::Resources;
use openapi::validation;
use serde_json::{Value, json};
use std::sync::Arc;

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
    let subject = resources.arrived(Arc::new(subject), workspace);
    let wanted = attributes(review);
    let decision = resources.authorizer().settle(&subject, workspace, &wanted).await?;
    Ok(status(&decision, &ignored(&wanted.selectors)))
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
    let selectors = Selectors { fields: selector(review, "fieldSelector"), labels: selector(review, "labelSelector") };
    let version = of_objects("version");
    Attributes { version, selectors, ..Attributes::objects(of_objects("verb"), objects) }
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
fn ignored(selectors: &Selectors<'_>) -> Vec<String> {
    let read = [("fieldSelector", selectors.fields()), ("labelSelector", selectors.labels())];
    let told = read.into_iter().filter(|(_, understood)| !understood.whole).map(|(name, understood)| {
        let how = if understood.requirements.is_empty() { "ignored" } else { "partially ignored" };
        format!("spec.resourceAttributes.{name} {how} due to parse error")
    });
    told.collect()
}

fn selector<'a>(review: &'a Object, name: &str) -> Selector<'a> {
    let part = |field: &str| review.pointer(&["spec", "resourceAttributes", name, field]);
    match part("requirements").and_then(Value::as_array) {
        Some(requirements) if !requirements.is_empty() => Selector::Requirements(requirements),
        _ => Selector::Text(part("rawSelector").and_then(Value::as_str).unwrap_or_default()),
    }
}

/// The status of a review of all rules that somebody has in a namespace.
pub(super) fn rules(resources: &Resources, at: &Authorized<Collection>, review: &Object) -> Result<Value, ApiError> {
    let namespace = review.text(&["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (own, workspace) = (resources.rules(&at.get().workspace)?, &at.get().workspace);
    let (mut rules, mut trouble) = (Vec::new(), Vec::new());
    for user in &resources.standing(at.user(), workspace) {
        let (more, why) = own.held(user, namespace);
        rules.extend(more);
        trouble.extend(why);
    }
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
