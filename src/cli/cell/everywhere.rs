//! All workspaces of a server: cells are in one, and what is in them comes from many.

use super::Error;
use super::hub::resource;
use crate::fleet::api::{CellApi, CellResource};
use crate::fleet::{kubeconfig, remote};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use std::sync::Arc;

/// Workspaces that are asked at once.
const ASKED_AT_ONCE: usize = 16;

const ROOT: &str = "root";

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
    /// Finds all workspaces, from the root down.
    pub(in crate::cli) async fn find(kubeconfig: &str) -> Result<Self, Error> {
        let root = Place { id: ROOT.to_owned(), path: ROOT.to_owned() };
        let mut all = Self { kubeconfig: kubeconfig.to_owned(), places: vec![root.clone()] };
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
        self.list_in(&self.places, of).await
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
}
