//! Letting go: at once, when finalizers are done, or all that match.

use crate::stage::{CONFIGMAPS, Stage};
use serde_json::json;

#[tokio::test]
async fn a_deleted_object_is_gone_and_its_name_is_free() {
    let stage = Stage::new().await;
    let made = stage.configmap("a", json!({})).await;
    let status = stage.ask(&format!("DELETE {CONFIGMAPS}/a")).await.expect(200);
    assert_eq!(status["status"], "Success");
    let details = json!({ "name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"] });
    assert_eq!(status["details"], details);
    stage.ask(&format!("GET {CONFIGMAPS}/a")).await.refused(404);
    stage.ask(&format!("DELETE {CONFIGMAPS}/a")).await.refused(404);
    stage.configmap("a", json!({})).await;
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let stage = Stage::new().await;
    let object = json!({ "metadata": { "name": "a", "finalizers": ["example.com/hold"] } });
    stage.send(&format!("POST {CONFIGMAPS}"), &object).await.expect(201);
    let going = stage.ask(&format!("DELETE {CONFIGMAPS}/a")).await.expect(200);
    assert_eq!(going["metadata"]["deletionTimestamp"], "2027-01-15T08:00:00Z");
    assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 0);
    let again = stage.ask(&format!("DELETE {CONFIGMAPS}/a")).await.expect(200);
    assert_eq!(again["metadata"]["resourceVersion"], going["metadata"]["resourceVersion"]);
    let add = r#"{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}"#;
    let patch = format!("PATCH {CONFIGMAPS}/a");
    stage.send_as(&patch, "application/merge-patch+json", add).await.refused(422);
    let release = r#"{"metadata":{"finalizers":null}}"#;
    stage.send_as(&patch, "application/merge-patch+json", release).await.expect(200);
    stage.ask(&format!("GET {CONFIGMAPS}/a")).await.refused(404);
}

#[tokio::test]
async fn preconditions_protect_what_came_after() {
    let stage = Stage::new().await;
    let made = stage.configmap("a", json!({})).await;
    let delete = format!("DELETE {CONFIGMAPS}/a");
    let (reason, message) = stage.send(&delete, &json!({ "preconditions": { "uid": "other" } })).await.refused(409);
    assert_eq!(reason, "Conflict");
    assert!(message.contains("UID in precondition: other, UID in object meta: "), "{message}");
    stage.send(&delete, &json!({ "preconditions": { "resourceVersion": "1" } })).await.refused(409);
    stage.send(&delete, &json!({ "dryRun": ["All"] })).await.expect(200);
    stage.send(&delete, &json!({ "preconditions": { "uid": made["metadata"]["uid"] } })).await.expect(200);
}

#[tokio::test]
async fn an_eviction_is_of_the_pod_it_names() {
    let stage = Stage::new().await;
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    stage.send("POST /api/v1/namespaces/n/pods", &pod).await.expect(201);
    let evict = "POST /api/v1/namespaces/n/pods/p/eviction";
    let (_, message) = stage.send(evict, &json!({ "metadata": { "name": "other" } })).await.refused(400);
    assert_eq!(message, "name in URL does not match name in Eviction object");
    let told = stage.send(evict, &json!({ "metadata": { "name": "p" } })).await.expect(201);
    assert_eq!((&told["status"], &told["code"], told.get("details")), (&json!("Success"), &json!(201), None));
    stage.ask("GET /api/v1/namespaces/n/pods/p").await.refused(404);
}

#[tokio::test]
async fn what_is_meant_otherwise_deletes_nothing() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    stage.send(&format!("DELETE {CONFIGMAPS}/a"), &json!({ "kind": "Pod", "apiVersion": "v1" })).await.refused(400);
    stage.ask(&format!("GET {CONFIGMAPS}/a")).await.expect(200);
}

#[tokio::test]
async fn how_dependents_are_dealt_with_is_recorded() {
    let stage = Stage::new().await;
    for (policy, finalizer) in [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")] {
        stage.configmap("a", json!({})).await;
        let going = stage.send(&format!("DELETE {CONFIGMAPS}/a"), &json!({ "propagationPolicy": policy })).await;
        assert_eq!(going.expect(200)["metadata"]["finalizers"], json!([finalizer]));
        let release = r#"{"metadata":{"finalizers":null}}"#;
        stage.send_as(&format!("PATCH {CONFIGMAPS}/a"), "application/merge-patch+json", release).await.expect(200);
    }
    stage.configmap("a", json!({})).await;
    let both = json!({ "propagationPolicy": "Orphan", "orphanDependents": true });
    stage.send(&format!("DELETE {CONFIGMAPS}/a"), &both).await.refused(422);
    stage.send(&format!("DELETE {CONFIGMAPS}/a"), &json!({ "propagationPolicy": "Background" })).await.expect(200);
}

