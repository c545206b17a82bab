//! The window of an export: `/services/apiexport/<workspace>/<export>/clusters/<workspace or *>/...`. Through it an
//! exporter sees the objects of its kinds in all workspaces that took them, and there of other kinds what was claimed
//! and accepted.

use super::conversion::{Converted, kept_as, needs_any};
use super::view::{Bound, Claimed};
use super::words::{BINDINGS, CONVERSIONS, DEFINITIONS, EVOLVED, EXPORTS, SCHEMAS, VAULT};
use super::{Identities, is_hash, schema};
use crate::tenancy::index::Index;
use crate::tenancy::path;
use apiserver::catalog::{Catalog, ResourceDef};
use apiserver::client::Client;
use apiserver::custom::{Definition, Elsewhere};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek};
use apiserver::place::Workspace;
use apiserver::target::{Target, Verb};
use apiserver::view::Seeing;
use apiserver::window::{Called, Pane, Window};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use storage::Revision;

/// Catalogs of windows that are kept: they are made again when somebody looks.
const KEPT_MAX: usize = 256;

/// What of objects can be reached besides themselves.
const PARTS: [&str; 2] = ["status", "scale"];

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tenancy) struct Address<'a> {
    home: &'a str,
    export: &'a str,
    /// `*` for all.
    onto: &'a str,
    /// Below that.
    pub(in crate::tenancy) rest: &'a str,
}

/// Reads a path; nothing if it leads to no window of an export.
pub(in crate::tenancy) fn read(url: &str) -> Option<Address<'_>> {
    let (home, rest) = url.strip_prefix("/services/apiexport/")?.split_once('/')?;
    let (export, rest) = rest.split_once('/')?;
    let rest = rest.strip_prefix("clusters/")?;
    let (onto, rest) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    Some(Address { home, export, onto: path::onto(onto), rest })
}

/// Whose window, onto what.
type Place = (Workspace, String, Workspace);

/// Catalogs of windows.
#[derive(Debug, Default)]
pub(in crate::tenancy) struct Windows {
    /// Nothing else is locked, and nothing is read, while this is held.
    kept: Mutex<HashMap<Place, (String, Arc<Catalog>)>>,
    /// Claims name others' exports by their identity.
    identities: Index<Identities>,
}

impl Windows {
    /// The catalog of a window, made anew unless it was made of the same.
    fn catalog(&self, place: Place, made_of: String, make: impl FnOnce() -> Catalog) -> Arc<Catalog> {
        if let Some((of, known)) = self.kept.lock().get(&place)
            && *of == made_of
        {
            return known.clone();
        }
        let made = Arc::new(make());
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT_MAX && !kept.contains_key(&place) {
            // Any will do.
            if let Some(other) = kept.keys().next().cloned() {
                kept.remove(&other);
            }
        }
        kept.insert(place, (made_of, made.clone()));
        made
    }
}

/// The window at an address.
pub(in crate::tenancy) fn open(
    client: &Client,
    windows: &Windows,
    address: &Address<'_>,
    find: impl Fn(&str) -> Option<Workspace>,
) -> Option<Window> {
    let home = find(address.home)?;
    let exports = client.at(EXPORTS, &home, None).ok()?;
    let export = Object::parse(&client.glance(&exports.object(address.export)).ok()??).ok()?;
    let pane = match address.onto {
        "*" => Exported {
            client: client.clone(),
            home: home.clone(),
            export,
            onto: Workspace::everywhere(),
            binding: None,
        },
        path => {
            let onto = find(path);
            let binding = onto.as_ref().and_then(|onto| binding_in(client, onto, &home, address.export));
            let onto = onto.unwrap_or_else(Workspace::nowhere);
            Exported { client: client.clone(), home: home.clone(), export, onto, binding }
        }
    };
    let catalog = pane.catalog(windows);
    let called = Called {
        group: EXPORTS.0,
        resource: EXPORTS.2,
        subresource: "content",
        name: address.export.to_owned(),
        verb: None,
    };
    Some(Window { home, called, onto: pane.onto.clone(), catalog, pane: Arc::new(pane) })
}

