//! What exporters see of those who took something, and what they may do there: Ann shares cowboys, Bob takes them.

use super::isolation::House;
use super::sharing::{binding, export, schema};
use apiserver::auth::User;
use apiserver::pipeline::Peer;
use serde_json::{Value, json};

const SCHEMAS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiresourceschemas");
const EXPORTS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apiexports");
const BINDINGS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apibindings");
const TYPES: (&str, &str, &str) = ("tenancy.kcp.io", "v1alpha1", "workspacetypes");
const RBAC: &str = "rbac.authorization.k8s.io";
const COWBOYS: &str = "/apis/wildwest.dev/v1alpha1";
const BOBS: &str = "root:ann-b";

impl House {
    /// Ann shares cowboys and claims config maps; `more` is what else her export says.
    pub(super) async fn share(&self, more: Value) {
        self.put(SCHEMAS, "root:ann", None, schema("today", &["v1alpha1"])).await;
        let mut export = export("cowboys", "today");
        export["spec"]["permissionClaims"] = json!([{ "group": "", "resource": "configmaps", "verbs": ["*"] }]);
        for (field, value) in more.as_object().unwrap() {
            export["spec"][field] = value.clone();
        }
        self.put(EXPORTS, "root:ann", None, export).await;
    }

    pub(super) async fn take(&self, path: &str, claims: Value) {
        let mut binding = binding("cowboys", "root:ann", "cowboys");
        binding["spec"]["permissionClaims"] = claims;
        self.put(BINDINGS, path, None, binding).await;
    }

    pub(super) async fn asked(&self, who: &str, line: &str, body: Value) -> (u16, String) {
        self.ask(Peer::user(User::authenticated(who, Vec::new())), line, &[], &body).await
    }

    #[track_caller]
    pub(super) fn is(&self, found: &(u16, String), code: u16) {
        assert_eq!(found.0, code, "{}", found.1);
    }

    /// Ann's window onto a workspace, or onto all.
    fn window(&self, onto: &str) -> String {
        format!("/services/apiexport/{}/cowboys/clusters/{onto}", self.find("root:ann"))
    }
}

fn accepted(selector: Value) -> Value {
    json!([{ "group": "", "resource": "configmaps", "verbs": ["*"], "selector": selector, "state": "Accepted" }])
}

fn cowboy(name: &str) -> Value {
    json!({ "apiVersion": "wildwest.dev/v1alpha1", "kind": "Cowboy", "metadata": { "name": name } })
}

#[tokio::test]
async fn an_exporter_sees_the_objects_of_its_kinds_in_all_workspaces() {
    let house = House::new().await;
    house.share(json!({})).await;
    let (everywhere, bobs) = (house.window("*"), house.find(BOBS));
    let list = format!("GET {everywhere}{COWBOYS}/cowboys");
    // It can be asked before anybody took anything.
    house.is(&house.asked("ann", &list, Value::Null).await, 200);
    house.take(BOBS, json!([])).await;
    let mine = format!("/clusters/{BOBS}{COWBOYS}/namespaces/default/cowboys");
    house.is(&house.asked("bob", &format!("POST {mine}"), cowboy("john")).await, 201);
    let found = house.asked("ann", &list, Value::Null).await;
    house.is(&found, 200);
    assert!(found.1.contains(&format!("\"kcp.io/cluster\":\"{bobs}\"")), "{}", found.1);
    let watched = house.asked("ann", &format!("{list}?watch=true"), Value::Null).await;
    assert!(watched.1.contains("ADDED") && watched.1.contains("john"), "{}", watched.1);
    let discovered = house.asked("ann", &format!("GET {everywhere}/apis"), Value::Null).await;
    assert!(discovered.1.contains("wildwest.dev") && !discovered.1.contains("\"apps\""), "{}", discovered.1);
    let theirs = format!("{}{COWBOYS}/namespaces/default/cowboys", house.window(BOBS));
    house.is(&house.asked("ann", &format!("POST {theirs}"), cowboy("jane")).await, 201);
    house.is(&house.asked("bob", &format!("GET {mine}/jane"), Value::Null).await, 200);
    house.is(&house.asked("ann", &format!("DELETE {theirs}/john"), Value::Null).await, 200);
    house.is(&house.asked("bob", &format!("GET {mine}/john"), Value::Null).await, 404);
    // All workspaces at once can be looked at, and no more than that.
    let all = format!("{everywhere}{COWBOYS}/namespaces/default/cowboys");
    house.is(&house.asked("ann", &format!("POST {all}"), cowboy("jim")).await, 405);
    house.is(&house.asked("ann", &format!("DELETE {all}/jane"), Value::Null).await, 405);
    let bindings =
        house.asked("ann", &format!("GET {everywhere}/apis/apis.kcp.io/v1alpha2/apibindings"), Value::Null).await;
    assert!(bindings.0 == 200 && bindings.1.contains("\"cowboys\""), "{}", bindings.1);
}