#[tokio::test]
async fn all_that_match_are_deleted_and_no_others() {
    let stage = Stage::new().await;
    for (name, side) in [("a", "left"), ("b", "right"), ("c", "left")] {
        stage.configmap(name, json!({ "side": side })).await;
    }
    let gone = stage.ask(&format!("DELETE {CONFIGMAPS}?labelSelector=side%3Dleft")).await.expect(200);
    assert_eq!((&gone["kind"], gone["items"].as_array().unwrap().len()), (&json!("ConfigMapList"), 2));
    let left = stage.ask(&format!("GET {CONFIGMAPS}")).await.expect(200);
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn nothing_is_made_in_a_namespace_that_is_going() {
    let stage = Stage::new().await;
    let going = stage.ask("DELETE /api/v1/namespaces/n").await.expect(200);
    assert_eq!((&going["status"]["phase"], &going["kind"]), (&json!("Terminating"), &json!("Namespace")));
    let object = json!({ "metadata": { "name": "a" } });
    let status = stage.send(&format!("POST {CONFIGMAPS}"), &object).await.expect(403);
    assert_eq!(status["details"]["causes"][0]["reason"], "NamespaceTerminating");
    let finalize = json!({ "metadata": { "name": "n" }, "spec": { "finalizers": [] } });
    stage.send("PUT /api/v1/namespaces/n/finalize", &finalize).await.expect(200);
    stage.ask("GET /api/v1/namespaces/n").await.refused(404);
    stage.ask("DELETE /api/v1/namespaces/kube-system").await.refused(403);
}

#[tokio::test]
async fn a_pod_that_nothing_runs_goes_at_once() {
    let stage = Stage::new().await;
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    stage.send("POST /api/v1/namespaces/n/pods", &pod).await.expect(201);
    let gone = stage.ask("DELETE /api/v1/namespaces/n/pods/p").await.expect(200);
    assert_eq!(gone["kind"], "Pod");
    stage.ask("GET /api/v1/namespaces/n/pods/p").await.refused(404);
}

#[tokio::test]
async fn the_oldest_kinds_leave_their_dependents_to_nobody_unless_told_otherwise() {
    let stage = Stage::new().await;
    let jobs = "/apis/batch/v1/namespaces/n/jobs";
    let pod = json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
    for name in ["a", "b"] {
        let job = json!({ "metadata": { "name": name }, "spec": { "template": pod } });
        stage.send(&format!("POST {jobs}"), &job).await.expect(201);
    }
    let going = stage.ask(&format!("DELETE {jobs}/a")).await.expect(200);
    assert_eq!(going["metadata"]["finalizers"], json!(["orphan"]));
    let gone = stage.ask(&format!("DELETE {jobs}/b?propagationPolicy=Background")).await.expect(200);
    assert_eq!(gone["kind"], "Status");
}

#[tokio::test]
async fn what_goes_at_once_is_shown_as_it_was() {
    let stage = Stage::new().await;
    let services = "/api/v1/namespaces/n/services";
    let service = json!({ "metadata": { "name": "s" }, "spec": { "ports": [{ "port": 80 }] } });
    stage.send(&format!("POST {services}"), &service).await.expect(201);
    let gone = stage.ask(&format!("DELETE {services}/s")).await.expect(200);
    assert_eq!((&gone["kind"], gone["metadata"].get("deletionTimestamp")), (&json!("Service"), None));
    let templates = "/api/v1/namespaces/n/podtemplates";
    let template = json!({ "metadata": { "name": "t" },
        "template": { "spec": { "containers": [{ "name": "c", "image": "i" }] } } });
    stage.send(&format!("POST {templates}"), &template).await.expect(201);
    let gone = stage.ask(&format!("DELETE {templates}/t")).await.expect(200);
    assert_eq!((&gone["kind"], &gone["metadata"]["generation"]), (&json!("PodTemplate"), &json!(1)));
}

#[tokio::test]
async fn a_deleted_collection_is_shown_as_it_was() {
    let stage = Stage::new().await;
    let free = stage.configmap("a", json!({})).await;
    let held = json!({ "metadata": { "name": "b", "finalizers": ["example.com/hold"] } });
    let held = stage.send(&format!("POST {CONFIGMAPS}"), &held).await.expect(201);
    let list = stage.ask(&format!("DELETE {CONFIGMAPS}")).await.expect(200);
    for (item, before) in [(&list["items"][0], &free), (&list["items"][1], &held)] {
        assert_eq!(item["metadata"], before["metadata"]);
    }
    let left = stage.ask(&format!("GET {CONFIGMAPS}")).await.expect(200);
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    assert_eq!(left["items"][0]["metadata"]["deletionGracePeriodSeconds"], 0);
}

#[tokio::test]
async fn an_object_that_is_going_is_still_in_the_way_and_its_last_version_is_the_one_before() {
    let stage = Stage::new().await;
    let object = json!({ "metadata": { "name": "a", "finalizers": ["example.com/hold"] } });
    stage.send(&format!("POST {CONFIGMAPS}"), &object).await.expect(201);
    let going = stage.ask(&format!("DELETE {CONFIGMAPS}/a")).await.expect(200);
    let (reason, message) = stage.send(&format!("POST {CONFIGMAPS}"), &object).await.refused(409);
    let expected = "object is being deleted: configmaps \"a\" already exists";
    assert_eq!((&*reason, &*message), ("AlreadyExists", expected));
    let release = r#"{"metadata":{"finalizers":null}}"#;
    let patch = format!("PATCH {CONFIGMAPS}/a");
    let last = stage.send_as(&patch, "application/merge-patch+json", release).await.expect(200);
    assert_eq!(last["metadata"]["resourceVersion"], going["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn whoever_deletes_jobs_without_saying_what_becomes_of_their_pods_is_warned() {
    let stage = Stage::new().await;
    let jobs = "/apis/batch/v1/namespaces/n/jobs";
    let pod = json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
    let job = json!({ "metadata": { "name": "a" }, "spec": { "template": pod } });
    stage.send(&format!("POST {jobs}"), &job).await.expect(201);
    let silent = stage.ask(&format!("DELETE {jobs}/a?propagationPolicy=Orphan&dryRun=All")).await;
    assert_eq!(silent.header("warning"), None);
    for line in [format!("DELETE {jobs}/a?dryRun=All"), format!("DELETE {jobs}?dryRun=All")] {
        let warned = stage.ask(&line).await;
        let warning = warned.header("warning").unwrap_or_default();
        assert!(warning.contains("child pods are preserved by default when jobs are deleted"), "{line}: {warning}");
    }
}
