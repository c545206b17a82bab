//! Requests that are refused, or not.

use super::stage::{everything, policy, validate};
use crate::hooks::Told;
use crate::hooks::tests::stage::{Scene, scene};
use serde_json::{Value, json};

const WEB: &str = "CREATE apps/v1/deployments n/web";

/// A deployment with so many replicas.
fn deployment(line: &str, replicas: i64) -> Scene {
    let mut scene = scene(line);
    for object in [&mut scene.object, &mut scene.old].into_iter().flatten() {
        object["spec"] = json!({ "replicas": replicas });
    }
    scene
}

fn refusing(name: &str, more: Value) -> Value {
    let mut policy = policy(name, more);
    if policy["spec"].get("validations").is_none() {
        policy["spec"]["validations"] = json!([{ "expression": "false", "message": "no" }]);
    }
    policy
}

#[track_caller]
fn refused(scene: &Scene, policies: &[Value], code: u16, message: &str) {
    let error = validate(scene, policies).expect_err("it was not refused");
    assert_eq!((error.code(), error.message()), (code, message));
}

#[track_caller]
fn allowed(scene: &Scene, policies: &[Value]) -> Told {
    validate(scene, policies).unwrap()
}

/// What a policy says of the deployment, without who says it.
fn said(more: Value) -> String {
    let Err(error) = validate(&deployment(WEB, 2), &[refusing("p", more)]) else { return String::new() };
    let message = error.message().to_owned();
    message.split_once("denied request: ").map_or(message.clone(), |(_, why)| why.to_owned())
}

#[test]
fn a_denial_names_policy_and_binding() {
    let message = "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied \
                   request: no";
    refused(&scene(WEB), &[refusing("p", json!({}))], 422, message);
    let error = validate(&scene(WEB), &[refusing("p", json!({}))]).unwrap_err();
    let told = message.split_once("forbidden: ").unwrap().1;
    let details = json!({ "name": "web", "group": "apps", "kind": "deployments", "causes": [{ "message": told }] });
    assert_eq!((error.reason(), &error.status()["details"]), ("Invalid", &details));
}

#[test]
fn the_reason_decides_the_code() {
    let code = |reason: &str| {
        let validations = json!([{ "expression": "false", "reason": reason }]);
        let error = validate(&scene(WEB), &[refusing("p", json!({ "validations": validations }))]).unwrap_err();
        (error.code(), error.reason().to_owned())
    };
    assert_eq!(code("Forbidden"), (403, "Forbidden".to_owned()));
    assert_eq!(code("Unauthorized"), (401, "Unauthorized".to_owned()));
    assert_eq!(code("RequestEntityTooLarge"), (413, "RequestEntityTooLarge".to_owned()));
    assert_eq!(code("Invalid"), (422, "Invalid".to_owned()));
}

#[test]
fn the_first_policy_by_name_is_told() {
    let message = |error: crate::error::ApiError| error.message().to_owned();
    let policies = [refusing("b", json!({})), refusing("a", json!({}))];
    assert!(message(validate(&scene(WEB), &policies).unwrap_err()).contains("ValidatingAdmissionPolicy 'a'"));
}

