//! Types of workspaces: which one is meant, what it is made of, and whether one may be inside another.

use super::path::{self, Tree};
use super::sharing::start::Wanted;
use super::sharing::{MAINTAIN, revision};
use super::words::{CLUSTER, ITSELF, LOGICAL_CLUSTERS, PATH, TYPES, WORKSPACES, collection};
use apiserver::allocate::Beside;
use apiserver::attend::Around;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::Workspace;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// Types that a type may be made of, all taken together: more are a mistake, or a way to keep the server busy.
const PARTS_MAX: usize = 64;

/// `root:universal`: where a type is defined, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TypeRef {
    pub(super) path: String,
    pub(super) name: String,
}

impl fmt::Display for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.name)
    }
}

impl TypeRef {
    /// Reads what [`Display`](fmt::Display) wrote.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (path, name) = text.rsplit_once(':')?;
        Some(Self { path: path.to_owned(), name: name.to_owned() })
    }

    /// What an object refers to: by name and path, or by name alone.
    fn read(said: &Value) -> Option<(Option<&str>, &str)> {
        let name = said.get("name")?.as_str()?;
        Some((said.get("path").and_then(Value::as_str).filter(|path| !path.is_empty()), name))
    }
}

/// How a type is called in the lists of those that a workspace waits for.
pub(super) fn waited_for(home: &str, name: &str) -> String {
    format!("{home}:{name}")
}

/// A type with all those it is made of.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) of: TypeRef,
    /// Itself first.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    of: TypeRef,
    /// The id of the workspace that it is defined in.
    home: String,
    object: Object,
}

/// The workspaces, for looking types up in them.
pub(super) struct Types<'a> {
    pub(super) around: &'a dyn Around,
}

impl Tree for Types<'_> {
    fn is_there(&self, id: &str) -> bool {
        self.itself(&Workspace::new(id)).is_ok_and(|found| found.is_some())
    }

    fn child(&self, parent: &str, name: &str) -> Option<String> {
        let workspaces = collection(self.around, WORKSPACES, &Workspace::new(parent)).ok()?;
        let found = self.around.object(&workspaces.object(name)).ok()??;
        Some(found.text(&["spec", "cluster"]).to_owned()).filter(|id| !id.is_empty())
    }
}

impl Types<'_> {
    /// What a workspace says of itself.
    pub(super) fn itself(&self, workspace: &Workspace) -> Result<Option<Object>, ApiError> {
        self.around.object(&collection(self.around, LOGICAL_CLUSTERS, workspace)?.object(ITSELF))
    }

    /// The type that is meant by a reference in a workspace at `from`: where it says, or else in the nearest workspace
    /// upwards that has one of the name.
    pub(super) fn find(&self, said: &Value, from: &str) -> Result<Option<Resolved>, ApiError> {
        let Some((path, name)) = TypeRef::read(said) else { return Ok(None) };
        let places: Vec<&str> = match path {
            Some(path) => vec![path],
            None => path::upwards(from).collect(),
        };
        for path in places {
            let of = TypeRef { path: path.to_owned(), name: name.to_owned() };
            if let Some(part) = self.one(&of)? {
                return self.whole(part).map(Some);
            }
        }
        Ok(None)
    }

    /// The same for one that is known by where it is.
    pub(super) fn known(&self, of: &TypeRef) -> Result<Option<Resolved>, ApiError> {
        self.one(of)?.map(|part| self.whole(part)).transpose()
    }

    /// The type with this name, under the path that its workspace calls itself.
    fn one(&self, of: &TypeRef) -> Result<Option<Part>, ApiError> {
        let Some(home) = path::resolve(&of.path, self) else { return Ok(None) };
        let workspace = Workspace::new(&home);
        let found = self.around.object(&collection(self.around, TYPES, &workspace)?.object(&of.name))?;
        let Some(object) = found else { return Ok(None) };
        let path = match self.itself(&workspace)? {
            Some(itself) => itself.annotation(PATH).or(itself.annotation(CLUSTER)).unwrap_or(&home).to_owned(),
            None => home.clone(),
        };
        Ok(Some(Part { of: TypeRef { path, name: of.name.clone() }, home, object }))
    }

    fn whole(&self, itself: Part) -> Result<Resolved, ApiError> {
        let of = itself.of.clone();
        let mut known = BTreeSet::from([of.clone()]);
        let mut parts = vec![itself];
        let mut next = 0;
        while next < parts.len() && parts.len() <= PARTS_MAX {
            let Part { of, object, .. } = &parts[next];
            let from = of.path.clone();
            let extended: Vec<Value> = object.items(&["spec", "extend", "with"]).cloned().collect();
            for said in &extended {
                let Some((path, name)) = TypeRef::read(said) else { continue };
                let wanted = TypeRef { path: path.unwrap_or(&from).to_owned(), name: name.to_owned() };
                if let Some(part) = self.one(&wanted)?.filter(|part| !known.contains(&part.of)) {
                    known.insert(part.of.clone());
                    parts.push(part);
                }
            }
            next += 1;
        }
        Ok(Resolved { of, parts })
    }
}

