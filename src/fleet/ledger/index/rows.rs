//! Rows of records that have something in common: each knows who stands before and behind it, so that joining and leaving
//! cost the same however long a row is.

use super::{Entry, Number};

/// Those that stand in one row, which is a ring: before the first stands the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    first: Number,
    pub(super) length: Number,
}

/// Which row: a record stands in one of each.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// What is in one namespace of a cell.
    Namespace,
    /// The copies of one object.
    Source,
}

/// Who stands beside a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    before: Number,
    behind: Number,
}

impl Row {
    /// Puts a record at the end.
    pub(super) fn join(&mut self, entries: &mut [Option<Entry>], of: Of, number: Number) {
        if self.length == 0 {
            self.first = number;
        }
        let first = self.first;
        let last = if self.length == 0 { number } else { beside(entries, of, first).before };
        change(entries, of, number, |beside| *beside = Beside { before: last, behind: first });
        change(entries, of, last, |beside| beside.behind = number);
        change(entries, of, first, |beside| beside.before = number);
        self.length += 1;
    }

    /// Takes a record out that is in it.
    pub(super) fn leave(&mut self, entries: &mut [Option<Entry>], of: Of, number: Number) {
        let Beside { before, behind } = beside(entries, of, number);
        change(entries, of, before, |beside| beside.behind = behind);
        change(entries, of, behind, |beside| beside.before = before);
        if self.first == number {
            self.first = behind;
        }
        self.length -= 1;
    }

    /// All of them, in the order in which they came.
    pub(super) fn members(self, entries: &[Option<Entry>], of: Of) -> impl Iterator<Item = Number> {
        let next = move |number: &Number| Some(beside(entries, of, *number).behind);
        std::iter::successors(Some(self.first), next).take(self.length as usize)
    }
}

fn beside(entries: &[Option<Entry>], of: Of, number: Number) -> Beside {
    let entry = entries.get(number as usize).and_then(Option::as_ref);
    entry.map(|entry| entry.beside[of as usize]).unwrap_or_default()
}

fn change(entries: &mut [Option<Entry>], of: Of, number: Number, change: impl FnOnce(&mut Beside)) {
    if let Some(Some(entry)) = entries.get_mut(number as usize) {
        change(&mut entry.beside[of as usize]);
    }
}
