//! Which rules hold for which kind.

use super::tree::{Errors, Node};
use super::{
    admission, autoscaling, claim, config, definition, device, endpoints, flow, job, migration, networking, node, pod,
    policy, quota, rbac, review, service, status, storage, trust, webhook, workload,
};
use crate::builtin::Type;

/// What holds at any time; the second object is the one before, if any.
type Body = fn(&mut Errors, &Node, Option<&Node>);
/// What may not change from the second object to the first.
type Change = fn(&mut Errors, &Node, &Node);

pub(super) struct Rules {
    /// Besides metadata.
    pub(super) body: Body,
    pub(super) change: Change,
    pub(super) status: Change,
    /// What fields declare of themselves.
    pub(super) declared: Body,
    pub(super) order: Order,
    pub(super) metadata: Metadata,
}

/// Which rules a kind adds to those that hold for the metadata of any object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Metadata {
    /// Those of Kubernetes' own kinds, for the object and for its changes.
    Kubernetes,
    /// The same, for any name.
    AnyName,
    /// Those of Kubernetes' own kinds, for the object only.
    Created,
    /// The same again, with the kind's own rule of names.
    Common,
    None,
    /// The object is not kept: not even those hold.
    Free,
}

/// In which order an update is judged, after its metadata. The whole is the body and, again, the metadata.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    ChangeThenWhole,
    ChangeThenBody,
    BodyThenChange,
    WholeThenChange,
    Change,
}

impl Rules {
    fn new(order: Order, body: Body) -> Self {
        let metadata = Metadata::Kubernetes;
        Self { body, change: |_, _, _| {}, status: |_, _, _| {}, declared: |_, _, _| {}, order, metadata }
    }

    fn change(self, change: Change) -> Self {
        Self { change, ..self }
    }

    fn status(self, status: Change) -> Self {
        Self { status, ..self }
    }

    fn metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }

    fn declared(self, declared: Body) -> Self {
        Self { declared, ..self }
    }
}

pub(super) fn of(ty: &Type) -> Rules {
    match ty.package.api_version {
        "v1" => core(ty.name),
        "apps/v1" => apps(ty.name),
        "batch/v1" => batch(ty.name),
        "networking.k8s.io/v1" => networking(ty.name),
        "rbac.authorization.k8s.io/v1" => rbac(ty.name),
        "admissionregistration.k8s.io/v1" => admission(ty.name),
        "apiextensions.k8s.io/v1" => Rules::new(Order::BodyThenChange, definition::body)
            .change(definition::change)
            .status(definition::status)
            .metadata(Metadata::Common),
        "apiregistration.k8s.io/v1" => Rules::new(Order::ChangeThenWhole, webhook::api_service)
            .change(webhook::api_service_update)
            .metadata(Metadata::Common),
        "authentication.k8s.io/v1" | "authorization.k8s.io/v1" => reviews(ty.name),
        "autoscaling/v1" if ty.name == "Scale" => unkept(review::scale),
        "autoscaling/v1" | "autoscaling/v2" => Rules::new(Order::BodyThenChange, autoscaling::autoscaler)
            .status(autoscaling::autoscaler_status)
            .declared(autoscaling::autoscaler_declared),
        "certificates.k8s.io/v1" if ty.name == "CertificateSigningRequest" => {
            Rules::new(Order::WholeThenChange, flow::signing_request).metadata(Metadata::AnyName)
        }
        "certificates.k8s.io/v1" if ty.name == "ClusterTrustBundle" => {
            Rules::new(Order::WholeThenChange, trust::bundle).change(trust::bundle_update)
        }
        "certificates.k8s.io/v1" if ty.name == "PodCertificateRequest" => {
            Rules::new(Order::ChangeThenBody, trust::request).change(trust::request_update)
        }
        "coordination.k8s.io/v1" => Rules::new(Order::BodyThenChange, policy::lease).metadata(Metadata::Common),
        "discovery.k8s.io/v1" => Rules::new(Order::WholeThenChange, endpoints::slice)
            .declared(endpoints::slice_declared)
            .metadata(Metadata::Created),
        "events.k8s.io/v1" => Rules::new(Order::WholeThenChange, policy::event_v1)
            .change(policy::event_v1_update)
            .metadata(Metadata::None),
        "flowcontrol.apiserver.k8s.io/v1" => flow_control(ty.name),
        "node.k8s.io/v1" => Rules::new(Order::WholeThenChange, policy::runtime_class)
            .declared(policy::runtime_class_declared)
            .metadata(Metadata::Common),
        "policy/v1" if ty.name == "Eviction" => unkept(|_, _, _| {}),
        "policy/v1" if ty.name == "PodDisruptionBudget" => {
            Rules::new(Order::WholeThenChange, policy::disruption_budget)
                .status(policy::disruption_budget_status)
                .metadata(Metadata::None)
        }
        "scheduling.k8s.io/v1" => {
            Rules::new(Order::BodyThenChange, policy::priority_class).change(policy::priority_class_update)
        }
        "resource.k8s.io/v1" => devices(ty.name),
        "storage.k8s.io/v1" => storage(ty.name),
        "storagemigration.k8s.io/v1" => Rules::new(Order::WholeThenChange, migration::migration)
            .change(migration::migration_update)
            .status(migration::migration_status),
        _ => nothing(),
    }
}

