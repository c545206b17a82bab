//! Home workspaces, and projects that somebody else makes ready.

use super::isolation::House;
use crate::tenancy::words::TYPES;
use apiserver::strategy::Part;
use serde_json::{Value, json};

const HOME: &str = "GET /clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~";
const RBAC: &str = "rbac.authorization.k8s.io";

#[tokio::test]
async fn everybody_who_may_has_a_home_from_when_they_ask_for_it() {
    let house = House::new().await;
    let (code, text) = house.asked("alice", HOME, Value::Null).await;
    assert!(code == 403 && text.contains("workspaces.tenancy.kcp.io \\\"~\\\" is forbidden"), "{code} {text}");
    let (group, of) = (["tenancy.kcp.io"], ["workspaces"]);
    let rules = json!([
        { "apiGroups": group, "resources": of, "resourceNames": ["~"], "verbs": ["create"] },
        { "apiGroups": group, "resources": of, "verbs": ["get"] },
        { "nonResourceURLs": ["/"], "verbs": ["access"] },
    ]);
    let role = json!({ "metadata": { "name": "homes" }, "rules": rules });
    house.put((RBAC, "v1", "clusterroles"), "root", None, role).await;
    let everybody = json!({ "kind": "Group", "apiGroup": RBAC, "name": "system:authenticated" });
    house.bind("root", "homes", "homes", everybody).await;
    for (who, at) in [("alice", "user:alice"), ("alice@example.com", "")] {
        for _ in 0..2 {
            let (code, text) = house.asked(who, HOME, Value::Null).await;
            assert_eq!(code, 200, "{text}");
            let home: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
            let url = home["spec"]["URL"].as_str().unwrap().strip_prefix("https://hanse").unwrap().to_owned();
            assert_eq!(home["status"]["phase"], "Ready");
            assert!(at.is_empty() || url == format!("/clusters/{at}"), "{url}");
            house.is(&house.asked(who, &format!("GET {url}/api/v1/namespaces"), Value::Null).await, 200);
            house.is(&house.asked("bob", &format!("GET {url}/api/v1/namespaces"), Value::Null).await, 403);
        }
    }
    assert_eq!(house.find("user:alice").as_str(), "v1u4alow0iv9");
    let inner = json!({ "apiVersion": "tenancy.kcp.io/v1alpha1", "kind": "Workspace", "metadata": { "name": "w" } });
    let line = "POST /clusters/user:alice/apis/tenancy.kcp.io/v1alpha1/workspaces";
    house.is(&house.asked("alice", line, inner).await, 201);
    house.is(&house.asked("alice", "GET /clusters/user:alice:w/api/v1/namespaces", Value::Null).await, 200);
    // Where homes are kept is nobody's business.
    house.is(
        &house.asked("alice", "GET /clusters/user/apis/tenancy.kcp.io/v1alpha1/workspaces", Value::Null).await,
        403,
    );
}

#[tokio::test]
async fn a_project_is_ready_when_those_who_make_it_ready_are_done() {
    let house = House::new().await;
    let at = house.client.at(TYPES, &house.find("root"), None).unwrap().object("project");
    house.client.merge(&at, Part::Main, &json!({ "spec": { "initializer": true } })).await.unwrap();
    let projects = ("resourcemanager.miloapis.com", "v1alpha1", "projects");
    house.put(projects, "root:default", None, json!({ "metadata": { "name": "p" } })).await;
    let project = house.client.at(projects, &house.find("root:default"), None).unwrap().object("p");
    let ready = async || {
        let found = house.client.get(&project).await.unwrap().unwrap();
        let status =
            found.items(&["status", "conditions"]).find(|one| one["type"] == "Ready").unwrap()["status"].clone();
        status.as_str().unwrap().to_owned()
    };
    assert_eq!(ready().await, "False");
    let itself = house.client.at(("core.kcp.io", "v1alpha1", "logicalclusters"), &house.find("root:default:p"), None);
    let done = json!({ "status": { "initializers": [] } });
    let done = house.client.merge(&itself.unwrap().object("cluster"), Part::Status, &done).await.unwrap();
    assert_eq!(done.text(&["status", "phase"]), "Ready");
    assert_eq!(ready().await, "True");
    let workspaces = ("tenancy.kcp.io", "v1alpha1", "workspaces");
    let workspace = house.client.at(workspaces, &house.find("root:default"), None).unwrap().object("p");
    assert_eq!(house.client.get(&workspace).await.unwrap().unwrap().text(&["status", "phase"]), "Ready");
}

#[tokio::test]
async fn by_which_way_somebody_comes_is_known_and_decides_what_they_are_told_of() {
    let house = House::new().await;
    let projects = ("resourcemanager.miloapis.com", "v1alpha1", "projects");
    house.put(projects, "root:default", None, json!({ "metadata": { "name": "p" } })).await;
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let ways = [
        ("/projects/p/control-plane", "Project", "p"),
        ("/apis/resourcemanager.miloapis.com/v1alpha1/organizations/o/control-plane", "Organization", "o"),
        ("/apis/iam.miloapis.com/v1alpha1/users/ann/control-plane", "User", "ann"),
    ];
    let master = || {
        let user = apiserver::auth::User::authenticated("root", vec![apiserver::auth::MASTERS.to_owned()]);
        apiserver::pipeline::Peer::user(user)
    };
    for (way, kind, name) in ways {
        let line = format!("POST {way}/apis/authentication.k8s.io/v1/selfsubjectreviews");
        let (code, text) = house.ask(master(), &line, &[], &review).await;
        assert_eq!(code, 201, "{text}");
        let told: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let extra = &told["status"]["userInfo"]["extra"];
        assert_eq!(extra["iam.miloapis.com/parent-type"], json!([kind]), "{text}");
        assert_eq!(extra["iam.miloapis.com/parent-name"], json!([name]), "{text}");
    }
    let widgets = json!({
        "metadata": {
            "name": "widgets.example.com", "annotations": { "discovery.miloapis.com/parent-contexts": "Organization; User" },
        },
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    });
    let definitions = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    for path in ["root:default", "root:default:p"] {
        house.put(definitions, path, None, widgets.clone()).await;
    }
    let told_of = [
        ("", false),
        ("/projects/p/control-plane", false),
        ("/apis/resourcemanager.miloapis.com/v1alpha1/organizations/o/control-plane", true),
        ("/clusters/root:default:p", true),
    ];
    for (way, expected) in told_of {
        let (_, text) = house.master(&format!("GET {way}/apis"), &[]).await;
        assert_eq!(text.contains("example.com"), expected, "{way}");
        // It is a hint, and no more.
        house.is(&house.master(&format!("GET {way}/apis/example.com/v1/widgets"), &[]).await, 200);
    }
}
