//! Exports: each has an identity, made of a secret that nobody else knows, and a slice that says where it is found.

use super::slice;
use super::words::{EVOLVED, EXPORTS, NEWEST, NO_SLICE, SECRETS_IN, SLICES};
use crate::definitions::convert_export;
use crate::tenancy::birth::namespace;
use crate::tenancy::conditions::{Conditions, State};
use crate::tenancy::path;
use crate::tenancy::types::Types;
use crate::tenancy::words::{CLUSTER, PATH, collection};
use apiserver::allocate::Beside;
use apiserver::attend::{Around, Attending};
use apiserver::auth::{Attributes, Objects};
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{ObjectRef, Workspace};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openapi::FieldError;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use storage::Revision;

/// Letters of which a new identity is made: more than 256 bits.
const KEY_LENGTH: usize = 64;

const SECRETS: (&str, &str, &str) = ("", "v1", "secrets");
const NAMESPACES: (&str, &str, &str) = ("", "v1", "namespaces");

pub(super) fn attend(object: &mut Object, write: &Attending<'_>, url: &str) -> Result<Vec<Beside>, ApiError> {
    let version = write.at.resource.version.clone();
    if version != NEWEST {
        convert_export(object, NEWEST);
    }
    name_claims(object, write)?;
    check(object, write)?;
    let (workspace, around) = (&write.at.workspace, write.around);
    object.set_annotation(CLUSTER, workspace.as_str());
    let itself = Types { around }.itself(workspace)?;
    let path = itself.as_ref().and_then(|itself| itself.annotation(PATH)).unwrap_or(workspace.as_str()).to_owned();
    object.set_annotation(PATH, &path);
    if write.old.is_some_and(|old| replaces(object, old, &version)) {
        object.set_annotation(EVOLVED, "true");
    }
    let mut beside = identify(object, write)?;
    if write.old.is_none() && object.annotation(NO_SLICE).is_none() {
        beside.extend(slice_of(object, write, (&path, url))?);
    }
    if version != NEWEST {
        convert_export(object, &version);
    }
    Ok(beside)
}

/// Whether another schema takes the place of one.
fn replaces(export: &Object, old: &Object, version: &str) -> bool {
    let mut old = old.clone();
    if version != NEWEST {
        convert_export(&mut old, NEWEST);
    }
    let is_same = |one: &Value, other: &Value| one["name"] == other["name"] && one["group"] == other["group"];
    export.items(&["spec", "resources"]).any(|new| {
        let mut before = old.items(&["spec", "resources"]);
        before.any(|before| is_same(before, new) && before["schema"] != new["schema"])
    })
}

/// Fills in the identities of exports that claims name. Whoever may not bind one is not told whether it is there.
fn name_claims(export: &mut Object, write: &Attending<'_>) -> Result<(), ApiError> {
    let mut claims: Vec<Value> = export.items(&["spec", "permissionClaims"]).cloned().collect();
    let mut errors = Vec::new();
    for (at, claim) in claims.iter_mut().enumerate() {
        let word =
            |claim: &Value, path: &str| claim.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, path) = (word(claim, "/export/name"), word(claim, "/export/path"));
        if name.is_empty() || !word(claim, "/identityHash").is_empty() {
            continue;
        }
        let kind = (word(claim, "/group"), word(claim, "/resource"));
        match claimed(&path, &name, (&kind.0, &kind.1), write)? {
            Ok(identity) => claim["identityHash"] = json!(identity),
            Err(why) => {
                let told = if path.is_empty() { name } else { format!("{path}:{name}") };
                errors.push(FieldError::invalid(format!("spec.permissionClaims[{at}].export"), told, why));
            }
        }
    }
    if !errors.is_empty() {
        return Err(ApiError::invalid(EXPORTS.0, "APIExport", export.name(), &errors));
    }
    if !claims.is_empty() {
        export.spec_mut().insert("permissionClaims".to_owned(), Value::Array(claims));
    }
    Ok(())
}