/// Objects in any workspace are made and deleted through the window of an export that nobody there has bound.
#[tokio::test]
async fn cve_2025_29922() {
    let house = House::new().await;
    house.share(json!({})).await;
    for path in [BOBS, "root:ann", "root", "root:nowhere"] {
        let place = format!("{}{COWBOYS}/namespaces/default/cowboys", house.window(path));
        for (line, body) in [
            (format!("POST {place}"), cowboy("x")),
            (format!("DELETE {place}/x"), Value::Null),
            (format!("GET {place}"), Value::Null),
            (format!("GET {}/api/v1/namespaces/default/configmaps", house.window(path)), Value::Null),
            (format!("GET {}/apis", house.window(path)), Value::Null),
        ] {
            house.is(&house.asked("ann", &line, body).await, 403);
        }
    }
}

#[tokio::test]
async fn a_window_is_closed_to_others_as_if_there_were_none() {
    let house = House::new().await;
    house.share(json!({})).await;
    house.take(BOBS, json!([])).await;
    let nowhere = house.window("*").replace("/cowboys/", "/nothing/");
    for path in ["/apis", "/apis/wildwest.dev/v1alpha1/cowboys", "/api/v1/secrets"] {
        let closed = house.asked("bob", &format!("GET {}{path}", house.window("*")), Value::Null).await;
        let missing = house.asked("bob", &format!("GET {nowhere}{path}"), Value::Null).await;
        assert_eq!(closed, missing, "{path}");
        house.is(&closed, 403);
    }
}

#[tokio::test]
async fn whoever_reads_bindings_reads_the_schemas_that_are_bound_and_no_others() {
    let house = House::new().await;
    house.share(json!({})).await;
    house.put(SCHEMAS, "root:ann", None, schema("secret", &["v1alpha1"])).await;
    house.take(BOBS, json!([])).await;
    let bobs = house.find(BOBS);
    let seen = |onto: &str| {
        format!("/services/apiresourceschema/{bobs}/clusters/{onto}/apis/apis.kcp.io/v1alpha1/apiresourceschemas")
    };
    for onto in ["*", bobs.as_str()] {
        let all = house.asked("bob", &format!("GET {}", seen(onto)), Value::Null).await;
        house.is(&all, 200);
        assert!(all.1.contains("today.cowboys.wildwest.dev") && !all.1.contains("secret"), "{}", all.1);
        let one = format!("GET {}/today.cowboys.wildwest.dev", seen(onto));
        house.is(&house.asked("bob", &one, Value::Null).await, 200);
        house.is(&house.asked("ann", &one, Value::Null).await, 403);
        for missing in ["secret.cowboys.wildwest.dev", "nothing"] {
            house.is(&house.asked("bob", &format!("GET {}/{missing}", seen(onto)), Value::Null).await, 404);
        }
        house.is(
            &house.asked("bob", &format!("DELETE {}/today.cowboys.wildwest.dev", seen(onto)), Value::Null).await,
            403,
        );
        let made = house.asked("bob", &format!("POST {}", seen(onto)), schema("new", &["v1"])).await;
        assert!([403, 405].contains(&made.0), "{}", made.1);
    }
    let watched = house.asked("bob", &format!("GET {}?watch=true", seen("*")), Value::Null).await;
    assert!(watched.1.contains("ADDED") && watched.1.contains("today.cowboys"), "{}", watched.1);
    let other = format!("GET {}", seen("root:ann"));
    assert_ne!(house.asked("bob", &other, Value::Null).await.0, 200);
}