/// What the conformance test of validation does.
#[test]
fn deployments_need_replicas_and_replica_sets_do_not() {
    let rules = json!([{
        "operations": ["CREATE", "UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
    }]);
    let mut constraints = everything();
    constraints["namespaceSelector"] = json!({ "matchLabels": { "in": "n" } });
    constraints["resourceRules"] = rules;
    let validations = json!([
        { "expression": "object.spec.replicas > 1",
          "messageExpression": "'wants replicas > 1, got ' + object.spec.replicas" },
        { "expression": "namespaceObject.metadata.name == 'n'", "message": "Internal error!" },
    ]);
    let policies = [refusing("p", json!({ "matchConstraints": constraints, "validations": validations }))];
    let message = "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied \
                   request: failed expression: object.spec.replicas > 1";
    refused(&deployment(WEB, 1), &policies, 422, message);
    allowed(&deployment(WEB, 2), &policies);
    allowed(&deployment("CREATE apps/v1/replicasets n/web", 1), &policies);
    allowed(&deployment("CREATE apps/v1/deployments other/web", 1), &policies);
}

/// What the conformance test of variables does.
#[test]
fn variables_are_used_by_validations_and_each_other() {
    let policies = [refusing(
        "p",
        json!({
            "variables": [
                { "name": "replicas", "expression": "object.spec.replicas" },
                { "name": "oddReplicas", "expression": "variables.replicas % 2 == 1" },
            ],
            "validations": [{ "expression": "variables.replicas > 1" }, { "expression": "variables.oddReplicas" }],
        }),
    )];
    assert!(validate(&deployment(WEB, 1), &policies).is_err());
    assert!(validate(&deployment(WEB, 2), &policies).is_err());
    allowed(&deployment(WEB, 3), &policies);
}

#[test]
fn what_was_is_known_when_it_is_deleted() {
    let validations = json!([{ "expression": "object == null && oldObject.spec.replicas == 1" }]);
    let policies = [refusing("p", json!({ "validations": validations }))];
    allowed(&deployment("DELETE apps/v1/deployments n/web", 1), &policies);
    assert!(validate(&deployment("DELETE apps/v1/deployments n/web", 2), &policies).is_err());
}

#[test]
fn rules_selectors_and_exclusions_say_what_is_meant() {
    let meant = |line: &str, field: &str, value: Value| {
        let mut constraints = everything();
        constraints[field] = value;
        validate(&scene(line), &[refusing("p", json!({ "matchConstraints": constraints }))]).is_err()
    };
    let rule = |group: &str, version: &str, resource: &str| json!({ "operations": ["*"], "apiGroups": [group], "apiVersions": [version], "resources": [resource] });
    assert!(meant(WEB, "resourceRules", json!([rule("apps", "v1", "deployments")])));
    assert!(!meant(WEB, "resourceRules", json!([rule("apps", "v1", "daemonsets")])));
    assert!(!meant(WEB, "excludeResourceRules", json!([rule("apps", "v1", "deployments")])));
    assert!(meant(WEB, "excludeResourceRules", json!([rule("apps", "v1", "deployments/scale")])));
    assert!(meant(WEB, "objectSelector", json!({ "matchLabels": { "a": "1" } })));
    assert!(!meant(WEB, "objectSelector", json!({ "matchLabels": { "a": "2" } })));
    assert!(meant(WEB, "namespaceSelector", json!({ "matchLabels": { "in": "n" } })));
    assert!(!meant(WEB, "namespaceSelector", json!({ "matchLabels": { "in": "m" } })));
    let named = |name: &str| {
        let mut rule = rule("apps", "v1", "deployments");
        rule["resourceNames"] = json!([name]);
        meant(WEB, "resourceRules", json!([rule]))
    };
    assert!(named("web") && !named("other"));
    let events = "CREATE events.k8s.io/v1/events n/e";
    assert!(meant(events, "resourceRules", json!([rule("", "v1", "events")])));
}

#[test]
fn a_binding_can_mean_less_than_its_policy() {
    let bound = |value: Value| {
        let mut resources = everything();
        resources["namespaceSelector"] = value;
        said(json!({ "binding": { "matchResources": resources } }))
    };
    assert_eq!(bound(json!({ "matchLabels": { "in": "n" } })), "no");
    assert_eq!(bound(json!({ "matchLabels": { "in": "m" } })), "");
}

#[test]
fn the_policies_themselves_are_nobodys_to_refuse() {
    let policies = [refusing("p", json!({}))];
    allowed(&scene("CREATE admissionregistration.k8s.io/v1/validatingadmissionpolicies p"), &policies);
    allowed(&scene("CREATE admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings p"), &policies);
    allowed(&scene("CREATE authorization.k8s.io/v1/selfsubjectaccessreviews p"), &policies);
    let hooks = scene("CREATE admissionregistration.k8s.io/v1/validatingwebhookconfigurations w");
    assert!(validate(&hooks, &policies).is_err());
}

fn with_params(reference: Value) -> String {
    said(json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "validations": [{ "expression": "object.spec.replicas <= int(params.data.max)",
                          "messageExpression": "'at most ' + params.data.max" }],
        "binding": { "paramRef": reference },
    }))
}

#[test]
fn params_are_found_by_name_or_by_labels() {
    assert_eq!(with_params(json!({ "name": "low" })), "at most 1");
    assert_eq!(with_params(json!({ "name": "low", "namespace": "other" })), "");
    assert_eq!(with_params(json!({ "name": "high" })), "");
    assert_eq!(with_params(json!({ "selector": { "matchLabels": { "size": "small" } } })), "at most 1");
    assert_eq!(with_params(json!({ "selector": {} })), "at most 1");
}

