//! Volumes and claims to them.

use serde_json::Value;

use crate::print::column::{AGE, NAME, text};
use crate::print::look::Look;
use crate::print::subject::Subject;
use crate::print::words::{UNSET, amount, join, texts};
use crate::print::{Printer, row};

pub(super) const PERSISTENT_VOLUME: Printer = Printer {
    kind: "PersistentVolume",
    columns: &[
        NAME,
        text("Capacity", "capacity is the description of the persistent volume's resources and capacity."),
        text("Access Modes", "accessModes contains all ways the volume can be mounted."),
        text(
            "Reclaim Policy",
            "persistentVolumeReclaimPolicy defines what happens to a persistent volume when released",
        ),
        text("Status", "phase indicates if a volume is available, bound to a claim, or released by a claim."),
        text(
            "Claim",
            "claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim.",
        ),
        text("StorageClass", "StorageClass of the pv"),
        text("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
        text("Reason", "reason is a brief CamelCase string that describes any failure"),
        AGE,
        text("VolumeMode", "volumeMode defines if a volume is intended to be used with a formatted filesystem").wide(),
    ],
    row: persistent_volume,
};

pub(super) const PERSISTENT_VOLUME_CLAIM: Printer = Printer {
    kind: "PersistentVolumeClaim",
    columns: &[
        NAME,
        text("Status", "phase represents the current phase of PersistentVolumeClaim."),
        text("Volume", "volumeName is the binding reference to the PersistentVolume backing this claim."),
        text("Capacity", "capacity represents the actual resources of the underlying volume."),
        text("Access Modes", "accessModes contains the actual access modes the volume backing the PVC has."),
        text("StorageClass", "StorageClass of the pvc"),
        text("VolumeAttributesClass", "VolumeAttributesClass of the pvc"),
        AGE,
        text("VolumeMode", "volumeMode defines what type of volume is required by the claim.").wide(),
    ],
    row: persistent_volume_claim,
};

fn persistent_volume(it: &Subject<'_>) -> Vec<Value> {
    let claim = it.at("spec.claimRef").map(|claim| format!("{}/{}", claim.text("namespace"), claim.text("name")));
    row![
        it.name(),
        amount(it.entry("spec.capacity", "storage")),
        access_modes(it.list("spec.accessModes")),
        it.text("spec.persistentVolumeReclaimPolicy"),
        phase(it),
        claim.unwrap_or_default(),
        storage_class(it),
        it.text_or("spec.volumeAttributesClassName", UNSET),
        it.text("status.reason"),
        it.age(),
        it.text_or("spec.volumeMode", UNSET),
    ]
}

fn persistent_volume_claim(it: &Subject<'_>) -> Vec<Value> {
    let volume = it.text("spec.volumeName");
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        (amount(it.entry("status.capacity", "storage")), access_modes(it.list("status.accessModes")))
    };
    row![
        it.name(),
        phase(it),
        volume,
        capacity,
        modes,
        storage_class(it),
        it.text_or("spec.volumeAttributesClassName", UNSET),
        it.age(),
        it.text_or("spec.volumeMode", UNSET),
    ]
}

fn phase(object: &Value) -> &str {
    if object.is_being_deleted() { "Terminating" } else { object.text("status.phase") }
}

/// The annotation came before the field, and still goes first.
fn storage_class(object: &Value) -> &str {
    let annotation = object.entry("metadata.annotations", "volume.beta.kubernetes.io/storage-class");
    annotation.and_then(Value::as_str).unwrap_or_else(|| object.text("spec.storageClassName"))
}

fn access_modes(modes: &[Value]) -> String {
    const SHORT: [(&str, &str); 4] =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let given = SHORT.iter().filter(|(mode, _)| texts(modes).any(|given| given == *mode));
    join(given.map(|(_, short)| short), ",")
}
