//! Default bindings that last, because a type says `defaultAPIBindingLifecycle: Maintain`: the workspaces that it has
//! already get what it names anew, a binding that is gone is made again, and whatever its export claims is accepted.
//!
//! Nothing is kept of workspaces: those of a type are found by looking through all, and that only when the type has
//! changed or an export that it waits for has come. What is kept of types is by which exports they could be concerned.

use super::start::{Wanted, accepted, drafted};
use super::words::{BINDINGS, EXPORTS, MAINTAIN};
use crate::controller::{Action, Controller, Mailbox, Reconciler, changes_of};
use crate::tenancy::conditions::{Conditions, State};
use crate::tenancy::path;
use crate::tenancy::types::{Resolved, TypeRef, Types};
use crate::tenancy::words::{LOGICAL_CLUSTERS, ROOT, TYPE, TYPES, collection, itself};
use apiserver::attend::Around;
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek};
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use futures_util::StreamExt as _;
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use storage::Key;

/// Workspaces that are looked at together: they share what it costs to be sure of a write.
const WORKERS: usize = 8;

/// Workspaces that are gone through before those of the type among them are looked at, and before others have their turn.
const GONE_THROUGH_AT_ONCE: usize = 1024;

/// Says on a workspace whether it has what its type maintains.
const RECONCILED: &str = "APIBindingsReconciled";

/// What needs a look.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Due {
    /// The workspaces of all types that are known to have changed.
    Types,
    Workspace(Workspace),
}

pub fn controller(client: &Client) -> Controller<Lasting> {
    let (known, mailbox) = (Arc::<Mutex<Known>>::default(), Arc::default());
    let told = |note: fn(&mut Known, &Seen) -> Option<Due>| {
        let known = known.clone();
        move |seen: &Seen| note(&mut known.lock(), seen)
    };
    Controller::new(Lasting { client: client.clone(), known: known.clone(), mailbox: Arc::clone(&mailbox) })
        .source(changes_of(client, TYPES, told(Known::note_type)))
        .source(changes_of(client, EXPORTS, told(Known::note_export)))
        .source(changes_of(client, BINDINGS, told(Known::note_binding)))
        .mailbox(&mailbox)
        .workers(WORKERS)
}

/// What is known of types.
#[derive(Debug, Default)]
struct Known {
    /// Those that maintain a binding to an export of some name. Where that export is does not matter yet.
    by_export: HashMap<String, HashSet<TypeRef>>,
    /// Those whose workspaces have to be looked at, under the ids of where they are.
    changed: HashSet<TypeRef>,
}

impl Known {
    fn note_type(&mut self, seen: &Seen) -> Option<Due> {
        let parts = keyspace::parse(&seen.key)?;
        let of = TypeRef { path: parts.workspace.to_owned(), name: parts.name.to_owned() };
        self.by_export.retain(|_, types| {
            types.remove(&of);
            !types.is_empty()
        });
        let now = Peek::new(seen.now.as_ref()?);
        let maintains = now.text(&["spec", "defaultAPIBindingLifecycle"]).as_deref() == Some(MAINTAIN);
        if maintains {
            let named: Vec<Value> = now.value(&["spec", "defaultAPIBindings"]).unwrap_or_default();
            for export in named.iter().filter_map(|said| said["export"].as_str()) {
                self.by_export.entry(export.to_owned()).or_default().insert(of.clone());
            }
        }
        let is_same = |before| Peek::new(before).raw(&["spec"]) == now.raw(&["spec"]);
        // What it is made of may maintain something although it does not itself.
        let may_concern = maintains || now.raw(&["spec", "extend", "with"]).is_some();
        if !may_concern || seen.before.as_ref().is_some_and(is_same) {
            return None;
        }
        self.changed.insert(of);
        Some(Due::Types)
    }

    /// Workspaces may have waited for an export that is new. That one has changed is seen by its bindings, which are
    /// written for it.
    fn note_export(&mut self, seen: &Seen) -> Option<Due> {
        if seen.before.is_some() || seen.now.is_none() {
            return None;
        }
        let waiting = self.by_export.get(keyspace::parse(&seen.key)?.name)?;
        self.changed.extend(waiting.iter().cloned());
        Some(Due::Types)
    }

