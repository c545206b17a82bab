//! `GET` of a collection or an object, with `watch`.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::{Call, event_buffer};
use crate::error::ApiError;
use crate::lookout::Lookout;
use crate::media::Offer;
use crate::place::Collection;
use crate::render::{Events, IncludeObject};
use crate::resources::{Resources, Watch};
use crate::target::{Target, Verb};
use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::header::{self, HeaderValue};
use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;
use storage::ReadError;
use tokio::time::{Instant, Sleep};

/// How often a client that wants to know is told how far its watch is.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// A watch without a bound of its own ends after this long, and up to as long again: not all at the same time.
const WATCH_SECS_MIN: u64 = 1800;

/// Events that wait are sent together, up to this much.
const SENT_AT_ONCE: usize = 64 * 1024;

pub(super) async fn watch(
    api: &Api,
    at: &Authorized<Collection>,
    name: Option<&str>,
    call: &Call,
) -> Result<Response, ApiError> {
    let form = call.form_of(&at.get().resource, Offer::STREAM)?;
    let include = IncludeObject::parse(&call.query)?;
    let options = call.list_options(&at.get().resource, true)?;
    let ambient = api.resources.ambient();
    let secs = options.watch.timeout_secs.filter(|secs| *secs > 0);
    let secs = secs.unwrap_or_else(|| WATCH_SECS_MIN + ambient.below(WATCH_SECS_MIN));
    let events = Events::new(at.get().resource.clone(), form, include);
    let content_type = events.content_type();
    // Joined first, looked at second: one that is put to rest in between does not go unnoticed.
    let lookout = api.lookouts.join(&at.get().workspace, &api.stopping);
    let target = Target::Objects { verb: Verb::Watch, at: at.get().clone() };
    api.resources.must_answer(&at.get().workspace, &target)?;
    let started = match api.resources.watch(at, name, options).await {
        Ok(watch) => Stage::Watching(Box::new(watch)),
        // Kubernetes says so in the stream: by then the client has been told that it watches.
        Err(error) if error.code() == 410 => Stage::Failed(error),
        Err(error) => return Err(error),
    };
    let told = Telling::new(started, events, api.resources.clone(), Duration::from_secs(secs), lookout);
    let body = stream::unfold(told, Telling::next);
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

enum Stage {
    Watching(Box<Watch>),
    Failed(ApiError),
    Over,
}

/// A watch while it is being told.
struct Telling {
    stage: Stage,
    events: Events,
    resources: Resources,
    ends: Pin<Box<Sleep>>,
    bookmark: Pin<Box<Sleep>>,
    lookout: Lookout,
}

/// Why a watch that waits wakes up.
enum Woken {
    Event(Result<crate::resources::Event, ReadError>),
    Bookmark,
    End,
}

impl Telling {
    fn new(stage: Stage, events: Events, resources: Resources, lasts: Duration, lookout: Lookout) -> Self {
        let ends = Box::pin(tokio::time::sleep(lasts));
        let bookmark = Box::pin(tokio::time::sleep(BOOKMARK_EVERY));
        Self { stage, events, resources, ends, bookmark, lookout }
    }

    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let mut out = event_buffer();
        while out.is_empty() {
            self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Over => return None,
                Stage::Failed(error) => {
                    self.events.write_error(&error, &mut out);
                    Stage::Over
                }
                Stage::Watching(watch) => self.step(watch, &mut out).await,
            };
        }
        Some((Ok(out.freeze()), self))
    }

    async fn step(&mut self, mut watch: Box<Watch>, out: &mut BytesMut) -> Stage {
        let woken = tokio::select! {
            biased;
            () = self.lookout.ended() => Woken::End,
            () = &mut self.ends => Woken::End,
            event = watch.next() => Woken::Event(event),
            () = &mut self.bookmark => Woken::Bookmark,
        };
        match woken {
            Woken::Event(Ok(event)) => self.tell(watch, event, out),
            Woken::Event(Err(error)) => failed(error),
            Woken::Bookmark => {
                self.bookmark.as_mut().reset(Instant::now() + BOOKMARK_EVERY);
                self.mark(&mut watch, out);
                Stage::Watching(watch)
            }
            Woken::End => {
                self.mark(&mut watch, out);
                Stage::Over
            }
        }
    }

    fn mark(&mut self, watch: &mut Watch, out: &mut BytesMut) {
        if let Some(bookmark) = watch.bookmark() {
            let now = self.resources.ambient().now();
            // A bookmark that cannot be written is one less.
            let _ = self.events.write(&bookmark, now, out);
        }
    }

    /// Writes an event and those that wait behind it.
    fn tell(&mut self, mut watch: Box<Watch>, first: crate::resources::Event, out: &mut BytesMut) -> Stage {
        let now = self.resources.ambient().now();
        let mut event = first;
        loop {
            if let Err(error) = self.events.write(&event, now, out) {
                return Stage::Failed(error);
            }
            if out.len() >= SENT_AT_ONCE {
                return Stage::Watching(watch);
            }
            match watch.try_next() {
                Ok(Some(next)) => event = next,
                Ok(None) => return Stage::Watching(watch),
                Err(error) => return failed(error),
            }
        }
    }
}

fn failed(error: ReadError) -> Stage {
    match error {
        // The end of the store is the end of the server: clients resume elsewhere from what they saw last.
        ReadError::Closed => Stage::Over,
        ReadError::Compacted { asked, oldest } => Stage::Failed(ApiError::too_old_to_watch(asked, oldest)),
        other => Stage::Failed(other.into()),
    }
}