#[test]
fn params_that_are_not_there_matter_if_their_binding_says_so() {
    let denied = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert_eq!(with_params(json!({ "name": "none", "parameterNotFoundAction": "Allow" })), "");
    assert_eq!(with_params(json!({ "name": "none", "parameterNotFoundAction": "Deny" })), denied);
    let nowhere = json!({ "matchLabels": { "a": "b" } });
    assert_eq!(with_params(json!({ "selector": nowhere, "parameterNotFoundAction": "Deny" })), denied);
}

#[test]
fn params_are_where_their_kind_is() {
    let cluster = json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass" });
    let of = |kind: &Value, reference: Value| said(json!({ "paramKind": kind, "binding": { "paramRef": reference } }));
    assert_eq!(of(&cluster, json!({ "name": "low" })), "no");
    let told = "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
    assert_eq!(of(&cluster, json!({ "name": "low", "namespace": "n" })), told);
    let unknown = json!({ "apiVersion": "example.com/v1", "kind": "Nothing" });
    let told =
        "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Nothing'";
    assert_eq!(of(&unknown, json!({ "name": "low" })), told);
    let kind = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    let policies = [refusing("p", json!({ "paramKind": kind, "binding": { "paramRef": { "name": "low" } } }))];
    let message = "nodes \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied request: failed \
                   to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped \
                   resources";
    refused(&scene("CREATE v1/nodes x"), &policies, 422, message);
}

#[test]
fn what_cannot_be_asked_is_ignored_where_the_policy_says_so() {
    let broken = json!([{ "expression": "object.nothing == 1" }]);
    let told = "expression 'object.nothing == 1' resulted in error: no such key: nothing";
    assert_eq!(said(json!({ "validations": broken })), told);
    assert_eq!(said(json!({ "validations": broken, "failurePolicy": "Ignore" })), "");
    assert_eq!(said(json!({ "failurePolicy": "Ignore" })), "no");
    assert_eq!(said(json!({ "matchConstraints": null, "failurePolicy": "Ignore" })), "");
    let told = "failed to configure policy: policy contained no match constraints, a required field";
    assert_eq!(said(json!({ "matchConstraints": null })), told);
}

#[test]
fn a_namespace_that_is_not_there_is_not_found() {
    refused(&scene("CREATE v1/pods gone/p"), &[refusing("p", json!({}))], 404, "namespaces \"gone\" not found");
}

#[test]
fn warnings_and_records_do_not_refuse() {
    let told =
        |actions: Value| allowed(&scene(WEB), &[refusing("p", json!({ "binding": { "validationActions": actions } }))]);
    let warning = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-binding': no";
    assert_eq!(told(json!(["Warn"])).warnings, [warning]);
    let recorded = told(json!(["Warn", "Audit"]));
    let value = "[{\"message\":\"no\",\"policy\":\"p\",\"binding\":\"p-binding\",\"expressionIndex\":0,\
                 \"validationActions\":[\"Warn\",\"Audit\"]}]";
    assert_eq!(recorded.annotations["validation.policy.admission.k8s.io/validation_failure"], value);
    let error = validate(
        &scene(WEB),
        &[refusing("a", json!({ "binding": { "validationActions": ["Warn"] } })), refusing("b", json!({}))],
    );
    assert_eq!(error.unwrap_err().warnings().len(), 1);
}

#[test]
fn what_is_recorded_is_recorded_under_the_name_of_the_policy() {
    let policies = [refusing(
        "p",
        json!({
            "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
            "validations": [],
            "auditAnnotations": [
                { "key": "max", "valueExpression": "string(params.data.max)" },
                { "key": "name", "valueExpression": "string(object.metadata.name)" },
                { "key": "none", "valueExpression": "null" },
            ],
            "binding": { "paramRef": { "selector": {} } },
        }),
    )];
    let annotations = allowed(&deployment(WEB, 1), &policies).annotations;
    let found: Vec<(&str, &str)> = annotations.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(found, [("p/max", "1, 0, 100"), ("p/name", "web")]);
}

#[test]
fn who_asks_is_asked_of_the_authorizer() {
    let validations = |expression: &str| json!({ "validations": [{ "expression": expression, "message": "no" }] });
    assert_eq!(said(validations("authorizer.requestResource.check('get').allowed()")), "");
    let account = "authorizer.serviceAccount('n', 'a').group('apps').resource('x').check('get').allowed()";
    assert_eq!(said(validations(account)), "no");
}

#[test]
fn a_policy_that_nobody_binds_does_nothing() {
    let other = refusing("p", json!({ "binding": { "policyName": "other" } }));
    assert!(super::stage::validating(std::slice::from_ref(&other)).is_empty());
    allowed(&scene(WEB), &[other]);
}
