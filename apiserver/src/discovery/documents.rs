//! Documents that change only when what is served changes: made once, when they are first asked for.

use super::aggregated;
use super::custom::Schemas;
use crate::catalog::{Catalog, Version};
use bytes::Bytes;
use openapi::document::Whole;
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
    pub(crate) fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let hash = Sha512::digest(&bytes).iter().map(|byte| format!("{byte:02X}")).collect();
        Self { bytes, hash }
    }
}

/// The documents of one catalog.
#[derive(Debug)]
pub(crate) struct Documents {
    catalog: Arc<Catalog>,
    /// Those of what is built in, where the catalog adds to it.
    below: Option<Arc<Documents>>,
    core: OnceLock<Document>,
    groups: OnceLock<Document>,
    /// Guards the documents made so far. Nothing else is locked while it is held.
    v3: Mutex<BTreeMap<String, Arc<Document>>>,
    index: OnceLock<Document>,
    v2: OnceLock<Document>,
    v2_protobuf: OnceLock<Document>,
    /// The document of what is built in, as others are added to it.
    whole: OnceLock<Whole>,
}

impl Documents {
    pub(crate) fn new(catalog: Arc<Catalog>, below: Option<Arc<Documents>>) -> Self {
        Self {
            catalog,
            below,
            core: OnceLock::new(),
            groups: OnceLock::new(),
            v3: Mutex::default(),
            index: OnceLock::new(),
            v2: OnceLock::new(),
            v2_protobuf: OnceLock::new(),
            whole: OnceLock::new(),
        }
    }

    pub(crate) fn are_of(&self, catalog: &Arc<Catalog>) -> bool {
        Arc::ptr_eq(&self.catalog, catalog)
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Nothing that is built in is described.
    fn is_custom(&self) -> bool {
        let mut versions = self.catalog.groups().iter().flat_map(|group| &group.versions);
        versions.all(|version| version.resources.iter().all(|resource| resource.custom().is_some()))
    }

    pub(crate) fn core(&self) -> &Document {
        self.core.get_or_init(|| Document::new(aggregated::core(&self.catalog).to_string()))
    }

    pub(crate) fn groups(&self) -> &Document {
        self.groups.get_or_init(|| Document::new(aggregated::groups(&self.catalog).to_string()))
    }

    /// The document of a group version.
    pub(crate) fn v3(&self, group: &str, version: &str, schemas: &Schemas<'_>) -> Option<Arc<Document>> {
        let found = self.catalog.version(group, version)?;
        let is_builtin = found.resources.iter().all(|resource| resource.custom().is_none());
        // What nothing was added to is described below already.
        if let Some(below) = self.below.as_ref().filter(|below| below.describe(group, version, found)) {
            return below.v3(group, version, schemas);
        }
        let name = name(group, version);
        if let Some(document) = self.v3.lock().get(&name) {
            return Some(document.clone());
        }
        // Made without the lock: whoever comes at the same time makes the same.
        let text =
            if is_builtin { openapi::document::v3(&name)? } else { schemas.v3(&name, &found.resources).into_bytes() };
        let document = Arc::new(Document::new(text));
        self.v3.lock().insert(name, document.clone());
        Some(document)
    }

    fn describe(&self, group: &str, version: &str, wanted: &Version) -> bool {
        let found = self.catalog.version(group, version);
        found.is_some_and(|found| found.resources.len() == wanted.resources.len())
    }

    /// Where the document of each group version is.
    pub(crate) fn index(&self, schemas: &Schemas<'_>) -> &Document {
        self.index.get_or_init(|| {
            let mut paths = Map::new();
            for group in self.catalog.groups() {
                for version in &group.versions {
                    let Some(document) = self.v3(&group.name, &version.name, schemas) else { continue };
                    let place = address(&group.name, &version.name, &document.hash);
                    paths.insert(path(&group.name, &version.name), json!({ "serverRelativeURL": place }));
                }
            }
            Document::new(json!({ "paths": Value::Object(paths) }).to_string())
        })
    }

    pub(crate) fn v2(&self, schemas: &Schemas<'_>) -> &Document {
        self.v2.get_or_init(|| match &self.below {
            None if self.is_custom() => Document::new(schemas.v2_alone(&self.catalog)),
            None => Document::new(self.whole().text()),
            Some(below) => {
                let (definitions, paths) = schemas.v2(&self.catalog);
                Document::new(below.whole().with(&definitions, &paths))
            }
        })
    }

    fn whole(&self) -> &Whole {
        match &self.below {
            Some(below) => below.whole(),
            None => self.whole.get_or_init(|| Whole::new(openapi::document::v2_tree())),
        }
    }

    pub(crate) fn v2_protobuf(&self, schemas: &Schemas<'_>) -> &Document {
        self.v2_protobuf.get_or_init(|| {
            let tree = serde_json::from_slice(&self.v2(schemas).bytes).unwrap_or_default();
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
