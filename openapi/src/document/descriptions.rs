//! What the fields of built-in types are for, in the words of those who defined them: `kubectl explain` shows them.
//!
//! The texts are those that `k8s-openapi` carries; this module finds them and holds none itself.

use std::collections::HashMap;
use std::sync::LazyLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::schemars::generate::SchemaGenerator;
use serde_json::{Map, Value};

/// What is said of one type.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) whole: Option<String>,
    fields: HashMap<String, String>,
}

impl Texts {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

/// What is said of a type, by its model name.
pub(super) fn of(model: &str) -> Option<&'static Texts> {
    TEXTS.get(model)
}

static TEXTS: LazyLock<HashMap<String, Texts>> = LazyLock::new(|| {
    let mut all: HashMap<String, Texts> = HashMap::new();
    for (model, schema) in definitions() {
        let texts = schema.as_object().map(texts).unwrap_or_default();
        if texts.fields.contains_key("apiVersion") {
            all.insert(format!("{model}List"), texts_of_list(&model, &texts));
        }
        all.insert(model, texts);
    }
    all
});

/// Lists have no definition of their own there.
fn texts_of_list(model: &str, of_item: &Texts) -> Texts {
    let kind = model.rsplit('.').next().unwrap_or(model);
    let shared = ["apiVersion", "kind"].into_iter();
    let mut fields: HashMap<String, String> =
        shared.filter_map(|name| Some((name.to_owned(), of_item.field(name)?.to_owned()))).collect();
    fields.insert("items".to_owned(), format!("The objects, each of kind {kind}."));
    fields.insert("metadata".to_owned(), "How recent the list is, and where it goes on.".to_owned());
    Texts { whole: Some(format!("{kind}List is a list of objects of kind {kind}.")), fields }
}

fn texts(schema: &Map<String, Value>) -> Texts {
    let said = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    Texts {
        whole: schema.get("description").and_then(Value::as_str).map(str::to_owned),
        fields: properties.filter_map(|(name, schema)| Some((name.clone(), said(schema)?))).collect(),
    }
}

/// Visits kinds, and with them every type that they are made of.
macro_rules! visit {
    ($generator:ident, $($($package:ident)::+ { $($kind:ident),+ $(,)? })+) => {
        $({
            use k8s_openapi::$($package)::+ as package;
            $($generator.subschema_for::<package::$kind>();)+
        })+
    };
}

fn definitions() -> Map<String, Value> {
    let mut generator = SchemaGenerator::default();
    visit!(generator,
        api::core::v1 {
            Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume,
            PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret, Service, ServiceAccount,
        }
        api::admissionregistration::v1 {
            MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration,
            ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration,
        }
        api::apps::v1 { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet }
        api::authentication::v1 { SelfSubjectReview, TokenRequest, TokenReview }
        api::authorization::v1 {
            LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
        }
        api::autoscaling::v1 { HorizontalPodAutoscaler, Scale }
        api::autoscaling::v2 { HorizontalPodAutoscaler }
        api::batch::v1 { CronJob, Job }
        api::certificates::v1 { CertificateSigningRequest, ClusterTrustBundle, PodCertificateRequest }
        api::coordination::v1 { Lease }
        api::discovery::v1 { EndpointSlice }
        api::events::v1 { Event }
        api::flowcontrol::v1 { FlowSchema, PriorityLevelConfiguration }
        api::networking::v1 { IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR }
        api::node::v1 { RuntimeClass }
        api::policy::v1 { Eviction, PodDisruptionBudget }
        api::rbac::v1 { ClusterRole, ClusterRoleBinding, Role, RoleBinding }
        api::resource::v1 { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice }
        api::scheduling::v1 { PriorityClass }
        api::storage::v1 {
            CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass,
        }
        api::storagemigration::v1 { StorageVersionMigration }
        apiextensions_apiserver::pkg::apis::apiextensions::v1 { CustomResourceDefinition }
        kube_aggregator::pkg::apis::apiregistration::v1 { APIService }
    );
    generator.subschema_for::<meta::APIResourceList>();
    generator.subschema_for::<meta::DeleteOptions>();
    generator.subschema_for::<meta::ListMeta>();
    generator.subschema_for::<meta::Patch>();
    generator.subschema_for::<meta::Status>();
    generator.subschema_for::<meta::WatchEvent<k8s_openapi::api::core::v1::Pod>>();
    generator.take_definitions(true)
}
