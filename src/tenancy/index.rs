//! What is known of all objects of a kind, by something else than where they are. It is brought up to date when somebody
//! asks, by what has changed since somebody asked last: nothing runs for it, and no answer is behind.

use apiserver::client::Client;
use apiserver::error::ApiError;
use parking_lot::Mutex;
use storage::{Key, ReadError, Revision};

/// What is made of objects.
pub(super) trait Digest: Default {
    /// The kind.
    const OF: (&'static str, &'static str, &'static str);

    /// Takes in that an object is no longer what it was.
    fn note(&mut self, key: &Key, before: Option<&[u8]>, now: Option<&[u8]>);
}

#[derive(Debug, Default)]
pub(super) struct Index<D> {
    /// Up to which revision everything is taken in. The store is read while this is held, and nothing else is locked.
    known: Mutex<Option<(Revision, D)>>,
}

impl<D: Digest> Index<D> {
    /// What is known as of now.
    pub(super) fn ask<T>(&self, client: &Client, question: impl FnOnce(&D) -> T) -> Result<T, ApiError> {
        let mut known = self.known.lock();
        let caught_up = match known.take() {
            Some(old) => follow(client, old)?,
            None => None,
        };
        let new = caught_up.map_or_else(|| read(client), Ok)?;
        let answer = question(&new.1);
        *known = Some(new);
        Ok(answer)
    }
}

/// Takes in what has changed; nothing, if so much has that it is forgotten.
fn follow<D: Digest>(client: &Client, (since, mut digest): (Revision, D)) -> Result<Option<(Revision, D)>, ApiError> {
    let place = client.at(D::OF, &apiserver::place::Workspace::everywhere(), None)?;
    match client.changed_since(&place.resource, since) {
        Ok((changes, until)) => {
            for change in changes {
                let bytes = |version: &Option<storage::Version>| version.as_ref().map(|version| version.value.clone());
                let (before, now) = (bytes(&change.previous), bytes(&change.current));
                digest.note(&change.key, before.as_deref(), now.as_deref());
            }
            Ok(Some((until, digest)))
        }
        Err(ReadError::Compacted { .. }) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Reads everything there is.
fn read<D: Digest>(client: &Client) -> Result<(Revision, D), ApiError> {
    let place = client.at(D::OF, &apiserver::place::Workspace::everywhere(), None)?;
    let (all, revision) = client.all_of(&place.resource);
    let mut digest = D::default();
    for entry in all {
        let entry = entry?;
        digest.note(&entry.key, None, Some(&entry.version.value));
    }
    Ok((revision, digest))
}
