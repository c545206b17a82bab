//! What the scheduler remembers of cells and placements, so that a change finds the objects it concerns.

use super::follow::Followers;
use super::tally::Tallies;
use crate::scheduler::cell::{Cell, Serves};
use apiserver::place::Workspace;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use storage::{Key, Revision};

/// How a cell differs from what was known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellChange {
    Nothing,
    /// Only how much room it has: that moves all the time, and moves nothing that is placed.
    Room,
    Anything,
}

/// It holds as much as there are cells and placements.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Everything there was has been told.
    pub(super) complete: bool,
    cells: HashMap<Workspace, BTreeMap<String, Cell>>,
    /// The same for those who decide, made when it is asked for: there are more decisions than changes of cells.
    at_hand: HashMap<Workspace, Arc<[Cell]>>,
    /// What the last cell that was told of serves.
    usual: Serves,
    /// The placements of an object, by the UIDs they are of: more than one when it was deleted and made anew.
    placements: HashMap<Key, BTreeSet<String>>,
    /// How many copies there are of an object, by its UID.
    copies: HashMap<String, usize>,
    /// What resources of a group and kind are called, in whatever workspace they are defined.
    plurals: HashMap<(String, String), BTreeSet<String>>,
    short: BTreeSet<Key>,
    /// Objects that no rule speaks for any more, and whose copies stay.
    left: BTreeSet<Key>,
    /// Those of which it matters how copies are, by their UID.
    minding: BTreeSet<String>,
    pub(super) followers: Followers,
    pub(super) tallies: Tallies,
    /// Everything up to this is known.
    pub(super) revision: Revision,
}

impl Index {
    /// What changed that matters.
    pub(super) fn learn_cell(&mut self, workspace: &Workspace, name: &str, mut cell: Option<Cell>) -> CellChange {
        self.at_hand.remove(workspace);
        // Those that have not said it yet come between those that have.
        if let Some(cell) = cell.as_mut().filter(|cell| cell.serves != Serves::Everything) {
            if cell.serves != self.usual {
                self.usual = cell.serves.clone();
            }
            cell.serves = self.usual.clone();
        }
        let beside = self.cells.entry(workspace.clone()).or_default();
        let before = match cell.clone() {
            None => beside.remove(name),
            Some(cell) => beside.insert(name.to_owned(), cell),
        };
        let but_for_room = |cell: Option<Cell>| cell.map(|cell| Cell { capacity: None, ..cell });
        match before == cell {
            true => CellChange::Nothing,
            false if but_for_room(before) == but_for_room(cell) => CellChange::Room,
            false => CellChange::Anything,
        }
    }

    /// Objects for which there was not enough room.
    pub(super) fn learn_short(&mut self, source: &Key, is_short: bool) {
        if is_short {
            self.short.insert(source.clone());
        } else {
            self.short.remove(source);
        }
    }

    /// Objects that no rule finds any more when a cell changes.
    pub(super) fn learn_left(&mut self, source: &Key, is_left: bool) {
        if is_left {
            self.left.insert(source.clone());
        } else {
            self.left.remove(source);
        }
    }

    pub(super) fn left(&self) -> Vec<Key> {
        self.left.iter().cloned().collect()
    }

    pub(super) fn learn_minding(&mut self, source: &str, minds: bool) {
        if minds {
            self.minding.insert(source.to_owned());
        } else {
            self.minding.remove(source);
        }
    }

    pub(super) fn minds(&self, source: &str) -> bool {
        self.minding.contains(source)
    }

    pub(super) fn short(&self) -> Vec<Key> {
        self.short.iter().cloned().collect()
    }

    pub(super) fn cells_of(&mut self, workspace: &Workspace) -> Arc<[Cell]> {
        if let Some(cells) = self.at_hand.get(workspace) {
            return cells.clone();
        }
        let cells: Arc<[Cell]> = self.cells.get(workspace).into_iter().flat_map(BTreeMap::values).cloned().collect();
        self.at_hand.insert(workspace.clone(), cells.clone());
        cells
    }

    pub(super) fn learn_kind(&mut self, group: &str, kind: &str, plural: &str) {
        let plurals = self.plurals.entry((group.to_owned(), kind.to_owned())).or_default();
        plurals.insert(plural.to_owned());
    }

    pub(super) fn plurals_of(&self, group: &str, kind: &str) -> Vec<String> {
        let key = (group.to_owned(), kind.to_owned());
        self.plurals.get(&key).into_iter().flatten().cloned().collect()
    }

    pub(super) fn learn_placement(&mut self, source: &Key, uid: &str, there: bool) {
        let uids = self.placements.entry(source.clone()).or_default();
        if there {
            uids.insert(uid.to_owned());
        } else {
            uids.remove(uid);
        }
        if uids.is_empty() {
            self.placements.remove(source);
        }
    }

    pub(super) fn learn_copy(&mut self, source: &str, before: bool, now: bool) {
        let copies = self.copies.entry(source.to_owned()).or_default();
        *copies = (*copies + usize::from(now)).saturating_sub(usize::from(before));
        if *copies == 0 {
            self.copies.remove(source);
        }
    }

    /// Whether no cell has a copy; `None` if that is not known as of this revision.
    pub(super) fn is_gone(&self, source: &str, since: Revision) -> Option<bool> {
        (self.complete && self.revision >= since).then(|| !self.copies.contains_key(source))
    }

    pub(super) fn is_placed(&self, source: &Key) -> bool {
        self.placements.contains_key(source)
    }

    pub(super) fn placements_of(&self, source: &Key) -> Vec<String> {
        self.placements.get(source).into_iter().flatten().cloned().collect()
    }
}
