//! Disks that are full, read-only, out of bounds or gone: writes fail with the name of the reason, reads go on, nothing
//! acknowledged is lost, and when the reason has gone the store works again by itself.
//!
//! These tests mount small file systems of their own (see `mounts`) and give up root's right to ignore permissions
//! (`setpriv`, util-linux). Where that is not possible, they fail and say so.

use crate::child::{self, PATIENCE};
use crate::dice::{Dice, scramble};
use crate::load::LARGE;
use crate::mounts::{self, Mount, with_own_mounts};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use storage::{
    BackendError, CommitError, Committed, Engine, KeyRange, OpenError, Options, Place, Revision, Store, Txn,
};

/// Runs `body` for every engine, with mounts of its own, where nobody may ignore permissions.
fn confined(name: &str, body: impl AsyncFn(Engine, &Path)) {
    if child::role().is_none() {
        return with_own_mounts(name, "confined").unwrap_or_else(|why| {
            panic!("{why}; if it did not get as far as the test: it needs root, or `unshare --user`")
        });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    for engine in [Engine::Log, Engine::Fjall, Engine::Sled] {
        let dir = tempfile::tempdir().unwrap();
        runtime.block_on(body(engine, dir.path()));
    }
}

#[test]
fn a_full_disk_is_named_and_survived() {
    confined("disk::a_full_disk_is_named_and_survived", async |engine, dir| {
        let disk = Mount::memory(&dir.join("disk"), "192m").unwrap();
        fill_again_and_again(engine, &disk, &[12 << 20, 1 << 20, 0]).await;
    });
}

/// Fills the disk except for so many bytes, lets the store run into that, and makes room again.
pub(crate) async fn fill_again_and_again(engine: Engine, disk: &Mount, left: &[u64]) {
    let writing = Writing::open(engine, disk.at.join("store"));
    let mut told = Told::default();
    writing.some(&mut told, 40).await;
    for left in left {
        let ballast = Ballast::leave(&disk.at, *left);
        let failure = writing.until_it_fails(&mut told).await;
        assert!(matches!(failure, BackendError::DiskFull { .. }), "{engine:?}: {failure:?}");
        writing.stays_down(&mut told, 20, &failure).await;
        writing.check(&told);
        drop(ballast);
        writing.comes_back(&mut told).await;
        writing.some(&mut told, 20).await;
        writing.check(&told);
    }
    let place = writing.close().await;
    Writing::at(place).check(&told);
    println!("{engine:?}: {} commits acknowledged, {} refused, none lost", told.acknowledged.len(), told.failed.len());
}

#[test]
fn a_disk_that_becomes_read_only_is_named_and_survived() {
    confined("disk::a_disk_that_becomes_read_only_is_named_and_survived", async |engine, dir| {
        let disk = Mount::memory(&dir.join("disk"), "192m").unwrap();
        let store = disk.at.join("store");
        let writing = Writing::open(engine, store.clone());
        let mut told = Told::default();
        writing.some(&mut told, 40).await;
        // Files that are open for writing keep a file system writable. So the engine must let go of its own first.
        let ballast = Ballast::leave(&disk.at, 0);
        writing.until_it_fails(&mut told).await;
        drop(ballast);
        let frozen = Mount::read_only(&store).unwrap();
        let failure = writing.one(&mut told).await.unwrap_err();
        assert!(matches!(failure, BackendError::Denied { .. }), "{engine:?}: {failure:?}");
        writing.stays_down(&mut told, 10, &failure).await;
        writing.check(&told);
        drop(frozen);
        writing.comes_back(&mut told).await;
        writing.some(&mut told, 20).await;
        writing.check(&told);
        let place = writing.close().await;
        Writing::at(place).check(&told);
    });
}

#[test]
fn a_store_whose_directory_was_removed_says_so() {
    confined("disk::a_store_whose_directory_was_removed_says_so", async |engine, dir| {
        for (name, moved) in [("removed", false), ("moved", true)] {
            let store = dir.join(name);
            let writing = Writing::open(engine, store.clone());
            let mut told = Told::default();
            writing.some(&mut told, 30).await;
            if moved {
                fs::rename(&store, dir.join("elsewhere")).unwrap();
            } else {
                fs::remove_dir_all(&store).unwrap();
            }
            let failure = writing.until_it_fails(&mut told).await;
            let text = failure.to_string();
            assert!(text.contains(&*store.to_string_lossy()), "{engine:?}, {name}: {text}");
            writing.stays_down(&mut told, 5, &failure).await;
            writing.check(&told);
            if moved {
                fs::rename(dir.join("elsewhere"), &store).unwrap();
                writing.comes_back(&mut told).await;
                writing.check(&told);
            }
            writing.close().await;
            assert_eq!(store.exists(), moved, "{engine:?}: closing must not make anything");
        }
    });
}

#[test]
fn what_cannot_be_opened_is_refused_in_one_line() {
    confined("disk::what_cannot_be_opened_is_refused_in_one_line", async |engine, dir| {
        let refused = |at: &Path| match open(engine, at) {
            Ok(_) => panic!("{engine:?} opened {}", at.display()),
            Err(error) => {
                let text = crate::chain(&error);
                assert!(text.contains(&*at.to_string_lossy()) && !text.contains('\n'), "{engine:?}: {text}");
                text
            }
        };
        let disk = Mount::memory(&dir.join("disk"), "192m").unwrap();
        let store = disk.at.join("store");
        let ballast = Ballast::leave(&disk.at, 0);
        let text = refused(&store);
        assert!(text.contains("o space left"), "new store, full disk: {text}");
        drop(ballast);

        let writing = Writing::open(engine, store.clone());
        let mut told = Told::default();
        writing.some(&mut told, 30).await;
        writing.close().await;
        let frozen = Mount::read_only(&store).unwrap();
        let text = refused(&store);
        assert!(text.contains("Read-only") || text.contains("no permission"), "read-only: {text}");
        drop(frozen);

        for file in ["", engine.name(), "lock", "acknowledged"] {
            let locked = Locked::new(&store.join(file));
            let text = refused(&store);
            assert!(text.contains("ermission"), "{file:?} without permission: {text}");
            drop(locked);
        }
        fs::write(disk.at.join("file"), "not a directory").unwrap();
        refused(&disk.at.join("file"));
        Writing::open(engine, store).check(&told);
    });
}

#[test]
fn two_processes_cannot_have_one_directory() {
    let name = "disk::two_processes_cannot_have_one_directory";
    let place = |dir: &Path, engine| Place::Dir { dir: dir.to_owned(), engine };
    if child::role().is_some() {
        let dir = PathBuf::from(std::env::var("DURABILITY_DIR").unwrap());
        let engine = Engine::named(&std::env::var("DURABILITY_ENGINE").unwrap()).unwrap();
        match Store::open(&place(&dir, engine), Options::default()) {
            Err(OpenError::InUse { dir: named }) => assert_eq!(named, dir),
            other => panic!("{other:?}"),
        }
        return;
    }
    for engine in [Engine::Log, Engine::Fjall, Engine::Sled] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&place(dir.path(), engine), Options::default()).unwrap();
        let mut second = child::command(name, "second");
        second.env("DURABILITY_DIR", dir.path()).env("DURABILITY_ENGINE", engine.name());
        mounts::run(second).unwrap();
        drop(store);
    }
}