    /// The workspace of a binding that has changed or is gone, if any type could maintain that.
    fn note_binding(&mut self, seen: &Seen) -> Option<Due> {
        let before = seen.before.as_ref().filter(|_| !self.by_export.is_empty())?;
        let export = Peek::new(before).text(&["spec", "reference", "export", "name"])?;
        if !self.by_export.contains_key(&*export) {
            return None;
        }
        keyspace::workspace(&seen.key).map(Due::Workspace)
    }
}

#[derive(Debug)]
pub struct Lasting {
    client: Client,
    /// Nothing else is locked while it is held, and nothing is read.
    known: Arc<Mutex<Known>>,
    /// For workspaces that need another look.
    mailbox: Arc<Mailbox<Due>>,
}

/// A binding that workspaces are to have.
#[derive(Debug)]
struct Maintained {
    wanted: Wanted,
    /// The workspace of the export and what it claims, accepted; nothing while there is no such export.
    offer: Option<(Workspace, Vec<Value>)>,
}

/// What a workspace needs.
#[derive(Debug, Default, PartialEq)]
struct Plan {
    made: Vec<Object>,
    /// Bindings by their names, and what is accepted in them from now on.
    accepted: Vec<(String, Vec<Value>)>,
    /// Exports that are not there.
    missing: Vec<String>,
}

/// Workspaces with what their types maintain.
type Found = Vec<(Workspace, Arc<[Maintained]>)>;

impl Reconciler for Lasting {
    type Key = Due;

    fn name(&self) -> &'static str {
        "lasting-bindings"
    }

    async fn reconcile(&self, due: &Due) -> Result<Action, ApiError> {
        match due {
            Due::Types => {
                let changed = std::mem::take(&mut self.known.lock().changed);
                let done = self.tend_all_of(&changed).await;
                if done.is_err() {
                    self.known.lock().changed.extend(changed);
                }
                done?;
            }
            Due::Workspace(workspace) => {
                if let Some(maintained) = self.maintained_in(workspace)? {
                    self.tend(workspace, &maintained).await?;
                }
            }
        }
        Ok(Action::Done)
    }
}