#[tokio::test]
async fn claims_are_seen_as_far_as_they_were_accepted() {
    let house = House::new().await;
    house.share(json!({})).await;
    house.take(BOBS, accepted(json!({ "matchLabels": { "for": "ann" } }))).await;
    let map = |name: &str, label: &str| json!({ "metadata": { "name": name, "labels": { "for": label } } });
    for (name, label) in [("open", "ann"), ("shut", "bob")] {
        house.put(("", "v1", "configmaps"), BOBS, Some("default"), map(name, label)).await;
    }
    let all = house.asked("ann", &format!("GET {}/api/v1/configmaps", house.window("*")), Value::Null).await;
    assert!(all.1.contains("\"open\"") && !all.1.contains("\"shut\""), "{}", all.1);
    assert!(all.1.contains("kcp.io/cluster"), "{}", all.1);
    let place = format!("{}/api/v1/namespaces/default/configmaps", house.window(BOBS));
    let open = house.asked("ann", &format!("GET {place}/open"), Value::Null).await;
    assert!(open.0 == 200 && open.1.contains(&format!("\"kcp.io/cluster\":\"{}\"", house.find(BOBS))), "{}", open.1);
    for line in [format!("GET {place}/shut"), format!("DELETE {place}/shut")] {
        house.is(&house.asked("ann", &line, Value::Null).await, 404);
    }
    let sent = |name: &str, labels: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": labels } });
    let made = house.asked("ann", &format!("POST {place}"), sent("new", json!({}))).await;
    assert!(made.0 == 201 && made.1.contains("\"for\":\"ann\"") && made.1.contains("kcp.io/cluster"), "{}", made.1);
    let refused = house.asked("ann", &format!("POST {place}"), sent("odd", json!({ "for": "bob" }))).await;
    assert!(refused.0 == 403 && refused.1.contains("protected label for must have value ann"), "{}", refused.1);
    // What was not claimed is not there, and what was not accepted neither.
    let secrets = format!("GET {}/api/v1/namespaces/default/secrets", house.window(BOBS));
    house.is(&house.asked("ann", &secrets, Value::Null).await, 404);
    let bindings = format!("DELETE {}/apis/apis.kcp.io/v1alpha2/apibindings/cowboys", house.window(BOBS));
    house.is(&house.asked("ann", &bindings, Value::Null).await, 403);
}

/// Ann claims what Bob shares, by the name of his export: nobody copies a hash.
#[tokio::test]
async fn a_claim_names_the_export_that_a_kind_is_from() {
    let house = House::new().await;
    house.put(SCHEMAS, BOBS, None, schema("today", &["v1alpha1"])).await;
    house.put(EXPORTS, BOBS, None, export("cowboys", "today")).await;
    let place = "/clusters/root:ann/apis/apis.kcp.io/v1alpha2/apiexports";
    let claiming = |export: Value| {
        let claim = json!({ "group": "wildwest.dev", "resource": "cowboys", "verbs": ["*"], "export": export });
        json!({ "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport", "metadata": { "name": "watching" },
            "spec": { "permissionClaims": [claim] } })
    };
    let named = claiming(json!({ "path": BOBS, "name": "cowboys" }));
    let refused = house.asked("ann", &format!("POST {place}"), named.clone()).await;
    house.is(&refused, 422);
    let missing = house.asked("ann", &format!("POST {place}"), claiming(json!({ "path": BOBS, "name": "none" }))).await;
    assert_eq!(
        refused.1.replace("cowboys", "none"),
        missing.1.replace("cowboys", "none"),
        "nobody learns what is there"
    );
    let bind = json!({ "apiGroups": ["apis.kcp.io"], "resources": ["apiexports"], "verbs": ["bind"] });
    house
        .put((RBAC, "v1", "clusterroles"), BOBS, None, json!({ "metadata": { "name": "binds" }, "rules": [bind] }))
        .await;
    house.bind(BOBS, "binds", "binds", json!({ "kind": "User", "apiGroup": RBAC, "name": "ann" })).await;
    house.is(&house.asked("ann", &format!("POST {place}"), named).await, 201);
    let mut other = claiming(json!({ "path": BOBS, "name": "cowboys" }));
    other["metadata"]["name"] = json!("other");
    other["spec"]["permissionClaims"][0]["resource"] = json!("horses");
    let told = house.asked("ann", &format!("POST {place}"), other).await;
    assert!(told.0 == 422 && told.1.contains("it does not offer horses.wildwest.dev"), "{}", told.1);
    // Whoever accepts it need not know the hash either.
    let mut both = binding("watching", "root:ann", "watching");
    both["spec"]["permissionClaims"] = json!([{ "group": "wildwest.dev", "resource": "cowboys", "verbs": ["*"],
        "selector": { "matchAll": true }, "state": "Accepted" }]);
    house.put(BINDINGS, BOBS, None, both).await;
    let at = house.client.at(BINDINGS, &house.find(BOBS), None).unwrap().object("watching");
    let bound = house.client.get(&at).await.unwrap().unwrap();
    let applied = bound.items(&["status", "appliedPermissionClaims"]).next().expect("the claim holds");
    assert_eq!(applied["identityHash"].as_str().map(str::len), Some(64));
    assert!(bound.items(&["status", "exportPermissionClaims"]).all(|claim| claim.get("export").is_none()));
}

