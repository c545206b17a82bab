//! What a cell should hold, made of an object, the decision about it, and the terms of its rules.

use super::marks;
use super::namespace;
use super::records;
use crate::apis::fnv;
use crate::fleet::api::{CellPlace, CellResource};
use crate::fleet::{CopyId, Ledger, Session};
use crate::scheduler::Terms;
use crate::scheduler::controller::Rulebook;
use crate::scheduler::rule::Strangers;
use apiserver::catalog::ResourceDef;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{ObjectRef, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;

const NAMESPACES: (&str, &str, &str) = ("", "v1", "namespaces");

/// What one cell should hold of one object.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) place: CellPlace,
    pub(super) object: Value,
    pub(super) hash: String,
    /// Of the source that it was made of.
    pub(super) generation: i64,
    /// Which object it is a copy of, as records name it.
    pub(super) source: Value,
    /// The namespace of the source: its name and UID.
    namespace: Option<(String, String)>,
    /// What somebody else put there becomes ours.
    pub(super) adopts: bool,
    /// What somebody else put there is as good.
    pub(super) tolerates_strangers: bool,
    pub(super) suspended: bool,
}

/// What a wish is made of.
struct Parts<'a> {
    at: &'a ObjectRef,
    source: &'a Object,
    terms: &'a Terms,
    replicas: Option<i64>,
}

#[derive(Clone)]
pub(super) struct Wishes {
    pub(super) client: Client,
    pub(super) book: Arc<dyn Rulebook>,
    pub(super) hub: Arc<str>,
}

impl Wishes {
    /// What the placement of an object says about a cell.
    pub(super) async fn of(&self, id: &CopyId, session: &Session) -> Result<Option<Wish>, ApiError> {
        let Some(placement) = records::placement(&self.client, id).await? else { return Ok(None) };
        let Some(entry) = records::wanted(&placement, &session.cell) else { return Ok(None) };
        let named = placement.pointer(&["spec", "source"]).cloned().unwrap_or_default();
        let Some(at) = records::source_place(&self.client, &id.workspace, &named) else { return Ok(None) };
        let source = self.client.get(&at).await?.filter(|source| source.uid() == records::source_of(id));
        let Some(source) = source else { return Ok(None) };
        let rules = self.book.rules_for(&id.workspace, &Value::from(source.clone()));
        let rules: Vec<_> = rules.into_iter().map(|bound| bound.rule).collect();
        let terms = Terms::of(&rules);
        let namespace = self.namespace_of(&at).await?;
        if at.namespace().is_some() && namespace.is_none() {
            return Ok(None);
        }
        let suspended = terms.is_suspended_in(&session.cell.name);
        let parts = Parts { at: &at, source: &source, terms: &terms, replicas: entry["replicas"].as_i64() };
        Ok(Some(Wish { suspended, ..self.make(&parts, named, namespace) }))
    }

    fn make(&self, parts: &Parts<'_>, named: Value, namespace: Option<(String, String)>) -> Wish {
        let Parts { at, source, terms, replicas } = parts;
        let in_cell = namespace.as_ref().map(|(name, uid)| namespace::name_in_cell(terms.namespaces, name, uid));
        let mut object = render(source, in_cell.as_deref(), *replicas);
        marks::mark(&mut object, &self.hub, source.uid());
        let name = source.name().to_owned();
        let place = CellPlace { resource: in_cells(at.resource(), source), namespace: in_cell, name };
        Wish {
            place,
            hash: hash(&object),
            object,
            generation: source.generation(),
            source: named,
            namespace,
            adopts: terms.strangers == Strangers::Adopt,
            tolerates_strangers: false,
            suspended: false,
        }
    }

    async fn namespace_of(&self, at: &ObjectRef) -> Result<Option<(String, String)>, ApiError> {
        let Some(name) = at.namespace() else { return Ok(None) };
        let place = self.client.at(NAMESPACES, at.workspace(), None)?.object(name);
        Ok(self.client.get(&place).await?.map(|namespace| (name.to_owned(), namespace.uid().to_owned())))
    }

