//! The server that these commands talk to.

use super::everywhere::Found;
use super::{CLOSED, Error, HubFlags, ServerFlags};
use crate::config;
use crate::fleet::api::{CellApi, CellPlace, CellResource};
use crate::fleet::{kubeconfig, remote};
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(in crate::cli) fn connect(flags: &HubFlags) -> Result<Arc<dyn CellApi>, Error> {
    remote(&kubeconfig(flags)?).map_err(Error::Hub)
}

/// The kubeconfig of the workspace that is meant, with what it names in other files written into it.
pub(in crate::cli) fn kubeconfig(flags: &HubFlags) -> Result<String, Error> {
    let flat = of_server(&flags.server)?;
    match &flags.workspace {
        Some(workspace) => Ok(kubeconfig::in_workspace(&flat, workspace)?),
        None => Ok(flat),
    }
}

/// The same, of whatever workspace the context leads to.
pub(in crate::cli) fn of_server(flags: &ServerFlags) -> Result<String, Error> {
    let (text, path) = chosen(flags)?;
    kubeconfig::flattened(&text, Path::new("")).map_err(|source| Error::Kubeconfig { path, source })
}

/// The namespace that is meant where nobody names one.
pub(in crate::cli) fn namespace_of_context(flags: &ServerFlags) -> Result<String, Error> {
    let (text, path) = chosen(flags)?;
    let named = kubeconfig::namespace(&text).map_err(|source| Error::Kubeconfig { path, source })?;
    Ok(named.unwrap_or_else(|| "default".to_owned()))
}

/// What the files say together, as kubectl reads them: the first to name something counts, and of several some may be
/// missing. And what they are called.
fn chosen(flags: &ServerFlags) -> Result<(String, PathBuf), Error> {
    let paths = flags.kubeconfig.clone().map_or_else(config::kubeconfigs, |path| vec![path]);
    let mut all = kubeconfig::Merged::default();
    let mut missing = None;
    for path in &paths {
        let text = match read(path) {
            Err(Error::Read { path, source }) if source.kind() == ErrorKind::NotFound => {
                missing.get_or_insert(path);
                continue;
            }
            read => read?,
        };
        let dir = path.parent().unwrap_or(Path::new("."));
        all.add(&text, dir).map_err(|source| Error::Kubeconfig { path: path.clone(), source })?;
    }
    let name = std::env::join_paths(&paths).map(PathBuf::from).unwrap_or_default();
    let text = all.text().ok_or_else(|| missing.map_or(Error::NoKubeconfig, Error::NoSuchKubeconfig))?;
    match &flags.context {
        Some(context) => match kubeconfig::in_context(&text, context) {
            Ok(text) => Ok((text, name)),
            Err(source) => Err(Error::Kubeconfig { path: name, source }),
        },
        None => Ok((text, name)),
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
        (Some(message), Some(workspace)) if message.ends_with(CLOSED) => format!("no such workspace: {workspace}"),
        (message, _) => message.unwrap_or("the server has not checked it yet").to_owned(),
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
            let message = format!("the cell refused: forbidden: {CLOSED}");
            json!({ "spec": spec, "status": { "conditions": [{ "type": "Ready", "status": "False", "message": message }] } })
        };
        assert_eq!(why_not(&cell(json!({ "workspace": "root:x" }))), "no such workspace: root:x");
        assert!(why_not(&cell(json!({ "secretRef": {} }))).starts_with("the cell refused"));
        assert_eq!(why_not(&json!({})), "the server has not checked it yet");
    }
}
