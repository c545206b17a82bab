//! Who may do what: roles, bindings, reviews, and acting as somebody else.

use crate::stage::{Answer, Stage};
use apiserver::auth::User;
use apiserver::pipeline::Peer;
use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";

/// Somebody asks for a certificate.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIT01IVUNBUUF3RXpFUk1BOEdBMVVFQXd3SWMyOXRaV0p2Wkhrd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqTwpQUU1CQndOQ0FBUWp1Ynd1Z0RSZnJWQkdYb0RMQ3RmN0xrQ1U1OTJSYnJUV0RsdXhJWnJvRmFyZDI3NFpXSzZDCjJDQ2JHV3B5dFB4OFdzWG9PbFlNWUEzU2dCR0hXc2Vkb0FBd0NnWUlLb1pJemowRUF3SURTUUF3UmdJaEFQdGIKVWJiRC9EU1Z1NXFwWk1SUFRMZ3E0ZHVoOFpMUDV0alloY3RMaVQzVEFpRUE4WS9SU3p1dGNKOWJ4QjY5aVJxZgorcnI3c2Z3UHZSTVJDcHJXVXo0Q3B6ST0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

/// Sends a request as somebody; `headers` are `name: value`.
async fn send_as(stage: &Stage, name: &str, line: &str, headers: &[&str], body: Option<&Value>) -> Answer {
    let (method, uri) = line.split_once(' ').unwrap();
    let user = User::authenticated(name, Vec::new());
    let mut request = Request::builder().method(method).uri(uri).extension(Peer::user(user));
    for header in headers {
        let (name, value) = header.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    let body = body.map_or_else(Body::empty, |body| body.to_string().into());
    stage.answer(request.header("content-type", "application/json").body(body).unwrap()).await
}

async fn ask_as(stage: &Stage, name: &str, line: &str) -> Answer {
    send_as(stage, name, line, &[], None).await
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str]) -> Value {
    json!({ "verbs": verbs, "apiGroups": groups, "resources": resources })
}

fn role(name: &str, rules: &[Value]) -> Value {
    json!({ "metadata": { "name": name }, "rules": rules })
}

fn binding(name: &str, kind: &str, role: &str, user: &str) -> Value {
    json!({
        "metadata": { "name": name }, "roleRef": { "apiGroup": GROUP, "kind": kind, "name": role },
        "subjects": [{ "kind": "User", "apiGroup": GROUP, "name": user }],
    })
}

/// Gives a user rules everywhere.
async fn give(stage: &Stage, user: &str, rules: &[Value]) {
    let name = format!("of-{user}");
    stage.send(&format!("POST {RBAC}/clusterroles"), &role(&name, rules)).await.expect(201);
    let binding = binding(&name, "ClusterRole", &name, user);
    stage.send(&format!("POST {RBAC}/clusterrolebindings"), &binding).await.expect(201);
}

#[tokio::test]
async fn rules_count_from_the_moment_they_are_written_until_they_are_taken_away() {
    let stage = Stage::new().await;
    ask_as(&stage, "ann", "GET /api/v1/namespaces/n/configmaps").await.refused(403);
    give(&stage, "ann", &[rule(&["list"], &[""], &["configmaps"])]).await;
    ask_as(&stage, "ann", "GET /api/v1/namespaces/n/configmaps").await.expect(200);
    ask_as(&stage, "ann", "GET /api/v1/configmaps").await.expect(200);
    ask_as(&stage, "ann", "GET /api/v1/namespaces/n/configmaps/c").await.refused(403);
    ask_as(&stage, "bob", "GET /api/v1/namespaces/n/configmaps").await.refused(403);
    stage.ask(&format!("DELETE {RBAC}/clusterrolebindings/of-ann")).await.expect(200);
    ask_as(&stage, "ann", "GET /api/v1/namespaces/n/configmaps").await.refused(403);
}

