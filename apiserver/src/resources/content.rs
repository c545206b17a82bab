//! A workspace as it is kept: everything that is in it, page by page and as of one revision, and the way back.

use super::Resources;
use crate::error::ApiError;
use crate::keyspace::{self, Mark, Parts};
use crate::object::{Object, draft};
use crate::place::{Collection, Workspace};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use storage::{Key, KeyRange, Revision, Txn};

/// A page has what was collected until it was this large: with one more object, no more than a request may have.
const PAGE_BYTES: usize = 1024 * 1024;

/// Writes of one transaction; fewer than it may have.
const WRITES_MAX: usize = 64;

/// Where something is kept, but for the workspace: group, plural, identity, namespace and name.
type At = [String; 5];

/// One thing that is kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    pub at: At,
    pub object: Value,
}

/// Some of what is kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct ContentPage {
    pub revision: u64,
    /// Where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub entries: Vec<Kept>,
}

impl Resources {
    /// A page of what is in a workspace: the first at what is newest, the others at the revision of the first.
    pub async fn content(
        &self,
        workspace: &Workspace,
        revision: Option<u64>,
        after: Option<&str>,
    ) -> Result<ContentPage, ApiError> {
        let snapshot = match revision {
            Some(revision) => self.inner.store.snapshot_at(Revision(revision))?,
            None => self.inner.store.snapshot().await?,
        };
        let refused = || ApiError::bad_request("invalid continue token");
        let after = after.map(|text| URL_SAFE_NO_PAD.decode(text).map(Key::new).map_err(|_| refused())).transpose()?;
        let mut page = ContentPage { revision: snapshot.revision().0, next: None, entries: Vec::new() };
        let mut bytes = 0;
        for range in self.ranges_of(workspace)? {
            let Some(range) = rest(range, after.as_ref()) else { continue };
            for entry in snapshot.scan(range) {
                let entry = entry?;
                let Some(parts) = keyspace::parse(&entry.key) else { continue };
                let object = serde_json::from_slice(&entry.version.value).map_err(unreadable)?;
                bytes += entry.version.value.len() + entry.key.as_bytes().len();
                page.entries.push(Kept { at: at(&parts), object });
                if bytes >= PAGE_BYTES {
                    page.next = Some(URL_SAFE_NO_PAD.encode(entry.key.as_bytes()));
                    return Ok(page);
                }
            }
        }
        Ok(page)
    }

    /// Where everything of a workspace is kept that is worth keeping, in order.
    fn ranges_of(&self, workspace: &Workspace) -> Result<Vec<KeyRange>, ApiError> {
        let catalog = self.catalog(workspace)?;
        let mut ranges = Vec::new();
        for resource in catalog.stored() {
            let all = Collection { resource: resource.clone(), workspace: workspace.clone(), namespace: None };
            ranges.push(keyspace::range(&all)?);
        }
        ranges.push(keyspace::ports(workspace)?);
        ranges.sort_by(|a, b| a.start().cmp(b.start()));
        ranges.dedup_by(|a, b| a.start() == b.start());
        Ok(ranges)
    }

    /// Puts what was kept of a workspace into another, or into the same, in place of what is there.
    pub async fn plant(&self, workspace: &Workspace, page: &ContentPage) -> Result<usize, ApiError> {
        for entries in page.entries.chunks(WRITES_MAX) {
            let mut txn = Txn::new();
            for Kept { at, object } in entries {
                let [group, resource, identity, namespace, name] = at.each_ref().map(String::as_str);
                let some = |text| Some(text).filter(|text: &&str| !text.is_empty());
                let (identity, namespace) = (some(identity), some(namespace));
                let parts = Parts { group, resource, identity, workspace: workspace.as_str(), namespace, name };
                let key = keyspace::of_parts(&parts)?;
                txn = match object.get("metadata") {
                    Some(_) => txn.put(key, draft(Object::try_from(object.clone()).map_err(unreadable)?)),
                    // Ports and the like say nothing of themselves.
                    None => txn.put(key, object.to_string()),
                };
            }
            // Whatever was made of what was there before is made anew.
            for mark in Mark::ALL {
                txn = txn.put(keyspace::mark(workspace, mark)?, "{}");
            }
            self.inner.store.commit(txn).await?;
        }
        Ok(page.entries.len())
    }
}

fn unreadable(error: impl std::fmt::Display) -> ApiError {
    ApiError::bad_request(format!("an object cannot be read: {error}"))
}

fn at(parts: &Parts<'_>) -> At {
    let Parts { group, resource, identity, namespace, name, .. } = *parts;
    [group, resource, identity.unwrap_or_default(), namespace.unwrap_or_default(), name].map(str::to_owned)
}

/// What of a range comes after a key.
fn rest(range: KeyRange, after: Option<&Key>) -> Option<KeyRange> {
    match after {
        Some(after) if range.contains(after.as_bytes()) => Some(range.after(after)),
        Some(after) if range.start() <= after => None,
        _ => Some(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_on_after_the_last_key_of_the_one_before() {
        let check = |range: &str, after: Option<&str>, expected: Option<&str>| {
            let found = rest(KeyRange::prefix(range), after.map(Key::new).as_ref());
            let start = found.map(|range| range.contains(expected.unwrap_or_default().as_bytes()));
            assert_eq!(start, expected.map(|_| true), "{range} {after:?}");
        };
        check("b/", None, Some("b/a"));
        check("b/", Some("a/x"), Some("b/a"));
        check("b/", Some("b/a"), Some("b/b"));
        check("b/", Some("c/a"), None);
    }
}
