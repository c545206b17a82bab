//! What is known of the built-in kinds: their replicas, what a server adds to them, whether they are well, and what they
//! refer to.
//!
//! Other kinds are carried as they are; everything here answers for them too, with nothing.

mod health;
mod references;
mod replicas;
mod retain;
mod strip;

pub use health::{Health, health, is_checked};
pub use references::{Reference, of_template, references};
pub use replicas::{Replicas, replicas, request, requested, revise};
pub use retain::retain;
pub use strip::{strip, strip_server};

use super::Kind;
use serde_json::Value;

/// The pod template of a workload, the pod itself if it is one; with `metadata` and `spec`.
pub fn pod_template(object: &Value) -> Option<&Value> {
    let path: &[&str] = pod_template_path(&Kind::of(object))?;
    super::at(object, path)
}

/// The same, to be changed.
pub fn pod_template_mut(object: &mut Value) -> Option<&mut Value> {
    let path: &[&str] = pod_template_path(&Kind::of(object))?;
    path.iter().try_fold(object, |inner, key| inner.get_mut(key))
}

fn pod_template_path(kind: &Kind) -> Option<&'static [&'static str]> {
    match kind.name() {
        ("", "Pod") => Some(&[]),
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") | ("batch", "Job") => {
            Some(&["spec", "template"])
        }
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template"]),
        _ => None,
    }
}