#[tokio::test]
async fn rules_of_a_namespace_count_in_it_and_rules_of_a_workspace_in_it() {
    let stage = Stage::new().await;
    stage.send("POST /api/v1/namespaces", &json!({ "metadata": { "name": "m" } })).await.expect(201);
    let roles = format!("POST {RBAC}/namespaces/n/roles");
    stage.send(&roles, &role("reader", &[rule(&["get", "list"], &[""], &["pods", "namespaces"])])).await.expect(201);
    let bindings = format!("POST {RBAC}/namespaces/n/rolebindings");
    stage.send(&bindings, &binding("reader", "Role", "reader", "ann")).await.expect(201);
    ask_as(&stage, "ann", "GET /api/v1/namespaces/n/pods").await.expect(200);
    ask_as(&stage, "ann", "GET /api/v1/namespaces/n").await.expect(200);
    ask_as(&stage, "ann", "GET /api/v1/namespaces/m").await.refused(403);
    ask_as(&stage, "ann", "GET /api/v1/namespaces/m/pods").await.refused(403);
    ask_as(&stage, "ann", "GET /api/v1/pods").await.refused(403);
    give(&stage, "bob", &[rule(&["*"], &["*"], &["*"])]).await;
    ask_as(&stage, "bob", "GET /api/v1/pods").await.expect(200);
    ask_as(&stage, "bob", "GET /clusters/other/api/v1/pods").await.refused(403);
}

#[tokio::test]
async fn a_binding_to_a_role_that_is_not_there_is_told_of() {
    let stage = Stage::new().await;
    let lost = binding("lost", "ClusterRole", "missing", "ann");
    stage.send(&format!("POST {RBAC}/clusterrolebindings"), &lost).await.expect(201);
    let (_, message) = ask_as(&stage, "ann", "GET /api/v1/namespaces/n/pods/p").await.refused(403);
    let expected = "pods \"p\" is forbidden: User \"ann\" cannot get resource \"pods\" in API group \"\" in the namespace \"n\": rbac: RBAC: clusterrole.rbac.authorization.k8s.io \"missing\" not found";
    assert_eq!(message, expected);
}

#[tokio::test]
async fn whoever_may_see_one_name_may_list_and_watch_it() {
    let stage = Stage::new().await;
    stage.configmap("one", json!({})).await;
    stage.configmap("two", json!({})).await;
    let mut rule = rule(&["list", "watch"], &[""], &["configmaps"]);
    rule["resourceNames"] = json!(["one"]);
    give(&stage, "ann", &[rule]).await;
    let path = "GET /api/v1/namespaces/n/configmaps";
    let list = ask_as(&stage, "ann", &format!("{path}?fieldSelector=metadata.name%3Done")).await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    ask_as(&stage, "ann", &format!("{path}?fieldSelector=metadata.name%3Dtwo")).await.refused(403);
    ask_as(&stage, "ann", path).await.refused(403);
}

#[tokio::test]
async fn making_by_update_needs_permission_to_make() {
    let stage = Stage::new().await;
    give(&stage, "ann", &[rule(&["update", "patch", "get"], &["coordination.k8s.io"], &["leases"])]).await;
    let lease = json!({ "metadata": { "name": "l" }, "spec": {} });
    let at = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l";
    let (_, message) = send_as(&stage, "ann", &format!("PUT {at}"), &[], Some(&lease)).await.refused(403);
    assert!(message.contains("cannot create resource \"leases\""), "{message}");
    let made = stage.send(&format!("PUT {at}"), &lease).await.expect(201);
    send_as(&stage, "ann", &format!("PUT {at}"), &[], Some(&made)).await.expect(200);
}

