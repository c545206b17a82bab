//! Bindings, works and clusters as they are served: made of placements, copies and cells whenever somebody looks.

use super::binding::{Bound, binding};
use super::cluster::{cluster, said_of_cell};
use super::work::{Report, work};
use crate::apis::Kind;
use crate::apis::definitions::{CELLS, COPIES, PLACEMENTS};
use crate::apis::interpret::Interpreter;
use crate::apis::kinds::Health;
use crate::dialects::Book;
use crate::scheduler::controller::{Rulebook, evictions_of, manner_of, targets_of};
use crate::scheduler::evict::Eviction;
use crate::scheduler::rule::Strangers;
use crate::scheduler::{Cell, Placement, Terms};
use crate::syncer::{Order, Origin, render};
use apiserver::catalog::ResourceDef;
use apiserver::client::Client;
use apiserver::computed::Compute;
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::Object;
use apiserver::place::{Collection, ObjectRef, Workspace};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use storage::{Revision, Snapshot};

const GROUP: &str = "federation.hanse.dev";

/// See the module.
pub struct Views {
    pub client: Client,
    pub book: Arc<Book>,
    /// What tells this server from others in the same cells.
    pub hub: String,
}

impl fmt::Debug for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Views")
    }
}

impl Compute for Views {
    fn made_of(&self, resource: &ResourceDef) -> &'static [(&'static str, &'static str)] {
        match &*resource.plural {
            "clusters" => &[(GROUP, "cells")],
            _ => &[(GROUP, "placements"), (GROUP, "copies")],
        }
    }

    fn shown(&self, resource: &ResourceDef, kept: &Value) -> Option<Value> {
        let mut shown = (&*resource.plural == "clusters" && kept["kind"] == "Cell").then(|| cluster(kept))?;
        shown["apiVersion"] = json!(resource.api_version());
        Some(shown)
    }

    fn kept(&self, resource: &ResourceDef, said: Value) -> Value {
        if &*resource.plural == "clusters" { said_of_cell(said) } else { said }
    }

    fn objects(
        &self,
        resource: &ResourceDef,
        workspace: &Workspace,
        snapshot: &Snapshot,
    ) -> Result<Vec<Value>, ApiError> {
        let view = View { views: self, workspace, snapshot };
        let mut objects = match &*resource.plural {
            "clusters" => view.clusters()?,
            "works" => view.works()?,
            "resourcebindings" => view.bindings(true)?,
            _ => view.bindings(false)?,
        };
        for object in &mut objects {
            object["apiVersion"] = json!(resource.api_version());
        }
        Ok(objects)
    }
}

/// One workspace at one revision.
struct View<'a> {
    views: &'a Views,
    workspace: &'a Workspace,
    snapshot: &'a Snapshot,
}

/// A record, and when it came to be so.
type Kept = (Object, Revision);

