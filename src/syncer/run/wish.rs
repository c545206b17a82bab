//! What a cell should hold, made of an object, the decision about it, and the terms of its rules.

use super::namespace;
use super::recipe::{Ingredients, Made, MadeOf, Recipe, Recipes};
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
use crate::scheduler::controller::{Rulebook, evictions_of, manner_of};
use crate::scheduler::evict::Eviction;
use crate::scheduler::rule::{Purge, Strangers, Upsync};
use crate::scheduler::{Cell, Target, Terms};
use crate::syncer::{Order, Origin, Rendered, mark, namespace_in_cell, render};
use apiserver::catalog::ResourceDef;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::{Object, Peek};
use apiserver::place::{Collection, ObjectRef, Workspace};
use bytes::Bytes;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why nothing can be taken back yet.
pub(super) const STARTING: &str = "not everything is known yet that is in cells";

const NAMESPACES: (&str, &str, &str) = ("", "v1", "namespaces");

/// What one cell should hold of one object.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) place: CellPlace,
    /// What the cell is sent.
    pub(super) made: Arc<Made>,
    /// Of the source that it was made of.
    pub(super) generation: i64,
    /// Which object it is a copy of, as records name it.
    pub(super) source: Arc<Value>,
    /// The namespace of the source.
    namespace: Option<Arc<Value>>,
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

#[derive(Clone)]
pub(super) struct Wishes {
    pub(super) client: Client,
    pub(super) book: Arc<dyn Rulebook>,
    pub(super) hub: Arc<str>,
    pub(super) recipes: Arc<Recipes>,
}

impl Wishes {
    /// What the placement of an object says about a cell.
    pub(super) async fn of(&self, id: &CopyId, session: &Session) -> Result<Option<Wish>, ApiError> {
        let Some(recipe) = self.recipe(id).await?.filter(|recipe| recipe.is_for(&session.cell)) else {
            return Ok(None);
        };
        let cell = &session.cell;
        let evictions = evictions_of(&recipe.decision, &cell.workspace);
        let (mut terms, mut targets) =
            (Cow::Borrowed(&recipe.terms), Cow::Borrowed(recipe.targets_in(&cell.workspace)));
        if let Some(carried) = carried(&evictions, &targets, &cell.name) {
            terms.to_mut().overrides.push(carried);
        }
        // What it had is what it keeps until the object has left it.
        if recipe.target(cell).is_none() {
            let left = evictions.iter().filter(|eviction| eviction.cell == cell.name);
            targets.to_mut().extend(left.map(Eviction::target));
        }
        let (at, resource, missing) = self.served(recipe.at.clone(), session)?;
        let converted = if recipe.at.resource().api_version() == at.resource().api_version() {
            None
        } else {
            let Some(converted) = self.client.get(&at).await? else { return Ok(None) };
            Some(Value::from(converted))
        };
        let mine = recipe.target(cell).or_else(|| targets.iter().find(|target| target.cell == cell.name));
        let facts = self.facts(session, &terms).await?;
        let make = || {
            made(&Order {
                template: converted.as_ref().unwrap_or(&recipe.source),
                targets: &targets,
                cell: &facts,
                terms: &terms,
                origin: &recipe.made_of.origin,
                namespace: recipe.namespace.as_deref(),
                interpreter: &recipe.interpreter,
            })
        };
        let is_plain = matches!(terms, Cow::Borrowed(_)) && converted.is_none() && recipe.is_the_same_everywhere();
        let replicas = mine.and_then(|target| target.replicas);
        let made = if is_plain { recipe.made(replicas, make) } else { Arc::new(make()) };
        let mut wish = wish(&recipe, &terms, resource, made);
        wish.problem = missing.or(wish.problem);
        wish.suspended = terms.is_suspended_in(&cell.name);
        wish.first_gone = records::first_gone(&recipe.decision).filter(|first| first != cell).collect();
        wish.decided = (!evictions.is_empty()).then(|| recipe.decision.generation());
        // A definition that is there already, whoever brought it, is as good.
        // So is a namespace: what goes into it does not mind.
        wish.tolerates_strangers =
            is_namespace(&wish.place.resource) || (is_definition(&wish.place.resource) && recipe.only_follows_to(cell));
        Ok(Some(wish))
    }

    /// What the cells of an object are sent, if it is placed and there.
    pub(super) async fn recipe(&self, id: &CopyId) -> Result<Option<Arc<Recipe>>, ApiError> {
        let (workspace, Some(uid)) = (&id.workspace, records::placed_by(id)) else { return Ok(None) };
        let Some(placement) = self.client.glance(&records::placement_place(&self.client, workspace, uid)?)? else {
            return Ok(None);
        };
        // Before anything that depends on the rules.
        let edition = self.book.edition();
        let origin = self.origin(workspace);
        if let Some(known) = self.recipes.get(workspace, uid)
            && let Some(at) = records::source_place(&self.client, workspace, &known.named)
            && let Some(source) = self.client.glance(&at)?
        {
            let (placement, origin, resource) = (placement.clone(), origin.clone(), at.resource().clone());
            let namespace = known.namespace_at.as_ref().map(|at| self.client.glance(at)).transpose()?.flatten();
            let now = MadeOf { placement, source, namespace, resource, edition, origin };
            if known.made_of.is_still(&now) {
                return Ok(Some(known));
            }
        }
        let Ok(decision) = Object::parse(&placement) else { return Ok(None) };
        let named = decision.pointer(&["spec", "source"]).unwrap_or(&Value::Null);
        let Some(at) = records::source_place(&self.client, workspace, named) else { return Ok(None) };
        let Some(stored) = self.client.glance(&at)? else { return Ok(None) };
        let source = self.client.get(&at).await?.filter(|source| source.uid() == uid);
        let Some(source) = source.map(Value::from) else { return Ok(None) };
        let namespace = self.namespace_of(&at)?;
        if at.namespace().is_some() && namespace.is_none() {
            return Ok(None);
        }
        let (namespace, told) = namespace.map(|(at, told, found)| ((at, found), told)).unzip();
        let resource = at.resource().clone();
        let made_of = MadeOf { placement, source: stored, namespace: told, resource, edition, origin };
        let terms = self.terms(workspace, &source, &decision);
        let interpreter = self.book.interpreter(workspace, &Kind::of(&source));
        let all = Ingredients { made_of, at, source, namespace, terms, interpreter };
        Ok(Some(self.recipes.make((workspace, uid), &decision, all)))
    }