/// The binding of a workspace to an export.
pub(super) fn binding_in(client: &Client, workspace: &Workspace, home: &Workspace, export: &str) -> Option<Object> {
    let place = client.at(BINDINGS, workspace, None).ok()?;
    let all = client.scan(&place).ok()?.filter_map(Result::ok);
    let mut ours = all.filter(|entry| is_to(Peek::new(&entry.version), home, export));
    Object::parse(&ours.next()?.version.value).ok()
}

/// Whether a binding is to an export.
pub(super) fn is_to(binding: Peek<'_>, home: &Workspace, export: &str) -> bool {
    binding.text(&["spec", "reference", "export", "name"]).as_deref() == Some(export)
        && binding.text(&["status", "apiExportClusterName"]).as_deref() == Some(home.as_str())
}

/// An export, and what its owner looks at.
#[derive(Debug)]
struct Exported {
    client: Client,
    home: Workspace,
    export: Object,
    /// Nowhere, if there is no such workspace.
    onto: Workspace,
    /// Of the workspace that is looked at, if it is one.
    binding: Option<Object>,
}

impl Exported {
    fn identity(&self) -> &str {
        self.export.text(&["status", "identityHash"])
    }

    fn catalog(&self, windows: &Windows) -> Arc<Catalog> {
        let place = (self.home.clone(), self.export.name().to_owned(), self.onto.clone());
        let (revision, binding) = (self.export.resource_version(), self.binding.as_ref());
        if self.onto.is_everywhere() {
            let made_of = format!("{revision} {}", self.converted());
            return windows.catalog(place, made_of, || Catalog::of(self.seen_everywhere(windows)));
        }
        let Some(binding) = binding else { return Arc::new(Catalog::of(self.bindings())) };
        let (Ok(since), Ok(theirs)) = (self.client.served_since(&self.onto), self.client.catalog(&self.onto)) else {
            return Arc::new(Catalog::of(self.bindings()));
        };
        // What others share with the workspace may change without either.
        let made_of = format!("{revision} {} {}", binding.resource_version(), since.0);
        windows.catalog(place, made_of, || Catalog::of(self.seen_in(binding, &theirs)))
    }

    /// When it was last said how the schemas are converted.
    fn converted(&self) -> String {
        let schemas = self.export.items(&["spec", "resources"]).map(|resource| word(resource, "schema"));
        let said = schemas.filter_map(|schema| {
            let at = self.client.at(CONVERSIONS, &self.home, None).ok()?.object(schema);
            let found = self.client.glance(&at).ok()??;
            Some(Peek::of(&found).text(&["metadata", "resourceVersion"])?.into_owned())
        });
        said.collect::<Vec<_>>().join(" ")
    }

    /// Bindings are seen by whom they are to.
    fn bindings(&self) -> Vec<Arc<ResourceDef>> {
        versions(self.client.builtin(), BINDINGS.0, BINDINGS.2, "")
    }

    fn seen_in(&self, binding: &Object, theirs: &Catalog) -> Vec<Arc<ResourceDef>> {
        let mut all = self.bindings();
        for bound in binding.items(&["status", "boundResources"]) {
            all.extend(versions(theirs, word(bound, "group"), word(bound, "resource"), self.identity()));
        }
        for claim in binding.items(&["status", "appliedPermissionClaims"]) {
            let (group, resource) = (word(claim, "group"), word(claim, "resource"));
            all.extend(versions(theirs, group, resource, word(claim, "identityHash")));
        }
        once(all)
    }

    fn seen_everywhere(&self, windows: &Windows) -> Vec<Arc<ResourceDef>> {
        let mut all = self.bindings();
        all.extend(offered_by(&self.client, &self.home, &self.export, None));
        for claim in self.export.items(&["spec", "permissionClaims"]) {
            let (group, resource) = (word(claim, "group"), word(claim, "resource"));
            match word(claim, "identityHash") {
                "" => all.extend(versions(self.client.builtin(), group, resource, "")),
                identity => {
                    all.extend(of_identity(&self.client, &windows.identities, identity, (group, resource)));
                }
            }
        }
        once(all)
    }

    fn is_own(&self, resource: &ResourceDef) -> bool {
        resource.stored.identity.as_deref().is_some_and(|identity| identity == self.identity())
    }

