//! Lists: which objects, at which revision, page by page, in which form.

use crate::stage::{CONFIGMAPS, Stage};
use openapi::protobuf;
use serde_json::{Value, json};
use storage::Revision;

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

async fn letters() -> Stage {
    let stage = Stage::new().await;
    for name in ["a", "b", "c", "d", "e"] {
        let side = if name < "c" { "left" } else { "right" };
        stage.configmap(name, json!({ "side": side })).await;
    }
    stage
}

#[tokio::test]
async fn an_empty_list_has_items() {
    let stage = Stage::new().await;
    let list = stage.ask(&format!("GET {CONFIGMAPS}")).await.expect(200);
    assert_eq!((&list["kind"], &list["items"]), (&json!("ConfigMapList"), &json!([])));
}

#[tokio::test]
async fn pages_are_of_one_revision_whatever_happens_between_them() {
    let stage = letters().await;
    let first = stage.ask(&format!("GET {CONFIGMAPS}?limit=2")).await.expect(200);
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["a", "b"], &json!(3)));
    stage.ask(&format!("DELETE {CONFIGMAPS}/c")).await.expect(200);
    stage.configmap("bb", json!({})).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = stage.ask(&format!("GET {CONFIGMAPS}?limit=2&continue={token}")).await.expect(200);
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let third = stage.ask(&format!("GET {CONFIGMAPS}?limit=2&continue={token}")).await.expect(200);
    assert_eq!((names(&third), third["metadata"].get("continue")), (vec!["e"], None));
    stage.ask(&format!("GET {CONFIGMAPS}?continue=odd")).await.refused(400);
    stage.ask(&format!("GET {CONFIGMAPS}?continue={token}&resourceVersion=5")).await.refused(400);
}

