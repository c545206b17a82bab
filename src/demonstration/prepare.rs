//! Makes what the demonstration is about: the workspaces that are its cells, and projects with something to place.
//! What is there already stays as it is, so that a second start goes on where the first one stopped.

use super::Scale;
use super::cities::{Site, sites};
use crate::apis::definitions::{CELLS, RULES};
use crate::tenancy::{HOME, ROOT};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{Collection, Workspace};
use serde_json::{Value, json};

const WORKSPACES: (&str, &str, &str) = ("tenancy.kcp.io", "v1alpha1", "workspaces");
const DEPLOYMENTS: (&str, &str, &str) = ("apps", "v1", "deployments");

/// The label of a cell that says which city it is in, and of an object that says where it wants to be.
const CITY: &str = "topology.datum.net/city-code";

/// The workspaces that the others are in.
const CELLS_ARE_IN: &str = "cells";
const PROJECTS_ARE_IN: &str = "projects";

/// What there is to look at.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The names of the cells, and the paths of their workspaces.
    pub cells: Vec<(String, String)>,
    /// The ids of those workspaces.
    pub ids: Vec<Workspace>,
}

pub async fn prepare(client: &Client, scale: Scale) -> Result<Shown, ApiError> {
    let root = Workspace::new(ROOT);
    let within = workspace(client, &root, CELLS_ARE_IN, "organization").await?;
    let mut shown = Shown::default();
    for site in sites(scale.cells) {
        let id = workspace(client, &within, &site.name, "universal").await?;
        let path = format!("{ROOT}:{CELLS_ARE_IN}:{}", site.name);
        let cell = cell(&site, &path);
        // Plain clients see cells at home; rules that speak for all projects are in the root, and so are their cells.
        for at in [HOME, ROOT].map(Workspace::new) {
            client.ensure(&client.at(CELLS, &at, None)?, cell.clone()).await?;
        }
        shown.cells.push((site.name, path));
        shown.ids.push(id);
    }
    if scale.projects > 0 && scale.cells > 0 {
        projects(client, &root, scale).await?;
    }
    Ok(shown)
}

async fn projects(client: &Client, root: &Workspace, scale: Scale) -> Result<(), ApiError> {
    client.ensure(&client.at(RULES, root, None)?, rule()).await?;
    let within = workspace(client, root, PROJECTS_ARE_IN, "organization").await?;
    for (number, site) in (1..=scale.projects).zip(sites(scale.cells).collect::<Vec<_>>().iter().cycle()) {
        let project = workspace(client, &within, &format!("project-{number}"), "project").await?;
        let namespace = client.at(("", "v1", "namespaces"), &project, None)?;
        client.ensure(&namespace, json!({ "metadata": { "name": "default" } })).await?;
        client.ensure(&client.at(DEPLOYMENTS, &project, Some("default"))?, deployment(site.city.0)).await?;
    }
    Ok(())
}

/// The id of a workspace, which is made if it is not there.
async fn workspace(client: &Client, parent: &Workspace, name: &str, of: &str) -> Result<Workspace, ApiError> {
    let all: Collection = client.at(WORKSPACES, parent, None)?;
    let spec = json!({ "type": { "name": of, "path": ROOT } });
    client.ensure(&all, json!({ "metadata": { "name": name }, "spec": spec })).await?;
    let made = client.get(&all.object(name)).await?;
    let id = made.as_ref().map(|made: &Object| made.text(&["spec", "cluster"])).unwrap_or_default();
    Ok(Workspace::new(id))
}

fn cell(site: &Site, path: &str) -> Value {
    let (city, region) = site.city;
    json!({
        "metadata": { "name": site.name, "labels": { CITY: city } },
        "spec": { "workspace": path, "region": region, "provider": "demonstration" },
    })
}

/// Deployments of all projects go to the city that they name.
fn rule() -> Value {
    json!({
        "metadata": { "name": "by-city" },
        "spec": {
            "workspaces": ["*"],
            "objects": [{ "apiVersion": "apps/v1", "kind": "Deployment",
                "labelSelector": { "matchExpressions": [{ "key": CITY, "operator": "Exists" }] } }],
            "cells": { "joins": [{ "objectLabel": CITY, "cellLabel": CITY }] },
        },
    })
}

fn deployment(city: &str) -> Value {
    let labels = json!({ "app": "web" });
    json!({
        "metadata": { "name": "web", "labels": { CITY: city, "app": "web" } },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "nginx", "image": "nginx" }] } },
        },
    })
}
