//! Lists. In JSON a list is its items as they are stored, with a little text between them: nothing is read, and
//! nothing is copied until it is sent.

use super::{IncludeObject, metadata, table, text};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::media::{Encoding, Form, Shape};
use crate::resources::Page;
use bytes::{BufMut, Bytes, BytesMut};
use openapi::protobuf;
use openapi::scalar::time::Instant;
use serde_json::{Map, Value, json};
use storage::Revision;

/// What a list says of itself.
#[derive(Clone, Debug)]
pub struct ListHead {
    pub api_version: String,
    pub kind: String,
    pub metadata: Value,
}

impl ListHead {
    pub fn new(resource: &ResourceDef, revision: Revision, next: Option<&str>, remaining: Option<usize>) -> Self {
        let mut told = Map::new();
        told.insert("resourceVersion".to_owned(), revision.to_string().into());
        if let Some(next) = next {
            told.insert("continue".to_owned(), next.into());
        } else if resource.custom().is_some() {
            // Kubernetes says so of custom resources, and of no others.
            told.insert("continue".to_owned(), "".into());
        }
        if let Some(remaining) = remaining {
            told.insert("remainingItemCount".to_owned(), remaining.into());
        }
        Self { api_version: resource.api_version(), kind: resource.list_kind.clone(), metadata: Value::Object(told) }
    }

    fn of_page(resource: &ResourceDef, page: &Page) -> Self {
        Self::new(resource, page.revision, page.next.as_deref(), page.remaining)
    }
}

/// The parts of an answer, in order. Together they are its bytes.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    parts: Vec<Bytes>,
    bytes: usize,
}

/// What is sent at a time: large enough to keep the number of records small, small enough not to be a second copy of
/// a large list.
const SENT_AT_ONCE: usize = 64 * 1024;

impl Chunks {
    fn push(&mut self, part: impl Into<Bytes>) {
        let part = part.into();
        self.bytes += part.len();
        self.parts.push(part);
    }

    /// How many bytes there are in all.
    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// All of it, if it is one part.
    pub fn single(&self) -> Option<Bytes> {
        if let [only] = &*self.parts { Some(only.clone()) } else { None }
    }

    /// The parts, joined into pieces that are worth sending.
    pub fn pieces(self) -> impl Iterator<Item = Bytes> {
        let mut parts = self.parts.into_iter().peekable();
        std::iter::from_fn(move || {
            let first = parts.next()?;
            if first.len() >= SENT_AT_ONCE || parts.peek().is_none() {
                return Some(first);
            }
            let mut piece = BytesMut::with_capacity(SENT_AT_ONCE);
            piece.put(first);
            while let Some(part) = parts.next_if(|part| piece.len() + part.len() <= SENT_AT_ONCE) {
                piece.put(part);
            }
            Some(piece.freeze())
        })
    }
}

impl From<Bytes> for Chunks {
    fn from(bytes: Bytes) -> Self {
        Self { bytes: bytes.len(), parts: vec![bytes] }
    }
}

/// A page of a list in the form that was asked for.
pub fn list(
    resource: &ResourceDef,
    page: &Page,
    form: Form,
    include: IncludeObject,
    now: Instant,
) -> Result<Chunks, ApiError> {
    let head = ListHead::of_page(resource, page);
    match form {
        Form { encoding: Encoding::Json, shape: Shape::Whole } => Ok(joined(&head, &page.items)),
        Form { encoding: Encoding::Json, shape: Shape::Metadata } => {
            let head = partial(head);
            let items: Vec<Bytes> = page.items.iter().map(partial_text).collect();
            Ok(joined(&head, &items))
        }
        Form { encoding, shape: Shape::Table } => {
            let rows = parsed(page)?;
            let rows = rows.iter().map(|object| table::row(resource, object, include, now)).collect();
            let table = table::around(said_only(head.metadata), &table::columns(resource), rows);
            Ok(Bytes::from(text(&table, encoding)).into())
        }
        Form { encoding, shape } => {
            let mut items = parsed(page)?;
            let head = if shape == Shape::Metadata { partial(head) } else { head };
            if shape == Shape::Metadata {
                items = items.iter().map(metadata::of_object).collect();
            }
            whole(head, items, encoding)
        }
    }
}

