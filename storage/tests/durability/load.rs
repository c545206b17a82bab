//! What the writers do: a plan that follows from a seed alone, so that whoever knows how far a writer came knows what
//! it must have left behind. The part that runs it prints a line for every acknowledged commit.

use crate::dice::{Dice, scramble};
use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use storage::{Draft, Engine, Expect, HistoryBounds, Key, KeyRange, Options, Place, Revision, Store, Txn};

pub(crate) const LARGE: usize = 200 * 1024;
/// Keys that every transaction of the kind writes together, with the same mark: a torn one shows.
const TOGETHER: u64 = 5;

/// Which operation of which writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(crate) writer: u64,
    pub(crate) nth: u64,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.writer, self.nth)
    }
}

impl Mark {
    fn parse(text: &str) -> Option<Self> {
        let (writer, nth) = text.split_once('.')?;
        Some(Self { writer: writer.parse().ok()?, nth: nth.parse().ok()? })
    }
}

/// One transaction: every key gets a value of its size, or every key goes.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) mark: Mark,
    pub(crate) keys: Vec<(Key, usize)>,
    pub(crate) deletes: bool,
}

impl Op {
    /// The plan: the same for the same seed and mark.
    pub(crate) fn planned(seed: u64, mark: Mark) -> Self {
        let mut dice = Dice::new(scramble(seed ^ scramble(mark.writer)) ^ mark.nth);
        let writer = mark.writer;
        let single = |dice: &mut Dice| format!("own/{writer}/single/{}", dice.below(24));
        let together = |place: String, dice: &mut Dice| -> Vec<_> {
            (0..TOGETHER).map(|nth| (Key::new(format!("{place}/{nth}")), 20 + dice.below(3000) as usize)).collect()
        };
        let (keys, deletes) = match dice.below(100) {
            0..45 => (vec![(single(&mut dice).into(), 20 + dice.below(2000) as usize)], false),
            45..60 => (vec![(single(&mut dice).into(), 0)], true),
            60..80 => (together(format!("own/{writer}/together"), &mut dice), false),
            80..84 => (together(format!("own/{writer}/together"), &mut dice), true),
            84..93 => (together("shared".to_owned(), &mut dice), false),
            93..96 => (vec![(format!("own/{writer}/large/{}", dice.below(2)).into(), LARGE)], false),
            _ => {
                let mut keys = together(format!("own/{writer}/together"), &mut dice);
                keys[2].1 = LARGE;
                (keys, false)
            }
        };
        Self { mark, keys, deletes }
    }

    pub(crate) fn shared(&self) -> bool {
        self.keys[0].0.as_bytes().starts_with(b"shared/")
    }

    /// The value at one of its keys, without the revision in it, and where that goes.
    fn draft(&self, key: &Key, size: usize) -> Draft {
        let mut bytes = format!("{} {key} ", self.mark).into_bytes();
        let gap = bytes.len();
        bytes.push(b' ');
        let mut dice = Dice::new(scramble(self.mark.writer) ^ self.mark.nth);
        let pattern: Vec<u8> = (0..32).flat_map(|_| dice.next().to_le_bytes()).collect();
        while bytes.len() < size {
            bytes.extend_from_slice(&pattern);
        }
        Draft::with_gap(bytes, gap)
    }

    pub(crate) fn value(&self, key: &Key, revision: Revision) -> Option<bytes::Bytes> {
        let (_, size) = self.keys.iter().find(|(planned, _)| planned == key)?;
        Some(self.draft(key, *size).stamped(revision))
    }

    fn txn(&self, seen: &HashMap<Key, Revision>) -> Txn {
        let mut txn = Txn::new();
        for (key, size) in &self.keys {
            if !self.shared() {
                let expect = seen.get(key).map_or(Expect::Absent, |revision| Expect::At(*revision));
                txn = txn.expect(key.clone(), expect);
            }
            txn = if self.deletes { txn.delete(key.clone()) } else { txn.put(key.clone(), self.draft(key, *size)) };
        }
        txn
    }
}

/// Whose operation wrote this value.
pub(crate) fn author(value: &[u8]) -> Option<Mark> {
    let end = value.iter().position(|byte| *byte == b' ')?;
    Mark::parse(std::str::from_utf8(&value[..end]).ok()?)
}

/// An acknowledged commit, as it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) mark: Mark,
    /// `None` if it changed nothing.
    pub(crate) revision: Option<Revision>,
}

impl Ack {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (mark, revision) = line.strip_prefix("ack ")?.split_once(' ')?;
        let revision = if revision == "-" { None } else { Some(Revision(revision.parse().ok()?)) };
        Some(Self { mark: Mark::parse(mark)?, revision })
    }
}

/// What a child is asked to do.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) dir: PathBuf,
    pub(crate) engine: Engine,
    pub(crate) seed: u64,
    /// Where each writer goes on.
    pub(crate) starts: Vec<u64>,
}

const DIR: &str = "DURABILITY_DIR";
const ENGINE: &str = "DURABILITY_ENGINE";
const SEED: &str = "DURABILITY_LOAD_SEED";
const STARTS: &str = "DURABILITY_STARTS";

impl Job {
    pub(crate) fn to_env(&self) -> Vec<(&'static str, String)> {
        let starts: Vec<String> = self.starts.iter().map(u64::to_string).collect();
        vec![
            (DIR, self.dir.display().to_string()),
            (ENGINE, self.engine.name().to_owned()),
            (SEED, self.seed.to_string()),
            (STARTS, starts.join(",")),
        ]
    }

    pub(crate) fn from_env() -> Self {
        let var = |name| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
        Self {
            dir: var(DIR).into(),
            engine: Engine::named(&var(ENGINE)).unwrap(),
            seed: var(SEED).parse().unwrap(),
            starts: var(STARTS).split(',').map(|start| start.parse().unwrap()).collect(),
        }
    }

    pub(crate) fn place(&self) -> Place {
        Place::Dir { dir: self.dir.clone(), engine: self.engine }
    }
}

/// Prints one line in one piece: what was said before a kill was said whole.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Opens the store and writes to it until the process is killed.
pub(crate) fn run(job: &Job) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        // The harness has begun a line of its own.
        say(format_args!("\nopening"));
        let history = HistoryBounds::exactly(Duration::from_millis(300), 1 << 20);
        let store = Store::open(&job.place(), Options { history, ..Options::default() }).unwrap();
        say(format_args!("opened"));
        let writers: Vec<_> = (0..)
            .zip(&job.starts)
            .map(|(writer, start)| tokio::spawn(write(store.clone(), job.seed, Mark { writer, nth: *start })))
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

async fn write(store: Store, seed: u64, mut mark: Mark) {
    let mut seen: HashMap<Key, Revision> = HashMap::new();
    for entry in store.recent().scan(KeyRange::prefix(format!("own/{}/", mark.writer))) {
        let entry = entry.unwrap();
        seen.insert(entry.key, entry.version.modified);
    }
    loop {
        let op = Op::planned(seed, mark);
        let committed = match store.commit(op.txn(&seen)).await {
            Ok(committed) => committed,
            Err(error) => panic!("operation {mark}: {error:?}"),
        };
        for change in committed.changes.iter() {
            match &change.current {
                Some(version) => seen.insert(change.key.clone(), version.modified),
                None => seen.remove(&change.key),
            };
        }
        match committed.changes.is_empty() {
            true => say(format_args!("ack {mark} -")),
            false => say(format_args!("ack {mark} {}", committed.revision)),
        }
        mark.nth += 1;
    }
}
