//! A workspace is taken out as it is kept, and put into another.

use super::isolation::House;
use apiserver::auth::{MASTERS, User};
use apiserver::pipeline::Peer;
use serde_json::{Value, json};

fn body(text: &str) -> Value {
    serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
}

#[tokio::test]
async fn masters_take_everything_out_of_a_workspace_and_put_it_into_another() {
    let house = House::new().await;
    let (from, onto) = ("root:ann", "root:ann-b");
    let large = "x".repeat(300_000);
    for number in 0..8 {
        let map =
            json!({ "metadata": { "name": format!("m{number}"), "labels": { "a": "b" } }, "data": { "k": large } });
        house.put(("", "v1", "configmaps"), from, Some("default"), map).await;
    }
    let master = || Peer::user(User::authenticated("root", vec![MASTERS.to_owned()]));
    let (mut pages, mut next) = (0, String::new());
    loop {
        let line = format!("GET /clusters/{from}/debug/content{next}");
        let (code, text) = house.ask(master(), &line, &[], &Value::Null).await;
        assert_eq!(code, 200, "{text}");
        let mut page = body(&text);
        let entries = page["entries"].as_array_mut().unwrap();
        // What the other says of itself stays its own.
        entries.retain(|entry| entry["at"][1] != "logicalclusters");
        let going_on = page["next"].as_str().map(|after| format!("?revision={}&continue={after}", page["revision"]));
        let put = house.ask(master(), &format!("POST /clusters/{onto}/debug/content"), &[], &page).await;
        assert_eq!(put.0, 200, "{}", put.1);
        pages += 1;
        let Some(going_on) = going_on else { break };
        next = going_on;
    }
    assert!(pages > 2, "{pages}");
    for path in ["m0", "m7"] {
        let line = |at: &str| format!("GET /clusters/{at}/api/v1/namespaces/default/configmaps/{path}");
        let (old, new) = (house.master(&line(from), &[]).await, house.master(&line(onto), &[]).await);
        let (mut old, mut new) = (body(&old.1), body(&new.1));
        assert_ne!(old["metadata"]["resourceVersion"], new["metadata"]["resourceVersion"]);
        for one in [&mut old, &mut new] {
            one["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        }
        assert_eq!(old, new);
    }
    // Rules count as soon as they are there: Ann's binding came along, in place of Bob's of the same name.
    house.is(&house.asked("ann", &format!("GET /clusters/{onto}/api/v1/namespaces"), Value::Null).await, 200);
    house.is(&house.asked("bob", &format!("GET /clusters/{onto}/api/v1/namespaces"), Value::Null).await, 403);
    for method in ["GET", "POST"] {
        let line = format!("{method} /clusters/{from}/debug/content");
        house.is(&house.asked("ann", &line, json!({ "revision": 1, "entries": [] })).await, 403);
    }
    let odd = json!({ "revision": 1, "entries": [{ "at": ["", "marks", "", "", "rules"], "object": {} }] });
    let (code, text) = house.ask(master(), &format!("POST /clusters/{onto}/debug/content"), &[], &odd).await;
    assert!((400..500).contains(&code), "{code} {text}");
}

/// Everything of a workspace, but for what it says of itself.
async fn taken_out(house: &House, path: &str) -> Value {
    let mut page = body(&house.master(&format!("GET /clusters/{path}/debug/content"), &[]).await.1);
    page["entries"].as_array_mut().unwrap().retain(|entry| entry["at"][1] != "logicalclusters");
    page
}

#[tokio::test]
async fn a_binding_is_put_where_there_is_no_such_export_and_used_when_there_is() {
    let (here, there) = (House::new().await, House::new().await);
    here.share(json!({})).await;
    here.take("root:ann-b", json!([])).await;
    let cowboys = "/clusters/root:ann-b/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";
    let john = json!({ "apiVersion": "wildwest.dev/v1alpha1", "kind": "Cowboy", "metadata": { "name": "john" } });
    here.is(&here.asked("bob", &format!("POST {cowboys}"), john).await, 201);

    let master = || Peer::user(User::authenticated("root", vec![MASTERS.to_owned()]));
    let put = async |path: &str| {
        let page = taken_out(&here, path).await;
        there.is(&there.ask(master(), &format!("POST /clusters/{path}/debug/content"), &[], &page).await, 200);
    };
    // The server looks at a binding whenever it is written, be it by somebody who changes nothing.
    let looked_at = async || {
        let line = "PATCH /clusters/root:ann-b/apis/apis.kcp.io/v1alpha2/apibindings/cowboys";
        let sort = [("content-type", "application/merge-patch+json")];
        let found = there.ask(master(), line, &sort, &json!({})).await;
        there.is(&found, 200);
        let binding = body(&found.1);
        let conditions = binding["status"]["conditions"].as_array().unwrap();
        let valid = conditions.iter().find(|found| found["type"] == "APIExportValid").unwrap()["status"].clone();
        (valid, binding["status"]["apiExportClusterName"].clone())
    };
    put("root:ann-b").await;
    assert_eq!(looked_at().await.0, "False");
    there.is(&there.asked("bob", &format!("GET {cowboys}"), Value::Null).await, 404);
    there.is(&there.asked("bob", "GET /clusters/root:ann-b/apis", Value::Null).await, 200);
    put("root:ann").await;
    assert_eq!(looked_at().await, (json!("True"), json!(there.find("root:ann").as_str())));
    there.is(&there.asked("bob", &format!("GET {cowboys}/john"), Value::Null).await, 200);
}
