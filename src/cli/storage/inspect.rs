//! `hanse storage inspect`: what is in there, for a person or for a program.

use super::Error;
use super::notation::{self, number, parse_key, table};
use super::source::{Kind, Source};
use crate::cli::answer;
use crate::cli::output::Form;
use clap::Args;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use storage::{Entry, Key};

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// The data directory of a server, or a backup
    #[arg(value_name = "DIR|FILE")]
    path: PathBuf,
    /// Only keys with this prefix, written as keys are shown (\x00 is one byte)
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,
    /// How many keys to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Show values too
    #[arg(long)]
    values: bool,
    #[command(flatten)]
    form: Form,
}

/// How many of the largest keys are named.
const LARGEST_MAX: usize = 10;
/// Groups that are told apart: enough for a person, and a bound for keys without any structure.
const GROUPS_MAX: usize = 1000;
/// Where a group of keys ends, counted after the prefix asked for.
const SEPARATOR: u8 = b'/';
/// What is counted under this name has no separator, or came after the groups were full.
const UNGROUPED: &str = "(others)";

pub(super) fn run(flags: &Flags) -> Result<(), Error> {
    let prefix = match parse_key(&flags.prefix) {
        Ok(prefix) => prefix,
        Err(what) => crate::cli::refuse(clap::error::ErrorKind::InvalidValue, &format!("--prefix: {what}")),
    };
    let source = Source::open(&flags.path)?;
    let (engine, state) = describe(&source.kind);
    let stats = source.stats();
    let mut found = Found { prefix, limit: flags.limit, values: flags.values, ..Found::default() };
    let summary = source.read(|entry| found.take(&entry))?;
    let report = Report {
        path: flags.path.display().to_string(),
        engine,
        state,
        revision: summary.revision.0,
        oldest: stats.as_ref().map(|stats| stats.oldest.0),
        history_bytes: stats.as_ref().map(|stats| stats.history_bytes),
        keys: summary.entries,
        bytes: summary.bytes,
        prefix: flags.prefix.clone(),
        matching: found.matching,
        groups: found.groups(),
        largest: found.largest(),
        entries: found.entries,
    };
    // What has only text, numbers and lists in it is JSON.
    let program = || serde_json::to_value(&report).unwrap_or_default();
    Ok(answer(&flags.form.write(|| report.table(flags.values), program))?)
}

fn describe(kind: &Kind) -> (Option<&'static str>, &'static str) {
    match kind {
        Kind::Stopped { engine, .. } => (Some(engine.name()), "stopped"),
        Kind::Running { engine, .. } => (Some(engine.name()), "running"),
        Kind::Backup(_) => (None, "backup"),
    }
}

