//! The API server that this one stands behind: what it is offered, and what it is asked.
//!
//! It vouches for whoever comes through it, and for whoever shows a token or certificate of its own. They are somebody in
//! one workspace, whatever their groups are called, and it is asked what they may do there.

use super::webhook::TokenWebhook;
use crate::hooks::Later;
use std::fmt;
use std::sync::Arc;

#[derive(Debug)]
pub struct Host {
    /// The path of the workspace that is behind it. `None`: the one that is meant without a word.
    pub workspace: Option<String>,
    /// The groups that it is offered. It has others of its own.
    pub groups: Vec<String>,
    /// Asks it about tokens.
    pub tokens: Option<TokenWebhook>,
    pub namespaces: Arc<dyn Namespaces>,
}

/// What became of a namespace of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    There,
    Terminating,
    Missing,
}

/// Knows the namespaces of the host.
pub trait Namespaces: fmt::Debug + Send + Sync {
    /// An error says why nobody knows.
    fn find<'a>(&'a self, name: &'a str) -> Later<'a, Result<Presence, String>>;
}
