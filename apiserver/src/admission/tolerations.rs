//! `DefaultTolerationSeconds`: a pod waits five minutes for a node that is gone, unless it says otherwise.

use super::Attempt;
use crate::error::ApiError;
use crate::object::{Object, list};
use crate::strategy::Part;
use serde_json::{Value, json};

const PATIENCE_SECS: i64 = 300;
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

pub(super) fn wait_for_nodes(pod: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !attempt.is_about("", "pods") || attempt.part != Part::Main {
        return Ok(());
    }
    let tolerations = list(pod.spec_mut(), "tolerations");
    let missing: Vec<&str> =
        TAINTS.into_iter().filter(|taint| !tolerations.iter().any(|found| tolerates(found, taint))).collect();
    for taint in missing {
        tolerations.push(json!({
            "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": PATIENCE_SECS,
        }));
    }
    Ok(())
}

/// Without a key or an effect, any is meant.
fn tolerates(toleration: &Value, taint: &str) -> bool {
    let text = |field: &str| toleration[field].as_str().unwrap_or_default();
    matches!(text("effect"), "" | "NoExecute") && (text("key").is_empty() || text("key") == taint)
}
