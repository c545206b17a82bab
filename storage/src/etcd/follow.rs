//! Follows etcd's watch into the timeline, for as long as the store is open.
//!
//! One connection after the other: ask for the newest revision, watch from the last one known, take what comes, and
//! look every second whether etcd still answers. When something fails, the next endpoint is tried. If etcd has
//! forgotten the last revision known, everything is read anew, and watchers are told that they missed something.

use super::fault::{Fault, Kind};
use super::link::{Connection, Head};
use super::load;
use super::request::revision;
use super::{Core, PROBE_INTERVAL};
use crate::key::Key;
use crate::timeline::Writes;
use crate::txn::Revision;
use etcd_client::proto::{PbEvent, PbWatchResponse};
use etcd_client::{EventType, WatchStream};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Between two rounds of trying every endpoint in vain: short enough that a restarted etcd is found at once, and
/// doubled up to a second, which is as long as an election takes.
const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// A watch that stands still behind what etcd says for so long is nudged, and after twice that is begun anew.
const STALL_MAX: Duration = Duration::from_secs(5);

pub(super) struct Follower {
    core: Arc<Core>,
    /// Which endpoint is tried next.
    nth: usize,
}

/// Why a connection is over.
enum End {
    Failed(Fault),
    /// The last revision known is no longer in etcd.
    Compacted,
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl Follower {
    pub(super) fn new(core: Arc<Core>, nth: usize) -> Self {
        Self { core, nth }
    }

    pub(super) async fn run(mut self) {
        let mut failures = 0;
        loop {
            let begun = self.core.shared.clock.now();
            let Err(end) = self.follow().await;
            let fault = match end {
                End::Failed(fault) => fault,
                End::Compacted => match self.rebuild().await {
                    Ok(()) => continue,
                    Err(fault) => fault,
                },
            };
            // What worked for a while may be tried again at once; what fails as soon as it works may not.
            let lasted = self.core.shared.clock.now().saturating_sub(begun);
            failures = if lasted > BACKOFF_MAX { 0 } else { failures + 1 };
            self.core.link.down(fault.into_error());
            self.nth += 1;
            sleep(backoff(failures, self.core.endpoints.urls.len())).await;
        }
    }

    /// Follows one connection to its end.
    async fn follow(&self) -> Result<Infallible, End> {
        let connection = Connection::dial(&self.core.endpoints, self.nth).await?;
        let head = connection.head(&self.core.prefix).await?;
        self.core.check_identity(&connection, head)?;
        let known = self.known();
        if head.revision < known {
            let what = format!(
                "its history ends at revision {}, though {known} was read from it: it was set back, or replaced; \
                 restart to follow it from there",
                head.revision
            );
            return Err(connection.fault(Kind::Changed, what).into());
        }
        // The last known revision once more: etcd then notices a compaction right after it, which it would let pass
        // if we asked for the next one, though what was deleted there is gone.
        let mut stream = connection.watch(&self.core.prefix, known).await?;
        self.core.link.up(connection.clone(), self.core.shared.clock.now());
        let mut gathering = Gathering::default();
        let mut lag = Lag::default();
        let mut probe = pin!(probe(&self.core, &connection));
        loop {
            tokio::select! {
                answer = next(&connection, &mut stream) => self.take(&connection, answer?, &mut gathering)?,
                head = &mut probe => {
                    lag.look(&self.core, &connection, head?)?;
                    probe.set(self::probe(&self.core, &connection));
                }
            }
        }
    }

    fn known(&self) -> Revision {
        self.core.shared.timeline.read().revision()
    }

    fn take(&self, connection: &Connection, answer: PbWatchResponse, gathering: &mut Gathering) -> Result<(), End> {
        if answer.compact_revision > 0 {
            return Err(End::Compacted);
        }
        if answer.canceled {
            return Err(connection.fault(Kind::Lost, format!("the watch was ended: {}", answer.cancel_reason)).into());
        }
        // A message that is neither an event nor about the watch itself says that there is nothing up to its revision.
        if answer.events.is_empty() && !answer.created {
            let reached = answer.header.and_then(|header| revision(header.revision)).unwrap_or_default();
            self.core.shared.advance(reached);
            return Ok(());
        }
        for (revision, events) in gathering.add(answer.events, answer.fragment) {
            if revision > self.known() {
                self.publish(revision, events).map_err(|what| connection.fault(Kind::Locked, what))?;
            }
        }
        self.core.history.forget_due(&self.core.shared);
        Ok(())
    }

    fn publish(&self, revision: Revision, events: Vec<PbEvent>) -> Result<(), String> {
        let mut writes = Writes::new();
        for event in events {
            writes.extend(self.write(revision, event)?);
        }
        if writes.is_empty() {
            self.core.shared.advance(revision);
        } else {
            self.core.shared.publish([(revision, writes)]);
        }
        Ok(())
    }

    /// What an event does to the store; `None` for the marker, and for the end of what was never there for us.
    fn write(&self, revision: Revision, event: PbEvent) -> Result<Option<(Key, Option<bytes::Bytes>)>, String> {
        let deleted = event.r#type == EventType::Delete as i32;
        let Some(kv) = event.kv else { return Ok(None) };
        let Some(key) = self.core.prefix.strip(&kv.key) else { return Ok(None) };
        let value = if deleted { None } else { self.core.reading.value(&key, revision, kv.value)? };
        let known = || self.core.shared.timeline.read().newest(key.as_bytes()).is_some();
        Ok((value.is_some() || known()).then_some((key, value)))
    }

    /// Reads everything anew. Until that is done, the store is as it was, and says that it is not well.
    async fn rebuild(&self) -> Result<(), Fault> {
        let connection = Connection::dial(&self.core.endpoints, self.nth).await?;
        let known = self.known();
        let what = format!("its history after revision {known} was compacted; everything is being read anew");
        tracing::warn!(endpoint = connection.endpoint, %known, "etcd has compacted what was not yet read");
        self.core.link.down(connection.fault(Kind::Lost, what).into_error());
        let later = load::load(&connection, &self.core.prefix, &self.core.reading).await?;
        if later.floor() <= known {
            return Err(connection.fault(Kind::Lost, "it says that it has compacted what it has not"));
        }
        self.core.shared.replace(later);
        Ok(())
    }
}

/// How long to wait after so many endpoints failed in a row. A whole round goes without a pause, so that the failure
/// of one endpoint costs no time.
fn backoff(failures: usize, endpoints: usize) -> Duration {
    let rounds = failures / endpoints.max(1);
    if rounds == 0 || !failures.is_multiple_of(endpoints.max(1)) {
        return Duration::ZERO;
    }
    BACKOFF_MIN.saturating_mul(1 << (rounds - 1).min(10)).min(BACKOFF_MAX)
}

async fn next(connection: &Connection, stream: &mut WatchStream) -> Result<PbWatchResponse, Fault> {
    match stream.message().await {
        Ok(Some(answer)) => Ok(answer.0),
        Ok(None) => Err(connection.fault(Kind::Lost, "the watch ended")),
        Err(error) => Err(Fault::of(&connection.endpoint, &error)),
    }
}

/// Whether etcd still answers, asked in time or when somebody has doubts.
async fn probe(core: &Core, connection: &Connection) -> Result<Head, Fault> {
    tokio::select! {
        () = sleep(PROBE_INTERVAL) => {}
        () = core.link.suspected() => {}
    }
    connection.head(&core.prefix).await
}

/// Where the watch stands still although etcd is ahead of it, and since when.
#[derive(Default)]
struct Lag(Option<(Revision, Duration)>);

impl Lag {
    /// Notices a watch that says nothing though there is something to say. What others write to the same etcd looks
    /// the same from here, so first the store's own marker is written: a watch that works shows it.
    fn look(&mut self, core: &Core, connection: &Connection, head: Head) -> Result<(), Fault> {
        core.check_identity(connection, head)?;
        let known = core.shared.timeline.read().revision();
        let now = core.shared.clock.now();
        let since = self.0.filter(|(at, _)| *at == known).map_or(now, |(_, since)| since);
        self.0 = (known < head.revision).then_some((known, since));
        let still = self.0.map_or(Duration::ZERO, |(_, since)| now.saturating_sub(since));
        if still > 2 * STALL_MAX {
            return Err(connection.fault(Kind::Lost, "the watch no longer says what happens"));
        }
        if still > STALL_MAX {
            core.newest.nudge();
        }
        Ok(())
    }
}

/// Puts the events of one revision together again: etcd cuts large answers into fragments, anywhere.
#[derive(Debug, Default)]
struct Gathering {
    open: Option<(Revision, Vec<PbEvent>)>,
}

impl Gathering {
    /// The revisions that are complete with these events; `cut` says that the next answer goes on with the last one.
    fn add(&mut self, events: Vec<PbEvent>, cut: bool) -> Vec<(Revision, Vec<PbEvent>)> {
        let mut complete = Vec::new();
        for event in events {
            let at = event.kv.as_ref().and_then(|kv| revision(kv.mod_revision)).unwrap_or_default();
            match &mut self.open {
                Some((revision, gathered)) if *revision == at => gathered.push(event),
                open => complete.extend(open.replace((at, vec![event]))),
            }
        }
        if !cut {
            complete.extend(self.open.take());
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etcd_client::proto::PbKeyValue;
    use proptest::prelude::*;

    fn event(revision: u64, nth: usize) -> PbEvent {
        let kv = PbKeyValue { mod_revision: revision as i64, version: nth as i64, ..PbKeyValue::default() };
        PbEvent { kv: Some(kv), ..PbEvent::default() }
    }

    proptest! {
        #[test]
        fn revisions_are_whole_wherever_they_were_cut(
            sizes in prop::collection::vec(1usize..5, 1..8),
            cuts in prop::collection::vec(any::<bool>(), 40),
        ) {
            let revisions: Vec<_> = sizes
                .iter()
                .enumerate()
                .map(|(at, size)| (at as u64 + 1, (0..*size).map(|nth| event(at as u64 + 1, nth)).collect::<Vec<_>>()))
                .collect();
            let all: Vec<_> = revisions.iter().flat_map(|(_, events)| events.clone()).collect();
            let mut gathering = Gathering::default();
            let mut gathered = Vec::new();
            let mut fragment = Vec::new();
            for (at, event) in all.iter().enumerate() {
                fragment.push(event.clone());
                let end = at + 1 == all.len();
                if end || cuts[at] {
                    gathered.extend(gathering.add(std::mem::take(&mut fragment), !end));
                }
            }
            let expected: Vec<_> = revisions.into_iter().map(|(at, events)| (Revision(at), events)).collect();
            prop_assert_eq!(gathered, expected);
        }
    }

    #[test]
    fn every_endpoint_is_tried_before_a_pause_and_pauses_have_an_end() {
        let pauses = |endpoints| (0..8).map(|failures| backoff(failures, endpoints).as_millis()).collect::<Vec<_>>();
        assert_eq!(pauses(1), [0, 50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(pauses(3), [0, 0, 0, 50, 0, 0, 100, 0]);
        assert_eq!(backoff(usize::MAX - 1, 1), BACKOFF_MAX);
    }
}