fn open(engine: Engine, dir: &Path) -> Result<Store, OpenError> {
    Store::open(&Place::Dir { dir: dir.to_owned(), engine }, Options::default())
}

/// What the writers were told about their transactions, by number.
#[derive(Debug, Default)]
pub(crate) struct Told {
    next: u64,
    acknowledged: BTreeMap<u64, Revision>,
    failed: BTreeSet<u64>,
}

impl Told {
    fn hear(&mut self, nth: u64, outcome: Result<Committed, CommitError>) -> Result<(), BackendError> {
        match outcome {
            Ok(committed) => {
                self.acknowledged.insert(nth, committed.revision);
                Ok(())
            }
            Err(CommitError::Uncertain(why) | CommitError::Unavailable(why)) => {
                self.failed.insert(nth);
                Err((*why).clone())
            }
            Err(other) => panic!("{nth}: {other:?}"),
        }
    }
}

/// A store that is being written to.
pub(crate) struct Writing {
    engine: Engine,
    dir: PathBuf,
    store: Store,
}

impl Writing {
    pub(crate) fn open(engine: Engine, dir: PathBuf) -> Self {
        let store = open(engine, &dir).unwrap_or_else(|error| panic!("{engine:?}: {}", crate::chain(&error)));
        Self { engine, dir, store }
    }

    pub(crate) fn at((engine, dir): (Engine, PathBuf)) -> Self {
        Self::open(engine, dir)
    }

    pub(crate) async fn close(self) -> (Engine, PathBuf) {
        soon(self.store.close()).await;
        (self.engine, self.dir)
    }

