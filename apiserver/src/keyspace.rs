//! From references to keys and back: the only place that knows what a key looks like, and so the one file on which
//! the separation of workspaces rests.
//!
//! `<group>/<resource>/<identity>/<workspace>/<namespace>/<name>`, with `core` for the group without a name and nothing
//! between the slashes where there is no namespace. Slashes cannot be part of any of them. Objects of a workspace are
//! one range, those of a resource in all workspaces another, and within a list the order is Kubernetes' own.

use crate::catalog::{ANY_IDENTITY, ResourceDef};
use crate::place::{Collection, ObjectRef, Workspace};
use storage::{Key, KeyRange};

/// Stands where a resource of unknown origin has the hash that tells it from others of its name.
const BUILT_IN: &str = "-";

/// What stands where keys that are no object's have no resource.
const PORTS: &str = "nodeports";
const MARKS: &str = "marks";

/// What a key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    pub group: &'a str,
    pub resource: &'a str,
    /// What tells it from others of its name; nothing for what the workspace has by itself.
    pub identity: Option<&'a str>,
    pub workspace: &'a str,
    pub namespace: Option<&'a str>,
    pub name: &'a str,
}

/// A part of a reference that cannot be part of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be part of a name")]
pub struct Unnameable(pub String);

/// The key of one object.
pub fn key(at: &ObjectRef) -> Result<Key, Unnameable> {
    let mut text = prefix(&at.within.resource);
    if at.workspace().is_everywhere() {
        return Err(Unnameable(at.workspace().to_string()));
    }
    push(&mut text, at.workspace().as_str())?;
    push(&mut text, at.namespace().unwrap_or_default())?;
    text.push_str(checked(&at.name)?);
    if at.name.is_empty() {
        return Err(Unnameable(String::new()));
    }
    Ok(Key::new(text))
}

/// The keys of a collection.
pub fn range(at: &Collection) -> Result<KeyRange, Unnameable> {
    let mut text = prefix(&at.resource);
    if at.workspace.is_everywhere() {
        let any = at.resource.stored.identity.as_deref() == Some(ANY_IDENTITY);
        return if any {
            named(&at.resource.stored.group, &at.resource.stored.plural)
        } else {
            Ok(KeyRange::prefix(text))
        };
    }
    push(&mut text, at.workspace.as_str())?;
    if let Some(namespace) = &at.namespace {
        push(&mut text, namespace)?;
    }
    Ok(KeyRange::prefix(text))
}

/// The key by which a service of a workspace has a port on every node to itself. It is no object's.
pub fn port(workspace: &Workspace, port: u16) -> Result<Key, Unnameable> {
    let mut text = format!("core/{PORTS}/{BUILT_IN}/");
    push(&mut text, workspace.as_str())?;
    push(&mut text, "")?;
    text.push_str(&port.to_string());
    Ok(Key::new(text))
}

/// The keys of all ports of a workspace.
pub fn ports(workspace: &Workspace) -> Result<KeyRange, Unnameable> {
    let mut text = format!("core/{PORTS}/{BUILT_IN}/");
    push(&mut text, workspace.as_str())?;
    Ok(KeyRange::prefix(text))
}

/// The key that [`parse`] reads these parts of.
pub fn of_parts(parts: &Parts<'_>) -> Result<Key, Unnameable> {
    let Parts { group, resource, identity, workspace, namespace, name } = *parts;
    let mut text = String::new();
    let group = if group.is_empty() { "core" } else { group };
    for part in [group, resource, identity.unwrap_or(BUILT_IN), workspace, namespace.unwrap_or_default()] {
        push(&mut text, part)?;
    }
    text.push_str(checked(name)?);
    let whole = ![resource, workspace, name].contains(&"") && resource != MARKS;
    if whole { Ok(Key::new(text)) } else { Err(Unnameable(name.to_owned())) }
}

/// What of a workspace is made ready for use, and made anew when its mark moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Which custom resources there are.
    Definitions,
    /// Who is asked about writes.
    Policies,
    /// Who may do what.
    Rules,
    /// Who is served first.
    Flows,
    /// Who else serves something.
    Backends,
}

impl Mark {
    pub const ALL: [Self; 5] = [Self::Definitions, Self::Policies, Self::Rules, Self::Flows, Self::Backends];
}

/// The key that is written together with anything that a mark stands for. It is no object's.
pub fn mark(workspace: &Workspace, mark: Mark) -> Result<Key, Unnameable> {
    let mut text = format!("core/{MARKS}/{BUILT_IN}/");
    push(&mut text, workspace.as_str())?;
    push(&mut text, "")?;
    text.push_str(match mark {
        Mark::Definitions => "definitions",
        Mark::Policies => "policies",
        Mark::Rules => "rules",
        Mark::Flows => "flows",
        Mark::Backends => "backends",
    });
    Ok(Key::new(text))
}