#[tokio::test]
async fn those_who_took_a_kind_do_with_it_what_its_exporter_permits_at_most() {
    let house = House::new().await;
    house.share(json!({ "maximalPermissionPolicy": { "local": {} } })).await;
    house.take(BOBS, json!([])).await;
    let mine = format!("/clusters/{BOBS}{COWBOYS}/namespaces/default/cowboys");
    house.is(&house.asked("bob", &format!("GET {mine}"), Value::Null).await, 403);
    let rule = json!({ "apiGroups": ["wildwest.dev"], "resources": ["cowboys"], "verbs": ["get", "list", "create"] });
    let role = json!({ "metadata": { "name": "takers" }, "rules": [rule] });
    house.put((RBAC, "v1", "clusterroles"), "root:ann", None, role).await;
    let group = json!({ "apiGroup": RBAC, "kind": "Group", "name": "apis.kcp.io:binding:system:authenticated" });
    house.bind("root:ann", "takers", "takers", group).await;
    house.is(&house.asked("bob", &format!("POST {mine}"), cowboy("john")).await, 201);
    house.is(&house.asked("bob", &format!("DELETE {mine}/john"), Value::Null).await, 403);
    // Whoever shares it is not bound by that.
    let theirs = format!("{}{COWBOYS}/namespaces/default/cowboys", house.window(BOBS));
    house.is(&house.asked("ann", &format!("DELETE {theirs}/john"), Value::Null).await, 200);
}

/// What an exporter asks of its kinds is asked of everybody who took them, whoever writes and from wherever.
#[tokio::test]
async fn policies_of_an_exporter_hold_where_its_kinds_are_taken() {
    const ADMISSION: &str = "admissionregistration.k8s.io";
    let house = House::new().await;
    house.share(json!({})).await;
    house.take(BOBS, json!([])).await;
    let rule = json!({ "operations": ["CREATE", "UPDATE"], "apiGroups": ["wildwest.dev", ""], "apiVersions": ["*"],
        "resources": ["cowboys", "configmaps"] });
    let spec = json!({ "matchConstraints": { "resourceRules": [rule] },
        "validations": [{ "expression": "!object.metadata.name.startsWith('outlaw')", "message": "no outlaws" }] });
    let policy = json!({ "metadata": { "name": "law" }, "spec": spec });
    let bound =
        json!({ "metadata": { "name": "law" }, "spec": { "policyName": "law", "validationActions": ["Deny"] } });
    house.put((ADMISSION, "v1", "validatingadmissionpolicies"), "root:ann", None, policy).await;
    house.put((ADMISSION, "v1", "validatingadmissionpolicybindings"), "root:ann", None, bound).await;
    let mine = format!("POST /clusters/{BOBS}{COWBOYS}/namespaces/default/cowboys");
    let refused = house.asked("bob", &mine, cowboy("outlaw-jim")).await;
    assert!(refused.0 == 422 && refused.1.contains("no outlaws"), "{}", refused.1);
    let theirs = format!("POST {}{COWBOYS}/namespaces/default/cowboys", house.window(BOBS));
    assert_eq!(house.asked("ann", &theirs, cowboy("outlaw-jane")).await.0, 422);
    house.is(&house.asked("bob", &mine, cowboy("john")).await, 201);
    // Bob's own things are none of Ann's business.
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "outlaw-map" } });
    house.is(
        &house.asked("bob", &format!("POST /clusters/{BOBS}/api/v1/namespaces/default/configmaps"), map).await,
        201,
    );
}

