//! A record of who did what: which requests by [`policy`], one line each stage by [`event`], kept in a
//! [`file`](mod@file) or sent to a [`webhook`].

mod event;
mod file;
mod policy;
pub mod webhook;
mod writer;

pub use event::{About, Record};
pub use file::Journal;
pub use policy::{Level, Policy, Stage};
pub use writer::Writer;

use openapi::scalar::time::Instant;

/// Writes down what the policy wants to be known.
#[derive(Debug)]
pub struct Audit {
    policy: Policy,
    writers: Vec<Writer>,
}

impl Audit {
    pub fn new(policy: Policy, writers: Vec<Writer>) -> Self {
        Self { policy, writers }
    }

    /// A request came in. Nothing, if nobody wants to know.
    pub fn received(&self, about: About<'_>) -> Option<Record> {
        // Who asked counts, not whom they act as.
        let verdict = self.policy.decide(about.user, about.wanted);
        if verdict.level == Level::None {
            return None;
        }
        let (record, received) = (Record::new(verdict, about), about.received);
        self.write(&record, Stage::RequestReceived, None, received);
        Some(record)
    }

    /// It was answered, or is being answered for as long as the client likes.
    pub fn answered(&self, record: &Record, stage: Stage, code: u16, now: Instant) {
        self.write(record, stage, Some(code), now);
    }

    fn write(&self, record: &Record, stage: Stage, code: Option<u16>, now: Instant) {
        if let Some(line) = record.line(stage, code, now) {
            for writer in &self.writers {
                writer.write(line.clone());
            }
        }
    }

    /// Lines that could not be kept.
    pub fn lost(&self) -> u64 {
        self.writers.iter().map(Writer::lost).sum()
    }
}
