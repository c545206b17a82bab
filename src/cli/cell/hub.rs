//! The server that these commands talk to.

use super::everywhere::Found;
use super::{CLOSED, Error, HubFlags};
use crate::config;
use crate::fleet::api::{CellApi, CellPlace, CellResource};
use crate::fleet::{kubeconfig, remote};
use serde_json::Value;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

pub(in crate::cli) fn connect(flags: &HubFlags) -> Result<Arc<dyn CellApi>, Error> {
    remote(&kubeconfig(flags)?).map_err(Error::Hub)
}

/// The kubeconfig of the server, with what it names in other files written into it.
pub(in crate::cli) fn kubeconfig(flags: &HubFlags) -> Result<String, Error> {
    let path = flags.kubeconfig.clone().or_else(config::kubeconfig).ok_or(Error::NoKubeconfig)?;
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut text = match read(&path) {
        Err(Error::Read { path, source }) if source.kind() == ErrorKind::NotFound => {
            return Err(Error::NoSuchKubeconfig(path));
        }
        read => read?,
    };
    let unusable = |source| Error::Kubeconfig { path: path.clone(), source };
    if let Some(context) = &flags.context {
        text = kubeconfig::in_context(&text, context).map_err(unusable)?;
    }
    let flat = kubeconfig::flattened(&text, dir).map_err(unusable)?;
    match &flags.workspace {
        Some(workspace) => Ok(kubeconfig::in_workspace(&flat, workspace)?),
        None => Ok(flat),
    }
}

pub(super) fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

pub(in crate::cli) fn resource(group: &str, version: &str, plural: &str, kind: &str) -> CellResource {
    let own = |text: &str| text.to_owned();
    CellResource { group: own(group), version: own(version), plural: own(plural), kind: own(kind), namespaced: false }
}

pub(in crate::cli) fn cells() -> CellResource {
    resource("federation.hanse.dev", "v1alpha1", "cells", "Cell")
}

pub(in crate::cli) fn copies() -> CellResource {
    resource("federation.hanse.dev", "v1alpha1", "copies", "Copy")
}

pub(in crate::cli) fn rules() -> CellResource {
    resource("federation.hanse.dev", "v1alpha1", "federationrules", "FederationRule")
}

pub(in crate::cli) fn policies() -> CellResource {
    resource("policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy")
}

pub(in crate::cli) fn cluster_policies() -> CellResource {
    resource("policy.karmada.io", "v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy")
}

pub(in crate::cli) fn placements() -> CellResource {
    resource("federation.hanse.dev", "v1alpha1", "placements", "Placement")
}

pub(in crate::cli) fn namespace(name: &str) -> CellPlace {
    CellPlace { resource: resource("", "v1", "namespaces", "Namespace"), namespace: None, name: name.to_owned() }
}

pub(in crate::cli) fn secret(namespace: &str, name: &str) -> CellPlace {
    let (resource, namespace) = (resource("", "v1", "secrets", "Secret"), Some(namespace.to_owned()));
    CellPlace { resource, namespace, name: name.to_owned() }
}

pub(super) fn cell(name: &str) -> CellPlace {
    CellPlace { resource: cells(), namespace: None, name: name.to_owned() }
}

/// What a cell says of one condition.
pub(in crate::cli) fn condition<'a>(cell: &'a Value, kind: &str) -> Option<&'a Value> {
    cell["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

pub(in crate::cli) fn is_ready(cell: &Value) -> bool {
    condition(cell, "Ready").is_some_and(|ready| ready["status"] == "True")
}

/// Why a cell is not ready.
pub(in crate::cli) fn why_not(cell: &Value) -> String {
    let message = condition(cell, "Ready").and_then(|ready| ready["message"].as_str());
    match (message, cell["spec"]["workspace"].as_str()) {
        // The server itself may enter all that there are.
        (Some(message), Some(workspace)) if message.ends_with(CLOSED) => format!("there is no workspace {workspace}"),
        (message, _) => message.unwrap_or("nothing is known of it yet").to_owned(),
    }
}

/// How many copies are recorded in a cell of a workspace.
pub(super) fn number_in(copies: &[Found], workspace: &str, name: &str) -> usize {
    let cell = |copy: &Found| copy.object["spec"]["cell"]["name"] == name;
    let home = |copy: &Found| copy.object["spec"]["cell"]["workspace"] == workspace;
    copies.iter().filter(|copy| cell(copy) && home(copy)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cell_in_a_workspace_that_is_not_there_says_so() {
        let cell = |spec: Value| {
            let message = format!("the cell refuses: forbidden: {CLOSED}");
            json!({ "spec": spec, "status": { "conditions": [{ "type": "Ready", "status": "False", "message": message }] } })
        };
        assert_eq!(why_not(&cell(json!({ "workspace": "root:x" }))), "there is no workspace root:x");
        assert!(why_not(&cell(json!({ "secretRef": {} }))).starts_with("the cell refuses"));
        assert_eq!(why_not(&json!({})), "nothing is known of it yet");
    }
}