#[tokio::test]
async fn nobody_is_told_what_is_served_who_may_not_use_it() {
    let stage = Stage::new().await;
    for (line, told) in [
        ("GET /apis/x.example/v1/things", "things.x.example is forbidden: User \"eve\" cannot list"),
        ("GET /nowhere", "forbidden: User \"eve\" cannot get path \"/nowhere\""),
        ("PUT /api/v1/pods", "pods is forbidden: User \"eve\" cannot update"),
    ] {
        let (_, message) = ask_as(&stage, "eve", line).await.refused(403);
        assert!(message.starts_with(told), "{message}");
    }
    let everything = json!({ "verbs": ["*"], "nonResourceURLs": ["*"] });
    give(&stage, "eve", &[rule(&["*"], &["*"], &["*"]), everything]).await;
    ask_as(&stage, "eve", "GET /apis/x.example/v1/things").await.refused(404);
    ask_as(&stage, "eve", "GET /nowhere").await.refused(404);
    ask_as(&stage, "eve", "PUT /api/v1/pods").await.refused(405);
}

#[tokio::test]
async fn whoever_rules_a_workspace_does_not_rule_the_server() {
    let stage = Stage::new().await;
    let all = json!({ "verbs": ["*"], "nonResourceURLs": ["*"] });
    let roles = format!("POST /clusters/other{RBAC}");
    stage.send(&format!("{roles}/clusterroles"), &role("all", std::slice::from_ref(&all))).await.expect(201);
    stage.send(&format!("{roles}/clusterrolebindings"), &binding("b", "ClusterRole", "all", "ann")).await.expect(201);
    ask_as(&stage, "ann", "GET /clusters/other/apis").await.expect(200);
    ask_as(&stage, "ann", "GET /clusters/other/metrics").await.refused(403);
    give(&stage, "ann", &[all]).await;
    assert_eq!(ask_as(&stage, "ann", "GET /clusters/other/metrics").await.code, 200);
}

#[tokio::test]
async fn nobody_gives_what_they_do_not_have() {
    let stage = Stage::new().await;
    let write = rule(&["*"], &[GROUP], &["clusterroles", "clusterrolebindings"]);
    let write = json!({ "verbs": ["create", "update", "patch", "get"], "apiGroups": write["apiGroups"], "resources": write["resources"] });
    give(&stage, "ann", &[write, rule(&["get"], &[""], &["pods"])]).await;
    let roles = format!("POST {RBAC}/clusterroles");
    let more = role("more", &[rule(&["get", "delete"], &[""], &["pods"])]);
    let (_, message) = send_as(&stage, "ann", &roles, &[], Some(&more)).await.refused(403);
    let expected = "clusterroles.rbac.authorization.k8s.io \"more\" is forbidden: user \"ann\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}";
    assert_eq!(message, expected);
    let same = role("same", &[rule(&["get"], &[""], &["pods"])]);
    send_as(&stage, "ann", &roles, &[], Some(&same)).await.expect(201);
    stage.send(&roles, &more).await.expect(201);
    let bindings = format!("POST {RBAC}/clusterrolebindings");
    let bound = binding("b", "ClusterRole", "more", "ann");
    send_as(&stage, "ann", &bindings, &[], Some(&bound)).await.refused(403);
    let unknown = binding("b", "ClusterRole", "unknown", "ann");
    let (reason, message) = send_as(&stage, "ann", &bindings, &[], Some(&unknown)).await.refused(404);
    assert_eq!(
        (&*reason, &*message),
        ("NotFound", "clusterrolebindings.rbac.authorization.k8s.io \"unknown\" not found")
    );
    let same = binding("c", "ClusterRole", "same", "bob");
    send_as(&stage, "ann", &bindings, &[], Some(&same)).await.expect(201);
    let grown = role("same", &[rule(&["*"], &["*"], &["*"])]);
    send_as(&stage, "ann", &format!("PUT {RBAC}/clusterroles/same"), &[], Some(&grown)).await.refused(403);
}