fn nothing() -> Rules {
    Rules::new(Order::Change, |_, _, _| {})
}

fn unkept(body: Body) -> Rules {
    Rules::new(Order::WholeThenChange, body).metadata(Metadata::Free)
}

fn reviews(kind: &str) -> Rules {
    match kind {
        "LocalSubjectAccessReview" => unkept(review::local_access_review),
        "SelfSubjectAccessReview" => unkept(review::self_access_review),
        "SubjectAccessReview" => unkept(review::access_review),
        "TokenRequest" => unkept(review::token_request),
        _ => unkept(|_, _, _| {}),
    }
}

fn core(kind: &str) -> Rules {
    use Order::{BodyThenChange, ChangeThenBody, ChangeThenWhole, WholeThenChange};
    match kind {
        "Binding" => unkept(review::binding),
        "Node" => Rules::new(WholeThenChange, node::node).change(node::node_update).status(node::node_update),
        "ConfigMap" => Rules::new(ChangeThenWhole, config::config_map).change(config::config_map_update),
        "Endpoints" => Rules::new(ChangeThenWhole, endpoints::endpoints),
        "Event" => Rules::new(WholeThenChange, policy::core_event).metadata(Metadata::None),
        "LimitRange" => Rules::new(WholeThenChange, quota::limit_range).metadata(Metadata::Created),
        "PersistentVolume" => {
            Rules::new(WholeThenChange, storage::volume).change(storage::volume_update).status(storage::volume_status)
        }
        "ResourceQuota" => Rules::new(BodyThenChange, quota::resource_quota)
            .change(quota::resource_quota_update)
            .status(quota::resource_quota_status),
        "Namespace" => Rules::new(WholeThenChange, config::namespace).status(config::namespace_status),
        "PersistentVolumeClaim" => {
            Rules::new(WholeThenChange, claim::claim).change(claim::claim_update).status(claim::claim_status)
        }
        "Pod" => Rules::new(WholeThenChange, pod::pod).change(pod::pod_update).status(pod::pod_status),
        "PodTemplate" => Rules::new(BodyThenChange, workload::pod_template),
        "ReplicationController" => Rules::new(BodyThenChange, workload::replication_controller)
            .status(workload::replica_set_status)
            .declared(workload::replication_controller_declared),
        "Secret" => Rules::new(ChangeThenWhole, config::secret).change(config::secret_update),
        "Service" => {
            Rules::new(ChangeThenBody, service::service).change(service::service_update).status(service::service_status)
        }
        "ServiceAccount" => Rules::new(ChangeThenWhole, |_, _, _| {}),
        _ => nothing(),
    }
}

fn apps(kind: &str) -> Rules {
    use Order::{BodyThenChange, ChangeThenBody, ChangeThenWhole};
    match kind {
        "ControllerRevision" => {
            Rules::new(ChangeThenWhole, workload::controller_revision).change(workload::controller_revision_update)
        }
        "DaemonSet" => Rules::new(ChangeThenBody, workload::daemon_set)
            .change(workload::kept_selector)
            .status(workload::daemon_set_status),
        "Deployment" => Rules::new(BodyThenChange, workload::deployment)
            .change(workload::kept_selector)
            .status(workload::deployment_status),
        "ReplicaSet" => Rules::new(BodyThenChange, workload::replica_set)
            .change(workload::kept_selector)
            .status(workload::replica_set_status),
        "StatefulSet" => Rules::new(BodyThenChange, workload::stateful_set)
            .change(workload::stateful_set_update)
            .status(workload::stateful_set_status),
        _ => nothing(),
    }
}

