//! Where the server is found is written on objects, for clients that look there. A server that begins elsewhere than the
//! last time says it anew.

use super::mounts;
use super::sharing::SLICES;
use super::words::{LOGICAL_CLUSTERS, TYPES, WORKSPACES};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::ObjectRef;
use apiserver::strategy::Part;
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Objects that are written at once: they share what it costs to be sure of a write.
const TOGETHER: usize = 32;

/// Says on all objects that the server is at `url`. Those that say so already are left alone.
pub async fn refresh(client: Client, url: String, stop: CancellationToken) {
    for kind in [WORKSPACES, LOGICAL_CLUSTERS, TYPES, SLICES] {
        let behind = match behind(&client, kind, &url) {
            Ok(behind) => behind,
            Err(error) => {
                tracing::warn!(%error, resource = kind.2, "cannot find out which objects name another address");
                continue;
            }
        };
        let written = stream::iter(behind).for_each_concurrent(TOGETHER, |(at, part, patch)| {
            let client = &client;
            async move {
                match client.merge(&at, part, &patch).await {
                    // It was deleted in the meantime.
                    Err(error) if error.code() == 404 => {}
                    Err(error) => tracing::warn!(%error, name = at.name, "an object still names another address"),
                    Ok(_) => {}
                }
            }
        });
        tokio::select! {
            () = stop.cancelled() => return,
            () = written => {}
        }
    }
}

/// Objects of a kind that name another address, and what has to be said on them.
fn behind(client: &Client, kind: (&str, &str, &str), url: &str) -> Result<Vec<(ObjectRef, Part, Value)>, ApiError> {
    let Some(resource) = client.builtin().find(kind.0, kind.1, kind.2).cloned() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in client.scan_everywhere(&resource) {
        let entry = entry?;
        let Ok(object) = Object::parse(&entry.version.value) else { continue };
        if let Some((part, patch)) = corrected(&object, kind, url)
            && let Some(at) = client.place_of(&entry.key)
        {
            found.push((at, part, patch));
        }
    }
    Ok(found)
}

/// What has to be said on an object so that it names the address. Types and slices are completed by whoever looks after
/// them, whatever is written.
fn corrected(object: &Object, kind: (&str, &str, &str), url: &str) -> Option<(Part, Value)> {
    let text = |path: &[&str]| moved(object.text(path), url);
    match kind {
        WORKSPACES if !mounts::is_mounted(object) => {
            Some((Part::Main, json!({ "spec": { "URL": text(&["spec", "URL"])? } })))
        }
        LOGICAL_CLUSTERS => Some((Part::Status, json!({ "status": { "URL": text(&["status", "URL"])? } }))),
        TYPES | SLICES => {
            let list = if kind == TYPES { "virtualWorkspaces" } else { "endpoints" };
            let mut urls = object.items(&["status", list]).filter_map(|item| item["url"].as_str());
            urls.any(|old| moved(old, url).is_some()).then(|| (Part::Main, json!({})))
        }
        _ => None,
    }
}

/// The same place at another address; nothing if it is there already, or is none of ours.
fn moved(old: &str, url: &str) -> Option<String> {
    let at = ["/clusters/", "/services/"].iter().filter_map(|marker| old.find(marker)).min()?;
    (&old[..at] != url).then(|| format!("{url}{}", &old[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_an_address_stays() {
        let at = |old: &str| moved(old, "https://new:1");
        assert_eq!(at("https://old/clusters/root:a").as_deref(), Some("https://new:1/clusters/root:a"));
        assert_eq!(at("https://old/services/apiexport/x/y").as_deref(), Some("https://new:1/services/apiexport/x/y"));
        for same in ["https://new:1/clusters/root", "", "https://elsewhere.example"] {
            assert_eq!(at(same), None, "{same}");
        }
    }

    #[test]
    fn a_mounted_workspace_is_where_somebody_else_says() {
        let workspace = |spec: Value| Object::try_from(json!({ "spec": spec })).unwrap();
        let url = "https://old/clusters/root:a";
        let own = corrected(&workspace(json!({ "URL": url })), WORKSPACES, "https://new");
        assert_eq!(own.unwrap().1["spec"]["URL"], "https://new/clusters/root:a");
        let mount = json!({ "ref": { "apiVersion": "a/v1", "kind": "K", "name": "n" } });
        let mounted = workspace(json!({ "URL": url, "mount": mount }));
        assert!(corrected(&mounted, WORKSPACES, "https://new").is_none());
    }
}