#[tokio::test]
async fn reviews_tell_who_may_do_what_and_why() {
    let stage = Stage::new().await;
    give(&stage, "ann", &[rule(&["get"], &[""], &["pods"])]).await;
    let asked = |user: &str, verb: &str| {
        let about = json!({ "verb": verb, "resource": "pods", "namespace": "n" });
        json!({ "spec": { "user": user, "resourceAttributes": about } })
    };
    let reviews = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";
    let status = stage.send(reviews, &asked("ann", "get")).await.expect(201)["status"].clone();
    let reason = "RBAC: allowed by ClusterRoleBinding \"of-ann\" of ClusterRole \"of-ann\" to User \"ann\"";
    assert_eq!(status, json!({ "allowed": true, "reason": reason }));
    assert_eq!(stage.send(reviews, &asked("ann", "list")).await.expect(201)["status"], json!({ "allowed": false }));
    let mut selecting = asked("ann", "get");
    selecting["spec"]["resourceAttributes"]["fieldSelector"] = json!({ "rawSelector": "a" });
    let requirements = json!([
        { "key": "a", "operator": "In", "values": ["b"] }, { "key": "a", "operator": "Odd", "values": ["b"] },
    ]);
    selecting["spec"]["resourceAttributes"]["labelSelector"] = json!({ "requirements": requirements });
    let status = stage.send(reviews, &selecting).await.expect(201)["status"].clone();
    let told = "spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector partially ignored due to parse error";
    assert_eq!(status["evaluationError"], told);
    // Whoever may not ask about others is not answered.
    send_as(&stage, "ann", reviews, &[], Some(&asked("bob", "get"))).await.refused(403);
}

#[tokio::test]
async fn everybody_may_be_told_what_they_may_do() {
    let stage = Stage::new().await;
    let questions = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];
    let pods = rule(&["get"], &[""], &["pods"]);
    let paths = json!({ "verbs": ["get"], "nonResourceURLs": ["/metrics"] });
    give(&stage, "ann", &[rule(&["create"], &["authorization.k8s.io"], &questions), pods.clone(), paths.clone()]).await;
    let path = "POST /apis/authorization.k8s.io/v1";
    let asked = json!({ "spec": { "nonResourceAttributes": { "verb": "get", "path": "/metrics" } } });
    let answer = send_as(&stage, "ann", &format!("{path}/selfsubjectaccessreviews"), &[], Some(&asked)).await;
    assert_eq!(answer.expect(201)["status"]["allowed"], true);
    let asked = json!({ "spec": { "namespace": "n" } });
    let answer = send_as(&stage, "ann", &format!("{path}/selfsubjectrulesreviews"), &[], Some(&asked)).await;
    let status = answer.expect(201)["status"].clone();
    assert_eq!(status["resourceRules"][1], pods);
    assert_eq!(status["nonResourceRules"], json!([paths]));
    assert_eq!(status["incomplete"], false);
}

#[tokio::test]
async fn acting_as_somebody_else_needs_permission_and_shows() {
    let stage = Stage::new().await;
    let line = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
    let headers = ["impersonate-user: zoe", "impersonate-group: dev", "impersonate-extra-scopes: view"];
    let body = json!({});
    send_as(&stage, "ann", line, &headers, Some(&body)).await.refused(403);
    give(
        &stage,
        "ann",
        &[rule(&["impersonate"], &["", "authentication.k8s.io"], &["users", "groups", "userextras/scopes"])],
    )
    .await;
    give(&stage, "zoe", &[rule(&["create"], &["authentication.k8s.io"], &["selfsubjectreviews"])]).await;
    let answer = send_as(&stage, "ann", line, &headers, Some(&body)).await.expect(201);
    let expected = json!({
        "username": "zoe", "groups": ["dev", "system:authenticated"], "extra": { "scopes": ["view"] },
    });
    assert_eq!(answer["status"]["userInfo"], expected);
    let (_, message) = send_as(&stage, "ann", line, &["impersonate-group: dev"], Some(&body)).await.refused(400);
    assert!(message.ends_with("without impersonating a user name"), "{message}");
    let (_, message) =
        send_as(&stage, "ann", line, &["impersonate-user: system:serviceaccount:n:a"], Some(&body)).await.refused(403);
    assert!(message.contains("impersonate-on:serviceaccount:create"), "{message}");
}