impl View<'_> {
    fn all(&self, of: (&str, &str, &str)) -> Result<Vec<Kept>, ApiError> {
        let place = self.views.client.at(of, self.workspace, None)?;
        let mut all = Vec::new();
        for entry in self.snapshot.scan(keyspace::range(&place)?) {
            let version = entry?.version;
            if let Ok(object) = Object::parse(&version.value) {
                all.push((object, version.modified));
            }
        }
        Ok(all)
    }

    fn get(&self, at: &ObjectRef) -> Option<Object> {
        let version = self.snapshot.get(keyspace::key(at).ok()?.as_bytes()).ok()??;
        Object::parse(&version.value).ok()
    }

    /// What a record is about, unless that is another one by now.
    fn source(&self, record: &Object) -> Option<(Value, String)> {
        let word = |key: &str| record.text(&["spec", "source", key]);
        let group = word("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let resource = self.views.client.stored_as(self.workspace, (group, word("resource")))?;
        let plural = resource.plural.clone();
        let namespace = Some(word("namespace").to_owned()).filter(|namespace| !namespace.is_empty());
        let place = Collection { resource, workspace: self.workspace.clone(), namespace }.object(word("name"));
        let source = self.get(&place).filter(|source| source.uid() == word("uid"))?;
        Some((source.into(), plural))
    }

    fn clusters(&self) -> Result<Vec<Value>, ApiError> {
        Ok(self.all(CELLS)?.into_iter().map(|(cell, _)| cluster(&cell.into())).collect())
    }

    fn bindings(&self, namespaced: bool) -> Result<Vec<Value>, ApiError> {
        let mut copies: HashMap<String, Vec<Kept>> = HashMap::new();
        for (copy, revision) in self.all(COPIES)? {
            copies.entry(copy.text(&["spec", "source", "uid"]).to_owned()).or_default().push((copy, revision));
        }
        let mut shown = Vec::new();
        for (record, revision) in self.all(PLACEMENTS)? {
            let of = copies.remove(record.text(&["spec", "source", "uid"])).unwrap_or_default();
            let Some((source, _)) = self.source(&record) else { continue };
            // Namespaces that go everywhere are nobody's decision.
            let everywhere = Kind::of(&source).name() == ("", "Namespace")
                && self.views.book.policy_of(self.workspace, &source, Some(&record)).is_none();
            if source["metadata"]["namespace"].is_string() != namespaced || everywhere {
                continue;
            }
            let newest = of.iter().map(|(_, revision)| *revision).fold(revision, Revision::max);
            let copies: Vec<&Object> = of.iter().map(|(copy, _)| copy).collect();
            shown.push(self.binding(&record, &source, &copies, newest));
        }
        Ok(shown)
    }

    fn binding(&self, record: &Object, source: &Value, copies: &[&Object], revision: Revision) -> Value {
        let policy = self.views.book.policy_of(self.workspace, source, Some(record));
        let terms = self.terms(record, source);
        let (kind, interpreter) = (Kind::of(source), self.interpreter(source));
        let reports: Vec<Report> = copies.iter().map(|copy| report(copy, &terms, (&kind, &interpreter))).collect();
        // What cannot be found out is told by the trouble that it is.
        let replicas = interpreter.replicas(source).ok().flatten();
        let placement = self.placement(record);
        let pairs = |part: &str, keys: [&str; 2]| -> Vec<(String, String)> {
            let word = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
            record.items(&["status", part]).map(|of| (word(of, keys[0]), word(of, keys[1]))).collect()
        };
        let mut shown = binding(&Bound {
            object: source,
            replicas: replicas.as_ref(),
            policy: policy.as_ref(),
            placement: &placement,
            troubles: &pairs("troubles", ["reason", "message"]),
            refused: &pairs("refused", ["cell", "reason"]),
            reports: &reports,
            evictions: &self.evictions(record),
            decided: record.text(&["metadata", "creationTimestamp"]),
        });
        stamp(&mut shown, record, revision);
        shown
    }

    /// What was decided, for the cells of all workspaces.
    fn placement(&self, record: &Object) -> Placement {
        let word = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
        let homes: BTreeMap<String, ()> =
            record.items(&["spec", "cells"]).map(|cell| (word(cell, "workspace"), ())).collect();
        let targets = homes.keys().flat_map(|home| targets_of(record, &Workspace::new(home)));
        let groups = record.items(&["spec", "groups"]).map(|group| (word(group, "rule"), word(group, "group")));
        Placement { targets: targets.collect(), groups: groups.collect(), ..Placement::default() }
    }

    fn evictions(&self, record: &Object) -> Vec<Eviction> {
        let homes = record.items(&["spec", "evictions"]).filter_map(|told| told["workspace"].as_str());
        let homes: BTreeSet<Workspace> = homes.map(Workspace::new).collect();
        homes.iter().flat_map(|home| evictions_of(record, home)).collect()
    }

    fn terms(&self, record: &Object, source: &Value) -> Terms {
        let rules = self.views.book.rules_for(self.workspace, source, Some(record));
        let rules: Vec<_> = rules.into_iter().map(|bound| bound.rule).collect();
        let manner = manner_of(record);
        Terms { namespaces: manner.namespaces, strangers: manner.strangers, ..Terms::of(&rules) }
    }

    fn interpreter(&self, source: &Value) -> Interpreter {
        self.views.book.interpreter(self.workspace, &Kind::of(source))
    }

    fn works(&self) -> Result<Vec<Value>, ApiError> {
        let placements: HashMap<String, Object> =
            self.all(PLACEMENTS)?.into_iter().map(|(record, _)| (record.name().to_owned(), record)).collect();
        let mut shown = Vec::new();
        for (copy, revision) in self.all(COPIES)? {
            let Some((source, plural)) = self.source(&copy) else { continue };
            let record = placements.get(copy.text(&["spec", "source", "uid"]));
            let knows = (&Kind::of(&source), &self.interpreter(&source));
            let (manifest, report) = match record {
                Some(record) => {
                    let terms = self.terms(record, &source);
                    (self.manifest(&copy, record, &source, &terms), report(&copy, &terms, knows))
                }
                // Namespaces are where they are because of what is in them.
                None => (named(&copy), report(&copy, &Terms::default(), knows)),
            };
            let mut work = work(&source, &manifest, &plural, &report);
            stamp(&mut work, &copy, revision);
            shown.push(work);
        }
        Ok(shown)
    }

    /// What the cell should hold.
    fn manifest(&self, copy: &Object, record: &Object, source: &Value, terms: &Terms) -> Value {
        let word = |key: &str| copy.text(&["spec", "cell", key]);
        let home = Workspace::new(word("workspace"));
        let cell =
            self.views.client.at(CELLS, &home, None).ok().and_then(|cells| self.get(&cells.object(word("name"))));
        let nobody = || Cell { name: word("name").to_owned(), ..Cell::default() };
        let cell = cell.map_or_else(nobody, |cell| self.views.book.cell(&cell));
        let namespace = source["metadata"]["namespace"].as_str().and_then(|name| {
            let place = self.views.client.at(("", "v1", "namespaces"), self.workspace, None).ok()?.object(name);
            Some(Value::from(self.get(&place)?))
        });
        let origin = Origin { owner: self.views.hub.clone(), workspace: self.views.book.path_of(self.workspace) };
        let targets = targets_of(record, &home);
        let (template, namespace) = (source, namespace.as_ref());
        let interpreter = &self.interpreter(source);
        let order = Order { template, targets: &targets, cell: &cell, terms, origin: &origin, namespace, interpreter };
        render(&order).map_or_else(|_| named(copy), |rendered| rendered.object)
    }
}

