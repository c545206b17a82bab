//! Damaged files: one flipped bit, a cut, a zeroed page, a deleted file, anywhere in a store's directory. Opening it
//! gives exactly what was acknowledged, or an error that names the place; twice the same; and never a panic or a hang.

use crate::child::{self, Speaker};
use crate::dice::{Dice, count};
use crate::load::say;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use storage::{Engine, Options, Place, Store, Txn};

const PAGE: u64 = 4096;

#[test]
fn damage_to_the_log_is_harmless_or_named() {
    damage_again_and_again(Engine::Log, "damage::damage_to_the_log_is_harmless_or_named");
}

#[test]
fn damage_to_fjall_is_harmless_or_named() {
    damage_again_and_again(Engine::Fjall, "damage::damage_to_fjall_is_harmless_or_named");
}

#[test]
fn damage_to_sled_is_harmless_or_named() {
    damage_again_and_again(Engine::Sled, "damage::damage_to_sled_is_harmless_or_named");
}

/// How the store came to be that is then damaged.
#[derive(Clone, Copy, Debug)]
struct Upbringing {
    name: &'static str,
    commits: u64,
    value_bytes: usize,
    killed: bool,
    /// Times as many by `DURABILITY_TRIALS`.
    trials: u64,
}

/// The small ones have everything in their journals, the grown ones in tables and segments too.
const STORES: [Upbringing; 4] = [
    Upbringing { name: "small, closed", commits: 60, value_bytes: 400, killed: false, trials: 60 },
    Upbringing { name: "small, killed", commits: 60, value_bytes: 400, killed: true, trials: 60 },
    Upbringing { name: "grown, closed", commits: 230, value_bytes: 100_000, killed: false, trials: 15 },
    Upbringing { name: "grown, killed", commits: 230, value_bytes: 100_000, killed: true, trials: 15 },
];

fn damage_again_and_again(engine: Engine, test: &str) {
    match child::role().as_deref() {
        Some("build") => return build(),
        Some(role) => return open(role == "write"),
        _ => {}
    }
    let mut dice = Dice::thrown(test);
    let mut failures = Vec::new();
    for upbringing in STORES {
        let pristine = scratch();
        bring_up(engine, test, upbringing, pristine.path());
        let original = Original { engine, test, dir: pristine.path(), content: String::new() };
        let whole = scratch();
        copy_dir(pristine.path(), whole.path());
        let content = original.outcome_of(whole.path());
        assert!(content.starts_with("content "), "{content}");
        let original = Original { content, ..original };
        let mut tally = Tally::default();
        for trial in 0..upbringing.trials * count("DURABILITY_TRIALS", 1) {
            let harm = Harm::thrown(&mut dice, pristine.path());
            if let Err(what) = original.try_harm(&harm, &mut tally) {
                failures.push(format!("{}, trial {trial}: {harm:?}: {what}", upbringing.name));
            }
        }
        println!("{test}: {}: {tally:?}", upbringing.name);
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

fn bring_up(engine: Engine, test: &str, upbringing: Upbringing, dir: &Path) {
    let mut command = child::command(test, "build");
    command.env("DURABILITY_DIR", dir).env("DURABILITY_ENGINE", engine.name());
    command.env("DURABILITY_COMMITS", upbringing.commits.to_string());
    command.env("DURABILITY_VALUE_BYTES", upbringing.value_bytes.to_string());
    command.env("DURABILITY_CLOSE", u64::from(!upbringing.killed).to_string());
    let mut speaker = Speaker::start(command);
    speaker.listen(1, |line| line == "built").unwrap();
    speaker.kill();
}

fn place() -> Place {
    let engine = Engine::named(&std::env::var("DURABILITY_ENGINE").unwrap()).unwrap();
    Place::Dir { dir: std::env::var("DURABILITY_DIR").unwrap().into(), engine }
}

/// The child that makes a store: creates, replacements, deletions, and a few values that fill several pages.
fn build() {
    let commits = count("DURABILITY_COMMITS", 0);
    let size = count("DURABILITY_VALUE_BYTES", 0) as usize;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut store = Store::open(&place(), Options::default()).unwrap();
        let mut dice = Dice::new(commits);
        for nth in 0..commits {
            if nth == commits * 2 / 3 {
                store.close().await;
                store = Store::open(&place(), Options::default()).unwrap();
            }
            let key = format!("key/{}", dice.below(40));
            let txn = if dice.below(6) == 0 {
                Txn::new().delete(key)
            } else {
                let pattern: Vec<u8> = (0..8).flat_map(|_| dice.next().to_le_bytes()).collect();
                Txn::new().put(key, pattern.repeat(size / 64)).put(format!("counter/{}", nth % 3), nth.to_string())
            };
            store.commit(txn).await.unwrap();
        }
        if count("DURABILITY_CLOSE", 0) == 1 {
            store.close().await;
        }
        say(format_args!("\nbuilt"));
        // A store that is dropped is closed: this one must be killed as it is.
        let (_never, wait) = std::sync::mpsc::channel::<()>();
        let _ = wait.recv_timeout(child::PATIENCE);
        drop(store);
    });
}

