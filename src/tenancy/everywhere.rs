//! All workspaces at once: `/clusters/*/...`, for those whom the root lets look at the content of all logical clusters.
//! Kinds that every workspace has are seen whole. One that workspaces define is told apart by the identity of whoever
//! shares it, `<plural>:<identity>`; without one, its objects may look different in each workspace, and their metadata
//! is all that is told.

use super::mine;
use super::path;
use super::sharing::window::of_identity;
use super::subjects::Subjects;
use super::words::{LOGICAL_CLUSTERS, ROOT, branded, itself};
use super::{index::Index, sharing::Identities};
use apiserver::auth::User;
use apiserver::catalog::{Catalog, ResourceDef};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::place::Workspace;
use apiserver::target::Target;
use apiserver::view::{Seeing, View};
use apiserver::window::{Called, Pane, Window};
use bytes::Bytes;
use std::sync::{Arc, OnceLock};
use storage::Key;

/// What is known of all workspaces together.
#[derive(Debug, Default)]
pub(super) struct Everywhere {
    /// What every workspace has.
    common: OnceLock<Arc<Catalog>>,
    identities: Index<Identities>,
    subjects: Arc<Index<Subjects>>,
}

/// What is below `/clusters/*`; nothing if a path leads elsewhere.
pub(super) fn read(url: &str) -> Option<&str> {
    let below = url.strip_prefix("/clusters/")?;
    let (onto, rest) = below.find('/').map_or((below, "/"), |slash| below.split_at(slash));
    (path::onto(onto) == "*").then_some(rest)
}

impl Everywhere {
    /// The window onto all workspaces, and what is asked for through it.
    pub(super) fn open(&self, client: &Client, rest: &str) -> (Window, String) {
        let common = self.common.get_or_init(|| Arc::new(common(client.builtin())));
        let (catalog, rest) = match Named::read(rest) {
            Some(named) if common.find(named.group, named.version, named.plural).is_none() => {
                (Arc::new(Catalog::of(self.find(client, &named))), named.plain(rest))
            }
            _ => (common.clone(), rest.to_owned()),
        };
        let (group, _, resource) = LOGICAL_CLUSTERS;
        let called = Called { group, resource, subresource: "content", name: "*".to_owned(), verb: None };
        let pane = Everything { client: client.clone(), subjects: self.subjects.clone() };
        let (home, onto) = (Workspace::new(ROOT), Workspace::everywhere());
        (Window { home, called, onto, catalog, pane: Arc::new(pane) }, rest)
    }

    fn find(&self, client: &Client, named: &Named<'_>) -> Option<Arc<ResourceDef>> {
        let Named { group, version, plural, identity } = *named;
        if client.builtin().version(group, version).is_some() {
            return None;
        }
        match identity {
            None => ResourceDef::of_any_origin(group, version, plural).map(Arc::new),
            Some(identity) => lent(client, named, identity).or_else(|| {
                let all = of_identity(client, &self.identities, identity, (group, plural));
                all.into_iter().find(|found| found.version == version)
            }),
        }
    }
}

/// A resource that the workspace of an id defines for others, who are known by that id.
fn lent(client: &Client, named: &Named<'_>, lender: &str) -> Option<Arc<ResourceDef>> {
    let lender = Workspace::new(lender);
    client.glance(&itself(client, &lender).ok()?).ok()??;
    let catalog = client.lent_catalog(&lender).ok()?;
    catalog.find(named.group, named.version, named.plural).cloned()
}

/// Whatever is stored in every workspace.
fn common(builtin: &Catalog) -> Catalog {
    let all = builtin.groups().iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources);
    Catalog::of(all.filter(|resource| resource.is_stored() && !resource.traits.computed).cloned())
}

/// A resource of a group, as a path names it.
#[derive(Debug, PartialEq, Eq)]
struct Named<'a> {
    group: &'a str,
    version: &'a str,
    plural: &'a str,
    identity: Option<&'a str>,
}

impl<'a> Named<'a> {
    fn read(rest: &'a str) -> Option<Self> {
        let mut parts = rest.trim_start_matches('/').strip_prefix("apis/")?.split('/');
        let (group, version) = (parts.next()?, parts.next()?);
        let plural = parts.find(|part| *part != "watch").filter(|plural| !plural.is_empty())?;
        let (plural, identity) = match plural.split_once(':') {
            Some((plural, identity)) => (plural, Some(identity)),
            None => (plural, None),
        };
        Some(Self { group, version, plural, identity })
    }

    /// The path without the identity.
    fn plain(&self, rest: &str) -> String {
        match self.identity {
            Some(identity) => rest.replacen(&format!("{}:{identity}", self.plural), self.plural, 1),
            None => rest.to_owned(),
        }
    }
}

/// Everything is seen; by others, what is theirs.
#[derive(Debug)]
struct Everything {
    client: Client,
    subjects: Arc<Index<Subjects>>,
}

impl Pane for Everything {
    fn admits(&self, _: &Target) -> Result<(), ApiError> {
        Ok(())
    }

    fn view(&self, _: &ResourceDef) -> Seeing {
        Some(Arc::new(Open))
    }

    fn narrowed(&self, window: &Window, user: &Arc<User>, target: &Target) -> Option<Window> {
        mine::narrowed(&self.client, &self.subjects, window, user, target)
    }
}

#[derive(Debug)]
struct Open;

impl View for Open {
    /// What the server keeps for itself is no workspace's.
    fn sees(&self, key: &Key, _: &[u8]) -> bool {
        keyspace::parse(key).is_some_and(|parts| path::is_name(parts.workspace))
    }

    fn shown(&self, key: &Key, value: &Bytes) -> Bytes {
        branded(key, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_workspaces_are_meant_by_a_star_alone() {
        assert_eq!(read("/clusters/*/api/v1/pods"), Some("/api/v1/pods"));
        assert_eq!((read("/clusters/%2A/apis"), read("/clusters/*")), (Some("/apis"), Some("/")));
        for other in ["/clusters/root:*/api", "/clusters/root", "/clusters/**/api", "/api/v1/pods", "/clusters/"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_kind_may_be_told_apart_by_its_identity() {
        let check = |rest: &str, expected: Option<(&str, &str, &str, Option<&str>)>, plain: &str| {
            let named = Named::read(rest);
            let said = named.as_ref().map(|named| (named.group, named.version, named.plural, named.identity));
            assert_eq!(said, expected, "{rest}");
            assert_eq!(named.map_or_else(String::new, |named| named.plain(rest)), plain, "{rest}");
        };
        check("/apis/g/v1/things", Some(("g", "v1", "things", None)), "/apis/g/v1/things");
        check("/apis/g/v1/things:ab", Some(("g", "v1", "things", Some("ab"))), "/apis/g/v1/things");
        check("/apis/g/v1/watch/things:ab", Some(("g", "v1", "things", Some("ab"))), "/apis/g/v1/watch/things");
        check("/apis/g/v1/things:ab/x", Some(("g", "v1", "things", Some("ab"))), "/apis/g/v1/things/x");
        for other in ["/api/v1/pods", "/apis/g/v1", "/apis/g", "/apis", "/", "/apis/g/v1/"] {
            check(other, None, "");
        }
    }
}