fn batch(kind: &str) -> Rules {
    match kind {
        "CronJob" => Rules::new(Order::BodyThenChange, job::cron_job).declared(job::cron_job_declared),
        "Job" => Rules::new(Order::BodyThenChange, job::job).change(job::job_update),
        _ => nothing(),
    }
}

fn networking(kind: &str) -> Rules {
    use Order::{BodyThenChange, Change, ChangeThenWhole, WholeThenChange};
    match kind {
        "IPAddress" => Rules::new(WholeThenChange, networking::ip_address).declared(networking::ip_address_declared),
        "Ingress" => Rules::new(ChangeThenWhole, networking::ingress).status(networking::ingress_status),
        "IngressClass" => Rules::new(ChangeThenWhole, networking::ingress_class)
            .change(networking::ingress_class_update)
            .declared(networking::ingress_class_declared),
        "NetworkPolicy" => {
            Rules::new(BodyThenChange, networking::network_policy).declared(networking::network_policy_declared)
        }
        "ServiceCIDR" => Rules::new(Change, networking::service_cidr).change(networking::service_cidr_update),
        _ => nothing(),
    }
}

fn rbac(kind: &str) -> Rules {
    let order = Order::WholeThenChange;
    match kind {
        "ClusterRole" => Rules::new(order, rbac::cluster_role).declared(rbac::rules_declared),
        "ClusterRoleBinding" => {
            Rules::new(order, rbac::cluster_role_binding).change(rbac::binding_update).declared(rbac::binding_declared)
        }
        "Role" => Rules::new(order, rbac::role).declared(rbac::rules_declared),
        "RoleBinding" => {
            Rules::new(order, rbac::role_binding).change(rbac::binding_update).declared(rbac::binding_declared)
        }
        _ => nothing(),
    }
}

fn admission(kind: &str) -> Rules {
    match kind {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            Rules::new(Order::WholeThenChange, webhook::configuration).metadata(Metadata::Common)
        }
        "MutatingAdmissionPolicy" => Rules::new(Order::WholeThenChange, admission::mutating).metadata(Metadata::Common),
        "MutatingAdmissionPolicyBinding" => {
            Rules::new(Order::WholeThenChange, admission::mutating_binding).metadata(Metadata::Common)
        }
        "ValidatingAdmissionPolicy" => Rules::new(Order::WholeThenChange, admission::validating)
            .status(admission::status)
            .metadata(Metadata::Common),
        "ValidatingAdmissionPolicyBinding" => {
            Rules::new(Order::WholeThenChange, admission::validating_binding).metadata(Metadata::Common)
        }
        _ => nothing().metadata(Metadata::Common),
    }
}

fn devices(kind: &str) -> Rules {
    match kind {
        "DeviceTaintRule" => Rules::new(Order::ChangeThenBody, device::taint_rule).status(status::typed_conditions),
        "ResourceSlice" => Rules::new(Order::ChangeThenBody, device::slice),
        _ => nothing(),
    }
}

fn flow_control(kind: &str) -> Rules {
    let rules = match kind {
        "FlowSchema" => Rules::new(Order::WholeThenChange, flow::flow_schema).status(status::typed_conditions),
        "PriorityLevelConfiguration" => Rules::new(Order::WholeThenChange, flow::priority_level)
            .status(status::typed_conditions)
            .declared(flow::priority_level_declared),
        _ => nothing(),
    };
    rules.metadata(Metadata::Created)
}

fn storage(kind: &str) -> Rules {
    use Order::{BodyThenChange, ChangeThenWhole, WholeThenChange};
    match kind {
        "CSIDriver" => Rules::new(BodyThenChange, storage::csi_driver).change(storage::csi_driver_update),
        "CSINode" => {
            Rules::new(WholeThenChange, storage::csi_node).change(storage::csi_node_update).metadata(Metadata::Created)
        }
        "CSIStorageCapacity" => {
            Rules::new(WholeThenChange, storage::storage_capacity).change(storage::storage_capacity_update)
        }
        "StorageClass" => Rules::new(WholeThenChange, storage::storage_class).declared(storage::storage_class_declared),
        "VolumeAttachment" => Rules::new(WholeThenChange, storage::attachment)
            .declared(storage::attachment_declared)
            .metadata(Metadata::Created),
        "VolumeAttributesClass" => {
            Rules::new(ChangeThenWhole, storage::attributes_class).change(storage::attributes_class_update)
        }
        _ => nothing(),
    }
}