#[tokio::test]
async fn a_forgotten_page_says_how_to_go_on() {
    let stage = letters().await;
    let first = stage.ask(&format!("GET {CONFIGMAPS}?limit=2")).await.expect(200);
    stage.configmap("f", json!({})).await;
    stage.store.compact(stage.store.recent().revision()).await.unwrap();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let expired = stage.ask(&format!("GET {CONFIGMAPS}?limit=9&continue={token}")).await.expect(410);
    assert_eq!(expired["reason"], "Expired");
    let resume = expired["metadata"]["continue"].as_str().unwrap();
    let rest = stage.ask(&format!("GET {CONFIGMAPS}?limit=9&continue={resume}")).await.expect(200);
    assert_eq!(names(&rest), ["c", "d", "e", "f"]);
    let old = first["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = format!("GET {CONFIGMAPS}?resourceVersion={old}&resourceVersionMatch=Exact");
    assert_eq!(stage.ask(&exact).await.refused(410).0, "Expired");
}

#[tokio::test]
async fn the_past_can_be_listed_exactly() {
    let stage = letters().await;
    let now = stage.ask(&format!("GET {CONFIGMAPS}")).await.expect(200);
    let revision = now["metadata"]["resourceVersion"].as_str().unwrap();
    stage.ask(&format!("DELETE {CONFIGMAPS}/a")).await.expect(200);
    let exact = format!("GET {CONFIGMAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    assert_eq!(names(&stage.ask(&exact).await.expect(200)), ["a", "b", "c", "d", "e"]);
    let newer = format!("GET {CONFIGMAPS}?resourceVersion={revision}&resourceVersionMatch=NotOlderThan");
    assert_eq!(names(&stage.ask(&newer).await.expect(200)), ["b", "c", "d", "e"]);
}

#[tokio::test]
async fn the_future_is_waited_for_a_little() {
    let stage = letters().await;
    tokio::time::pause();
    let status = stage.ask(&format!("GET {CONFIGMAPS}?resourceVersion=999999")).await.expect(504);
    assert_eq!(status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert!(status["message"].as_str().unwrap().starts_with("Timeout: Too large resource version: 999999, current: "));
}

#[tokio::test]
async fn selectors_choose() {
    let stage = letters().await;
    let check = async |query: &str, expected: &[&str]| {
        let list = stage.ask(&format!("GET {CONFIGMAPS}?{query}")).await.expect(200);
        assert_eq!(names(&list), expected, "{query}");
    };
    check("labelSelector=side%3Dleft", &["a", "b"]).await;
    check("labelSelector=side+notin+(left)", &["c", "d", "e"]).await;
    check("labelSelector=!side", &[]).await;
    check("fieldSelector=metadata.name%3Dc", &["c"]).await;
    check("fieldSelector=metadata.name!%3Dc", &["a", "b", "d", "e"]).await;
    check("labelSelector=side%3Dleft&limit=1", &["a"]).await;
    stage.ask(&format!("GET {CONFIGMAPS}?fieldSelector=data.k%3Dv")).await.refused(400);
    stage.ask(&format!("GET {CONFIGMAPS}?labelSelector=a%3D%3D%3Db")).await.refused(400);
    let everywhere = stage.ask("GET /api/v1/configmaps?fieldSelector=metadata.namespace%3Dn").await.expect(200);
    assert_eq!(names(&everywhere).len(), 5);
}

#[tokio::test]
async fn a_list_is_a_table_for_people() {
    let stage = letters().await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = stage.ask_for(&format!("GET {CONFIGMAPS}?limit=1"), accept).await.expect(200);
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(table["columnDefinitions"][1]["name"], "Data");
    let row = &table["rows"][0];
    assert_eq!((&row["cells"], &row["object"]["kind"]), (&json!(["a", 1, "0s"]), &json!("PartialObjectMetadata")));
    assert!(table["metadata"]["continue"].is_string());
    let whole = stage.ask_for(&format!("GET {CONFIGMAPS}/a?includeObject=Object"), accept).await.expect(200);
    assert_eq!(whole["rows"][0]["object"]["data"]["k"], "v");
    stage.ask_for(&format!("GET {CONFIGMAPS}?includeObject=Odd"), accept).await.refused(400);
    let only = "application/json;as=Table;v=v1;g=meta.k8s.io";
    stage.ask_for("GET /version", only).await.expect(200);
}

#[tokio::test]
async fn only_metadata_is_listed_for_those_who_need_no_more() {
    let stage = letters().await;
    let accept = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let answer = stage.ask_for(&format!("GET {CONFIGMAPS}"), accept).await;
    let list = protobuf::decode(&answer.bytes).unwrap();
    assert_eq!((&list["kind"], list["items"].as_array().unwrap().len()), (&json!("PartialObjectMetadataList"), 5));
    assert_eq!(list["items"][0]["metadata"]["labels"]["side"], "left");
}

#[tokio::test]
async fn workspaces_do_not_see_each_other() {
    let stage = letters().await;
    let list = stage.ask("GET /clusters/other/api/v1/configmaps").await.expect(200);
    assert_eq!(names(&list), Vec::<&str>::new());
    stage.ask("GET /clusters/other/api/v1/namespaces/n/configmaps/a").await.refused(404);
    stage.ask("GET /clusters/unknown/api/v1/configmaps").await.refused(403);
    let inside = json!({ "metadata": { "name": "n" } });
    stage.send("POST /clusters/other/api/v1/namespaces", &inside).await.expect(201);
    assert!(stage.store.recent().revision() > Revision(1));
}

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_can_read_it() {
    let stage = Stage::new().await;
    for nth in 0..40 {
        let object = json!({ "metadata": { "name": format!("c{nth:02}") }, "data": { "k": "x".repeat(5000) } });
        stage.send(&format!("POST {CONFIGMAPS}"), &object).await.expect(201);
    }
    let request = Stage::request(&format!("GET {CONFIGMAPS}")).header("accept-encoding", "gzip");
    let zipped = stage.answer(request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    let plain = stage.ask(&format!("GET {CONFIGMAPS}")).await;
    assert_eq!(plain.header("content-encoding"), None);
    let mut unzipped = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*zipped.bytes), &mut unzipped).unwrap();
    assert_eq!(unzipped, plain.bytes);
    assert!(zipped.bytes.len() < plain.bytes.len() / 10);
}
