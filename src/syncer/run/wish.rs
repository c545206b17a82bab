//! What a cell should hold, made of an object, the decision about it, and the terms of its rules.

use super::namespace;
use super::records;
use crate::apis::FieldPath;
use crate::apis::definitions::CELLS;
use crate::apis::fnv;
use crate::fleet::api::{CellPlace, CellResource};
use crate::fleet::{CopyId, Ledger, Session};
use crate::scheduler::controller::{Rulebook, targets_of};
use crate::scheduler::rule::Strangers;
use crate::scheduler::{Cell, Target, Terms};
use crate::syncer::{Order, Origin, mark, namespace_in_cell, render};
use apiserver::catalog::ResourceDef;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{ObjectRef, Workspace};
use serde_json::{Value, json};
use std::collections::BTreeSet;
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
    /// The namespace of the source.
    namespace: Option<Value>,
    /// What somebody else put there becomes ours.
    pub(super) adopts: bool,
    /// What somebody else put there is as good.
    pub(super) tolerates_strangers: bool,
    pub(super) suspended: bool,
    /// Fields that the cell decides about.
    pub(super) retain: BTreeSet<FieldPath>,
    /// It stays in the cell when it is no longer wanted.
    pub(super) preserve: bool,
    /// Why it cannot be made.
    pub(super) problem: Option<String>,
}

/// What a wish is made of.
struct Parts<'a> {
    at: &'a ObjectRef,
    source: &'a Value,
    namespace: Option<&'a Value>,
    terms: &'a Terms,
    targets: &'a [Target],
    cell: &'a Cell,
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
        if records::wanted(&placement, &session.cell).is_none() {
            return Ok(None);
        }
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
        let parts = Parts {
            at: &at,
            source: &source.into(),
            namespace: namespace.as_ref(),
            terms: &terms,
            targets: &targets_of(&placement, &session.cell.workspace),
            cell: &self.facts(session, &terms).await?,
        };
        Ok(Some(self.make(&parts, named)))
    }

    /// What overrides depend on.
    async fn facts(&self, session: &Session, terms: &Terms) -> Result<Cell, ApiError> {
        let name = session.cell.name.clone();
        if terms.overrides.is_empty() {
            return Ok(Cell { name, ..Cell::default() });
        }
        let place = self.client.at(CELLS, &session.cell.workspace, None)?.object(&name);
        let found = self.client.get(&place).await?;
        Ok(found.map_or_else(|| Cell { name, ..Cell::default() }, |cell| self.book.cell(&cell)))
    }

    fn origin(&self, workspace: &Workspace) -> Origin {
        Origin { owner: self.hub.to_string(), workspace: self.book.path_of(workspace) }
    }

    fn make(&self, parts: &Parts<'_>, named: Value) -> Wish {
        let Parts { at, source, namespace, terms, targets, cell } = *parts;
        let origin = self.origin(at.workspace());
        let rendered = render(&Order { template: source, targets, cell, terms, origin: &origin, namespace });
        let (object, problem) = match rendered {
            Ok(rendered) => (rendered.object, None),
            Err(error) => (Value::Null, Some(error.to_string())),
        };
        let meta = |key: &str| source["metadata"][key].as_str().unwrap_or_default().to_owned();
        let in_cell = namespace.map(|namespace| namespace_in_cell(terms.namespaces, namespace));
        Wish {
            place: CellPlace { resource: in_cells(at.resource(), source), namespace: in_cell, name: meta("name") },
            hash: hash(&object),
            object,
            generation: source["metadata"]["generation"].as_i64().unwrap_or_default(),
            source: named,
            namespace: namespace.cloned(),
            adopts: terms.strangers == Strangers::Adopt,
            tolerates_strangers: false,
            suspended: terms.is_suspended_in(&cell.name),
            retain: terms.retain.clone(),
            preserve: terms.preserve_on_deletion,
            problem,
        }
    }

    async fn namespace_of(&self, at: &ObjectRef) -> Result<Option<Value>, ApiError> {
        let Some(name) = at.namespace() else { return Ok(None) };
        let place = self.client.at(NAMESPACES, at.workspace(), None)?.object(name);
        Ok(self.client.get(&place).await?.map(|found| namespace::source(name, found.uid())))
    }

    /// Writes down that the namespace of an object is about to be made in the cell.
    pub(super) async fn ensure_namespace(&self, id: &CopyId, wish: &Wish, session: &Session) -> Result<(), ApiError> {
        let (Some(namespace), Some(in_cell)) = (&wish.namespace, &wish.place.namespace) else { return Ok(()) };
        let meta = |key: &str| namespace["metadata"][key].as_str().unwrap_or_default();
        let (name, uid) = (meta("name"), meta("uid"));
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
        // What was there before us needs no record once nothing of ours is in it.
        let found = record.text(&["status", "reason"]) == records::FOUND;
        let stays = used || (same && !found && self.stays(id, name, session).await?);
        if !stays {
            return Ok(None);
        }
        let source = namespace::source(name, records::source_of(id));
        let object = mark::namespace(in_cell, &source, &self.origin(&id.workspace));
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
            retain: BTreeSet::new(),
            preserve: false,
            problem: None,
        }))
    }

    /// Whether a namespace that nothing of ours is in any more is left in the cell.
    async fn stays(&self, id: &CopyId, name: &str, session: &Session) -> Result<bool, ApiError> {
        let place = self.client.at(NAMESPACES, &id.workspace, None)?.object(name);
        let source = self.client.get(&place).await?;
        let lives = source.is_some_and(|found| found.uid() == records::source_of(id) && !found.is_deleting());
        let place = self.client.at(CELLS, &session.cell.workspace, None)?.object(&session.cell.name);
        let leaving = self.client.get(&place).await?.is_none_or(|cell| cell.is_deleting());
        Ok(lives && !leaving)
    }
}

/// The resource as it is served here; a cell that does not serve it will say so.
fn in_cells(resource: &ResourceDef, source: &Value) -> CellResource {
    let word = |key: &str| source[key].as_str().unwrap_or_default();
    let api_version = word("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    CellResource {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: resource.plural.clone(),
        kind: word("kind").to_owned(),
        namespaced: resource.namespaced,
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

/// What is sent to a cell, as one number.
fn hash(object: &Value) -> String {
    format!("{:016x}", fnv::hash_64(object.to_string().as_bytes()))
}
