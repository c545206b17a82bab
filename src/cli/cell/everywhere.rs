//! All workspaces of a server: cells are in one, and what is in them comes from many.

use super::Error;
use super::hub::resource;
use crate::fleet::api::{CellApi, CellResource};
use crate::fleet::{kubeconfig, remote};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Workspaces that are asked at once.
const ASKED_AT_ONCE: usize = 16;

const ROOT: &str = "root";

/// All workspaces at once, for those who may see them all.
const ALL: &str = "*";

/// Workspaces within each other; nobody has more.
const DEPTH_MAX: usize = 64;

/// The annotation that says which workspace an object is in, where it is seen from outside.
const CLUSTER: &str = "kcp.io/cluster";

/// A workspace by its id, and what people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Place {
    pub(in crate::cli) id: String,
    pub(in crate::cli) path: String,
}

/// An object and the workspace that it is in.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Found {
    pub(in crate::cli) place: Place,
    pub(in crate::cli) object: Value,
}

pub(in crate::cli) struct Everywhere {
    kubeconfig: String,
    places: Vec<Place>,
}

impl Everywhere {
    /// Finds all workspaces: at once, or from the root down if the server does not tell of all at once.
    pub(in crate::cli) async fn find(kubeconfig: &str) -> Result<Self, Error> {
        let root = Place { id: ROOT.to_owned(), path: ROOT.to_owned() };
        let mut all = Self { kubeconfig: kubeconfig.to_owned(), places: vec![root.clone()] };
        match all.api(ALL)?.list(&workspaces(), "").await {
            Ok(found) => {
                all.places.extend(places(&found.items));
                return Ok(all);
            }
            Err(error) if error.code().is_none() => return Err(Error::Hub(error)),
            Err(_) => {}
        }
        let mut level = vec![root];
        while !level.is_empty() {
            let below = all.list_in(&level, &workspaces()).await?;
            level = below.iter().filter_map(child).collect();
            all.places.extend(level.clone());
        }
        Ok(all)
    }

    /// A workspace, by its id.
    pub(in crate::cli) fn api(&self, workspace: &str) -> Result<Arc<dyn CellApi>, Error> {
        remote(&kubeconfig::in_workspace(&self.kubeconfig, workspace)?).map_err(Error::Hub)
    }

    /// Everything of a resource.
    pub(in crate::cli) async fn list(&self, of: &CellResource) -> Result<Vec<Found>, Error> {
        match self.api(ALL)?.list(of, "").await {
            Ok(listed) => Ok(listed.items.into_iter().map(|object| self.found(object)).collect()),
            Err(error) if error.code().is_none() => Err(Error::Hub(error)),
            Err(_) => self.list_in(&self.places, of).await,
        }
    }

    /// What people call a workspace; its id, if they do not see those above it.
    pub(in crate::cli) fn path<'a>(&'a self, id: &'a str) -> &'a str {
        self.places.iter().find(|place| place.id == id).map_or(id, |place| &place.path)
    }

    fn found(&self, object: Value) -> Found {
        let id = workspace_of(&object).to_owned();
        let path = self.path(&id).to_owned();
        Found { place: Place { id, path }, object }
    }

    async fn list_in(&self, places: &[Place], of: &CellResource) -> Result<Vec<Found>, Error> {
        let lists = stream::iter(places.to_vec()).map(|place| async move {
            let listed = match self.api(&place.id)?.list(of, "").await {
                // It went meanwhile.
                Err(error) if matches!(error.code(), Some(403 | 404)) && place.id != ROOT => Vec::new(),
                listed => listed.map_err(Error::Hub)?.items,
            };
            Ok::<_, Error>(listed.into_iter().map(move |object| Found { place: place.clone(), object }))
        });
        let lists: Vec<_> = lists.buffered(ASKED_AT_ONCE).try_collect().await?;
        Ok(lists.into_iter().flatten().collect())
    }
}

fn workspaces() -> CellResource {
    resource("tenancy.kcp.io", "v1alpha1", "workspaces", "Workspace")
}

/// Of an object that is seen from outside of its workspace.
pub(in crate::cli) fn workspace_of(object: &Value) -> &str {
    object["metadata"]["annotations"][CLUSTER].as_str().unwrap_or_default()
}

/// Where workspaces are, by those that they are in.
fn places(workspaces: &[Value]) -> Vec<Place> {
    let within = |workspace: &Value| Some((workspace["spec"]["cluster"].as_str()?.to_owned(), workspace.clone()));
    let by_id: HashMap<String, Value> = workspaces.iter().filter_map(within).collect();
    let path = |id: &str| {
        let (mut names, mut id) = (Vec::new(), id);
        for _ in 0..DEPTH_MAX {
            let Some(workspace) = by_id.get(id) else { break };
            names.push(workspace["metadata"]["name"].as_str().unwrap_or_default());
            id = workspace_of(workspace);
        }
        names.push(id);
        names.reverse();
        names.join(":")
    };
    let mut places: Vec<Place> = by_id.keys().map(|id| Place { id: id.clone(), path: path(id) }).collect();
    places.sort_by(|one, other| one.path.cmp(&other.path));
    places
}

fn child(found: &Found) -> Option<Place> {
    let id = found.object["spec"]["cluster"].as_str().filter(|id| !id.is_empty())?;
    let name = found.object["metadata"]["name"].as_str()?;
    Some(Place { id: id.to_owned(), path: format!("{}:{name}", found.place.path) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_workspace_is_called_after_those_around_it() {
        let place = Place { id: "1".to_owned(), path: "root:a".to_owned() };
        let object = json!({ "metadata": { "name": "b" }, "spec": { "cluster": "2" } });
        let found = child(&Found { place: place.clone(), object }).unwrap();
        assert_eq!((found.id.as_str(), found.path.as_str()), ("2", "root:a:b"));
        let object = json!({ "metadata": { "name": "b" }, "spec": {} });
        assert_eq!(child(&Found { place, object }), None, "nothing is behind it yet");
    }

    #[test]
    fn workspaces_that_are_seen_all_at_once_are_called_the_same() {
        let workspace = |parent: &str, name: &str, id: &str| json!({ "metadata": { "name": name, "annotations": { CLUSTER: parent } }, "spec": { "cluster": id } });
        let all =
            [workspace("2", "c", "3"), workspace(ROOT, "a", "1"), workspace("1", "b", "2"), workspace("9", "x", "8")];
        let found: Vec<(String, String)> = places(&all).into_iter().map(|place| (place.id, place.path)).collect();
        let expected = [("8", "9:x"), ("1", "root:a"), ("2", "root:a:b"), ("3", "root:a:b:c")];
        assert_eq!(found, expected.map(|(id, path)| (id.to_owned(), path.to_owned())));
    }
}
