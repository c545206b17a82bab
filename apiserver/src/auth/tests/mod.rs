//! What is decided, against what Kubernetes decides and against laws that always hold.

mod laws;
mod vectors;

use super::{Rules, StoredRole};
use crate::object::Object;
use bytes::Bytes;
use serde_json::Value;

/// The rules of a workspace that has these roles and bindings.
fn rules(objects: &[Value]) -> Rules {
    let mut stored: Vec<(Object, Bytes)> =
        objects.iter().map(|tree| (Object::try_from(tree.clone()).unwrap(), Bytes::from(tree.to_string()))).collect();
    stored.sort_by(|(one, _), (other, _)| one.name().cmp(other.name()));
    let of = |bindings: bool| {
        stored.iter().filter(move |(object, _)| object.kind().ends_with("Binding") == bindings).map(
            |(object, value)| {
                let namespace = Some(object.namespace()).filter(|namespace| !namespace.is_empty());
                StoredRole { namespace, name: object.name(), value }
            },
        )
    };
    Rules::compile(of(false), of(true))
}
