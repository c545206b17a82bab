//! Where the services of a workspace are: behind their endpoints, or wherever they say.

use super::Resources;
use crate::backends::Service;
use crate::hooks::call::Resolve;
use crate::object::Object;
use crate::place::{Collection, ObjectRef, Workspace};
use serde_json::Value;

#[derive(Debug)]
pub(super) struct Services {
    pub(super) resources: Resources,
    pub(super) workspace: Workspace,
}

impl Services {
    fn find(&self, plural: &str, service: &Service) -> Result<Option<Object>, String> {
        let resource = self.resources.builtin().find("", "v1", plural).ok_or("services are not served")?.clone();
        let namespace = Some(service.namespace.clone());
        let place: ObjectRef =
            Collection { resource, workspace: self.workspace.clone(), namespace }.object(&service.name);
        let found = self.resources.find(&place).map_err(|error| error.message().to_owned())?;
        Ok(found.map(|found| found.object))
    }
}

impl Resolve for Services {
    fn resolve(&self, service: &Service) -> Result<(String, u16), String> {
        let Service { name, port, .. } = service;
        let found = self.find("services", service)?.ok_or_else(|| format!("service {name:?} not found"))?;
        if found.text(&["spec", "type"]) == "ExternalName" {
            return Ok((found.text(&["spec", "externalName"]).to_owned(), *port));
        }
        let mut ports = found.items(&["spec", "ports"]);
        let named = ports.find(|one| one["port"] == *port).map(|one| one["name"].as_str().unwrap_or_default());
        let named = named.ok_or_else(|| format!("service port {port} not found for service {name:?}"))?.to_owned();
        let none = || format!("no endpoints available for service {name:?}");
        let endpoints = self.find("endpoints", service)?.ok_or_else(none)?;
        let ready = endpoints.items(&["subsets"]).find_map(|subset| address(subset, &named));
        ready.ok_or_else(none)
    }
}

/// The first address of a subset that has a port of this name.
fn address(subset: &Value, port: &str) -> Option<(String, u16)> {
    let ip = subset["addresses"].get(0)?["ip"].as_str()?;
    let ports = subset["ports"].as_array()?;
    let found = ports.iter().find(|one| one["name"].as_str().unwrap_or_default() == port)?;
    Some((ip.to_owned(), u16::try_from(found["port"].as_u64()?).ok()?))
}
