//! What becomes of a binding: which kinds it makes usable, or why it cannot. Pure.

use super::claims;
use super::compatible::{breaks, stranded};
use super::conversion::{Converted, needs_any, recorded};
use super::words::CONVERTED;
use crate::tenancy::conditions::{Conditions, State};
use apiserver::attend::{Added, By};
use apiserver::object::Object;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// What a decision is made of.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    /// As it is asked for, with the status that it had.
    pub(super) binding: &'a Object,
    /// `root:provider|cowboys`
    pub(super) reference: &'a str,
    pub(super) export: Option<&'a Offer>,
    /// What the workspace serves already.
    pub(super) added: &'a [Added],
    /// Who has a group and plural besides these.
    pub(super) taken_by: &'a dyn Fn(&str, &str) -> Option<String>,
    pub(super) now: Instant,
}

/// An export with what belongs to it.
#[derive(Debug, Default)]
pub(super) struct Offer {
    pub(super) object: Object,
    /// The id of the workspace that it is in.
    pub(super) home: String,
    /// Those that it names, in order; nothing where there is none.
    pub(super) schemas: Vec<(String, Option<Object>)>,
    /// How those are converted, by their names.
    pub(super) conversions: HashMap<String, Converted>,
    /// The definitions that the binding is bound to now, by the UIDs of their schemas.
    pub(super) taken: HashMap<String, Object>,
}

/// What is to become of a binding.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) status: Value,
    /// Schemas that it binds.
    pub(super) schemas: Vec<Object>,
    /// Kinds whose schema it replaces by another.
    pub(super) evolved: Vec<String>,
    /// Hashes of the rules by which kinds are converted.
    pub(super) converted: BTreeMap<String, String>,
}

/// Why a binding is not up to date that will be as soon as its objects are.
pub(super) const REWRITING: &str = "StorageMigration";

const COMPLETED: &str = "InitialBindingCompleted";

pub(super) fn decide(seen: &Seen<'_>) -> Decision {
    let binding = seen.binding;
    let mut conditions = Conditions::read(binding.items(&["status", "conditions"]));
    let mut bound: Vec<Value> = binding.items(&["status", "boundResources"]).cloned().collect();
    let mut decision =
        Decision { status: json!({}), schemas: Vec::new(), evolved: Vec::new(), converted: BTreeMap::new() };
    let mut home = binding.text(&["status", "apiExportClusterName"]);
    let valid = seen.export.map_or_else(|| missing(seen), |offer| validity(seen, offer));
    if valid == State::True
        && let Some(offer) = seen.export
    {
        let problem = problem(seen, offer, &bound);
        if problem.is_none() {
            // Whoever has the identity is the one that was bound, wherever it is now.
            home = &offer.home;
            for schema in offer.schemas.iter().filter_map(|(_, schema)| schema.as_ref()) {
                take(&mut bound, schema, (offer, binding), &mut decision);
            }
        }
        let state = problem.unwrap_or(State::True);
        // What was bound once stays so.
        if !conditions.is_true(COMPLETED) {
            conditions.set(COMPLETED, &state, seen.now);
        }
        conditions.set("BindingUpToDate", &state, seen.now);
    } else if !conditions.is_true(COMPLETED) {
        let waiting = "Waiting for API(s) to be established".to_owned();
        let state = State::False { severity: "Info", reason: "WaitingForEstablished", message: waiting };
        conditions.set(COMPLETED, &state, seen.now);
    }
    conditions.set("APIExportValid", &valid, seen.now);
    let asked = seen.export.map(|offer| claims::asked(&offer.object)).unwrap_or_default();
    let settled = claims::settle(&asked, &binding.items(&["spec", "permissionClaims"]).cloned().collect::<Vec<_>>());
    conditions.set("PermissionClaimsValid", &settled.valid, seen.now);
    conditions.set("PermissionClaimsApplied", &State::True, seen.now);
    conditions.summarize(COMPLETED, seen.now);
    let phase = if conditions.is_true(COMPLETED) { "Bound" } else { "Binding" };
    let home = if home.is_empty() { seen.export.map_or("", |offer| &offer.home) } else { home };
    decision.status = json!({
        "apiExportClusterName": home, "phase": phase, "conditions": conditions.into_value(),
    });
    for (field, list) in
        [("boundResources", bound), ("exportPermissionClaims", asked), ("appliedPermissionClaims", settled.applied)]
    {
        if !list.is_empty() {
            decision.status[field] = Value::Array(list);
        }
    }
    decision
}

