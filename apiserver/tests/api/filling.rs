//! A workspace that is full: nothing is added to it, everything can be taken out of it, and no other notices.

use crate::stage::Stage;
use apiserver::resources::Room;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/n/configmaps";

fn map(name: &str, text: &str) -> Value {
    json!({ "metadata": { "name": name }, "data": { "text": text } })
}

/// What the workspace of the tests holds, as `pick` sees it.
fn held(stage: &Stage, pick: fn(storage::Size) -> u64) -> u64 {
    pick(stage.store.share(b"home"))
}

#[tokio::test]
async fn no_object_is_made_beyond_the_limit_until_another_goes() {
    let stage = Stage::new().await;
    let max = held(&stage, |size| size.keys) + 2;
    stage.api.resources.limit_workspaces(Room { objects_max: Some(max), bytes_max: None });
    for name in ["a", "b"] {
        stage.send(&format!("POST {MAPS}"), &map(name, "")).await.expect(201);
    }
    let (reason, message) = stage.send(&format!("POST {MAPS}"), &map("c", "")).await.refused(403);
    assert_eq!(reason, "Forbidden");
    let why = format!("the workspace holds {max} objects, and may hold {max}");
    assert_eq!(message, format!("configmaps \"c\" is forbidden: {why}"));
    stage.send(&format!("PUT {MAPS}/a"), &map("a", "what is there may change")).await.expect(200);
    let namespace = json!({ "metadata": { "name": "n" } });
    stage.send("POST /clusters/other/api/v1/namespaces", &namespace).await.expect(201);
    stage.ask(&format!("DELETE {MAPS}/a")).await.expect(200);
    stage.send(&format!("POST {MAPS}"), &map("c", "")).await.expect(201);
}

#[tokio::test]
async fn nothing_grows_beyond_the_bytes_and_everything_may_shrink() {
    let stage = Stage::new().await;
    stage.send(&format!("POST {MAPS}"), &map("a", &"x".repeat(5000))).await.expect(201);
    let max = held(&stage, |size| size.bytes);
    stage.api.resources.limit_workspaces(Room { objects_max: None, bytes_max: Some(max) });
    let full = format!("the workspace holds {max} bytes of objects, and may hold {max}");
    let another = stage.send(&format!("POST {MAPS}"), &map("b", "")).await.refused(403);
    assert!(another.1.ends_with(&full), "{}", another.1);
    let grown = stage.send(&format!("PUT {MAPS}/a"), &map("a", &"x".repeat(6000))).await.refused(403);
    assert!(grown.1.ends_with(&full), "{}", grown.1);
    stage.send(&format!("PUT {MAPS}/a"), &map("a", "small")).await.expect(200);
    assert!(held(&stage, |size| size.bytes) < max - 4000);
    stage.send(&format!("POST {MAPS}"), &map("b", "")).await.expect(201);
}