#[tokio::test]
async fn a_type_says_what_its_workspaces_take_from_the_start() {
    let house = House::new().await;
    house.share(json!({})).await;
    let wanted = json!([{ "path": "root:ann", "export": "cowboys" }]);
    let kind = json!({ "metadata": { "name": "ranch" }, "spec": { "defaultAPIBindings": wanted } });
    house.put(TYPES, "root", None, kind).await;
    let ranch = json!({ "metadata": { "name": "ranch" }, "spec": { "type": { "name": "ranch", "path": "root" } } });
    house.put(("tenancy.kcp.io", "v1alpha1", "workspaces"), "root", None, ranch).await;
    house
        .bind("root:ranch", "owner", "cluster-admin", json!({ "kind": "User", "apiGroup": RBAC, "name": "bob" }))
        .await;
    let mine = format!("POST /clusters/root:ranch{COWBOYS}/namespaces/default/cowboys");
    house.is(&house.asked("bob", &mine, cowboy("john")).await, 201);
    let bound =
        house.asked("bob", "GET /clusters/root:ranch/apis/apis.kcp.io/v1alpha2/apibindings/cowboys", Value::Null).await;
    assert!(bound.1.contains("\"phase\":\"Bound\"") && bound.1.contains("\"state\":\"Accepted\""), "{}", bound.1);
    let all = house.asked("ann", &format!("GET {}{COWBOYS}/cowboys", house.window("*")), Value::Null).await;
    assert!(all.1.contains("john"), "{}", all.1);
}

/// The status of a workspace that is not ready yet is changed in any way through the window of its initializer.
#[tokio::test]
async fn ghsa_q6hv_wcjr_wp8h() {
    let house = House::new().await;
    let kind = json!({ "metadata": { "name": "slow" }, "spec": { "initializer": true } });
    house.put(TYPES, "root:ann", None, kind).await;
    let slow = json!({ "metadata": { "name": "slow" }, "spec": { "type": { "name": "slow", "path": "root:ann" } } });
    house.put(("tenancy.kcp.io", "v1alpha1", "workspaces"), "root:ann", None, slow).await;
    let window = |onto: &str| format!("/services/initializingworkspaces/root:ann:slow/clusters/{onto}");
    let clusters = "/apis/core.kcp.io/v1alpha1/logicalclusters";
    let all = house.asked("ann", &format!("GET {}{clusters}", window("*")), Value::Null).await;
    assert!(all.0 == 200 && all.1.contains("root:ann:slow"), "{}", all.1);
    house.is(&house.asked("bob", &format!("GET {}{clusters}", window("*")), Value::Null).await, 403);
    let mut itself: Value = {
        let found =
            house.asked("ann", &format!("GET {}{clusters}/cluster", window("root:ann:slow")), Value::Null).await;
        house.is(&found, 200);
        serde_json::from_str(&found.1[found.1.find('{').unwrap()..]).unwrap()
    };
    let place = format!("PUT {}{clusters}/cluster/status", window("root:ann:slow"));
    for (field, value) in
        [("phase", json!("Ready")), ("URL", json!("https://evil")), ("initializers", json!(["other"]))]
    {
        let mut forged = itself.clone();
        forged["status"][field] = value;
        house.is(&house.asked("ann", &place, forged).await, 403);
    }
    // Others' workspaces are not reached this way, nor this one when it is ready.
    house.is(&house.asked("ann", &format!("GET {}{clusters}/cluster", window(BOBS)), Value::Null).await, 403);
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "hello" } });
    let maps = format!("POST {}/api/v1/namespaces/default/configmaps", window("root:ann:slow"));
    house.is(&house.asked("ann", &maps, map.clone()).await, 201);
    itself["status"]["initializers"] = json!([]);
    let done = house.asked("ann", &place, itself).await;
    assert!(done.0 == 200 && done.1.contains("\"phase\":\"Ready\""), "{}", done.1);
    let workspace =
        house.asked("ann", "GET /clusters/root:ann/apis/tenancy.kcp.io/v1alpha1/workspaces/slow", Value::Null).await;
    assert!(workspace.1.contains("\"phase\":\"Ready\""), "{}", workspace.1);
    house.is(&house.asked("ann", &maps, map).await, 403);
}
