//! The object that a row is made of, and when.

use std::ops::Deref;

use openapi::scalar::time::{Instant, Precision};
use serde_json::Value;

use super::age::{human_duration, nanos_between};
use super::look::Look;
use super::words::UNKNOWN;

pub(super) struct Subject<'a> {
    pub(super) object: &'a Value,
    pub(super) version: &'a str,
    pub(super) now: Instant,
}

impl Deref for Subject<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.object
    }
}

/// The instant that a text says, unless it says none: Go's zero time is none either.
pub(super) fn instant(text: &str) -> Option<Instant> {
    Instant::parse(text, Precision::Seconds).ok().filter(|instant| !instant.is_zero())
}

impl Subject<'_> {
    pub(super) fn name(&self) -> &str {
        self.text("metadata.name")
    }

    pub(super) fn age(&self) -> String {
        self.since("metadata.creationTimestamp")
    }

    pub(super) fn created(&self) -> String {
        let created =
            instant(self.text("metadata.creationTimestamp")).and_then(|created| created.text(Precision::Seconds));
        created.unwrap_or_else(|| "0001-01-01T00:00:00Z".to_owned())
    }

    pub(super) fn since(&self, path: &str) -> String {
        self.passed(self.text(path))
    }

    pub(super) fn elapsed(&self, then: Instant) -> String {
        human_duration(nanos_between(then, self.now))
    }

    pub(super) fn remaining(&self, then: Instant) -> String {
        human_duration(nanos_between(self.now, then))
    }

    /// How long ago an instant was, given as text.
    pub(super) fn passed(&self, text: &str) -> String {
        instant(text).map_or_else(|| UNKNOWN.to_owned(), |then| self.elapsed(then))
    }
}