    /// What the workspace lets the exporter do with a kind that is not the exporter's.
    fn claim(&self, resource: &ResourceDef) -> Option<&Value> {
        let identity = resource.stored.identity.as_deref().unwrap_or_default();
        let Stored { group, plural } = Stored::of(resource);
        self.binding.as_ref()?.items(&["status", "appliedPermissionClaims"]).find(|claim| {
            word(claim, "identityHash") == identity
                && word(claim, "group") == group
                && word(claim, "resource") == plural
        })
    }
}

/// Under which name a kind is claimed: events are one kind, seen through two groups.
struct Stored<'a> {
    group: &'a str,
    plural: &'a str,
}

impl<'a> Stored<'a> {
    fn of(resource: &'a ResourceDef) -> Self {
        Self { group: &resource.stored.group, plural: &resource.stored.plural }
    }
}

impl Pane for Exported {
    fn admits(&self, target: &Target) -> Result<(), ApiError> {
        if self.onto.is_everywhere() {
            return Ok(());
        }
        if self.binding.is_none() {
            let why = "could not find suitable APIBinding in target logical cluster";
            return Err(ApiError::forbidden_request(EXPORTS.0, EXPORTS.2, self.export.name(), why));
        }
        let (verb, resource) = match target {
            Target::Objects { verb, at } => (*verb, &at.resource),
            // Nobody claims what else an object leads to: tokens of an account, or what is behind it.
            Target::Object { subresource: Some(part), .. } if !PARTS.contains(&part.as_str()) => {
                return Err(ApiError::no_such_path());
            }
            Target::Object { verb, at, .. } => (*verb, at.resource()),
            _ => return Ok(()),
        };
        if self.is_own(resource) {
            return Ok(());
        }
        if (&*resource.group, &*resource.plural) == (BINDINGS.0, BINDINGS.2) && self.claim(resource).is_none() {
            let reads = matches!(verb, Verb::Get | Verb::List | Verb::Watch);
            let why = "write access to APIBinding is not allowed from virtual workspace";
            return if reads { Ok(()) } else { Err(ApiError::forbidden(resource, "", why)) };
        }
        let verbs = self.claim(resource).and_then(|claim| claim["verbs"].as_array()).into_iter().flatten();
        if verbs.filter_map(Value::as_str).any(|allowed| allowed == "*" || allowed == verb.word()) {
            return Ok(());
        }
        Err(ApiError::forbidden(resource, "", "failed to find suitable reason to allow access in APIBinding"))
    }

    fn view(&self, resource: &ResourceDef) -> Seeing {
        if self.is_own(resource) {
            return None;
        }
        let export = self.export.name().to_owned();
        let bound = Bound { home: self.home.clone(), export };
        if (&*resource.group, &*resource.plural) == (BINDINGS.0, BINDINGS.2) {
            return Some(Arc::new(bound));
        }
        let identity = resource.stored.identity.as_deref().unwrap_or_default().to_owned();
        let Stored { group, plural } = Stored::of(resource);
        let claimed = Claimed::new(self.client.clone(), bound, (group, plural, &identity), &self.onto);
        Some(Arc::new(claimed))
    }
}

/// A resource of a catalog in all versions that are served.
fn versions(catalog: &Catalog, group: &str, plural: &str, identity: &str) -> Vec<Arc<ResourceDef>> {
    let all = catalog.groups().iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources);
    let is_it = |found: &&Arc<ResourceDef>| {
        let kept = (&*found.stored.group, &*found.stored.plural, found.stored.identity.as_deref().unwrap_or_default());
        kept == (group, plural, identity)
    };
    all.filter(is_it).cloned().collect()
}

fn once(all: Vec<Arc<ResourceDef>>) -> Vec<Arc<ResourceDef>> {
    let mut kept: Vec<Arc<ResourceDef>> = Vec::with_capacity(all.len());
    for new in all {
        let is_it =
            |old: &Arc<ResourceDef>| (&old.group, &old.version, &old.plural) == (&new.group, &new.version, &new.plural);
        if !kept.iter().any(is_it) {
            kept.push(new);
        }
    }
    kept
}

