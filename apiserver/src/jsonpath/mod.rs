//! Paths into objects, as kubectl and definitions of custom resources write them: `.status.conditions[?(@.type=="Ready")]`.
//!
//! This is the dialect of Kubernetes, which is older than RFC 9535 and says other things in the same signs: there is no
//! `$` to begin with, `['a.b']` means two fields, `[-1]` of an empty list is an error. Crates that know the RFC find
//! something else. What is not there is no error; what cannot be looked into ends the search with nothing.
//!
//! `simple` is for paths that only name fields, and can be written to.

mod find;
mod parse;
mod quote;
pub mod simple;
mod text;

use parse::{Part, Step};
use serde_json::Value;

pub use text::text;

/// A path, ready to be looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    parts: Vec<Part>,
}

impl Path {
    /// Reads a path as a definition has it, without the braces that kubectl wants around it. Errors are in the words
    /// of Kubernetes.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { parts: parse::parts(&format!("{{{text}}}"))? })
    }

    /// What the path leads to. Of a path that closes its brace and opens another, what the first one leads to.
    ///
    /// Empty too where it leads through something that it cannot: a filter on what is no list, an index that a list
    /// does not have, values that cannot be compared. The work is bounded, whatever the path.
    pub fn find<'a>(&'a self, object: &'a Value) -> Vec<&'a Value> {
        find::find(&self.parts, object).unwrap_or_default()
    }

    /// The names of the fields that it leads through, if there is nothing else to it.
    pub fn fields(&self) -> Option<Vec<&str>> {
        let [Part::Steps(steps)] = self.parts.as_slice() else { return None };
        steps.iter().map(|step| if let Step::Field(name) = step { Some(name.as_str()) } else { None }).collect()
    }
}

#[cfg(test)]
mod tests;