#[tokio::test]
async fn whoever_became_master_in_a_workspace_is_nobody_elsewhere() {
    let stage = Stage::new().await;
    let roles = format!("POST /clusters/other{RBAC}");
    stage.send(&format!("{roles}/clusterroles"), &role("all", &[rule(&["*"], &["*"], &["*"])])).await.expect(201);
    stage.send(&format!("{roles}/clusterrolebindings"), &binding("b", "ClusterRole", "all", "ann")).await.expect(201);
    let headers = ["impersonate-user: root", "impersonate-group: system:masters"];
    send_as(&stage, "ann", "GET /clusters/other/api/v1/pods", &headers, None).await.expect(200);
    send_as(&stage, "ann", "GET /api/v1/pods", &headers, None).await.refused(403);
    // What is about the whole server is not for whoever rules one workspace.
    send_as(&stage, "ann", "GET /clusters/other/metrics", &headers, None).await.refused(403);
}

#[tokio::test]
async fn approving_and_signing_is_permitted_for_signers() {
    let stage = Stage::new().await;
    let write = rule(
        &["update", "patch"],
        &["certificates.k8s.io"],
        &["certificatesigningrequests/approval", "certificatesigningrequests/status"],
    );
    give(&stage, "ann", &[write]).await;
    let request = json!({
        "metadata": { "name": "c" },
        "spec": { "signerName": "example.com/s", "request": REQUEST, "usages": ["digital signature"] },
    });
    let all = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let mut hollow = request.clone();
    let pem = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
    hollow["spec"]["request"] = openapi::scalar::base64::encode(pem.as_bytes()).into();
    let (_, message) = stage.send(&format!("POST {all}"), &hollow).await.refused(422);
    assert!(message.contains("spec.request"), "{message}");
    stage.send(&format!("POST {all}"), &request).await.expect(201);
    let mut approved = stage.ask(&format!("GET {all}/c")).await.expect(200);
    approved["status"] =
        json!({ "conditions": [{ "type": "Approved", "status": "True", "reason": "r", "message": "m" }] });
    let line = format!("PUT {all}/c/approval");
    let (_, message) = send_as(&stage, "ann", &line, &[], Some(&approved)).await.refused(403);
    let why = "user not permitted to approve requests with signerName \"example.com/s\"";
    assert_eq!(message, format!("certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: {why}"));
    let mut approve = rule(&["approve"], &["certificates.k8s.io"], &["signers"]);
    approve["resourceNames"] = json!(["example.com/*"]);
    stage.send(&format!("POST {RBAC}/clusterroles"), &role("approve", &[approve])).await.expect(201);
    let bound = binding("approve", "ClusterRole", "approve", "ann");
    stage.send(&format!("POST {RBAC}/clusterrolebindings"), &bound).await.expect(201);
    send_as(&stage, "ann", &line, &[], Some(&approved)).await.expect(200);
    let mut signed = stage.ask(&format!("GET {all}/c")).await.expect(200);
    signed["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "type": "Failed", "status": "True", "reason": "r" }));
    let (_, message) = send_as(&stage, "ann", &format!("PUT {all}/c/status"), &[], Some(&signed)).await.refused(403);
    assert!(message.ends_with("user not permitted to sign requests with signerName \"example.com/s\""), "{message}");
}

#[tokio::test]
async fn owners_are_for_those_who_may_delete_and_keep() {
    let stage = Stage::new().await;
    let owner = stage.configmap("owner", json!({})).await;
    stage.configmap("owned", json!({})).await;
    give(&stage, "ann", &[rule(&["get", "update", "create"], &[""], &["configmaps"])]).await;
    let reference = |blocks: bool| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": blocks,
        })
    };
    let owned =
        |name: &str, blocks: bool| json!({ "metadata": { "name": name, "ownerReferences": [reference(blocks)] } });
    let at = "/api/v1/namespaces/n/configmaps";
    let (_, message) =
        send_as(&stage, "ann", &format!("PUT {at}/owned"), &[], Some(&owned("owned", false))).await.refused(403);
    assert!(message.ends_with("cannot set an ownerRef on a resource you can't delete: , <nil>"), "{message}");
    send_as(&stage, "ann", &format!("POST {at}"), &[], Some(&owned("mine", false))).await.expect(201);
    let (_, message) =
        send_as(&stage, "ann", &format!("POST {at}"), &[], Some(&owned("held", true))).await.refused(403);
    let told =
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>";
    assert!(message.ends_with(told), "{message}");
    give(
        &stage,
        "bob",
        &[rule(&["create"], &[""], &["configmaps"]), rule(&["update"], &[""], &["configmaps/finalizers"])],
    )
    .await;
    send_as(&stage, "bob", &format!("POST {at}"), &[], Some(&owned("held", true))).await.expect(201);
}