/// The identity of an export that offers a kind; or why there is none.
fn claimed(
    path: &str,
    name: &str,
    (group, resource): (&str, &str),
    write: &Attending<'_>,
) -> Result<Result<String, String>, ApiError> {
    let unknown = || Ok(Err("there is no such APIExport, or no permission to bind it".to_owned()));
    let home = match path {
        "" => Some(write.at.workspace.clone()),
        path => path::resolve(path, &Types { around: write.around }).map(|id| Workspace::new(&id)),
    };
    let Some(home) = home else { return unknown() };
    if !may_bind(write, &home, name)? {
        return unknown();
    }
    let Some(found) = write.around.object(&collection(write.around, EXPORTS, &home)?.object(name))? else {
        return unknown();
    };
    let mut offered = found.items(&["spec", "resources"]);
    if !offered.any(|one| one["name"] == resource && one["group"] == group) {
        return Ok(Err(format!("it does not offer {resource}.{group}")));
    }
    match found.text(&["status", "identityHash"]) {
        "" => Ok(Err("it has no identity yet".to_owned())),
        identity => Ok(Ok(identity.to_owned())),
    }
}

/// Whether the author of a write may bind an export.
pub(super) fn may_bind(write: &Attending<'_>, home: &Workspace, name: &str) -> Result<bool, ApiError> {
    let (group, _, resource) = EXPORTS;
    let wanted = Attributes::objects("bind", Objects { group, resource, name, ..Objects::default() });
    Ok(write.user.is_master() || write.around.grants(write.user, home, &wanted)?)
}

