//! storage.k8s.io: classes of volumes, drivers, and what is attached where.

use serde_json::Value;

use super::column::{AGE, Column, NAME, boolean, integer, text};
use super::look::Look;
use super::subject::{Subject, instant};
use super::words::{UNSET, join, or_none, texts};
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer { kind: "StorageClass", columns: STORAGE_CLASS, row: storage_class },
    Printer {
        kind: "VolumeAttributesClass",
        columns: &[NAME, text("DriverName", "driverName is the name of the CSI driver"), AGE],
        row: |it| row![it.name(), it.text("driverName"), it.age()],
    },
    Printer { kind: "VolumeAttachment", columns: VOLUME_ATTACHMENT, row: volume_attachment },
    Printer {
        kind: "CSINode",
        columns: &[NAME, integer("Drivers", "Drivers indicates the number of CSI drivers registered on the node"), AGE],
        row: |it| row![it.name(), it.count("spec.drivers"), it.age()],
    },
    Printer { kind: "CSIDriver", columns: CSI_DRIVER, row: csi_driver },
];

const STORAGE_CLASS: &[Column] = &[
    NAME,
    text("Provisioner", "provisioner indicates the type of the provisioner."),
    text("ReclaimPolicy", "reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes"),
    text(
        "VolumeBindingMode",
        "volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.",
    ),
    text("AllowVolumeExpansion", "allowVolumeExpansion shows whether the storage class allow volume expand."),
    AGE,
];

const VOLUME_ATTACHMENT: &[Column] = &[
    NAME,
    text("Attacher", "attacher indicates the name of the volume driver that MUST handle this request.").named(),
    text("PV", "persistentVolumeName represents the name of the persistent volume to attach."),
    text("Node", "nodeName represents the node that the volume should be attached to."),
    boolean("Attached", "attached indicates the volume is successfully attached."),
    AGE,
];

const CSI_DRIVER: &[Column] = &[
    NAME,
    boolean("AttachRequired", "attachRequired indicates this CSI volume driver requires an attach operation"),
    boolean("PodInfoOnMount", "podInfoOnMount indicates this CSI volume driver requires additional pod information"),
    boolean("StorageCapacity", "storageCapacity indicates that the CSI volume driver wants pod scheduling"),
    text("TokenRequests", "tokenRequests indicates the CSI driver needs pods' service account tokens"),
    boolean("RequiresRepublish", "requiresRepublish indicates the CSI driver wants `NodePublishVolume`"),
    text("Modes", "volumeLifecycleModes defines what kind of volumes this CSI volume driver supports."),
    AGE,
];

fn storage_class(it: &Subject<'_>) -> Vec<Value> {
    row![
        it.name(),
        it.text("provisioner"),
        it.text_or("reclaimPolicy", "Delete"),
        it.text_or("volumeBindingMode", "Immediate"),
        it.flag("allowVolumeExpansion"),
        it.age(),
    ]
}

/// The position of the class that counts as the default: of those marked so the youngest, then the first by name.
pub(super) fn default_class(classes: &[&Value]) -> Option<usize> {
    let youth = |class: &Value| {
        let created = instant(class.text("metadata.creationTimestamp"));
        std::cmp::Reverse(created.map(|created| (created.seconds, created.nanos)))
    };
    let marked = classes.iter().enumerate().filter(|(_, class)| is_marked_default(class));
    marked.min_by_key(|(_, class)| (youth(class), class.text("metadata.name"))).map(|(at, _)| at)
}

fn is_marked_default(class: &Value) -> bool {
    const MARKS: [&str; 2] =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    MARKS.iter().any(|mark| class.entry("metadata.annotations", mark).is_some_and(|value| value == "true"))
}

fn volume_attachment(it: &Subject<'_>) -> Vec<Value> {
    row![
        it.name(),
        it.text("spec.attacher"),
        it.text("spec.source.persistentVolumeName"),
        it.text("spec.nodeName"),
        it.flag("status.attached"),
        it.age(),
    ]
}

fn csi_driver(it: &Subject<'_>) -> Vec<Value> {
    let audiences = it.list("spec.tokenRequests").iter().map(|request| request.text("audience"));
    let audiences = if it.has("spec.tokenRequests") { join(audiences, ",") } else { UNSET.to_owned() };
    row![
        it.name(),
        it.at("spec.attachRequired").and_then(Value::as_bool).unwrap_or(true),
        it.flag("spec.podInfoOnMount"),
        it.flag("spec.storageCapacity"),
        audiences,
        it.flag("spec.requiresRepublish"),
        or_none(&join(texts(it.list("spec.volumeLifecycleModes")), ",")),
        it.age(),
    ]
}
