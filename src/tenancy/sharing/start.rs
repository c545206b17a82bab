//! What a workspace takes from the start, because its type says so. Nobody has to be asked for it again.

use super::binding::{offer, prepare, record};
use super::bound::{Offer, Seen, decide};
use super::claims;
use super::copies;
use super::export::revision;
use super::words::{BINDINGS, EXPORTS};
use crate::tenancy::path;
use crate::tenancy::types::Types;
use crate::tenancy::words::collection;
use apiserver::allocate::Beside;
use apiserver::ambient::Ambient;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::Workspace;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// An export, and the path of the workspace that it is in.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tenancy) struct Wanted {
    pub(in crate::tenancy) path: String,
    pub(in crate::tenancy) export: String,
}

/// What is written together with a new workspace; or what is wanted and not there.
pub(in crate::tenancy) fn bindings(
    types: &Types<'_>,
    workspace: &Workspace,
    wanted: &[Wanted],
    ambient: &Ambient,
) -> Result<Result<Vec<Beside>, String>, ApiError> {
    let around = types.around;
    let (mut beside, mut kept, mut names) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut taken: Vec<(String, String, String)> = Vec::new();
    for Wanted { path, export } in wanted {
        let home = path::resolve(path, types).map(|id| Workspace::new(&id));
        let reference = format!("{path}|{export}");
        let mut binding = drafted(path, export, &mut names);
        let found = match &home {
            Some(home) => offer(&binding, home, around)?,
            None => None,
        };
        let (Some(home), Some(found)) = (home, found) else { return Ok(Err(reference)) };
        prepare(&mut binding, workspace);
        accept(&mut binding, &found);
        let taken_by = |group: &str, plural: &str| match around.resource(group, plural) {
            Some(_) => Some("a built-in kind".to_owned()),
            None => taken.iter().find(|(g, p, _)| (&**g, &**p) == (group, plural)).map(|(_, _, by)| by.clone()),
        };
        let seen = Seen {
            binding: &binding,
            reference: &reference,
            export: Some(&found),
            added: &[],
            taken_by: &taken_by,
            now: ambient.now(),
        };
        let decision = decide(&seen);
        for made in record(&mut binding, &decision, Some(&found), around)? {
            // Two exports may offer the same schema, of which one copy is enough.
            if copies::concerned(&made).is_none_or(|name| kept.insert(name.to_owned())) {
                beside.push(made);
            }
        }
        for schema in &decision.schemas {
            let names =
                (schema.text(&["spec", "group"]).to_owned(), schema.text(&["spec", "names", "plural"]).to_owned());
            taken.push((names.0, names.1, format!("APIBinding {:?}", binding.name())));
        }
        let at = collection(around, EXPORTS, &home)?.object(found.object.name());
        beside.push(Beside::Unchanged(Box::new(at), revision(&found.object)));
        let at = collection(around, BINDINGS, workspace)?.object(binding.name());
        beside.push(Beside::Make(Box::new(at), binding));
    }
    Ok(Ok(beside))
}

/// A binding under a name that no other has: what its export is called, if it can be. Whoever makes it a second time, not
/// knowing of the first, comes upon the same name.
pub(super) fn drafted(path: &str, export: &str, taken: &mut BTreeSet<String>) -> Object {
    let mut name = export.to_owned();
    for attempt in 1.. {
        if taken.insert(name.clone()) {
            break;
        }
        let hash = Sha256::digest(format!("{path}|{export}|{attempt}"));
        name = format!("{export}-{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2]);
    }
    let reference = json!({ "export": { "path": path, "name": export } });
    let tree = json!({ "metadata": { "name": name }, "spec": { "reference": reference } });
    Object::try_from(tree).unwrap_or_default()
}

fn accept(binding: &mut Object, offer: &Offer) {
    let claims = accepted(&offer.object);
    if !claims.is_empty() {
        binding.spec_mut().insert("permissionClaims".to_owned(), Value::Array(claims));
    }
}

/// Whoever chose the type agreed to what its exports claim.
pub(super) fn accepted(export: &Object) -> Vec<Value> {
    let claims = claims::asked(export).into_iter().map(|mut accepted| {
        let suggested = accepted.as_object_mut().and_then(|claim| claim.remove("defaultSelector"));
        accepted["selector"] = suggested.unwrap_or_else(|| json!({ "matchAll": true }));
        accepted["state"] = json!("Accepted");
        accepted
    });
    claims.collect()
}
