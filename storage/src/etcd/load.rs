//! Everything under the prefix as it was at one revision, read in pages.
//!
//! Not the newest revision but an older one, if etcd still has it: what happened since is then replayed by the watch,
//! and a client of this replica can go on from where another replica, or the process before this one, had left it.

use super::REQUEST_TIMEOUT;
use super::envelope::Reading;
use super::fault::{Fault, Kind};
use super::link::Connection;
use super::prefix::Prefix;
use super::request::revision;
use crate::index::Slot;
use crate::key::Key;
use crate::timeline::Timeline;
use crate::txn::Revision;
use etcd_client::proto::{PbKeyValue, PbRangeResponse};
use tokio::time::timeout;

/// How many revisions back a replica starts, if etcd has them: enough for minutes of an ordinary day, few enough to
/// be replayed in a moment.
const REPLAY_REVISIONS: u64 = 10_000;

/// What a page should weigh: well under gRPC's usual limit of 4 MiB.
const PAGE_BYTES: usize = 1 << 20;

/// Bounds what etcd must gather for one page if entries suddenly become large.
const PAGE_ENTRIES_MAX: usize = 1024;

/// Others compact etcd while we read. After so many attempts at an older revision, the newest is taken.
const ATTEMPTS: usize = 3;

pub(super) async fn load(connection: &Connection, prefix: &Prefix, reading: &Reading) -> Result<Timeline, Fault> {
    for _ in 0..ATTEMPTS {
        let newest = connection.head(prefix).await?.revision;
        let base = oldest_replayable(connection, prefix, newest).await?;
        match load_at(connection, prefix, base, reading).await {
            Err(fault) if fault.kind == Kind::Compacted => {}
            loaded => return loaded,
        }
    }
    let newest = connection.head(prefix).await?.revision;
    load_at(connection, prefix, newest, reading).await
}

/// Where to start so that the rest can be replayed.
async fn oldest_replayable(connection: &Connection, prefix: &Prefix, newest: Revision) -> Result<Revision, Fault> {
    let wanted = Revision(newest.0.saturating_sub(REPLAY_REVISIONS).max(1));
    match connection.page(prefix.marker(), prefix.end(), wanted, 1).await {
        Ok(_) => Ok(wanted),
        Err(fault) if fault.kind == Kind::Compacted => {
            Ok(compacted_up_to(connection, prefix, wanted).await?.clamp(wanted, newest))
        }
        Err(fault) => Err(fault),
    }
}

/// The oldest revision etcd has. It tells only those who try to watch from before it.
async fn compacted_up_to(connection: &Connection, prefix: &Prefix, before: Revision) -> Result<Revision, Fault> {
    let mut stream = connection.watch(prefix, before).await?;
    let answers = async {
        loop {
            match stream.message().await {
                Ok(Some(answer)) if answer.compact_revision() > 0 => return Ok(answer.compact_revision()),
                Ok(Some(_)) => {}
                Ok(None) => return Err(connection.fault(Kind::Lost, "the watch ended")),
                Err(error) => return Err(Fault::of(&connection.endpoint, &error)),
            }
        }
    };
    let silent = |_| connection.fault(Kind::Lost, "it does not say what it has compacted");
    let compacted = timeout(REQUEST_TIMEOUT, answers).await.map_err(silent)??;
    revision(compacted).ok_or_else(|| connection.fault(Kind::Lost, "it compacted a revision that cannot be"))
}

async fn load_at(
    connection: &Connection,
    prefix: &Prefix,
    base: Revision,
    reading: &Reading,
) -> Result<Timeline, Fault> {
    let mut slots: Vec<(Key, Slot)> = Vec::new();
    let mut start = prefix.marker();
    let mut limit = PAGE_ENTRIES_MAX / 8;
    loop {
        let page = match connection.page(start.clone(), prefix.end(), base, limit).await {
            Ok(page) => page,
            Err(fault) if fault.kind == Kind::LargeAnswer && limit > 1 => {
                limit = (limit / 8).max(1);
                continue;
            }
            Err(fault) => return Err(fault),
        };
        limit = next_limit(limit, &page);
        let last = page.kvs.last().map(|kv| kv.key.clone());
        for kv in page.kvs {
            slots.extend(slot(prefix, kv, reading).map_err(|what| connection.fault(Kind::Locked, what))?);
        }
        match last {
            Some(mut last) if page.more => {
                last.push(0);
                start = last;
            }
            _ => return Ok(Timeline::begin(slots, base)),
        }
    }
}

/// How many entries the next page may have so that it weighs about what it should.
fn next_limit(limit: usize, page: &PbRangeResponse) -> usize {
    let bytes: usize = page.kvs.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
    let fitting = page.kvs.len() * PAGE_BYTES / bytes.max(1);
    fitting.clamp(1, (limit * 2).min(PAGE_ENTRIES_MAX))
}

/// `None` for what is not ours.
fn slot(prefix: &Prefix, kv: PbKeyValue, reading: &Reading) -> Result<Option<(Key, Slot)>, String> {
    let Some(key) = prefix.strip(&kv.key) else { return Ok(None) };
    let Some((created, modified)) = revision(kv.create_revision).zip(revision(kv.mod_revision)) else {
        return Ok(None);
    };
    let value = reading.value(&key, modified, kv.value)?;
    Ok(value.map(|value| (key, Slot { modified, created, value: Some(value) })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_shrink_at_once_and_grow_step_by_step() {
        let page = |entries: usize, bytes: usize| {
            let kv = PbKeyValue { value: vec![0; bytes], ..PbKeyValue::default() };
            PbRangeResponse { kvs: vec![kv; entries], ..PbRangeResponse::default() }
        };
        assert_eq!(next_limit(128, &page(128, 100)), 256);
        assert_eq!(next_limit(PAGE_ENTRIES_MAX, &page(PAGE_ENTRIES_MAX, 10)), PAGE_ENTRIES_MAX);
        assert_eq!(next_limit(128, &page(128, 64 << 10)), 16);
        assert_eq!(next_limit(4, &page(4, 2 << 20)), 1);
        assert_eq!(next_limit(1, &page(0, 0)), 1);
    }
}
