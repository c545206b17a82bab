//! Services: an address inside of the cluster.

use crate::ambient::Ambient;
use crate::object::Object;
use serde_json::{Value, json};

/// Addresses that services get: 10.0.0.0/16, of which the first 256 are left for those who ask for one by name.
const FIRST: u64 = 256;
const LAST: u64 = 65_535;

pub(super) fn prepare_create(object: &mut Object, ambient: &Ambient) {
    if !wants_address(object) {
        return;
    }
    let Some(Value::Object(spec)) = object.map_mut().get_mut("spec") else { return };
    let given = spec.get("clusterIP").and_then(Value::as_str).unwrap_or_default().to_owned();
    let address = if given.is_empty() { address(ambient) } else { given };
    spec.insert("clusterIP".to_owned(), address.as_str().into());
    spec.insert("clusterIPs".to_owned(), json!([address]));
    spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    spec.entry("ipFamilyPolicy").or_insert_with(|| "SingleStack".into());
    spec.entry("internalTrafficPolicy").or_insert_with(|| "Cluster".into());
}

fn wants_address(object: &Object) -> bool {
    object.text(&["spec", "type"]) != "ExternalName"
}

fn address(ambient: &Ambient) -> String {
    let number = FIRST + ambient.below(LAST - FIRST);
    format!("10.0.{}.{}", number / 256, number % 256)
}

/// An address stays when it is not mentioned, and is given up with the type that had it.
pub(super) fn prepare_update(new: &mut Object, old: &Object, ambient: &Ambient) {
    if !wants_address(new) {
        return;
    }
    if !wants_address(old) {
        return prepare_create(new, ambient);
    }
    let Some(Value::Object(spec)) = new.map_mut().get_mut("spec") else { return };
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
        let unsaid = spec.get(field).is_none_or(|value| value.is_null() || value == "");
        if let (true, Some(value)) = (unsaid, old.pointer(&["spec", field])) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
}