    /// Writes down that the namespace of an object is about to be made in the cell.
    pub(super) async fn ensure_namespace(&self, id: &CopyId, wish: &Wish, session: &Session) -> Result<(), ApiError> {
        let (Some((name, uid)), Some(in_cell)) = (&wish.namespace, &wish.place.namespace) else { return Ok(()) };
        let id = records::id(&id.workspace, uid, &session.cell);
        let source = json!({
            "apiVersion": "v1", "kind": "Namespace", "resource": "namespaces",
            "namespace": "", "name": name, "uid": uid,
        });
        let at = namespace_place(in_cell);
        let intent = records::intent(&id, (&session.cell, &session.uid), &source, &at);
        self.client.ensure(&records::place(&self.client, &id)?.within, intent).await
    }

    /// A namespace is wanted while anything is in it because of us. One that has the name of its source stays for as
    /// long as that does: others may have come to use it.
    pub(super) async fn namespace(
        &self,
        id: &CopyId,
        record: &Object,
        session: &Session,
        ledger: &Ledger,
    ) -> Result<Option<Wish>, ApiError> {
        let (name, in_cell) = (record.text(&["spec", "source", "name"]), record.text(&["spec", "object", "name"]));
        let same = name == in_cell;
        let used = !ledger.in_namespace(&session.cell, in_cell).is_empty();
        let stays = same && self.lives(&id.workspace, name, records::source_of(id)).await?;
        if !used && !stays {
            return Ok(None);
        }
        let labels = namespace::labels(id.workspace.as_str(), name);
        let mut object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": in_cell, "labels": labels } });
        marks::mark(&mut object, &self.hub, records::source_of(id));
        Ok(Some(Wish {
            place: namespace_place(in_cell),
            hash: hash(&object),
            object,
            generation: 0,
            source: record.pointer(&["spec", "source"]).cloned().unwrap_or_default(),
            namespace: None,
            adopts: false,
            tolerates_strangers: same,
            suspended: false,
        }))
    }

    async fn lives(&self, workspace: &Workspace, name: &str, uid: &str) -> Result<bool, ApiError> {
        let place = self.client.at(NAMESPACES, workspace, None)?.object(name);
        let found = self.client.get(&place).await?;
        Ok(found.is_some_and(|namespace| namespace.uid() == uid && !namespace.is_deleting()))
    }
}

fn hash(object: &Value) -> String {
    format!("{:016x}", fnv::hash_64(object.to_string().as_bytes()))
}

/// The resource as it is served here; a cell that does not serve it will say so.
fn in_cells(resource: &ResourceDef, source: &Object) -> CellResource {
    let api_version = source.api_version();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    CellResource {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: resource.plural.clone(),
        kind: source.kind().to_owned(),
        namespaced: !source.namespace().is_empty(),
    }
}

pub(super) fn namespace_place(name: &str) -> CellPlace {
    let resource = CellResource {
        group: String::new(),
        version: "v1".to_owned(),
        plural: "namespaces".to_owned(),
        kind: "Namespace".to_owned(),
        namespaced: false,
    };
    CellPlace { resource, namespace: None, name: name.to_owned() }
}

/// The object as it goes into the cell.
fn render(source: &Object, namespace: Option<&str>, replicas: Option<i64>) -> Value {
    let mut object = Value::from(source.clone());
    let kept = |key: &str| source.pointer(&["metadata", key]).cloned();
    let mut metadata = json!({ "name": source.name() });
    for key in ["labels", "annotations"] {
        if let Some(value) = kept(key) {
            metadata[key] = value;
        }
    }
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    object["metadata"] = metadata;
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
    }
    if let Some(replicas) = replicas {
        crate::apis::map_mut(&mut object, &["spec"]).insert("replicas".to_owned(), json!(replicas));
    }
    object
}
