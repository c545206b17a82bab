//! Documents that change only when what is served changes: made once, when they are first asked for.

use super::aggregated;
use crate::catalog::Catalog;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A document and what tells it from others.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    pub(crate) hash: String,
}

impl Document {
    fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let hash = Sha512::digest(&bytes).iter().map(|byte| format!("{byte:02X}")).collect();
        Self { bytes, hash }
    }
}

#[derive(Debug)]
pub(crate) struct Documents {
    pub(crate) core: Document,
    pub(crate) groups: Document,
    /// Guards the documents made so far. Nothing else is locked while it is held.
    v3: Mutex<BTreeMap<String, Arc<Document>>>,
    index: OnceLock<Document>,
    v2: OnceLock<Document>,
    v2_protobuf: OnceLock<Document>,
}

impl Documents {
    pub(crate) fn new(catalog: &Catalog) -> Self {
        Self {
            core: Document::new(aggregated::core(catalog).to_string()),
            groups: Document::new(aggregated::groups(catalog).to_string()),
            v3: Mutex::default(),
            index: OnceLock::new(),
            v2: OnceLock::new(),
            v2_protobuf: OnceLock::new(),
        }
    }

    /// The document of a group version.
    pub(crate) fn v3(&self, catalog: &Catalog, group: &str, version: &str) -> Option<Arc<Document>> {
        catalog.version(group, version)?;
        let name = name(group, version);
        if let Some(document) = self.v3.lock().get(&name) {
            return Some(document.clone());
        }
        // Made without the lock: whoever comes at the same time makes the same.
        let document = Arc::new(Document::new(openapi::document::v3(&name)?));
        self.v3.lock().insert(name, document.clone());
        Some(document)
    }

    /// Where the document of each group version is.
    pub(crate) fn index(&self, catalog: &Catalog) -> &Document {
        self.index.get_or_init(|| {
            let mut paths = Map::new();
            for group in catalog.groups() {
                for version in &group.versions {
                    let Some(document) = self.v3(catalog, &group.name, &version.name) else { continue };
                    let place = address(&group.name, &version.name, &document.hash);
                    paths.insert(path(&group.name, &version.name), json!({ "serverRelativeURL": place }));
                }
            }
            Document::new(json!({ "paths": Value::Object(paths) }).to_string())
        })
    }

    pub(crate) fn v2(&self) -> &Document {
        self.v2.get_or_init(|| Document::new(openapi::document::v2()))
    }

    pub(crate) fn v2_protobuf(&self) -> &Document {
        self.v2_protobuf.get_or_init(|| {
            let tree = serde_json::from_slice(&self.v2().bytes).unwrap_or_default();
            Document::new(openapi::document::v2_protobuf(&tree))
        })
    }
}

fn name(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

pub(crate) fn address(group: &str, version: &str, hash: &str) -> String {
    format!("/openapi/v3/{}?hash={hash}", path(group, version))
}