/// The child that opens a store and says what it found.
fn open(write: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = match Store::open(&place(), Options::default()) {
        Ok(store) => {
            for nth in 0..if write { 5 } else { 0 } {
                let txn = Txn::new().put(format!("later/{nth}"), vec![nth; 30_000]).put("counter/0", "later");
                runtime.block_on(store.commit(txn)).unwrap();
            }
            let mut copy = Vec::new();
            let summary = store.backup(&mut copy).unwrap();
            let checksum = xxhash_rust::xxh3::xxh3_64(&copy);
            format!(
                "content {} at {}, {} entries, {checksum:x}",
                store.stats().oldest,
                summary.revision,
                summary.entries
            )
        }
        Err(error) => format!("error {}", crate::chain(&error)),
    };
    say(format_args!("\n{}", outcome.replace('\n', " ")));
}

/// What is done to a file, and how to undo it.
#[derive(Clone, Debug)]
struct Harm {
    /// Below the store's directory.
    file: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    FlipBit { at: u64, bit: u8 },
    CutTo { length: u64 },
    ZeroPage { at: u64 },
    Delete,
}

impl Harm {
    fn thrown(dice: &mut Dice, store: &Path) -> Self {
        let files = files_in(store);
        let file = files[dice.below(files.len() as u64) as usize].clone();
        let written = written_bytes(&store.join(&file)).max(1);
        // The beginning and the end are where formats keep what matters most.
        let at = match dice.below(4) {
            0 => dice.below(written.min(64)),
            1 => written - 1 - dice.below(written.min(256)),
            _ => dice.below(written),
        };
        let kind = match dice.below(8) {
            0 => Kind::Delete,
            1 => Kind::CutTo { length: at },
            2 => Kind::ZeroPage { at: at / PAGE * PAGE },
            _ => Kind::FlipBit { at, bit: dice.below(8) as u8 },
        };
        Self { file, kind }
    }

    fn inflict(&self, store: &Path) {
        let path = store.join(&self.file);
        if let Kind::Delete = self.kind {
            return fs::remove_file(path).unwrap();
        }
        let file = fs::File::options().read(true).write(true).open(path).unwrap();
        match self.kind {
            Kind::FlipBit { at, bit } => {
                let mut byte = [0];
                if file.read_at(&mut byte, at).unwrap() == 1 {
                    file.write_all_at(&[byte[0] ^ (1u8 << bit)], at).unwrap();
                }
            }
            Kind::CutTo { length } => file.set_len(length).unwrap(),
            Kind::ZeroPage { at } => {
                let length = file.metadata().unwrap().len().saturating_sub(at).min(PAGE);
                file.write_all_at(&vec![0; length as usize], at).unwrap();
            }
            Kind::Delete => {}
        }
    }
}