/// As much as a record says of what is in the cell.
fn named(copy: &Object) -> Value {
    let word = |key: &str| copy.text(&["spec", "object", key]);
    let (group, version) = (word("group"), word("version"));
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut object = json!({ "apiVersion": api_version, "kind": word("kind"), "metadata": { "name": word("name") } });
    if !word("namespace").is_empty() {
        object["metadata"]["namespace"] = json!(word("namespace"));
    }
    object
}

/// Computed objects are as old as what they are made of, and as new.
fn stamp(shown: &mut Value, record: &Object, revision: Revision) {
    let created = record.pointer(&["metadata", "creationTimestamp"]).cloned().unwrap_or_default();
    shown["metadata"]["uid"] = json!(record.uid());
    shown["metadata"]["generation"] = json!(record.generation());
    shown["metadata"]["creationTimestamp"] = created;
    shown["metadata"]["resourceVersion"] = json!(revision.0.to_string());
}

fn report(copy: &Object, terms: &Terms, (kind, interpreter): (&Kind, &Interpreter)) -> Report {
    let cell = copy.text(&["spec", "cell", "name"]).to_owned();
    let applied = copy.text(&["status", "applied"]) == "True";
    let message = copy.text(&["status", "message"]).to_owned();
    let number = |key: &str| copy.pointer(&["status", key]).and_then(Value::as_i64).unwrap_or_default();
    Report {
        applied,
        pending: !applied && message.is_empty() && copy.text(&["status", "hash"]).is_empty(),
        message,
        adopts: terms.strangers == Strangers::Adopt,
        preserved: terms.preserve_on_deletion,
        generations: (number("cellGeneration"), number("generation")),
        health: interpreter.health_of(kind, Health::named(copy.text(&["status", "health"])), applied),
        status: copy.pointer(&["status", "observed"]).cloned(),
        since: copy.text(&["metadata", "creationTimestamp"]).to_owned(),
        suspended: terms.is_suspended_in(&cell),
        cell,
    }
}