    /// On what terms an object is in cells: those of its rules, or of whoever it follows.
    fn terms(&self, workspace: &Workspace, source: &Value, placement: &Object) -> Terms {
        let rules = self.book.rules_for(workspace, source, Some(placement));
        let rules: Vec<_> = rules.into_iter().map(|bound| bound.rule).collect();
        manner_of(placement).terms(&rules)
    }

    /// The source and its resource in a version that the cell serves and this server knows; or what is missing.
    fn served(&self, at: ObjectRef, session: &Session) -> Result<(ObjectRef, CellResource, Option<Problem>), ApiError> {
        let own = in_cells(at.resource());
        let served = session.resources();
        let versions = served.of_kind(&own.group, &own.kind);
        if served.is_empty() {
            return Ok((at, own, None));
        }
        if let Some(same) = versions.clone().find(|served| served.version == own.version) {
            return Ok((at, same.clone(), None));
        }
        let all: Vec<&CellResource> = versions.collect();
        let catalog = self.client.catalog(at.workspace())?;
        for served in &all {
            if let Some(resource) = catalog.find(&own.group, &served.version, &at.resource().plural) {
                let within = Collection { resource: resource.clone(), ..at.within };
                return Ok((ObjectRef { within, name: at.name }, (*served).clone(), None));
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

    /// Where the namespace of an object is, as it is stored, and as copies name it.
    fn namespace_of(&self, at: &ObjectRef) -> Result<Option<(ObjectRef, Bytes, Value)>, ApiError> {
        let Some(name) = at.namespace() else { return Ok(None) };
        let place = self.client.at(NAMESPACES, at.workspace(), None)?.object(name);
        let Some(stored) = self.client.glance(&place)? else { return Ok(None) };
        let uid = Peek::of(&stored).text(&["metadata", "uid"]).unwrap_or_default().into_owned();
        Ok(Some((place, stored, namespace::source(name, &uid))))
    }

    /// Writes down that the namespace of an object is about to be made in the cell.
    pub(super) async fn ensure_namespace(&self, id: &CopyId, wish: &Wish, session: &Session) -> Result<(), ApiError> {
        let (Some(namespace), Some(in_cell)) = (&wish.namespace, &wish.place.namespace) else { return Ok(()) };
        let meta = |key: &str| namespace["metadata"][key].as_str().unwrap_or_default();
        let (name, uid) = (meta("name"), meta("uid"));
        let id = records::namespace_id(&id.workspace, (name, uid), in_cell, &session.cell);
        let source = json!({
            "apiVersion": "v1", "kind": "Namespace", "resource": "namespaces",
            "namespace": "", "name": name, "uid": uid,
        });
        if self.client.glance(&records::place(&self.client, &id)?)?.is_some() {
            return Ok(());
        }
        let at = namespace_place(in_cell);
        let intent = records::intent(&id, (&session.cell, &session.uid), &source, &at);
        records::enter(&self.client, &id, intent).await.map(drop)
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
            made: Arc::new(Made { hash: hash(&object), object, status: None, problem: None }),
            generation: 0,
            source: Arc::new(record.pointer(&["spec", "source"]).cloned().unwrap_or_default()),
            namespace: None,
            adopts: false,
            tolerates_strangers: same,
            suspended: false,
            retain: BTreeSet::new(),
            preserve: false,
            problem: None,
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

fn made(order: &Order<'_>) -> Made {
    match render(order) {
        Ok(Rendered { object, status }) => {
            let status = status.map(|status| (status.clone(), hash(&status)));
            Made { hash: hash(&object), object, status, problem: None }
        }
        Err(error) => {
            let problem = Problem { reason: error.reason(), message: error.to_string() };
            Made { hash: hash(&Value::Null), object: Value::Null, status: None, problem: Some(problem) }
        }
    }
}

fn wish(recipe: &Recipe, terms: &Terms, resource: CellResource, made: Arc<Made>) -> Wish {
    let source = &recipe.source["metadata"];
    let in_cell = recipe.namespace.as_deref().map(|namespace| namespace_in_cell(terms.namespaces, namespace));
    let name = source["name"].as_str().unwrap_or_default().to_owned();
    Wish {
        place: CellPlace { resource, namespace: in_cell, name },
        problem: made.problem.clone(),
        made,
        generation: source["generation"].as_i64().unwrap_or_default(),
        source: recipe.named.clone(),
        namespace: recipe.namespace.clone(),
        adopts: terms.strangers == Strangers::Adopt,
        tolerates_strangers: false,
        suspended: false,
        retain: terms.retain.clone(),
        preserve: terms.preserve_on_deletion,
        upsync: terms.upsync.clone(),
        interpreter: recipe.interpreter.clone(),
        first_gone: Vec::new(),
        decided: None,
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

fn is_namespace(resource: &CellResource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
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
