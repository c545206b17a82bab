//! The table as the server sees it.

use super::*;

fn field(kind: &str, path: &str) -> &'static Field {
    let (api_version, kind) = kind.rsplit_once('.').unwrap();
    let mut ty = kind_in(api_version, kind).unwrap_or_else(|| panic!("{kind} of {api_version}"));
    let mut found = None;
    for name in path.split('.') {
        let field = ty.field(name).unwrap_or_else(|| panic!("{} has no field {name}", ty.name));
        if let Element::Struct(id) = field.element {
            ty = id.get();
        }
        found = Some(field);
    }
    found.unwrap()
}

fn keys(field: &Field) -> Vec<&'static str> {
    match field.list {
        Some(ListKind::Map { keys }) => keys.iter().collect(),
        other => panic!("{} is {other:?}", field.name),
    }
}

#[test]
fn kinds_are_found_by_group_version_and_name() {
    assert_eq!(kind("", "v1", "Pod").unwrap().model_name(), "io.k8s.api.core.v1.Pod");
    assert_eq!(kind("apps", "v1", "Deployment").unwrap().package.api_version, "apps/v1");
    assert_eq!(kind("", "v1", "Status").unwrap().model_name(), "io.k8s.apimachinery.pkg.apis.meta.v1.Status");
    assert!(kind("apps", "v1", "Pod").is_none());
    assert!(kind("apps", "v1beta1", "Deployment").is_none());
    assert!(kind("", "v1", "PodSpec").is_none());
}

#[test]
fn options_belong_to_every_group() {
    for group in ["apps", "example.com"] {
        assert_eq!(kind(group, "v1", "DeleteOptions").unwrap().package.alias, "meta.v1");
    }
    assert!(kind("example.com", "v1", "Status").is_none());
}

#[test]
fn fields_are_found_by_name_and_number() {
    let volume = field("v1.Pod", "spec.volumes");
    let Element::Struct(id) = volume.element else { panic!("not a struct") };
    assert_eq!((volume.number, volume.form, id.get().name), (1, Form::List, "Volume"));
    // JSON inlines the source; protobuf has it as a message in field 2.
    assert_eq!(id.get().field("hostPath").unwrap().number, 1);
    assert!(id.get().numbered(2).unwrap().is_inline());
    assert_eq!(id.get().numbered(1).unwrap().name, "name");
    assert!(id.get().field("VolumeSource").is_none() && id.get().numbered(3).is_none());
    assert!(id.get().numbered(u32::MAX).is_none());
}

#[test]
fn required_is_what_the_api_publishes() {
    assert!(field("v1.Pod", "spec.containers").required);
    assert!(!field("v1.Pod", "spec.volumes").required);
    assert!(field("apps/v1.Deployment", "spec").required, "though it has omitempty");
    assert!(!field("v1.Event", "reportingComponent").required, "though it has none");
}

#[test]
fn lists_merge_by_their_keys() {
    let containers = field("v1.Pod", "spec.containers");
    assert_eq!(keys(containers), ["name"]);
    assert_eq!(containers.patch, Patch { merge: true, key: Some("name"), ..Patch::default() });
    let ports = field("v1.Service", "spec.ports");
    assert_eq!((keys(ports), ports.patch.key), (vec!["port", "protocol"], Some("port")));
    assert_eq!(field("v1.Service", "spec.ports.protocol").published_default(), Some("TCP".into()));
    assert_eq!(field("v1.Service", "spec.ports.port").published_default(), Some(0.into()));
    assert_eq!(field("v1.Pod", "spec.containers.workingDir").published_default(), None);
    let volumes = field("v1.Pod", "spec.volumes").patch;
    assert!(volumes.merge && volumes.retain_keys);
    let finalizers = field("v1.Pod", "metadata.finalizers");
    assert_eq!((finalizers.list, finalizers.patch.merge), (Some(ListKind::Set), true));
    assert_eq!(field("v1.Pod", "spec.tolerations").list_kind(), ListKind::Atomic);
    assert_eq!(field("v1.PodList", "items").list_kind(), ListKind::Atomic);
    assert!(field("policy/v1.PodDisruptionBudget", "spec.selector").patch.replace);
}