impl Harm {
    /// Takes the harm back and leaves everything else as it is now.
    fn undo(&self, pristine: &Path, store: &Path) {
        let (original, path) = (pristine.join(&self.file), store.join(&self.file));
        let (at, length) = match self.kind {
            Kind::FlipBit { at, .. } => (at, 1),
            Kind::ZeroPage { at } => (at, PAGE),
            // What was cut off or deleted nobody could destroy.
            Kind::CutTo { .. } | Kind::Delete => return copy_file(&original, &path),
        };
        let file = fs::File::options().write(true).open(&path).unwrap();
        if at < file.metadata().unwrap().len() {
            let mut bytes = vec![0; length as usize];
            let read = fs::File::open(original).unwrap().read_at(&mut bytes, at).unwrap();
            file.write_all_at(&bytes[..read], at).unwrap();
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    harmless: u64,
    reported: u64,
    /// Of the reported ones: the damaged file itself was named.
    named: u64,
    /// Of the reported ones: taking the harm back healed the store, so complaining has destroyed nothing.
    undone: u64,
}

struct Original<'a> {
    engine: Engine,
    test: &'a str,
    dir: &'a Path,
    content: String,
}

impl Original<'_> {
    fn try_harm(&self, harm: &Harm, tally: &mut Tally) -> Result<(), String> {
        let dir = scratch();
        let store = dir.path().join("store");
        copy_dir(self.dir, &store);
        harm.inflict(&store);
        let outcome = self.outcome_of(&store);
        if outcome == self.content {
            tally.harmless += 1;
            return self.go_on(&store);
        }
        if !outcome.starts_with("error ") {
            return Err(format!("found {outcome:?} instead of {:?}", self.content));
        }
        if !outcome.contains(&*store.to_string_lossy()) {
            return Err(format!("no file is named in {outcome:?}"));
        }
        let again = self.outcome_of(&store);
        if again != outcome {
            return Err(format!("first {outcome:?}, then {again:?}"));
        }
        tally.reported += 1;
        let named = outcome.contains(&*store.join(&harm.file).to_string_lossy());
        tally.named += u64::from(named);
        harm.undo(self.dir, &store);
        let _ = fs::remove_file(store.join("sled/damaged"));
        let undone = self.outcome_of(&store) == self.content;
        tally.undone += u64::from(undone);
        if !named || !undone {
            println!("named: {named}, undone: {undone}, {harm:?}: {outcome}");
        }
        // sled rewrites its log while it reads it; that is why it opens a damaged one only once.
        if undone || self.engine == Engine::Sled { Ok(()) } else { Err(format!("{outcome:?} destroyed something")) }
    }

    /// A store that opened must also take commits, and keep them.
    fn go_on(&self, store: &Path) -> Result<(), String> {
        let written = self.ask("write", store);
        let found = self.outcome_of(store);
        if !written.starts_with("content ") || written != found {
            return Err(format!("after writing {written:?}, then {found:?}"));
        }
        Ok(())
    }

    /// What another process finds when it opens the store.
    fn outcome_of(&self, store: &Path) -> String {
        self.ask("open", store)
    }

    fn ask(&self, role: &str, store: &Path) -> String {
        let mut command = child::command(self.test, role);
        command.env("DURABILITY_DIR", store).env("DURABILITY_ENGINE", self.engine.name());
        command.stderr(std::process::Stdio::null());
        let mut speaker = Speaker::start(command);
        let said = |line: &str| line.starts_with("content ") || line.starts_with("error ");
        if let Err(what) = speaker.listen(1, said) {
            return what;
        }
        let lines = speaker.kill();
        lines.into_iter().find(|line| said(line)).unwrap_or_default()
    }
}

/// A directory in memory where there is such a thing: nothing here is about disks, and sled writes a lot to open.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn files_in(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(below) = left.pop() {
        for entry in fs::read_dir(dir.join(&below)).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (below.join(entry.file_name()), entry.file_type().unwrap());
            if kind.is_dir() {
                left.push(path);
            } else if kind.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Up to the last byte that is not zero: engines make files longer than what is in them.
fn written_bytes(file: &Path) -> u64 {
    let bytes = fs::read(file).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).map_or(bytes.len(), |last| last + 1) as u64
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in files_in(from) {
        fs::create_dir_all(to.join(&file).parent().unwrap()).unwrap();
        copy_file(&from.join(&file), &to.join(&file));
    }
}

/// A copy that takes no space for what was never written.
fn copy_file(from: &Path, to: &Path) {
    let bytes = fs::read(from).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    fs::write(to, &bytes[..written]).unwrap();
    fs::File::options().write(true).open(to).unwrap().set_len(bytes.len() as u64).unwrap();
}