/// What is kept of the entries while they pass by: bounded, however many there are.
#[derive(Default)]
struct Found {
    prefix: Vec<u8>,
    limit: usize,
    values: bool,
    matching: Count,
    by_group: BTreeMap<Vec<u8>, Count>,
    ungrouped: Count,
    by_size: BTreeSet<(u64, Key)>,
    entries: Vec<Listed>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Count {
    keys: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Group {
    prefix: String,
    #[serde(flatten)]
    count: Count,
}

#[derive(Debug, Serialize)]
struct Sized {
    key: String,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Listed {
    key: String,
    created: u64,
    modified: u64,
    /// Of the value.
    bytes: usize,
    /// The key that only opens it.
    #[serde(rename = "sealedBy", skip_serializing_if = "Option::is_none")]
    sealed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    path: String,
    engine: Option<&'static str>,
    state: &'static str,
    revision: u64,
    /// A copy of a running store does not tell; neither does a backup.
    oldest: Option<u64>,
    history_bytes: Option<usize>,
    keys: u64,
    bytes: u64,
    prefix: String,
    matching: Count,
    groups: Vec<Group>,
    largest: Vec<Sized>,
    entries: Vec<Listed>,
}

impl Count {
    fn add(&mut self, bytes: u64) {
        self.keys += 1;
        self.bytes += bytes;
    }
}

impl Found {
    fn take(&mut self, entry: &Entry) {
        let key = entry.key.as_bytes();
        let Some(rest) = key.strip_prefix(self.prefix.as_slice()) else { return };
        let bytes = (key.len() + entry.version.value.len()) as u64;
        self.matching.add(bytes);
        let group = rest.iter().position(|byte| *byte == SEPARATOR).map(|at| &key[..=self.prefix.len() + at]);
        self.group(group).add(bytes);
        self.by_size.insert((bytes, entry.key.clone()));
        if self.by_size.len() > LARGEST_MAX {
            self.by_size.pop_first();
        }
        if self.entries.len() < self.limit {
            let value = &entry.version.value;
            self.entries.push(Listed {
                key: entry.key.to_string(),
                created: entry.version.created.0,
                modified: entry.version.modified.0,
                bytes: value.len(),
                value: self.values.then(|| shown(value)),
                sealed_by: storage::sealed_by(value).map(str::to_owned),
            });
        }
    }

    fn group(&mut self, group: Option<&[u8]>) -> &mut Count {
        match group {
            Some(group) if self.by_group.contains_key(group) || self.by_group.len() < GROUPS_MAX => {
                self.by_group.entry(group.to_vec()).or_default()
            }
            _ => &mut self.ungrouped,
        }
    }

    /// The largest first.
    fn groups(&self) -> Vec<Group> {
        let named = self.by_group.iter().map(|(prefix, count)| (prefix.escape_ascii().to_string(), *count));
        let others = (self.ungrouped.keys > 0).then(|| (UNGROUPED.to_owned(), self.ungrouped));
        let mut groups: Vec<_> = named.chain(others).map(|(prefix, count)| Group { prefix, count }).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count.bytes));
        groups
    }

    fn largest(&self) -> Vec<Sized> {
        self.by_size.iter().rev().map(|(bytes, key)| Sized { key: key.to_string(), bytes: *bytes }).collect()
    }
}

fn shown(value: &[u8]) -> String {
    match storage::sealed_by(value) {
        Some(key) => format!("(sealed with the key {key:?})"),
        None => notation::value(value),
    }
}

impl Report {
    fn table(&self, values: bool) -> String {
        let mut out = format!("{}: {}\n", self.path, self.engine.map_or("backup".to_owned(), |e| self.store(e)));
        out += &format!("revision  {}\n", self.revision);
        if let Some(oldest) = self.oldest {
            out += &format!("oldest    {oldest}\n");
        }
        out += &format!("keys      {}\nbytes     {}\n", number(self.keys), number(self.bytes));
        if !self.prefix.is_empty() {
            let Count { keys, bytes } = self.matching;
            out += &format!("of these  {} keys, {} bytes under {}\n", number(keys), number(bytes), self.prefix);
        }
        if self.matching.keys == 0 {
            return out;
        }
        let groups =
            self.groups.iter().map(|Group { prefix, count }| [prefix.clone(), number(count.keys), number(count.bytes)]);
        out += &format!("\n{}", table(["PREFIX", "KEYS", "BYTES"], &groups.collect::<Vec<_>>(), false));
        let largest = self.largest.iter().map(|Sized { key, bytes }| [key.clone(), number(*bytes)]);
        out += &format!("\n{}", table(["LARGEST", "BYTES"], &largest.collect::<Vec<_>>(), false));
        out + &self.listed(values)
    }

    fn store(&self, engine: &str) -> String {
        format!("{engine} store, {}", self.state)
    }

    fn listed(&self, values: bool) -> String {
        if self.entries.is_empty() {
            return String::new();
        }
        let row = |entry: &Listed| {
            let value = entry.value.clone().unwrap_or_default();
            let numbers = [entry.created, entry.modified].map(|number| number.to_string());
            let [created, modified] = numbers;
            [entry.key.clone(), created, modified, number(entry.bytes as u64), value]
        };
        let rows: Vec<_> = self.entries.iter().map(row).collect();
        let head = ["KEY", "CREATED", "MODIFIED", "VALUE BYTES", if values { "VALUE" } else { "" }];
        let mut out = format!("\n{}", table(head, &rows, true));
        let more = self.matching.keys - self.entries.len() as u64;
        if more > 0 {
            out += &format!("... and {} more\n", number(more));
        }
        out
    }
}