/// Claims on what is not built in have to say whose it is; schemas are named after what they describe.
fn check(export: &Object, write: &Attending<'_>) -> Result<(), ApiError> {
    let word = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut errors = Vec::new();
    for (at, claim) in export.items(&["spec", "permissionClaims"]).enumerate() {
        let (group, resource) = (word(claim, "group"), word(claim, "resource"));
        let is_known = write.around.resource(&group, &resource).is_some();
        if word(claim, "identityHash").is_empty() && !is_known {
            let why = "identityHash is required for API types that are not built-in, or the export that they are from";
            errors.push(FieldError::invalid(format!("spec.permissionClaims[{at}].identityHash"), "", why));
        }
    }
    for (at, resource) in export.items(&["spec", "resources"]).enumerate() {
        let group =
            Some(word(resource, "group")).filter(|group| !group.is_empty()).unwrap_or_else(|| "core".to_owned());
        let (suffix, schema) = (format!(".{}.{group}", word(resource, "name")), word(resource, "schema"));
        if !schema.ends_with(&suffix) {
            let why = format!("must end in {suffix}");
            errors.push(FieldError::invalid(format!("spec.resources[{at}].schema"), schema, why));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(EXPORTS.0, "APIExport", export.name(), &errors))
}

/// What is known of the secret of an identity.
#[derive(Debug, PartialEq, Eq)]
enum Secret {
    /// It is made together with the export.
    New(String),
    Missing(String),
    /// It has no key.
    Useless(String),
    Known(String),
}

/// Finds the secret of an export or makes one, and says what follows from it.
fn identify(export: &mut Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
    let said = |field: &str| export.text(&["spec", "identity", "secretRef", field]).to_owned();
    let (mut namespace, mut name) = (said("namespace"), said("name"));
    let had = export.text(&["status", "identityHash"]).to_owned();
    let chosen = !name.is_empty();
    if !chosen {
        (namespace, name) = (SECRETS_IN.to_owned(), export.name().to_owned());
        let reference = json!({ "namespace": namespace, "name": name });
        export.spec_mut().insert("identity".to_owned(), json!({ "secretRef": reference }));
    }
    let at = secret_at(write.around, &write.at.workspace, &namespace, &name)?;
    let mut beside = Vec::new();
    let secret = match write.around.object(&at)? {
        Some(found) => {
            beside.push(Beside::Unchanged(Box::new(at.clone()), revision(&found)));
            read(&found)
        }
        None if !chosen && had.is_empty() => {
            let key = write.ambient.letters(KEY_LENGTH);
            beside.extend(make(&at, &key, write)?);
            Secret::New(key)
        }
        None => Secret::Missing(name),
    };
    let (hash, state) = identity(&secret, &had);
    let mut conditions = Conditions::read(export.items(&["status", "conditions"]));
    conditions.set("IdentityValid", &state, write.ambient.now());
    let mut status = json!({ "conditions": conditions.into_value() });
    if !hash.is_empty() {
        status["identityHash"] = json!(hash);
    }
    export.map_mut().insert("status".to_owned(), status);
    Ok(beside)
}

/// The identity that an export has, and whether its secret is the one that it was made of. Once it has one, that stays.
fn identity(secret: &Secret, had: &str) -> (String, State) {
    let failed = |why: String| State::error("IdentityVerificationFailed", why);
    let key = match secret {
        Secret::New(key) | Secret::Known(key) => key,
        Secret::Missing(name) => return (had.to_owned(), failed(format!("secrets {name:?} not found"))),
        Secret::Useless(name) => {
            return (had.to_owned(), failed(format!("secrets {name:?} is missing data for key \"key\"")));
        }
    };
    let hash: String = Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    if had.is_empty() || had == hash {
        return (hash, State::True);
    }
    let why = format!("hash mismatch: identity secret hash {hash:?} must match status.identityHash {had:?}");
    (had.to_owned(), failed(why))
}

fn read(secret: &Object) -> Secret {
    let key = STANDARD.decode(secret.text(&["data", "key"])).ok().and_then(|key| String::from_utf8(key).ok());
    match key.filter(|key| !key.is_empty()) {
        Some(key) => Secret::Known(key),
        None => Secret::Useless(secret.name().to_owned()),
    }
}

fn secret_at(around: &dyn Around, workspace: &Workspace, namespace: &str, name: &str) -> Result<ObjectRef, ApiError> {
    Ok(collection(around, SECRETS, workspace)?.in_namespace(namespace).object(name))
}

/// A new secret, and the namespace that it is in.
fn make(at: &ObjectRef, key: &str, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
    let object = |tree: Value| Object::try_from(tree).map_err(|error| ApiError::internal(error.to_string()));
    let home = collection(write.around, NAMESPACES, &write.at.workspace)?.object(SECRETS_IN);
    let mut beside = match write.around.object(&home)? {
        Some(found) if found.is_deleting() => {
            let why = "the namespace of identities is being deleted";
            return Err(ApiError::forbidden(&write.at.resource, &at.name, why));
        }
        Some(found) => vec![Beside::Unchanged(Box::new(home), revision(&found))],
        None => vec![Beside::Make(Box::new(home), object(namespace(SECRETS_IN))?)],
    };
    let secret = json!({ "type": "Opaque", "data": { "key": STANDARD.encode(key) } });
    beside.push(Beside::Make(Box::new(at.clone()), object(secret)?));
    Ok(beside)
}

/// The slice that comes with an export, if there is none of that name.
fn slice_of(export: &Object, write: &Attending<'_>, (path, url): (&str, &str)) -> Result<Option<Beside>, ApiError> {
    let at = collection(write.around, SLICES, &write.at.workspace)?.object(export.name());
    if write.around.bytes(&at)?.is_some() {
        return Ok(None);
    }
    let address = slice::address(url, write.at.workspace.as_str(), export.name());
    let tree = json!({
        "metadata": { "ownerReferences": [{
            "apiVersion": format!("{}/{NEWEST}", EXPORTS.0), "kind": "APIExport", "name": export.name(),
            "uid": export.uid(),
        }] },
        "spec": { "export": { "path": path, "name": export.name() } },
        "status": slice::status(Some(address), None, write.ambient.now()),
    });
    let slice = Object::try_from(tree).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(Some(Beside::Make(Box::new(at), slice)))
}

/// The revision at which an object was read.
pub(in crate::tenancy) fn revision(object: &Object) -> Revision {
    Revision(object.resource_version().parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_the_hash_of_a_secret_and_stays_when_that_changes() {
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let known = |key: &str| Secret::Known(key.to_owned());
        assert_eq!(identity(&known("abc"), ""), (of_abc.to_owned(), State::True));
        assert_eq!(identity(&known("abc"), of_abc), (of_abc.to_owned(), State::True));
        let told = |secret: &Secret, had: &str| match identity(secret, had) {
            (hash, State::False { message, .. }) => (hash, message),
            (hash, State::True) => (hash, String::new()),
        };
        let (hash, message) = told(&known("other"), of_abc);
        assert!(hash == of_abc && message.contains("hash mismatch"), "{message}");
        assert_eq!(told(&Secret::Missing("s".to_owned()), "").1, "secrets \"s\" not found");
        assert!(told(&Secret::Useless("s".to_owned()), of_abc).1.contains("missing data"));
    }
}
