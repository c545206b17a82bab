//! What is divided among cells, and how much may move.

use std::collections::BTreeMap;

/// Replicas by cell.
pub(super) type Shares = BTreeMap<String, i64>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As little as possible moves.
    #[default]
    Steady,
    /// As if nothing had been placed yet.
    Fresh,
}

/// What is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load<'a> {
    pub(super) replicas: i64,
    /// Decides ties.
    pub(super) uid: &'a str,
    /// Namespace and name, which decide the ties of preferences.
    pub(super) key: &'a str,
    pub(super) mode: Mode,
}