#[test]
fn some_structs_are_owned_as_a_whole() {
    assert!(field("apps/v1.Deployment", "spec.selector").is_atomic(), "by its type");
    assert!(field("v1.Pod", "spec.nodeSelector").is_atomic(), "by its field");
    assert!(!field("v1.PersistentVolume", "spec.claimRef").is_atomic(), "its field says otherwise");
    assert!(!field("v1.Pod", "spec").is_atomic());
}

#[test]
fn enumerations_know_their_values() {
    let values = |field: &Field| field.scalar.unwrap().values().collect::<Vec<_>>();
    assert_eq!(values(field("v1.Pod", "spec.restartPolicy")), ["Always", "Never", "OnFailure"]);
    assert_eq!(values(field("v1.Service", "spec.ipFamilies")), ["", "IPv4", "IPv6"]);
    assert!(values(field("v1.Secret", "type")).is_empty());
    assert!(values(field("certificates.k8s.io/v1.CertificateSigningRequest", "spec.usages")).contains(&"client auth"));
}

#[test]
fn resources_say_what_discovery_says() {
    let find = |plural: &str| table().resources.iter().find(|resource| resource.plural == plural).unwrap();
    let deployments = find("deployments");
    assert_eq!((deployments.kind, deployments.singular().as_str()), ("Deployment", "deployment"));
    assert_eq!(deployments.verbs().count(), 8);
    assert_eq!(deployments.short_names().collect::<Vec<_>>(), ["deploy"]);
    assert_eq!(deployments.categories().collect::<Vec<_>>(), ["all"]);
    let [scale, status] = &*deployments.subresources else { panic!("{:?}", deployments.subresources) };
    assert_eq!((scale.name, scale.kind), ("scale", Some(("autoscaling/v1", "Scale"))));
    assert_eq!((status.name, status.kind), ("status", None));
    assert_eq!(status.verbs().collect::<Vec<_>>(), ["get", "patch", "update"]);
    assert!(!find("namespaces").verbs().any(|verb| verb == "deletecollection"));
    assert!(!find("nodes").namespaced && find("pods").namespaced);
}

#[test]
fn every_name_in_the_table_leads_somewhere() {
    for resource in &table().resources {
        assert!(kind_in(resource.package.api_version, resource.kind).is_some(), "{}", resource.plural);
        for (api_version, kind) in resource.subresources.iter().filter_map(|sub| sub.kind) {
            assert!(kind_in(api_version, kind).is_some(), "{} {kind}", resource.plural);
        }
    }
    for (ty, field) in table().types.iter().flat_map(|ty| ty.fields.iter().map(move |field| (ty, field))) {
        let list_keys = match field.list {
            Some(ListKind::Map { keys }) => keys.iter().collect(),
            _ => Vec::new(),
        };
        for key in list_keys.into_iter().chain(field.patch.key) {
            let Element::Struct(item) = field.element else { panic!("{}.{}", ty.name, field.name) };
            assert!(item.get().field(key).is_some(), "{}.{}: no key {key}", ty.name, field.name);
        }
        assert!(field.default.is_none_or(|text| serde_json::from_str::<serde_json::Value>(text).is_ok()));
        assert!(field.number == 0 || ty.is_message, "{}.{}", ty.name, field.name);
    }
}

#[test]
fn a_table_that_makes_no_sense_is_refused_by_line() {
    let check = |text: &'static str, line: usize, what: &'static str| {
        assert_eq!(Table::read(text).unwrap_err(), ReadError { line, what }, "{text}");
    };
    check("type Pod\n", 1, "no package yet");
    check("package a.v1\n", 1, "a package has an alias, a model prefix and an apiVersion");
    check("package a.v1 m v1\n spec 1 string\n", 2, "a field without a type");
    check("package a.v1 m v1\ntype A\n b 1 B\n", 3, "no such type");
    check("package a.v1 m v1\ntype A\n b x string\n", 3, "no number");
    check("package a.v1 m v1\ntype A\n b 1 string odd\n", 3, "no such flag");
    check("package a.v1 m v1\ntype A\n b 1 string[] list=map\n", 3, "no such flag");
    check("package a.v1 m v1\nresource as A\n", 2, "a resource has a plural, a kind and a scope");
    check("package a.v1 m v1\nalso A b.v1.B\n", 2, "no such type");
    check("odd\n", 1, "no such line");
}
