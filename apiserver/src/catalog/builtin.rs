//! The built-in resources: the facts of the table, and in what each deviates from the rule.

use super::def::{Collecting, ResourceDef, Schema, Stored, SubresourceDef, Traits};
use openapi::builtin::{self, Resource, Subresource};

/// Resources of the table, except those that only a host with nodes could answer.
pub(super) fn resources() -> Vec<ResourceDef> {
    builtin::table().resources.iter().filter_map(describe).collect()
}

fn describe(resource: &'static Resource) -> Option<ResourceDef> {
    let (group, version) = split(resource.package.api_version);
    let ty = builtin::kind(group, version, resource.kind)?;
    Some(ResourceDef {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: resource.plural.to_owned(),
        singular: resource.singular(),
        kind: resource.kind.to_owned(),
        list_kind: format!("{}List", resource.kind),
        namespaced: resource.namespaced,
        verbs: resource.verbs().collect(),
        short_names: resource.short_names().map(str::to_owned).collect(),
        categories: resource.categories().map(str::to_owned).collect(),
        subresources: resource.subresources.iter().map(subresource).collect(),
        schema: Schema::Builtin(ty),
        traits: traits(group, resource.plural),
        stored: stored(group, version, resource.plural),
    })
}

fn subresource(found: &'static Subresource) -> SubresourceDef {
    SubresourceDef {
        name: found.name.to_owned(),
        verbs: found.verbs().collect(),
        kind: found.kind.map(|(api_version, kind)| (api_version.to_owned(), kind.to_owned())),
    }
}

pub(super) fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn stored(group: &str, version: &str, plural: &str) -> Stored {
    let (group, version) = match (group, plural) {
        // One set of events, seen through two groups.
        ("events.k8s.io", "events") => ("", "v1"),
        ("autoscaling", "horizontalpodautoscalers") => ("autoscaling", "v2"),
        _ => (group, version),
    };
    Stored { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned(), identity: None }
}

fn traits(group: &str, plural: &str) -> Traits {
    Traits {
        generation: GENERATION.contains(&(group, plural)),
        unconditional_update: !CONDITIONAL.contains(&(group, plural)),
        create_on_update: CREATE_ON_UPDATE.contains(&(group, plural)),
        returns_deleted: RETURNS_DELETED.contains(&(group, plural)),
        collecting: match (group, plural) {
            (_, "events") => Collecting::Unsupported,
            ("", "replicationcontrollers") | ("batch", "jobs") => Collecting::Orphan,
            _ => Collecting::Background,
        },
        graceful: (group, plural) == ("", "pods"),
        computed: false,
        defines: false,
        metadata_only: false,
    }
}

const ADMISSION: &str = "admissionregistration.k8s.io";

const GENERATION: &[(&str, &str)] = &[
    ("scheduling.k8s.io", "priorityclasses"),
    ("networking.k8s.io", "ingressclasses"),
    ("networking.k8s.io", "networkpolicies"),
    ("networking.k8s.io", "ingresses"),
    ("discovery.k8s.io", "endpointslices"),
    ("policy", "poddisruptionbudgets"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourceslices"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("apps", "daemonsets"),
    ("apps", "statefulsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
    ("", "pods"),
    ("", "podtemplates"),
    ("", "replicationcontrollers"),
    (ADMISSION, "validatingadmissionpolicies"),
    (ADMISSION, "mutatingadmissionpolicies"),
    (ADMISSION, "mutatingwebhookconfigurations"),
    (ADMISSION, "validatingwebhookconfigurations"),
    (ADMISSION, "mutatingadmissionpolicybindings"),
    (ADMISSION, "validatingadmissionpolicybindings"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
];

const CONDITIONAL: &[(&str, &str)] = &[
    (ADMISSION, "validatingadmissionpolicies"),
    (ADMISSION, "mutatingadmissionpolicies"),
    (ADMISSION, "mutatingwebhookconfigurations"),
    (ADMISSION, "validatingwebhookconfigurations"),
    (ADMISSION, "mutatingadmissionpolicybindings"),
    (ADMISSION, "validatingadmissionpolicybindings"),
    ("certificates.k8s.io", "clustertrustbundles"),
    ("certificates.k8s.io", "podcertificaterequests"),
    ("coordination.k8s.io", "leases"),
    ("node.k8s.io", "runtimeclasses"),
    ("policy", "poddisruptionbudgets"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csistoragecapacities"),
    ("storage.k8s.io", "volumeattachments"),
    ("storagemigration.k8s.io", "storageversionmigrations"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
];

const CREATE_ON_UPDATE: &[(&str, &str)] = &[
    ("node.k8s.io", "runtimeclasses"),
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("coordination.k8s.io", "leases"),
    ("", "limitranges"),
    ("", "events"),
    ("events.k8s.io", "events"),
    ("", "services"),
    ("", "endpoints"),
];

const RETURNS_DELETED: &[(&str, &str)] = &[
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "volumeattributesclasses"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("resource.k8s.io", "resourceslices"),
    ("", "resourcequotas"),
    ("", "persistentvolumes"),
    ("", "persistentvolumeclaims"),
    ("", "serviceaccounts"),
    ("", "namespaces"),
    ("", "pods"),
    ("", "services"),
    ("", "podtemplates"),
];
