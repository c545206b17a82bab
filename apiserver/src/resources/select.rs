//! Which of the stored objects a request means.

use super::fields;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::Peek;
use crate::options::Selection;
use crate::place::Collection;
use crate::view::View;
use bytes::Bytes;
use std::sync::Arc;
use storage::{Key, KeyRange};

/// A selection that was found to make sense for its resource.
#[derive(Clone, Debug)]
pub struct Filter {
    resource: Arc<ResourceDef>,
    selection: Selection,
    /// Fields that the range of keys does not already settle.
    everything: bool,
}

impl Filter {
    /// The keys to look at, and what to look for in them.
    pub fn plan(at: &Collection, name: Option<&str>, selection: Selection) -> Result<(KeyRange, Self), ApiError> {
        fields::check(&at.resource, &selection.fields)?;
        let by_field = selection.fields.exact("metadata.name");
        if let (Some(name), Some(field)) = (name, by_field)
            && name != field
        {
            let message = format!("fieldSelector metadata.name={field} does not match the name {name}");
            return Err(ApiError::bad_request(message));
        }
        let mut place = at.clone();
        if let (None, Some(namespace), true) =
            (&at.namespace, selection.fields.exact("metadata.namespace"), at.resource.namespaced)
        {
            place = at.in_namespace(namespace);
        }
        let in_one_place = !at.workspace.is_everywhere() && (place.namespace.is_some() || !at.resource.namespaced);
        let range = match name.or(by_field) {
            Some(name) if !name.is_empty() && in_one_place => KeyRange::key(keyspace::key(&place.object(name))?),
            _ => keyspace::range(&place)?,
        };
        let everything = selection.is_everything();
        Ok((range, Self { resource: at.resource.clone(), selection, everything }))
    }

    /// Everything in the range is meant, and can be seen.
    pub fn is_everything(&self) -> bool {
        self.everything && self.selection.view.is_none()
    }

    /// Whether the object of a key is meant, and can be seen.
    pub fn sees(&self, key: &Key, bytes: &[u8]) -> bool {
        self.matches(bytes) && self.selection.view.as_ref().is_none_or(|view| view.sees(key, bytes))
    }

    /// An object as it is seen.
    pub fn shown(&self, key: &Key, bytes: &Bytes) -> Bytes {
        self.selection.view.as_ref().map_or_else(|| bytes.clone(), |view| view.shown(key, bytes))
    }

    pub fn view(&self) -> Option<&Arc<dyn View>> {
        self.selection.view.as_ref()
    }

    pub fn matches(&self, bytes: &[u8]) -> bool {
        if self.everything {
            return true;
        }
        let object = Peek::of(bytes);
        if !self.selection.labels.is_everything() && !self.selection.labels.matches(object.labels().as_ref()) {
            return false;
        }
        self.selection.fields.matches(|field| fields::value(&self.resource, object, field))
    }
}
