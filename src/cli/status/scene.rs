//! Whom `hanse status` asks: the workspace that the cells are in, and, where that is allowed, all others that have
//! something in them.

use super::picture::{Home, Picture};
use crate::cli::cell::everywhere::{Everywhere, workspace_of};
use crate::cli::cell::{Error, HubFlags, hub};
use crate::fleet::api::{CellApi, CellPlace, CellResource};
use crate::fleet::{kubeconfig, remote};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) struct Scene {
    kubeconfig: String,
    /// The workspace that the cells are in.
    hub: Arc<dyn CellApi>,
    /// All workspaces at once; nothing, once the server has refused that.
    all: Option<Arc<dyn CellApi>>,
    home: Home,
}

impl Scene {
    pub(super) fn new(flags: &HubFlags) -> Result<Self, Error> {
        let kubeconfig = hub::kubeconfig(flags)?;
        let connect = |text: &str| remote(text).map_err(Error::Hub);
        let all = connect(&kubeconfig::in_workspace(&kubeconfig, "*")?)?;
        Ok(Self { hub: connect(&kubeconfig)?, all: Some(all), kubeconfig, home: Home::default() })
    }

    pub(super) async fn look(&mut self) -> Result<Picture, Error> {
        let cells = self.hub.list(&hub::cells(), "").await.map_err(Error::Hub)?.items;
        if self.home.id.is_empty() {
            self.home.id = self.own_id().await;
        }
        let placements = self.list(&hub::placements()).await?;
        let copies = self.list(&hub::copies()).await?;
        let picture = Picture::of(&cells, &placements, &copies, &self.home);
        if picture.unnamed.is_empty() {
            return Ok(picture);
        }
        let everywhere = Everywhere::find(&self.kubeconfig).await?;
        let named = picture.unnamed.iter().map(|id| (id.clone(), everywhere.path(id).to_owned()));
        self.home.paths = named.collect::<BTreeMap<String, String>>();
        Ok(Picture::of(&cells, &placements, &copies, &self.home))
    }

    /// What the server calls this workspace; nothing, if it does not tell.
    async fn own_id(&self) -> String {
        let resource = hub::resource("core.kcp.io", "v1alpha1", "logicalclusters", "LogicalCluster");
        let itself = CellPlace { resource, namespace: None, name: "cluster".to_owned() };
        let itself = self.hub.get(&itself).await.ok().flatten().unwrap_or_default();
        workspace_of(&itself).to_owned()
    }

    async fn list(&mut self, of: &CellResource) -> Result<Vec<Value>, Error> {
        if let Some(all) = self.all.as_ref().filter(|_| !self.home.id.is_empty()) {
            match all.list(of, "").await {
                Ok(listed) => return Ok(listed.items),
                Err(error) if error.code().is_none() => return Err(Error::Hub(error)),
                Err(_) => self.all = None,
            }
        }
        Ok(self.hub.list(of, "").await.map_err(Error::Hub)?.items)
    }
}