/// A table says nothing of a next page that there is not.
fn said_only(mut metadata: Value) -> Value {
    if let Some(map) = metadata.as_object_mut() {
        map.retain(|_, value| value != "");
    }
    metadata
}

fn partial(head: ListHead) -> ListHead {
    let kind = "PartialObjectMetadataList".to_owned();
    ListHead { api_version: metadata::API_VERSION.to_owned(), kind, ..head }
}

fn parsed(page: &Page) -> Result<Vec<Value>, ApiError> {
    page.items.iter().map(super::objects::parse).collect()
}

/// The metadata of a stored object, cut out of its text.
fn partial_text(bytes: &Bytes) -> Bytes {
    let inner = crate::object::Peek::of(bytes).raw(&["metadata"]).unwrap_or(b"{}");
    let mut text = BytesMut::with_capacity(inner.len() + 96);
    text.put_slice(br#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":"#);
    text.put_slice(inner);
    text.put_slice(b"}");
    text.freeze()
}

fn joined(head: &ListHead, items: &[Bytes]) -> Chunks {
    let mut chunks = Chunks::default();
    chunks.push(format!(
        r#"{{"kind":{:?},"apiVersion":{:?},"metadata":{},"items":["#,
        head.kind, head.api_version, head.metadata
    ));
    for (nth, item) in items.iter().enumerate() {
        if nth > 0 {
            chunks.push(Bytes::from_static(b","));
        }
        chunks.push(item.clone());
    }
    chunks.push(Bytes::from_static(b"]}\n"));
    chunks
}

fn whole(head: ListHead, items: Vec<Value>, encoding: Encoding) -> Result<Chunks, ApiError> {
    let tree = json!({ "kind": head.kind, "apiVersion": head.api_version, "metadata": head.metadata, "items": items });
    if encoding != Encoding::Protobuf {
        return Ok(Bytes::from(text(&tree, encoding)).into());
    }
    let bytes = protobuf::encode(&tree).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(Bytes::from(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn page(items: &[&'static str]) -> Page {
        let items = items.iter().map(|text| Bytes::from_static(text.as_bytes())).collect();
        Page { revision: Revision(7), items, next: None, remaining: None }
    }

    fn text_of(page: &Page, shape: Shape) -> String {
        let catalog = Catalog::builtin();
        let resource = catalog.find("", "v1", "configmaps").unwrap();
        let form = Form { encoding: Encoding::Json, shape };
        let now = Instant { seconds: 0, nanos: 0 };
        let chunks = list(resource, page, form, IncludeObject::Metadata, now).unwrap();
        let length = chunks.len();
        let bytes: Vec<u8> = chunks.pieces().flatten().collect();
        assert_eq!(bytes.len(), length);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_list_is_its_items_and_an_empty_one_has_none() {
        let items = [r#"{"metadata":{"name":"a"}}"#, r#"{"metadata":{"name":"b"}}"#];
        let tree: Value = serde_json::from_str(&text_of(&page(&items), Shape::Whole)).unwrap();
        assert_eq!(tree["items"][1]["metadata"]["name"], "b");
        assert_eq!((&tree["kind"], &tree["metadata"]["resourceVersion"]), (&json!("ConfigMapList"), &json!("7")));
        let empty: Value = serde_json::from_str(&text_of(&page(&[]), Shape::Whole)).unwrap();
        assert_eq!(empty["items"], json!([]));
    }

    #[test]
    fn only_the_metadata_is_sent_to_those_who_want_no_more() {
        let item = r#"{"data":{"k":"v"},"metadata":{"name":"a"}}"#;
        let tree: Value = serde_json::from_str(&text_of(&page(&[item]), Shape::Metadata)).unwrap();
        assert_eq!(tree["items"][0]["kind"], "PartialObjectMetadata");
        assert_eq!(tree["items"][0]["metadata"]["name"], "a");
        assert!(tree["items"][0].get("data").is_none());
    }
}
