//! Listing: all of a collection at one revision, or page by page.

use super::{Filter, Resources};
use crate::auth::Authorized;
use crate::error::ApiError;
use crate::options::{ListOptions, Match};
use crate::place::Collection;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use storage::{Key, KeyRange, ReadError, Revision, Snapshot, Version};

/// What a list answers with.
#[derive(Clone, Debug)]
pub struct Page<T = Bytes> {
    pub revision: Revision,
    pub items: Vec<T>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// How many are left, where it is known.
    pub remaining: Option<usize>,
}

/// Where a list goes on. Clients give it back as they got it; none looks inside.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    /// -1: at whatever is newest.
    rv: i64,
    /// The last key that was listed, below the collection.
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

impl Token {
    fn text(revision: Option<Revision>, range: &KeyRange, last: &Key) -> String {
        let shared = range.start().as_bytes().len().min(last.as_bytes().len());
        let start = String::from_utf8_lossy(&last.as_bytes()[shared..]).into_owned();
        let rv = revision.map_or(-1, |revision| i64::try_from(revision.0).unwrap_or(i64::MAX));
        let token = Self { v: TOKEN_VERSION.to_owned(), rv, start };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    fn read(text: &str) -> Result<Self, ApiError> {
        let refused = |why: &str| ApiError::bad_request(format!("invalid continue token: {why}"));
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).map_err(|_| refused("it is not base64"))?;
        let token: Self = serde_json::from_slice(&bytes).map_err(|_| refused("it cannot be read"))?;
        if token.v != TOKEN_VERSION || token.start.is_empty() || token.rv < -1 || token.rv == 0 {
            return Err(refused("it is not one of this server"));
        }
        Ok(token)
    }
}

/// From where a page is read.
struct Start {
    snapshot: Snapshot,
    range: KeyRange,
}

impl Resources {
    pub async fn list(&self, at: &Authorized<Collection>, options: ListOptions) -> Result<Page, ApiError> {
        if let Some(computing) = self.computing(&at.get().resource) {
            return computing.list(at.get(), options).await;
        }
        let ListOptions { selection, limit, token, revision, matching, .. } = options;
        let (range, filter) = Filter::plan(at.get(), None, selection)?;
        let start = match token {
            Some(token) => self.resume(&token, revision, &range).await?,
            None => Start { snapshot: self.state(revision, matching, limit > 0).await?, range: range.clone() },
        };
        // "Any state will do" comes from clients that want all of it, cheaply.
        let limit = if revision == Some(0) { 0 } else { limit };
        let found = collect(&start, &range, &filter, limit)?;
        let items = self.shown_all(at.get(), found.items).await?;
        Ok(Page { revision: found.revision, items, next: found.next, remaining: found.remaining })
    }

    async fn state(&self, revision: Option<u64>, matching: Option<Match>, paged: bool) -> Result<Snapshot, ApiError> {
        match (revision, matching) {
            // Without a word about it, a page is of exactly that revision.
            (Some(revision @ 1..), Some(Match::Exact)) => self.exactly(Revision(revision)).await,
            (Some(revision @ 1..), None) if paged => self.exactly(Revision(revision)).await,
            _ => self.at_least(revision).await,
        }
    }

    async fn exactly(&self, revision: Revision) -> Result<Snapshot, ApiError> {
        self.reach(revision).await?;
        Ok(self.inner.store.snapshot_at(revision)?)
    }

    async fn resume(&self, token: &str, revision: Option<u64>, range: &KeyRange) -> Result<Start, ApiError> {
        if revision.is_some_and(|revision| revision > 0) {
            return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
        }
        let token = Token::read(token)?;
        // Whatever the token says, it cannot lead out of the collection.
        let last = Key::new([range.start().as_bytes(), token.start.as_bytes()].concat());
        let rest = range.after(&last);
        let Ok(revision) = u64::try_from(token.rv) else {
            return Ok(Start { snapshot: self.inner.store.snapshot().await?, range: rest });
        };
        match self.inner.store.snapshot_at(Revision(revision)) {
            Ok(snapshot) => Ok(Start { snapshot, range: rest }),
            Err(ReadError::Compacted { .. }) => Err(ApiError::continue_expired(Token::text(None, range, &last))),
            Err(other) => Err(other.into()),
        }
    }
}

fn collect(start: &Start, range: &KeyRange, filter: &Filter, limit: usize) -> Result<Page<Version>, ApiError> {
    let revision = start.snapshot.revision();
    let mut page = Page { revision, items: Vec::new(), next: None, remaining: None };
    let mut last: Option<Key> = None;
    let mut entries = filter.reading(&start.snapshot, start.range.clone())?;
    for entry in &mut entries {
        let entry = entry?;
        if limit > 0 && page.items.len() == limit {
            // This one is left, and whatever comes after it.
            let last = last.unwrap_or(entry.key);
            page.next = Some(Token::text(Some(revision), range, &last));
            page.remaining = filter.is_everything().then(|| 1 + entries.count());
            return Ok(page);
        }
        if filter.sees(&entry.key, &entry.version.value) {
            let value = filter.shown(&entry.key, &entry.version.value);
            page.items.push(Version { value, ..entry.version });
        }
        last = Some(entry.key);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_a_made_up_one_is_refused() {
        let range = KeyRange::prefix("core/pods/-/w/");
        let text = Token::text(Some(Revision(7)), &range, &Key::new("core/pods/-/w/n/p"));
        let token = Token::read(&text).unwrap();
        assert_eq!((token.rv, &*token.start), (7, "n/p"));
        for odd in ["", "x", "e30", &URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#)] {
            assert_eq!(Token::read(odd).unwrap_err().code(), 400, "{odd}");
        }
    }
}