    /// The keys and values of one transaction: always three keys, now and then one of them large.
    fn pairs(nth: u64) -> [(String, Vec<u8>); 3] {
        let size = if nth.is_multiple_of(4) { LARGE } else { 1000 };
        // Nothing that an engine could compress: it must need the space.
        let value = |part: u64| {
            let mut dice = Dice::new(scramble(nth * 3 + part));
            (0..if part == 1 { size / 8 } else { 10 }).flat_map(|_| dice.next().to_le_bytes()).collect()
        };
        [0, 1, 2].map(|part| (format!("{part}/{nth:08}"), value(part)))
    }

    fn txn(nth: u64) -> Txn {
        Self::pairs(nth).into_iter().fold(Txn::new(), |txn, (key, value)| txn.put(key, value))
    }

    /// Commits one transaction and keeps what was said.
    async fn one(&self, told: &mut Told) -> Result<(), BackendError> {
        self.burst(told, 1).await
    }

    /// Commits `count` transactions at once, so that they share a batch. The first failure, if there was one.
    async fn burst(&self, told: &mut Told, count: u64) -> Result<(), BackendError> {
        let mut burst = tokio::task::JoinSet::new();
        for nth in told.next..told.next + count {
            let store = self.store.clone();
            burst.spawn(async move { (nth, soon(store.commit(Self::txn(nth))).await) });
        }
        told.next += count;
        let mut failure = Ok(());
        for (nth, outcome) in burst.join_all().await {
            failure = failure.and(told.hear(nth, outcome));
        }
        failure
    }

    pub(crate) async fn some(&self, told: &mut Told, count: usize) {
        for _ in 0..count {
            self.one(told).await.unwrap_or_else(|why| panic!("{:?}: {why:?}", self.engine));
        }
    }

    pub(crate) async fn until_it_fails(&self, told: &mut Told) -> BackendError {
        for nth in 0..1000 {
            if let Err(why) = self.burst(told, 1 + nth % 12).await {
                return why;
            }
        }
        panic!("{:?}: it never failed", self.engine);
    }

    /// Keeps trying. It may succeed now and then (there is room for something small), but says why it fails. What was
    /// checked on top of a commit that failed is only told that.
    pub(crate) async fn stays_down(&self, told: &mut Told, tries: u64, failure: &BackendError) {
        for nth in 0..tries {
            if let Err(why) = self.burst(told, 1 + nth % 7).await {
                let same = std::mem::discriminant(&why) == std::mem::discriminant(failure);
                assert!(
                    same || matches!(why, BackendError::Interrupted),
                    "{:?}: {why:?} after {failure:?}",
                    self.engine
                );
            }
        }
    }

    /// The reason is gone: it may need one failure to notice.
    async fn comes_back(&self, told: &mut Told) {
        let first = self.one(told).await;
        if let Err(why) = &first {
            let second = self.one(told).await;
            assert!(second.is_ok(), "{:?}: {why:?}, then {second:?}", self.engine);
        }
        assert!(self.store.stats().failure.is_none());
    }

    /// Everything acknowledged is there, at its revision and whole; what failed is there whole or not at all.
    pub(crate) fn check(&self, told: &Told) {
        let snapshot = self.store.recent();
        for nth in 0..told.next {
            let found = Self::pairs(nth).map(|(key, value)| {
                let version = snapshot.get(&key).unwrap();
                let whole = version.as_ref().is_some_and(|version| version.value == value);
                assert!(version.is_none() || whole, "{:?}: {key} holds something else", self.engine);
                version.map(|version| version.modified)
            });
            assert!(found[0] == found[1] && found[1] == found[2], "{:?}: {nth} is torn: {found:?}", self.engine);
            if let Some(revision) = told.acknowledged.get(&nth) {
                assert_eq!(found[0], Some(*revision), "{:?}: {nth} was acknowledged", self.engine);
            }
        }
        let count = snapshot.count(KeyRange::all()).unwrap() as u64;
        assert!(count <= 3 * told.next, "{:?}: there is more than was written", self.engine);
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it hangs")
}

/// A file that takes up space until it is dropped.
struct Ballast(PathBuf);

impl Ballast {
    fn leave(disk: &Path, bytes: u64) -> Self {
        let path = disk.join("ballast");
        let mut file = fs::File::create(&path).unwrap();
        let block = vec![1; 64 << 10];
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
        let length = file.metadata().unwrap().len();
        if bytes > 0 {
            file.set_len(length.saturating_sub(bytes)).unwrap();
        }
        Self(path)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Nobody may read, write or enter it until it is dropped.
struct Locked {
    path: PathBuf,
    before: fs::Permissions,
}

impl Locked {
    fn new(path: &Path) -> Self {
        let before = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
        Self { path: path.to_owned(), before }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        fs::set_permissions(&self.path, self.before.clone()).unwrap();
    }
}
