//! Where keys come from: objects that are followed, and the keys that each of their changes concerns.

use apiserver::client::{Client, Follow, Seen};
use std::convert::Infallible;
use std::time::Duration;
use storage::ReadError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long to wait when nothing can be followed at the moment.
const FOLLOW_AGAIN: Duration = Duration::from_secs(1);

/// Turns changes into keys.
pub trait Source: Send + 'static {
    type Key;

    /// Follows anew. Everything there is will be told again, so what was remembered is to be forgotten.
    fn follow(&mut self) -> Result<Follow, ReadError>;

    /// The keys that a change concerns.
    fn keys(&mut self, seen: &Seen) -> Vec<Self::Key>;

    /// Everything there was has been told; only changes follow.
    fn caught_up(&mut self) {}
}

/// The changes of one built-in resource, by group, version and plural, in all workspaces.
pub fn changes_of<K: 'static>(
    client: &Client,
    resource: (&'static str, &'static str, &'static str),
    keys: impl FnMut(&Seen) -> Option<K> + Send + 'static,
) -> impl Source<Key = K> {
    Changes { client: client.clone(), resource, keys }
}

struct Changes<F> {
    client: Client,
    resource: (&'static str, &'static str, &'static str),
    keys: F,
}

impl<K, F: FnMut(&Seen) -> Option<K> + Send + 'static> Source for Changes<F>
where
    K: 'static,
{
    type Key = K;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        let (group, version, plural) = self.resource;
        let found = self.client.builtin().find(group, version, plural);
        let resource = found.ok_or_else(|| ReadError::Unavailable(format!("{plural} are not served")))?;
        self.client.follow(resource)
    }

    fn keys(&mut self, seen: &Seen) -> Vec<K> {
        (self.keys)(seen).into_iter().collect()
    }
}

/// Lets a source that needs no controller see every change, until it is stopped.
pub async fn tell(source: impl Source<Key = Infallible>, resync: Duration, stop: CancellationToken) {
    let (offer, _taken_by_nobody) = mpsc::channel(1);
    tokio::select! {
        () = stop.cancelled() => {}
        () = feed(Box::new(source), offer, resync) => {}
    }
}

/// Offers keys for as long as there is a store: follows, and after `resync` or an error follows anew.
pub(super) async fn feed<K: Send + 'static>(
    mut source: Box<dyn Source<Key = K>>,
    offer: mpsc::Sender<K>,
    resync: Duration,
) {
    loop {
        let end = tokio::time::timeout(resync, follow(&mut *source, &offer)).await;
        match end {
            // Time to look at everything again; or more was missed than is remembered.
            Err(_) | Ok(ReadError::Compacted { .. }) => {}
            Ok(ReadError::Closed) => return,
            Ok(error) => {
                tracing::warn!(%error, "cannot follow at the moment");
                tokio::time::sleep(FOLLOW_AGAIN).await;
            }
        }
    }
}

/// Offers keys until nothing more can be told.
async fn follow<K: Send + 'static>(source: &mut dyn Source<Key = K>, offer: &mpsc::Sender<K>) -> ReadError {
    let mut follow = match source.follow() {
        Ok(follow) => follow,
        Err(error) => return error,
    };
    let mut caught_up = false;
    loop {
        if !caught_up && follow.is_caught_up() {
            caught_up = true;
            source.caught_up();
        }
        let seen = match follow.next().await {
            Ok(seen) => seen,
            Err(error) => return error,
        };
        for key in source.keys(&seen) {
            if offer.send(key).await.is_err() {
                return ReadError::Closed;
            }
        }
    }
}
