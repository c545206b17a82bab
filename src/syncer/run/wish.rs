//! What a cell should hold, made of an object, the decision about it, and the terms of its rules.

use super::namespace;
use super::records;
use crate::apis::FieldPath;
use crate::apis::Kind;
use crate::apis::definitions::CELLS;
use crate::apis::fnv;
use crate::apis::interpret::Interpreter;
use crate::fleet::api::{CellPlace, CellResource};
use crate::fleet::{CellId, CopyId, Ledger, Session};
use crate::scheduler::affinity::Affinity;
use crate::scheduler::change::{Change, EntriesChange, Operation, Override};
use crate::scheduler::controller::{Rulebook, evictions_of, manner_of, targets_of};
use crate::scheduler::evict::Eviction;
use crate::scheduler::rule::{Purge, Strangers, Upsync};
use crate::scheduler::{Because, Cell, Target, Terms};
use crate::syncer::{Order, Origin, mark, namespace_in_cell, render};
use apiserver::catalog::ResourceDef;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{Collection, ObjectRef, Workspace};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why nothing can be taken back yet.
pub(super) const STARTING: &str = "not everything is known yet that is in cells";

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
    pub(super) problem: Option<Problem>,
    /// What the cell gets to see of the source's status, and its hash.
    pub(super) status: Option<(Value, String)>,
    /// Objects that are born in the cell because of it and shown here.
    pub(super) upsync: Vec<Upsync>,
    /// Who knows what it means.
    pub(super) interpreter: Interpreter,
    /// Where copies have to be gone from before this one is made.
    pub(super) first_gone: Vec<CellId>,
    /// The generation of the decision, where somebody waits until that was carried out.
    pub(super) decided: Option<i64>,
}