fn maintains(object: &Object) -> bool {
    object.text(&["spec", "defaultAPIBindingLifecycle"]) == MAINTAIN
}

/// The exports that types name, each once.
fn wanted<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for Part { of, object, .. } in parts {
        for said in object.items(&["spec", "defaultAPIBindings"]) {
            let word = |field: &str| said.get(field).and_then(Value::as_str).unwrap_or_default();
            let path = if word("path").is_empty() { &*of.path } else { word("path") };
            let wanted = Wanted { path: path.to_owned(), export: word("export").to_owned() };
            if !all.contains(&wanted) {
                all.push(wanted);
            }
        }
    }
    all
}

impl Resolved {
    /// Itself and all that it is made of.
    pub(super) fn made_of(&self) -> impl Iterator<Item = &TypeRef> {
        self.parts.iter().map(|part| &part.of)
    }

    /// What the workspace has to be made ready by: types that say so, by the id of their workspace and their name.
    pub(super) fn initializers(&self) -> Vec<String> {
        self.saying("initializer")
    }

    pub(super) fn terminators(&self) -> Vec<String> {
        self.saying("terminator")
    }

    fn saying(&self, flag: &str) -> Vec<String> {
        let says = |object: &Object| object.pointer(&["spec", flag]) == Some(&Value::Bool(true));
        self.parts.iter().filter(|part| says(&part.object)).map(|part| waited_for(&part.home, &part.of.name)).collect()
    }

    /// Labels that every workspace of the type has. What a type says itself goes before what it is made of.
    pub(super) fn labels(&self) -> Vec<(String, String)> {
        let all =
            self.parts.iter().rev().filter_map(|part| {
                part.object.pointer(&["spec", "additionalWorkspaceLabels"]).and_then(Value::as_object)
            });
        let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        all.flatten().filter_map(text).collect()
    }

    /// What workspaces of the type take from the start.
    pub(super) fn default_bindings(&self) -> Vec<Wanted> {
        wanted(self.parts.iter())
    }

    /// What they are to have for as long as they are there. Each of the types that it is made of says so for itself.
    pub(super) fn maintained_bindings(&self) -> Vec<Wanted> {
        wanted(self.parts.iter().filter(|part| maintains(&part.object)))
    }

    /// On condition of what a workspace is made that is to have what its type maintains: whoever gives that to the
    /// workspaces there are could miss one that is made by what the type said before.
    pub(super) fn unchanged(&self, around: &dyn Around) -> Result<Vec<Beside>, ApiError> {
        let maintaining = self.parts.iter().filter(|part| maintains(&part.object));
        let unchanged = maintaining.map(|Part { of, home, object }| {
            let at = collection(around, TYPES, &Workspace::new(home))?.object(&of.name);
            Ok(Beside::Unchanged(Box::new(at), revision(object)))
        });
        unchanged.collect()
    }

    /// What is made inside of it unless something else is asked for.
    pub(super) fn default_child(&self) -> Option<&Value> {
        self.parts.iter().find_map(|part| part.object.pointer(&["spec", "defaultChildWorkspaceType"]))
    }

    /// Why a workspace of this type may not be inside one of another; nothing if it may.
    pub(super) fn refusal_in(&self, parent: &Resolved) -> Option<String> {
        let (child, above) = (&self.of, &parent.of);
        if !self.allows("limitAllowedParents", parent) {
            return Some(format!("workspace type {child} cannot be created in a workspace of type {above}"));
        }
        if !parent.allows("limitAllowedChildren", self) {
            return Some(format!("workspace type {above} does not allow children of type {child}"));
        }
        None
    }

    /// Every part that sets a limit has to allow some part of the other.
    fn allows(&self, limit: &str, other: &Resolved) -> bool {
        self.parts.iter().all(|Part { of, object, .. }| {
            if object.pointer(&["spec", limit, "none"]) == Some(&Value::Bool(true)) {
                return false;
            }
            let mut types = object.items(&["spec", limit, "types"]).peekable();
            let is_meant = |said: &Value| {
                TypeRef::read(said).is_some_and(|(path, name)| {
                    let wanted = TypeRef { path: path.unwrap_or(&of.path).to_owned(), name: name.to_owned() };
                    other.parts.iter().any(|part| part.of == wanted)
                })
            };
            types.peek().is_none() || types.any(is_meant)
        })
    }
}
