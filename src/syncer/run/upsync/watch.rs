//! The watches of what is born in a cell.

use super::{Born, Shared, Shown, shown};
use crate::fleet::CopyId;
use crate::fleet::api::{CellError, CellEvent, CellResource};
use crate::syncer::run::follow::{self, Failures};
use apiserver::object::Object;
use serde_json::Value;
use std::collections::HashSet;

impl Shared {
    /// Watches until it is stopped.
    pub(super) async fn watch(&self, resource: CellResource) {
        self.remember(&resource);
        let failures = Failures::default();
        let failed = |error: &CellError| {
            tracing::debug!(cell = %self.session.cell, kind = resource.kind, %error, "a watch ended");
        };
        follow::over_and_over(&self.stop, &failures, || self.follow(&resource, &failures), failed).await;
    }

    async fn follow(&self, resource: &CellResource, failures: &Failures) -> Result<(), CellError> {
        let after = self.take_in(resource, failures).await?;
        follow::changes(&*self.session.api, (resource, ""), after, |event| match event {
            CellEvent::Changed(object) => drop(self.seen(resource, object, true)),
            CellEvent::Deleted(object) => drop(self.seen(resource, object, false)),
            CellEvent::Bookmark(_) => {}
        })
        .await
    }

    /// Takes in what there is; answers with the version as of which it was told.
    async fn take_in(&self, resource: &CellResource, failures: &Failures) -> Result<String, CellError> {
        let listed = self.session.api.list(resource, "").await?;
        failures.end();
        let mut there = HashSet::new();
        for object in &listed.items {
            there.insert(self.seen(resource, object, true));
        }
        // What went while nobody watched.
        let shown: Vec<Born> =
            self.state.lock().shown.keys().filter(|born| born.resource == *resource).cloned().collect();
        for born in shown.into_iter().filter(|born| !there.contains(born)) {
            self.put(born, None);
        }
        Ok(listed.resource_version)
    }

    fn seen(&self, resource: &CellResource, object: &Value, there: bool) -> Born {
        let word = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let born = Born { resource: resource.clone(), namespace: word("namespace"), name: word("name") };
        let owned = object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
        // What belongs to nobody is nothing of ours, and most of what is in a cell is not.
        if (there && owned) || self.state.lock().shown.contains_key(&born) {
            let object = Some(object).filter(|_| there && owned).cloned().map(whole(resource));
            self.put(born.clone(), object);
        }
        born
    }

    fn put(&self, born: Born, object: Option<Value>) {
        self.state.lock().pending.insert(born.clone(), object);
        self.mailbox.put(born);
    }

    /// What is shown already, from before this server was started.
    fn remember(&self, resource: &CellResource) {
        let Ok(scan) = self.client.scan_named(&resource.group, &resource.plural) else { return };
        for entry in scan.flatten() {
            let Ok(object) = Object::parse(&entry.version.value) else { continue };
            if !shown::is_from(&object, &self.session.cell) {
                continue;
            }
            let Some(at) = self.client.place_of(&entry.key) else { continue };
            let (born, shown) = self.recalled(resource, &object, at);
            self.state.lock().shown.insert(born, shown);
        }
    }

    fn recalled(&self, resource: &CellResource, object: &Object, at: apiserver::place::ObjectRef) -> (Born, Shown) {
        let annotation = |key: &str| object.annotation(key).unwrap_or_default().to_owned();
        let born = Born {
            resource: resource.clone(),
            namespace: annotation(shown::CELL_NAMESPACE),
            name: annotation(shown::CELL_NAME),
        };
        let because = CopyId { workspace: at.workspace().clone(), name: annotation(shown::BECAUSE) };
        (born, Shown { at, uid: annotation(shown::CELL_UID), because })
    }
}

/// Items of lists may leave out what they are.
fn whole(resource: &CellResource) -> impl Fn(Value) -> Value + use<> {
    let (api_version, kind) = (resource.api_version(), resource.kind.clone());
    move |mut object| {
        object["apiVersion"] = api_version.as_str().into();
        object["kind"] = kind.as_str().into();
        object
    }
}
