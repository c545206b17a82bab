//! What API servers behind this one recognise it by: a certificate for each workspace, and where it is written down whom
//! to believe.
//!
//! All workspaces have one authority, and each a name of its own. A backend that believes the name of one workspace
//! is not told who asks by anybody who rules another and sends requests its way.

use apiserver::ambient::Ambient;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::place::Workspace;
use apiserver::relay::Present;
use apiserver::strategy::Part;
use apiserver::trust::Certificate;
use certs::{Authority, Validity};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

const CONFIG_MAP: &str = "extension-apiserver-authentication";

/// Certificates are in memory alone, and issued anew long before they end.
const LASTS: Duration = Duration::from_secs(24 * 3600);
const RENEWED_AFTER_SECS: i64 = 12 * 3600;
/// Of others they are issued when they are needed.
const KEPT_MAX: usize = 1000;

#[derive(Debug)]
pub struct Front {
    authority: Authority,
    /// Who signs for clients of this server, in PEM.
    clients_pem: String,
    ambient: Ambient,
    /// By workspace, with the second in which it was issued. Nothing else is locked while it is held.
    issued: Mutex<HashMap<Workspace, (i64, Certificate)>>,
}

impl Front {
    /// Opens the authority of front proxies in `dir/certs/front-proxy`, or makes it.
    pub fn open(dir: &Path, clients_pem: &str, ambient: Ambient) -> Result<Self, certs::Error> {
        let kept = dir.join("certs").join("front-proxy");
        // If it cannot be made, what is to be in it cannot be written, and that error says where.
        let _ = std::fs::create_dir_all(&kept);
        let authority = Authority::open_or_create(&kept, moment(&ambient))?;
        Ok(Self { authority, clients_pem: clients_pem.to_owned(), ambient, issued: Mutex::default() })
    }

    /// Writes down in a workspace whom its backends should believe, unless it is there.
    pub async fn publish(&self, client: &Client, workspace: &Workspace) -> Result<(), ApiError> {
        let namespaces = client.at(("", "v1", "namespaces"), workspace, None)?;
        client.ensure(&namespaces, json!({ "metadata": { "name": "kube-system" } })).await?;
        let maps = client.at(("", "v1", "configmaps"), workspace, Some("kube-system"))?;
        let data = self.data(workspace);
        match client.get(&maps.object(CONFIG_MAP)).await? {
            None => client.ensure(&maps, json!({ "metadata": { "name": CONFIG_MAP }, "data": data })).await,
            Some(found) if found.get("data") == Some(&data) => Ok(()),
            Some(_) => client.merge(&maps.object(CONFIG_MAP), Part::Main, &json!({ "data": data })).await.map(drop),
        }
    }

    fn data(&self, workspace: &Workspace) -> Value {
        let list = |words: &[&str]| json!(words).to_string();
        json!({
            "client-ca-file": self.clients_pem,
            "requestheader-client-ca-file": self.authority.cert_pem(),
            "requestheader-allowed-names": list(&[&name(workspace)]),
            "requestheader-username-headers": list(&["X-Remote-User"]),
            "requestheader-uid-headers": list(&["X-Remote-Uid"]),
            "requestheader-group-headers": list(&["X-Remote-Group"]),
            "requestheader-extra-headers-prefix": list(&["X-Remote-Extra-"]),
        })
    }
}

impl Present for Front {
    fn certificate(&self, workspace: &Workspace) -> Result<Certificate, String> {
        let now = self.ambient.now().seconds;
        let mut issued = self.issued.lock();
        if let Some((since, known)) = issued.get(workspace)
            && (0..RENEWED_AFTER_SECS).contains(&(now - since))
        {
            return Ok(known.clone());
        }
        let validity = Validity { now: moment(&self.ambient), lasts: LASTS };
        let pair = self.authority.issue_client(&name(workspace), &[], validity).map_err(|error| error.to_string())?;
        let (chain_pem, key_pem) = (pair.cert_chain_pem.into_bytes(), pair.key_pem.into_bytes());
        let made = Certificate { chain_pem, key_pem };
        if issued.len() >= KEPT_MAX
            && let Some(any) = issued.keys().next().cloned()
        {
            issued.remove(&any);
        }
        issued.insert(workspace.clone(), (now, made.clone()));
        Ok(made)
    }
}

/// What a workspace is called by its backends.
fn name(workspace: &Workspace) -> String {
    format!("front-proxy:{workspace}")
}

fn moment(ambient: &Ambient) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(ambient.now().seconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi::scalar::time::Instant;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    #[test]
    fn every_workspace_has_a_certificate_of_its_own_which_is_renewed() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(AtomicI64::new(1_800_000_000)));
        let seconds = clock.clone();
        let ambient = Ambient::new(move || Instant { seconds: seconds.load(Ordering::Relaxed), nanos: 0 }, || 1);
        let front = Front::open(dir.path(), "clients", ambient.clone()).unwrap();
        let of = |id: &str| front.certificate(&Workspace::new(id)).unwrap();
        let (one, other) = (of("a"), of("b"));
        assert!(one != other && one == of("a"));
        clock.fetch_add(RENEWED_AFTER_SECS, Ordering::Relaxed);
        assert!(one != of("a"));
        let data = |front: &Front, id: &str| front.data(&Workspace::new(id));
        assert_eq!(data(&front, "a")["requestheader-allowed-names"], "[\"front-proxy:a\"]");
        let again = Front::open(dir.path(), "clients", ambient).unwrap();
        assert_eq!(data(&again, "a"), data(&front, "a"), "the authority stays the same");
    }
}