/// Why something cannot be made: one word, and what a person can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// What a wish is made of.
struct Parts<'a> {
    at: &'a ObjectRef,
    source: &'a Value,
    namespace: Option<&'a Value>,
    terms: &'a Terms,
    targets: &'a [Target],
    cell: &'a Cell,
    resource: CellResource,
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
        let Some(placement) = records::placement(&self.client, id, &session.cell)? else { return Ok(None) };
        if !records::is_wanted(&placement, &session.cell) {
            return Ok(None);
        }
        let named = placement.pointer(&["spec", "source"]).cloned().unwrap_or_default();
        let Some(at) = records::source_place(&self.client, &id.workspace, &named) else { return Ok(None) };
        let source = self.client.get(&at).await?.filter(|source| source.uid() == records::source_of(id));
        let Some(source) = source else { return Ok(None) };
        let mut terms = self.terms(&id.workspace, &source.clone().into(), &placement);
        let evictions = evictions_of(&placement, &session.cell.workspace);
        let mut targets = targets_of(&placement, &session.cell.workspace);
        terms.overrides.extend(carried(&evictions, &targets, &session.cell.name));
        // What it had is what it keeps until the object has left it.
        if !targets.iter().any(|target| target.cell == session.cell.name) {
            let left = evictions.iter().filter(|eviction| eviction.cell == session.cell.name);
            targets.extend(left.map(Eviction::target));
        }
        let (at, resource, missing) = self.served(at, session)?;
        let source = if source.api_version() == at.resource().api_version() {
            source
        } else {
            let Some(source) = self.client.get(&at).await? else { return Ok(None) };
            source
        };
        let namespace = self.namespace_of(&at).await?;
        if at.namespace().is_some() && namespace.is_none() {
            return Ok(None);
        }
        let parts = Parts {
            at: &at,
            source: &source.into(),
            namespace: namespace.as_ref(),
            terms: &terms,
            targets: &targets,
            cell: &self.facts(session, &terms).await?,
            resource,
        };
        let mut wish = self.make(&parts, named);
        wish.problem = missing.or(wish.problem);
        wish.first_gone = records::first_gone(&placement).filter(|cell| *cell != session.cell).collect();
        let leaves = placement.items(&["spec", "evictions"]).next().is_some();
        wish.decided = leaves.then(|| placement.generation());
        // A definition that is there already, whoever brought it, is as good.
        let follows = |because: &Because| matches!(because, Because::Follows(_));
        let only_follows = |target: &Target| target.cell == session.cell.name && target.because.iter().all(follows);
        wish.tolerates_strangers = is_definition(&wish.place.resource) && parts.targets.iter().any(only_follows);
        Ok(Some(wish))
    }

    /// On what terms an object is in cells: those of its rules, or of whoever it follows.
    pub(super) fn terms(&self, workspace: &Workspace, source: &Value, placement: &Object) -> Terms {
        let rules = self.book.rules_for(workspace, source);
        let rules: Vec<_> = rules.into_iter().map(|bound| bound.rule).collect();
        let manner = manner_of(placement);
        Terms { namespaces: manner.namespaces, strangers: manner.strangers, ..Terms::of(&rules) }
    }

    /// The source and its resource in a version that the cell serves and this server knows; or what is missing.
    fn served(&self, at: ObjectRef, session: &Session) -> Result<(ObjectRef, CellResource, Option<Problem>), ApiError> {
        let own = in_cells(at.resource());
        let all = session.versions_of(&own.group, &own.kind);
        if session.resources().is_empty() {
            return Ok((at, own, None));
        }
        if let Some(same) = all.iter().find(|served| served.version == own.version) {
            return Ok((at, same.clone(), None));
        }
        let catalog = self.client.catalog(at.workspace())?;
        for served in &all {
            if let Some(resource) = catalog.find(&own.group, &served.version, &at.resource().plural) {
                let within = Collection { resource: resource.clone(), ..at.within };
                return Ok((ObjectRef { within, name: at.name }, served.clone(), None));
            }
        }
        let message = match all.is_empty() {
            true => format!("the cell does not serve {} of {}", own.kind, own.api_version()),
            false => {
                let versions: Vec<&str> = all.iter().map(|served| served.version.as_str()).collect();
                format!("the cell serves {} only as {}, not as {}", own.kind, versions.join(", "), own.version)
            }
        };
        let reason = if all.is_empty() { "NotServed" } else { "VersionNotServed" };
        Ok((at, own, Some(Problem { reason, message })))
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
        let Parts { at, source, namespace, terms, targets, cell, .. } = *parts;
        let origin = self.origin(at.workspace());
        let interpreter = self.book.interpreter(at.workspace(), &Kind::of(source));
        let interpreted = &interpreter;
        let order =
            Order { template: source, targets, cell, terms, origin: &origin, namespace, interpreter: interpreted };
        let rendered = render(&order);
        let (object, status, problem) = match rendered {
            Ok(rendered) => (rendered.object, rendered.status, None),
            Err(error) => {
                let problem = Problem { reason: error.reason(), message: error.to_string() };
                (Value::Null, None, Some(problem))
            }
        };
        let meta = |key: &str| source["metadata"][key].as_str().unwrap_or_default().to_owned();
        let in_cell = namespace.map(|namespace| namespace_in_cell(terms.namespaces, namespace));
        Wish {
            place: CellPlace { resource: parts.resource.clone(), namespace: in_cell, name: meta("name") },
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
            status: status.map(|status| (status.clone(), hash(&status))),
            upsync: terms.upsync.clone(),
            interpreter,
            first_gone: Vec::new(),
            decided: None,
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
        self.client.unowned().ensure(&records::place(&self.client, &id)?.within, intent).await
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
        let used = ledger.is_used(&session.cell, in_cell).ok_or_else(|| ApiError::unavailable(STARTING))?;
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
            status: None,
            upsync: Vec::new(),
            interpreter: Interpreter::default(),
            first_gone: Vec::new(),
            decided: None,
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

/// Labels for a copy in a cell that did not have one before the object had to leave another: as Karmada does, where it
/// goes to one cell and is never in two at once.
fn carried(evictions: &[Eviction], targets: &[Target], cell: &str) -> Option<Override> {
    let last = evictions.last().filter(|last| last.purge == Purge::Directly && !last.carry.is_empty())?;
    if targets.len() != 1 || last.before.contains(cell) {
        return None;
    }
    let entries = last.carry.iter().map(|(label, value)| (label.clone(), value.clone())).collect();
    let changes = vec![Change::Labels(EntriesChange { operation: Operation::Add, entries })];
    Some(Override { cells: Affinity::named(&[cell]), changes })
}

/// The resource as it is kept here.
fn in_cells(resource: &ResourceDef) -> CellResource {
    CellResource {
        group: resource.group.clone(),
        version: resource.version.clone(),
        plural: resource.plural.clone(),
        kind: resource.kind.clone(),
        namespaced: resource.namespaced,
    }
}

pub(super) fn is_definition(resource: &CellResource) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.plural == "customresourcedefinitions"
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
