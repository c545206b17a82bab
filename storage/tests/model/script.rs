//! What is done to a store, at random: operations that make sense in whatever state they meet.

use proptest::prelude::*;
use storage::{Key, KeyRange};

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Commit(Vec<Step>),
    /// So many commits to the same key: more than a watcher's channel holds.
    Burst(usize),
    /// `back` counts revisions from the newest, round and round.
    Read {
        back: usize,
        range: usize,
    },
    Page {
        back: usize,
        limit: usize,
    },
    Watch {
        back: usize,
        range: usize,
    },
    Drain(usize),
    Unwatch(usize),
    Compact {
        back: usize,
    },
    /// Seconds pass.
    Age(u64),
    Reopen,
    Fail {
        one_in: u64,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) key: usize,
    pub(crate) what: What,
    pub(crate) value: u8,
}

/// With conditions that hold, that do not, or none.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Put,
    Delete,
    PutIfRight,
    DeleteIfRight,
    PutIfWrong,
    OnlyAsk,
}

const KEYS: [&[u8]; 8] = [b"a", b"a\0", b"a/b", b"a/c", b"ab", b"b", b"\xff", b"\xff\xff"];

pub(crate) fn key(nth: usize) -> Key {
    Key::new(KEYS[nth % KEYS.len()])
}

pub(crate) fn range(nth: usize) -> KeyRange {
    match nth % 8 {
        0 | 1 => KeyRange::all(),
        2 => KeyRange::prefix("a"),
        3 => KeyRange::prefix("a/"),
        4 => KeyRange::key("a"),
        5 => KeyRange::between("a/c", "b\0").unwrap(),
        6 => KeyRange::prefix([0xff]),
        _ => KeyRange::between("a", "a").unwrap(),
    }
}

fn step() -> impl Strategy<Value = Step> {
    let what = prop_oneof![
        4 => Just(What::Put),
        2 => Just(What::Delete),
        4 => Just(What::PutIfRight),
        2 => Just(What::DeleteIfRight),
        1 => Just(What::PutIfWrong),
        1 => Just(What::OnlyAsk),
    ];
    (0..KEYS.len(), what, any::<u8>()).prop_map(|(key, what, value)| Step { key, what, value })
}

pub(crate) fn ops(length: usize, faults: bool) -> impl Strategy<Value = Vec<Op>> {
    let back = || prop_oneof![3 => 0usize..4, 1 => 0usize..200];
    let op = prop_oneof![
        24 => prop::collection::vec(step(), 1..6).prop_map(Op::Commit),
        1 => (60usize..90).prop_map(Op::Burst),
        6 => (back(), 0usize..8).prop_map(|(back, range)| Op::Read { back, range }),
        2 => (back(), 1usize..5).prop_map(|(back, limit)| Op::Page { back, limit }),
        6 => (back(), 0usize..8).prop_map(|(back, range)| Op::Watch { back, range }),
        6 => (0usize..5).prop_map(Op::Drain),
        1 => (0usize..5).prop_map(Op::Unwatch),
        3 => back().prop_map(|back| Op::Compact { back }),
        3 => (1u64..50).prop_map(Op::Age),
        1 => Just(Op::Reopen),
        if faults { 4 } else { 1 } => prop_oneof![Just(0), 3u64..30]
            .prop_map(move |one_in| Op::Fail { one_in: if faults { one_in } else { 0 } }),
    ];
    prop::collection::vec(op, 1..length)
}