/// The resources that an export offers, whether somebody has taken them or not; or one of them.
fn offered_by(client: &Client, home: &Workspace, export: &Object, only: Option<(&str, &str)>) -> Vec<Arc<ResourceDef>> {
    let identity = export.text(&["status", "identityHash"]);
    if !is_hash(identity) {
        return Vec::new();
    }
    let wanted = |resource: &&Value| only.is_none_or(|only| (word(resource, "group"), word(resource, "name")) == only);
    let named = export.items(&["spec", "resources"]).filter(wanted).map(|resource| word(resource, "schema"));
    let resources = named.filter_map(|name| {
        let at = client.at(SCHEMAS, home, None).ok()?.object(name);
        let schema = Object::parse(&client.glance(&at).ok()??).ok()?;
        // Where schemas have taken each other's places, objects are in the form of any of them.
        let since = if export.annotation(EVOLVED).is_some() { u64::MAX } else { 0 };
        let (mut definition, converted) = (schema::named(&schema), converted(client, home, &schema));
        converted.join(&mut definition);
        let from = Elsewhere {
            kept_in: VAULT.into(),
            name: kept_as(schema.uid(), converted.hash()),
            identity: identity.into(),
            home: home.as_str().into(),
            by: export.name().into(),
            going: false,
            since: Revision(since),
        };
        Some(client.described(&from, &definition))
    });
    let all = resources.flat_map(|defined| defined.to_vec());
    all.filter(|resource| matches!(resource.custom().map(|custom| &custom.definition), Some(Definition::Shared(_))))
        .collect()
}

/// How a schema is converted: as is said now, or as was said last to those who have bound it.
fn converted(client: &Client, home: &Workspace, schema: &Object) -> Converted {
    if !needs_any(schema) {
        return Converted::default();
    }
    let at = client.at(CONVERSIONS, home, None).ok();
    let found = at.and_then(|at| client.glance(&at.object(schema.name())).ok()?);
    match found.and_then(|found| Object::parse(&found).ok()) {
        Some(found) => Converted::by(Some(&found)),
        None => converted_before(client, schema.uid()).unwrap_or_default(),
    }
}

/// The newest rules of which there is a copy.
fn converted_before(client: &Client, uid: &str) -> Option<Converted> {
    let vault = client.at(DEFINITIONS, &Workspace::new(VAULT), None).ok()?;
    let copies = client.scan(&vault).ok()?.filter_map(Result::ok).filter_map(|entry| {
        let name = keyspace::parse(&entry.key)?.name.to_owned();
        name.starts_with(&format!("{uid}-")).then_some((name, entry.version))
    });
    let (name, version) = copies.max_by_key(|(_, version)| version.modified)?;
    Converted::kept(&name, &Object::parse(&version.value).ok()?)
}

/// A resource of whoever has an identity, in all versions.
pub(in crate::tenancy) fn of_identity(
    client: &Client,
    identities: &Index<Identities>,
    identity: &str,
    wanted: (&str, &str),
) -> Vec<Arc<ResourceDef>> {
    let places = identities.ask(client, |known| known.of(identity)).unwrap_or_default();
    let found = places.iter().filter_map(|(home, name)| {
        let home = Workspace::new(home);
        let at = client.at(EXPORTS, &home, None).ok()?.object(name);
        let export = Object::parse(&client.glance(&at).ok()??).ok()?;
        Some(offered_by(client, &home, &export, Some(wanted)))
    });
    found.flatten().collect()
}

fn word<'a>(tree: &'a Value, field: &str) -> &'a str {
    tree.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_whose_window_onto_what() {
        let check = |path: &str, expected: Option<(&str, &str, &str, &str)>| {
            let found = read(path).map(|found| (found.home, found.export, found.onto, found.rest));
            assert_eq!(found, expected, "{path}");
        };
        check("/services/apiexport/h/e/clusters/*/apis/g/v/r", Some(("h", "e", "*", "/apis/g/v/r")));
        check("/services/apiexport/h/e/clusters/root:a", Some(("h", "e", "root:a", "/")));
        check("/services/apiexport/h/e/clusters/c/", Some(("h", "e", "c", "/")));
        for odd in ["/services/apiexport/h/e", "/services/apiexport/h/e/apis", "/services/other/h/e/clusters/*", "/"] {
            check(odd, None);
        }
    }
}
