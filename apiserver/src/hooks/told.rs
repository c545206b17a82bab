//! What hooks say besides yes and no.

use super::verdict::Verdict;
use openapi::validation::names;
use std::collections::BTreeMap;

/// For the author of a request, and for whoever keeps records of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub warnings: Vec<String>,
    pub annotations: BTreeMap<String, String>,
}

impl Told {
    /// Takes from an answer what is not its verdict.
    pub(super) fn hear(&mut self, webhook: &str, verdict: &mut Verdict) {
        self.warnings.extend(verdict.warnings.drain(..).filter(|warning| !warning.is_empty()));
        for (key, value) in std::mem::take(&mut verdict.annotations) {
            self.annotate(format!("{webhook}/{key}"), value);
        }
    }

    /// What is under a key first, stays.
    pub(crate) fn annotate(&mut self, key: String, value: String) {
        if key.split('/').count() != 2 || !names::qualified_name(&key).is_empty() {
            tracing::warn!(key, "the key of an audit annotation has an invalid format");
            return;
        }
        self.annotations.entry(key).or_insert(value);
    }

    pub(super) fn add(&mut self, other: Told) {
        self.warnings.extend(other.warnings);
        for (key, value) in other.annotations {
            self.annotations.entry(key).or_insert(value);
        }
    }
}