fn missing(seen: &Seen<'_>) -> State {
    State::error("APIExportNotFound", format!("APIExport {} not found", seen.reference))
}

/// Whether an export can be bound at all.
fn validity(seen: &Seen<'_>, offer: &Offer) -> State {
    if offer.object.text(&["status", "identityHash"]).is_empty() {
        let message = format!("APIExport {} is missing status.identityHash", seen.reference);
        return State::False { severity: "Warning", reason: "MissingIdentityHash", message };
    }
    match offer.schemas.iter().find(|(_, schema)| schema.is_none()) {
        None => State::True,
        Some((name, _)) => {
            let told = "Invalid APIExport. Please contact the APIExport owner to resolve";
            State::error("InternalError", format!("{told}: APIResourceSchema {name:?} not found"))
        }
    }
}

/// Why what an export offers cannot be bound, if it cannot. All of it is, or none.
fn problem(seen: &Seen<'_>, offer: &Offer, bound: &[Value]) -> Option<State> {
    let identity = offer.object.text(&["status", "identityHash"]);
    for schema in offer.schemas.iter().filter_map(|(_, schema)| schema.as_ref()) {
        let conflicts = |why: String| State::error("NamingConflicts", format!("Unable to bind APIs: {why}"));
        if let Some(why) = conflict(seen, schema) {
            return Some(conflicts(why));
        }
        let Some(old) = bound.iter().find(|bound| is_of(bound, schema)) else { continue };
        if old["schema"]["identityHash"] != identity {
            let why = format!("APIExport {} has another identity than when it was bound", seen.reference);
            return Some(State::error("IdentityChanged", why));
        }
        let taken = old["schema"]["UID"].as_str().and_then(|uid| offer.taken.get(uid));
        let mut broken = taken.map(|taken| breaks(taken, schema)).unwrap_or_default();
        if taken.is_some() && converted_before(seen.binding, schema) && converted(offer, schema).is_empty() {
            broken.push(format!("its versions are converted, and there is no APIConversion {:?}", schema.name()));
        }
        if !broken.is_empty() {
            let why = format!("APIResourceSchema {:?} would break what is bound: {}", schema.name(), broken.join("; "));
            return Some(State::error("IncompatibleSchema", why));
        }
        let stranded = if taken.is_some() { stranded(old, schema) } else { Vec::new() };
        if !stranded.is_empty() {
            let (name, versions) = (schema.name(), stranded.join(", "));
            let message = format!(
                "APIResourceSchema {name:?} takes its place once objects that are stored in version {versions} are rewritten"
            );
            return Some(State::False { severity: "Info", reason: REWRITING, message });
        }
    }
    None
}

/// Which name of a schema is somebody else's in the workspace, and whose.
fn conflict(seen: &Seen<'_>, schema: &Object) -> Option<String> {
    let group = schema.text(&["spec", "group"]);
    let name = |field: &str| schema.text(&["spec", "names", field]).to_owned();
    let (plural, kind) = (name("plural"), name("kind"));
    if let Some(whose) = (seen.taken_by)(group, &plural) {
        return Some(format!("naming conflict with {whose}: spec.names.plural={plural} is forbidden"));
    }
    let singular = Some(name("singular")).filter(|name| !name.is_empty()).unwrap_or_else(|| kind.to_lowercase());
    let list_kind = Some(name("listKind")).filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{kind}List"));
    let short: Vec<&str> = schema.items(&["spec", "names", "shortNames"]).filter_map(Value::as_str).collect();
    let own = By::Sharing(seen.binding.name().to_owned());
    for Added { by, resource } in seen.added.iter().filter(|added| added.by != own && added.resource.group == group) {
        let is_name = |name: &str| {
            resource.plural == name
                || resource.singular == name
                || resource.short_names.iter().any(|short| short == name)
        };
        let is_kind = |name: &str| resource.kind == name || resource.list_kind == name;
        let taken = if is_name(&plural) {
            format!("spec.names.plural={plural}")
        } else if is_name(&singular) {
            format!("spec.names.singular={singular}")
        } else if short.iter().any(|name| is_name(name)) {
            format!("spec.names.shortNames=[{}]", short.join(" "))
        } else if is_kind(&kind) {
            format!("spec.names.kind={kind}")
        } else if is_kind(&list_kind) {
            format!("spec.names.listKind={list_kind}")
        } else {
            continue;
        };
        let whose = match by {
            By::Definition(name) => format!("CustomResourceDefinition {name:?}"),
            By::Sharing(name) => format!("APIBinding {name:?}"),
            By::Lending(name) => format!("CustomResourceDefinition {name:?} of the platform"),
        };
        return Some(format!("naming conflict with {whose}: {taken} is forbidden"));
    }
    None
}