/// The keys of a workspace that are no object's.
pub fn internals(workspace: &Workspace) -> Result<Vec<KeyRange>, Unnameable> {
    let of = |what: &str| {
        let mut text = format!("core/{what}/{BUILT_IN}/");
        push(&mut text, workspace.as_str())?;
        Ok(KeyRange::prefix(text))
    };
    [PORTS, MARKS].into_iter().map(of).collect()
}

/// The keys of a resource in all workspaces.
pub fn everywhere(resource: &ResourceDef) -> KeyRange {
    KeyRange::prefix(prefix(resource))
}

/// The keys of whatever is kept under a group and plural, in all workspaces and wherever its definition comes from.
pub fn named(group: &str, plural: &str) -> Result<KeyRange, Unnameable> {
    let mut text = String::new();
    push(&mut text, if group.is_empty() { "core" } else { group })?;
    push(&mut text, plural)?;
    Ok(KeyRange::prefix(text))
}

/// Reads a key. `None`: it is not one of ours.
pub fn parse(key: &Key) -> Option<Parts<'_>> {
    let text = str::from_utf8(key.as_bytes()).ok()?;
    let mut parts = text.split('/');
    let (group, resource, identity) = (parts.next()?, parts.next()?, parts.next()?);
    let (workspace, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
    let group = if group == "core" { "" } else { group };
    let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
    let identity = Some(identity).filter(|identity| *identity != BUILT_IN);
    parts.next().is_none().then_some(Parts { group, resource, identity, workspace, namespace, name })
}

/// Whose share of the store an object counts for: the name of its workspace. What is no object counts for nobody.
pub fn owner(key: &[u8]) -> Option<&[u8]> {
    let mut parts = key.split(|byte| *byte == b'/');
    let (group, resource) = (parts.next()?, parts.next()?);
    let internal = group == b"core" && [PORTS.as_bytes(), MARKS.as_bytes()].contains(&resource);
    parts.nth(1).filter(|_| !internal)
}

/// The workspace that a key belongs to.
pub fn workspace(key: &Key) -> Option<Workspace> {
    parse(key).map(|parts| Workspace::new(parts.workspace))
}

fn prefix(resource: &ResourceDef) -> String {
    let group = if resource.stored.group.is_empty() { "core" } else { &resource.stored.group };
    let identity = resource.stored.identity.as_deref().unwrap_or(BUILT_IN);
    format!("{group}/{}/{identity}/", resource.stored.plural)
}

fn push(text: &mut String, part: &str) -> Result<(), Unnameable> {
    text.push_str(checked(part)?);
    text.push('/');
    Ok(())
}

fn checked(part: &str) -> Result<&str, Unnameable> {
    if part.contains('/') { Err(Unnameable(part.to_owned())) } else { Ok(part) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use proptest::prelude::*;

    fn at(workspace: &str, namespace: Option<&str>, name: &str) -> ObjectRef {
        let catalog = Catalog::builtin();
        let plural = if namespace.is_some() { "configmaps" } else { "namespaces" };
        let resource = catalog.find("", "v1", plural).unwrap().clone();
        let namespace = namespace.map(str::to_owned);
        Collection { resource, workspace: Workspace::new(workspace), namespace }.object(name)
    }

    #[test]
    fn keys_are_readable_and_read_back() {
        let object = key(&at("w", Some("n"), "o")).unwrap();
        assert_eq!(object.to_string(), "core/configmaps/-/w/n/o");
        let parts = parse(&object).unwrap();
        assert_eq!((parts.workspace, parts.namespace, parts.name), ("w", Some("n"), "o"));
        assert_eq!(key(&at("w", None, "o")).unwrap().to_string(), "core/namespaces/-/w//o");
        assert_eq!(of_parts(&parts), Ok(object.clone()));
        assert!(of_parts(&Parts { name: "a/b", ..parts }).is_err() && of_parts(&Parts { name: "", ..parts }).is_err());
        assert_eq!(owner(object.as_bytes()), Some(&b"w"[..]));
        assert_eq!(owner(mark(&Workspace::new("w"), Mark::Rules).unwrap().as_bytes()), None);
    }

    proptest! {
        #[test]
        fn no_reference_into_one_workspace_gives_a_key_of_another(
            workspace in "[a-z/:.-]{0,6}", namespace in proptest::option::of("[a-z/.-]{0,4}"), name in "[a-z/.-]{0,6}",
            other in "[a-z:.-]{1,6}"
        ) {
            let object = at(&workspace, namespace.as_deref(), &name);
            let theirs = range(&at(&other, namespace.as_deref(), "x").within.in_all_namespaces()).unwrap();
            if let Ok(key) = key(&object) {
                prop_assert_eq!(theirs.contains(key.as_bytes()), workspace == other);
                let parts = parse(&key).unwrap();
                prop_assert_eq!((parts.workspace, parts.name), (&*workspace, &*name));
            }
        }
    }
}