#[tokio::test]
async fn expressions_are_told_what_rules_permit() {
    let stage = Stage::new().await;
    let registration = "/apis/admissionregistration.k8s.io/v1";
    let made = |kind: &str, spec: Value| json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": "p" }, "spec": spec });
    let rule_of_policy = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
    });
    let check = "authorizer.group('').resource('secrets').namespace('n').name(object.metadata.name).check('get')";
    let spec = json!({
        "matchConstraints": { "resourceRules": [rule_of_policy] },
        "validations": [{ "expression": format!("{check}.allowed()") }],
    });
    let policy = made("ValidatingAdmissionPolicy", spec);
    stage.send(&format!("POST {registration}/validatingadmissionpolicies"), &policy).await.expect(201);
    let bound = made("ValidatingAdmissionPolicyBinding", json!({ "policyName": "p", "validationActions": ["Deny"] }));
    stage.send(&format!("POST {registration}/validatingadmissionpolicybindings"), &bound).await.expect(201);
    let mut one = rule(&["get"], &[""], &["secrets"]);
    one["resourceNames"] = json!(["one"]);
    give(&stage, "ann", &[rule(&["create"], &[""], &["configmaps"]), one]).await;
    let named = |name: &str| json!({ "metadata": { "name": name } });
    let line = "POST /api/v1/namespaces/n/configmaps";
    send_as(&stage, "ann", line, &[], Some(&named("one"))).await.expect(201);
    send_as(&stage, "ann", line, &[], Some(&named("two"))).await.refused(422);
    stage.send(line, &named("two")).await.expect(201);
}

#[tokio::test]
async fn what_is_taken_away_meanwhile_cannot_be_given() {
    let stage = Stage::new().await;
    give(&stage, "ann", &[rule(&["create"], &[GROUP], &["clusterroles"])]).await;
    let (roles, bindings) = (format!("POST {RBAC}/clusterroles"), format!("{RBAC}/clusterrolebindings"));
    let right = [rule(&["get"], &[""], &["pods"])];
    stage.send(&roles, &role("right", &right)).await.expect(201);
    let revision = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    let mut refused = 0;
    for round in 0..50 {
        let name = format!("right-{round}");
        let mut held = binding(&name, "ClusterRole", "right", "ann");
        stage.send(&format!("POST {bindings}"), &held).await.expect(201);
        held["subjects"] = json!([]);
        let given = role(&format!("given-{round}"), &right);
        let take = format!("PUT {bindings}/{name}");
        let (taken, given) = tokio::join!(stage.send(&take, &held), send_as(&stage, "ann", &roles, &[], Some(&given)));
        let taken = taken.expect(200);
        match given.code {
            201 => assert!(revision(&given.tree()) < revision(&taken), "given after it was taken away"),
            code => {
                assert_eq!(code, 403);
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "nobody was in a hurry");
}