/// The hash of the rules by which an export wants a schema to be converted.
fn converted<'a>(offer: &'a Offer, schema: &Object) -> &'a str {
    offer.conversions.get(schema.name()).map_or("", Converted::hash)
}

fn converted_before(binding: &Object, schema: &Object) -> bool {
    needs_any(schema) && !recorded(binding.annotation(CONVERTED).unwrap_or_default(), &qualified(schema)).is_empty()
}

/// `cowboys.wild.west`
pub(super) fn qualified(schema: &Object) -> String {
    format!("{}.{}", schema.text(&["spec", "names", "plural"]), schema.text(&["spec", "group"]))
}

fn is_of(bound: &Value, schema: &Object) -> bool {
    bound["group"] == schema.text(&["spec", "group"]) && bound["resource"] == schema.text(&["spec", "names", "plural"])
}

/// Binds a schema, or another of the same kind in its place.
fn take(bound: &mut Vec<Value>, schema: &Object, (offer, binding): (&Offer, &Object), decision: &mut Decision) {
    let (group, plural) = (schema.text(&["spec", "group"]), schema.text(&["spec", "names", "plural"]));
    let stored = schema.items(&["spec", "versions"]).find(|version| version["storage"] == true);
    let stored = stored.map(|version| version["name"].clone()).unwrap_or_default();
    let old = bound.iter().position(|bound| is_of(bound, schema));
    let mut versions: Vec<Value> =
        old.and_then(|at| bound[at]["storageVersions"].as_array().cloned()).unwrap_or_default();
    if !versions.contains(&stored) {
        versions.push(stored);
    }
    let identity = offer.object.text(&["status", "identityHash"]);
    let new = json!({
        "group": group, "resource": plural, "storageVersions": versions,
        "schema": { "name": schema.name(), "UID": schema.uid(), "identityHash": identity },
    });
    decision.schemas.push(schema.clone());
    let kind = qualified(schema);
    let is_kept = old.is_some_and(|at| bound[at]["schema"]["UID"] == schema.uid());
    let hash = match converted(offer, schema) {
        // Rules that were taken back stay with those who had them.
        "" if is_kept => recorded(binding.annotation(CONVERTED).unwrap_or_default(), &kind),
        hash => hash,
    };
    if !hash.is_empty() {
        decision.converted.insert(kind, hash.to_owned());
    }
    match old {
        None => bound.push(new),
        Some(at) => {
            if bound[at]["schema"]["UID"] != schema.uid() {
                decision.evolved.push(format!("{plural}.{group}"));
            }
            bound[at] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant { seconds: 0, nanos: 0 };

    fn object(tree: Value) -> Object {
        tree.try_into().unwrap()
    }

    fn schema(name: &str, uid: &str, versions: &[(&str, bool)]) -> Object {
        let versions: Vec<Value> = versions
            .iter()
            .enumerate()
            .map(|(at, (name, served))| json!({ "name": name, "served": served, "storage": at == 0, "schema": {} }))
            .collect();
        let names = json!({ "plural": "cowboys", "kind": "Cowboy" });
        let spec = json!({ "group": "wild.west", "names": names, "scope": "Namespaced", "versions": versions });
        object(json!({ "metadata": { "name": format!("{name}.cowboys.wild.west"), "uid": uid }, "spec": spec }))
    }

    fn offer(identity: &str, schema: Option<Object>) -> Offer {
        let export = object(json!({ "metadata": { "name": "e" }, "status": { "identityHash": identity } }));
        let named = vec![("v1.cowboys.wild.west".to_owned(), schema)];
        Offer { object: export, home: "p".to_owned(), schemas: named, ..Offer::default() }
    }

    fn decided(binding: &Object, export: Option<&Offer>, built_in: bool) -> Decision {
        let taken_by = |_: &str, _: &str| built_in.then(|| "a built-in kind".to_owned());
        decide(&Seen { binding, reference: "root:p|e", export, added: &[], taken_by: &taken_by, now: NOW })
    }

    #[track_caller]
    fn check(decision: &Decision, phase: &str, condition: &str, told: &str) {
        let found = decision.status["conditions"].as_array().unwrap().iter().find(|found| found["type"] == condition);
        let found = found.unwrap_or_else(|| panic!("{condition}: {}", decision.status));
        let message = if found["status"] == "True" { "True" } else { found["message"].as_str().unwrap() };
        assert_eq!((decision.status["phase"].as_str().unwrap(), message), (phase, told));
    }

    #[test]
    fn what_is_offered_is_bound_or_it_is_said_why_not() {
        let new = object(json!({ "metadata": { "name": "b" }, "spec": {} }));
        let good = decided(&new, Some(&offer("aa", Some(schema("v1", "u1", &[("v1", true)])))), false);
        check(&good, "Bound", "Ready", "True");
        assert_eq!(
            good.status["boundResources"][0]["schema"],
            json!({
                "name": "v1.cowboys.wild.west", "UID": "u1", "identityHash": "aa",
            })
        );
        assert_eq!((good.schemas.len(), good.evolved.len()), (1, 0));
        check(&decided(&new, None, false), "Binding", "APIExportValid", "APIExport root:p|e not found");
        let nameless = "APIExport root:p|e is missing status.identityHash";
        check(&decided(&new, Some(&offer("", None)), false), "Binding", "APIExportValid", nameless);
        let lost = "Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema \
                    \"v1.cowboys.wild.west\" not found";
        check(&decided(&new, Some(&offer("aa", None)), false), "Binding", "APIExportValid", lost);
        let taken = "Unable to bind APIs: naming conflict with a built-in kind: spec.names.plural=cowboys is forbidden";
        let refused = decided(&new, Some(&offer("aa", Some(schema("v1", "u1", &[("v1", true)])))), true);
        check(&refused, "Binding", COMPLETED, taken);
        assert!(refused.status.get("boundResources").is_none() && refused.schemas.is_empty());
    }

    #[test]
    fn another_schema_takes_the_place_of_one_unless_it_breaks_something() {
        let first = schema("v1", "u1", &[("v1", true)]);
        let before =
            decided(&object(json!({ "metadata": { "name": "b" } })), Some(&offer("aa", Some(first.clone()))), false);
        let bound = object(json!({ "metadata": { "name": "b" }, "status": before.status }));
        let after = |next: Object, identity: &str| {
            let mut offer = offer(identity, Some(next));
            offer.taken.insert("u1".to_owned(), first.clone());
            decided(&bound, Some(&offer), false)
        };
        let moved = after(schema("v2", "u2", &[("v2", true), ("v1", true)]), "aa");
        check(&moved, "Bound", "BindingUpToDate", "True");
        assert_eq!(moved.evolved, ["cowboys.wild.west"]);
        assert_eq!(moved.status["boundResources"][0]["storageVersions"], json!(["v1", "v2"]));
        let kept = after(schema("v2", "u2", &[("v2", true)]), "aa");
        let told = "APIResourceSchema \"v2.cowboys.wild.west\" would break what is bound: objects are stored in \
                    version v1: a schema that stores another has to come first; version v1 is no longer served, and \
                    was not deprecated before";
        check(&kept, "Bound", "BindingUpToDate", told);
        assert_eq!(kept.status["boundResources"][0]["schema"]["UID"], "u1");
        let other = after(schema("v1", "u1", &[("v1", true)]), "bb");
        check(&other, "Bound", "BindingUpToDate", "APIExport root:p|e has another identity than when it was bound");
        let gone = decided(&bound, None, false);
        check(&gone, "Bound", "APIExportValid", "APIExport root:p|e not found");
        assert_eq!(gone.status["boundResources"], bound.pointer(&["status", "boundResources"]).unwrap().clone());
    }
}
