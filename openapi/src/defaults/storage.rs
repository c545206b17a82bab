//! Storage classes and drivers.

use serde_json::json;

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("storage.v1", name);
    vec![
        on("StorageClass").set("reclaimPolicy", "Delete").set("volumeBindingMode", "Immediate"),
        on("CSIDriverSpec")
            .set("attachRequired", true)
            .set("podInfoOnMount", false)
            .set("storageCapacity", false)
            .set("fsGroupPolicy", "ReadWriteOnceWithFSType")
            .set("volumeLifecycleModes", json!(["Persistent"]))
            .set("requiresRepublish", false)
            .set("seLinuxMount", false)
            .set("preventPodSchedulingIfMissing", false),
    ]
}