impl Lasting {
    /// Looks at the workspaces of types, and of all that are made of them.
    async fn tend_all_of(&self, changed: &HashSet<TypeRef>) -> Result<(), ApiError> {
        let changed = self.maintaining(changed)?;
        let mut after = None;
        while !changed.is_empty() {
            let (found, last) = self.some_of(&changed, after.as_ref())?;
            let tended = stream::iter(found).for_each_concurrent(WORKERS, async |(workspace, maintained)| {
                // One that fails is tried again by itself, and holds up no other.
                if self.tend(&workspace, &maintained).await.is_err() {
                    self.mailbox.put(Due::Workspace(workspace));
                }
            });
            tended.await;
            after = match last {
                Some(last) => Some(last),
                None => break,
            };
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Those of the types that maintain anything, as workspaces call them.
    fn maintaining(&self, changed: &HashSet<TypeRef>) -> Result<HashSet<TypeRef>, ApiError> {
        let root = Workspace::new(ROOT);
        let around = self.client.around(&root);
        let types = Types { around: &around };
        let mut maintaining = HashSet::new();
        for of in changed {
            let found = types.known(of)?.filter(|found| !found.maintained_bindings().is_empty());
            maintaining.extend(found.map(|found| found.of));
        }
        Ok(maintaining)
    }

    /// Some of the workspaces of types, from behind a key on; and behind which key there may be more.
    fn some_of(&self, changed: &HashSet<TypeRef>, after: Option<&Key>) -> Result<(Found, Option<Key>), ApiError> {
        let root = Workspace::new(ROOT);
        let around = self.client.around(&root);
        let types = Types { around: &around };
        let resource = collection(&around, LOGICAL_CLUSTERS, &root)?.resource;
        let (mut found, mut of_type) = (Vec::new(), HashMap::<String, Option<Arc<[Maintained]>>>::new());
        for (gone_through, entry) in (1..).zip(self.client.scan_everywhere_after(&resource, after)) {
            let entry = entry?;
            if let Some(of) = type_of(Peek::new(&entry.version)) {
                let maintained = match of_type.get(&of) {
                    Some(known) => known.clone(),
                    None => {
                        let concerned = |of: &Resolved| of.made_of().any(|part| changed.contains(part));
                        let resolved = resolved(&types, &of)?.filter(concerned);
                        let maintained = resolved.map(|of| maintained(&types, &of)).transpose()?;
                        of_type.entry(of).or_insert(maintained).clone()
                    }
                };
                found.extend(keyspace::workspace(&entry.key).zip(maintained));
            }
            if gone_through == GONE_THROUGH_AT_ONCE {
                return Ok((found, Some(entry.key)));
            }
        }
        Ok((found, None))
    }

    /// What one workspace is to have; nothing if it is not there, or goes, or its type maintains nothing.
    fn maintained_in(&self, workspace: &Workspace) -> Result<Option<Arc<[Maintained]>>, ApiError> {
        let Some(bytes) = self.client.glance(&itself(&self.client, workspace)?)? else { return Ok(None) };
        let Some(of) = type_of(Peek::of(&bytes)) else { return Ok(None) };
        let around = self.client.around(workspace);
        let types = Types { around: &around };
        let Some(of) = resolved(&types, &of)? else { return Ok(None) };
        let all = maintained(&types, &of)?;
        Ok((!all.is_empty()).then_some(all))
    }

    async fn tend(&self, workspace: &Workspace, maintained: &[Maintained]) -> Result<(), ApiError> {
        let place = self.client.at(BINDINGS, workspace, None)?;
        let plan = plan(&self.client.around(workspace).all(&place)?, maintained);
        let mut failed = None;
        for binding in plan.made {
            failed = self.client.create(&place, binding.into()).await.err().or(failed);
        }
        for (name, claims) in plan.accepted {
            let claims = if claims.is_empty() { Value::Null } else { Value::Array(claims) };
            let patch = json!({ "spec": { "permissionClaims": claims } });
            failed = self.client.merge(&place.object(&name), Part::Main, &patch).await.err().or(failed);
        }
        self.tell(workspace, &plan.missing).await?;
        failed.map_or(Ok(()), Err)
    }

    /// Says on a workspace what it waits for. Of one that never waited nothing need be said.
    async fn tell(&self, workspace: &Workspace, missing: &[String]) -> Result<(), ApiError> {
        let at = itself(&self.client, workspace)?;
        let Some(found) = self.client.get(&at).await? else { return Ok(()) };
        let mut told = found.items(&["status", "conditions"]).filter(|found| found["type"] == RECONCILED);
        let state = match (missing, told.next()) {
            ([], None) => return Ok(()),
            ([], Some(_)) => State::True,
            (missing, _) => State::False {
                severity: "Info",
                reason: "WaitingOnAPIBindings",
                message: format!(
                    "The type of the workspace binds APIExports that do not exist: {}",
                    missing.join(", ")
                ),
            },
        };
        let before = found.pointer(&["status", "conditions"]).cloned().unwrap_or_default();
        let mut conditions = Conditions::read(found.items(&["status", "conditions"]));
        conditions.set(RECONCILED, &state, self.client.ambient().now());
        let conditions = conditions.into_value();
        if conditions == before {
            return Ok(());
        }
        let version = json!({ "resourceVersion": found.resource_version() });
        let patch = json!({ "metadata": version, "status": { "conditions": conditions } });
        self.client.merge(&at, Part::Status, &patch).await.map(drop)
    }
}

/// Of what type a workspace says that it is, unless it goes.
fn type_of(logical_cluster: Peek<'_>) -> Option<String> {
    let metadata = Peek::of(logical_cluster.raw(&["metadata"])?);
    let of = metadata.text(&["annotations", TYPE])?;
    metadata.raw(&["deletionTimestamp"]).is_none().then(|| of.into_owned())
}

fn resolved(types: &Types<'_>, of: &str) -> Result<Option<Resolved>, ApiError> {
    TypeRef::parse(of).map_or(Ok(None), |of| types.known(&of))
}

fn maintained(types: &Types<'_>, of: &Resolved) -> Result<Arc<[Maintained]>, ApiError> {
    let look = |wanted: Wanted| {
        let offer = match path::resolve(&wanted.path, types).map(|id| Workspace::new(&id)) {
            Some(home) => {
                let export = types.around.object(&collection(types.around, EXPORTS, &home)?.object(&wanted.export))?;
                export.map(|export| (home, accepted(&export)))
            }
            None => None,
        };
        Ok(Maintained { wanted, offer })
    };
    of.maintained_bindings().into_iter().map(look).collect()
}

fn plan(bindings: &[Object], maintained: &[Maintained]) -> Plan {
    let mut names: BTreeSet<String> = bindings.iter().map(|binding| binding.name().to_owned()).collect();
    let mut plan = Plan::default();
    for Maintained { wanted: Wanted { path, export }, offer } in maintained {
        let Some((home, claims)) = offer else {
            plan.missing.push(format!("{path}|{export}"));
            continue;
        };
        match bindings.iter().find(|binding| is_to(binding, home, path, export)) {
            None => {
                let mut binding = drafted(path, export, &mut names);
                if !claims.is_empty() {
                    binding.spec_mut().insert("permissionClaims".to_owned(), Value::Array(claims.clone()));
                }
                plan.made.push(binding);
            }
            // It is made anew when it is gone.
            Some(binding) if binding.is_deleting() => {}
            Some(binding) => {
                if !binding.items(&["spec", "permissionClaims"]).eq(claims) {
                    plan.accepted.push((binding.name().to_owned(), claims.clone()));
                }
            }
        }
    }
    plan
}

/// However the binding is called, and by whatever path it says where the export is.
fn is_to(binding: &Object, home: &Workspace, path: &str, export: &str) -> bool {
    let said = |field: &str| binding.text(&["spec", "reference", "export", field]);
    let is_there = binding.text(&["status", "apiExportClusterName"]) == home.as_str() || said("path") == path;
    is_there && said("name") == export
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(name: &str, home: &str, claims: Value) -> Object {
        let reference = json!({ "export": { "path": "root:by:any", "name": "cowboys" } });
        let spec = json!({ "reference": reference, "permissionClaims": claims });
        let status = json!({ "apiExportClusterName": home });
        Object::try_from(json!({ "metadata": { "name": name }, "spec": spec, "status": status })).unwrap()
    }

    fn maintained(offer: Option<(&str, Value)>) -> Maintained {
        let wanted = Wanted { path: "root:wild".to_owned(), export: "cowboys".to_owned() };
        let offer = offer.map(|(home, claims)| (Workspace::new(home), claims.as_array().unwrap().clone()));
        Maintained { wanted, offer }
    }

    #[test]
    fn a_workspace_has_one_binding_to_each_export_with_all_that_it_claims() {
        let claims = json!([{ "resource": "secrets", "state": "Accepted" }]);
        let wanted = [maintained(Some(("w", claims.clone())))];
        assert_eq!(plan(&[], &[maintained(None)]).missing, ["root:wild|cowboys"]);
        let made = plan(&[], &wanted).made;
        assert_eq!((made.len(), made[0].name()), (1, "cowboys"));
        assert_eq!(made[0].pointer(&["spec", "permissionClaims"]), Some(&claims));
        assert_eq!(plan(&[binding("by-hand", "w", claims.clone())], &wanted), Plan::default());
        let behind = plan(&[binding("by-hand", "w", json!([]))], &wanted);
        assert_eq!(behind.accepted, [("by-hand".to_owned(), claims.as_array().unwrap().clone())]);
        assert!(behind.made.is_empty());
    }

    #[test]
    fn a_name_that_is_taken_gives_way_to_another_that_is_always_the_same() {
        let wanted = [maintained(Some(("w", json!([]))))];
        let taken = [binding("cowboys", "elsewhere", json!([]))];
        let (first, second) = (plan(&taken, &wanted).made, plan(&taken, &wanted).made);
        assert!(first[0].name().starts_with("cowboys-"), "{}", first[0].name());
        assert_eq!(first, second);
    }

    #[test]
    fn one_that_goes_is_waited_for() {
        let mut going = binding("cowboys", "w", json!([]));
        going.set_metadata("deletionTimestamp", "2026-01-01T00:00:00Z");
        assert_eq!(plan(&[going], &[maintained(Some(("w", json!([]))))]), Plan::default());
    }
}
