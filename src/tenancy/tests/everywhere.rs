//! Who looks at all workspaces at once, and what they see there.

use super::isolation::House;
use apiserver::auth::{MASTERS, User};
use apiserver::pipeline::Peer;
use serde_json::{Value, json};

const BOBS: &str = "root:ann-b";
const MAPS: &str = "GET /clusters/*/api/v1/configmaps";
const METADATA: (&str, &str) = ("accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");

impl House {
    pub(super) async fn master(&self, line: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let master = User::authenticated("root", vec![MASTERS.to_owned()]);
        self.ask(Peer::user(master), line, headers, &Value::Null).await
    }
}

#[tokio::test]
async fn masters_and_those_whom_the_root_lets_look_at_all_workspaces() {
    let house = House::new().await;
    let branded = format!("\"kcp.io/cluster\":\"{}\"", house.find(BOBS));
    let all = house.master(MAPS, &[]).await;
    assert!(all.0 == 200 && all.1.contains("known-map") && all.1.contains(&branded), "{}", all.1);
    let encoded = house.master(&MAPS.replace('*', "%2A"), &[]).await;
    assert_eq!(encoded.0, 200);
    let watched = house.master(&format!("{MAPS}?watch=true"), &[]).await;
    assert!(watched.1.contains("ADDED") && watched.1.contains(&branded), "{}", watched.1);
    for who in ["ann", "bob"] {
        let refused = house.asked(who, MAPS, Value::Null).await;
        assert!(refused.0 == 403 && refused.1.contains("workspace access not permitted"), "{}", refused.1);
    }
    let rule = json!({ "apiGroups": ["core.kcp.io"], "resources": ["logicalclusters/content"], "verbs": ["list"] });
    let enter = json!({ "nonResourceURLs": ["/"], "verbs": ["access"] });
    let role = json!({ "metadata": { "name": "looks" }, "rules": [rule, enter] });
    house.put(("rbac.authorization.k8s.io", "v1", "clusterroles"), "root", None, role).await;
    let ann = json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann" });
    house.bind("root", "looks", "looks", ann).await;
    let all = house.asked("ann", MAPS, Value::Null).await;
    assert!(all.0 == 200 && all.1.contains(&branded), "{}", all.1);
    assert_eq!(house.asked("ann", &format!("{MAPS}?watch=true"), Value::Null).await.0, 403);
}

#[tokio::test]
async fn nothing_is_written_to_all_workspaces_at_once_and_nothing_of_the_servers_own_is_seen() {
    let house = House::new().await;
    house.share(json!({})).await;
    house.take(BOBS, json!([])).await;
    for (line, verb) in [
        ("POST /clusters/*/api/v1/namespaces", "create"),
        ("DELETE /clusters/*/api/v1/namespaces/default", "delete"),
        ("GET /clusters/*/api/v1/namespaces/default", "get"),
    ] {
        let (code, text) = house.master(line, &[]).await;
        let told =
            format!("{verb} is not supported on resources of kind \\\"namespaces\\\" in the `*` logical cluster");
        assert!(code == 405 && text.contains(&told), "{line}: {code} {text}");
    }
    let definitions = "GET /clusters/*/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, text) = house.master(definitions, &[]).await;
    assert!(code == 200 && !text.contains("cowboys"), "{text}");
    assert_eq!(house.master("GET /clusters/*/apis", &[]).await.0, 200);
    assert_eq!(house.master("GET /clusters/*/apis/authorization.k8s.io/v1/subjectaccessreviews", &[]).await.0, 404);
}

#[tokio::test]
async fn a_shared_kind_is_told_apart_by_its_identity_and_others_show_their_metadata() {
    let house = House::new().await;
    house.share(json!({})).await;
    house.take(BOBS, json!([])).await;
    let mine = format!("POST /clusters/{BOBS}/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys");
    let john = json!({
        "apiVersion": "wildwest.dev/v1alpha1", "kind": "Cowboy", "metadata": { "name": "john" },
        "spec": { "intent": "ride" },
    });
    house.is(&house.asked("bob", &mine, john).await, 201);
    let all = "GET /clusters/*/apis/wildwest.dev/v1alpha1/cowboys";
    assert_eq!(house.master(all, &[]).await.0, 404);
    let (code, text) = house.master(all, &[METADATA]).await;
    assert!(code == 200 && text.contains("john") && !text.contains("ride"), "{text}");
    let (code, text) = house.master(&format!("{all}?watch=true"), &[METADATA]).await;
    assert!(code == 200 && text.contains("john") && !text.contains("ride"), "{text}");
    let exports = "GET /clusters/root:ann/apis/apis.kcp.io/v1alpha2/apiexports/cowboys";
    let (_, text) = house.asked("ann", exports, Value::Null).await;
    let export: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let identity = export["status"]["identityHash"].as_str().unwrap();
    let (code, text) = house.master(&format!("{all}:{identity}"), &[]).await;
    assert!(code == 200 && text.contains("ride") && text.contains(house.find(BOBS).as_str()), "{text}");
    let (code, text) = house.master(&format!("{all}:{identity}?watch=true"), &[]).await;
    assert!(code == 200 && text.contains("ride"), "{text}");
    assert_eq!(house.master(&format!("{all}:{}", "0".repeat(64)), &[]).await.0, 404);
    assert_eq!(house.asked("ann", &format!("{all}:{identity}"), Value::Null).await.0, 403);
}

#[tokio::test]
async fn everybody_finds_the_workspaces_that_they_may_enter() {
    let house = House::new().await;
    let mine = "GET /clusters/*/apis/tenancy.kcp.io/v1alpha1/workspaces";
    let names = |text: &str| {
        let list: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    let long = "x".repeat(63);
    let (code, text) = house.asked("ann", mine, Value::Null).await;
    assert_eq!((code, names(&text)), (200, vec!["ann".to_owned(), long]), "{text}");
    assert!(text.contains("\"kcp.io/cluster\":\"root\""), "{text}");
    let (_, text) = house.asked("ann", &format!("{mine}?limit=1"), Value::Null).await;
    assert!(names(&text) == ["ann"] && !text.contains("remainingItemCount"), "{text}");
    let (_, text) = house.asked("ann", &format!("{mine}?watch=true"), Value::Null).await;
    assert!(text.contains("\"name\":\"ann\"") && !text.contains("ann-b"), "{text}");
    let (code, text) = house.asked("eve", mine, Value::Null).await;
    assert_eq!((code, names(&text).len()), (200, 0), "{text}");
    assert_eq!(house.ask(Peer::default(), mine, &[], &Value::Null).await.0, 403, "nobody in particular");
    // As soon as somebody is let in, and for as long.
    let ann = json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "eve" });
    house.bind(BOBS, "guest", "cluster-admin", ann).await;
    let (_, text) = house.asked("eve", mine, Value::Null).await;
    assert_eq!(names(&text), ["ann-b"]);
    let guest = format!("DELETE /clusters/{BOBS}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/guest");
    house.is(&house.asked("bob", &guest, Value::Null).await, 200);
    let (_, text) = house.asked("eve", mine, Value::Null).await;
    assert_eq!(names(&text).len(), 0);
    // They learn what there is to ask for, and nothing of what else there might be.
    let (code, text) = house.asked("ann", "GET /clusters/*/apis", Value::Null).await;
    assert!(code == 200 && text.contains("tenancy.kcp.io") && !text.contains("rbac.authorization"), "{text}");
    assert_eq!(house.asked("ann", MAPS, Value::Null).await.0, 403);
}
