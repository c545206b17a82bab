//! How many seats a list needs: as many as it needed the last time.
//!
//! What is remembered is an estimate in a table of fixed size. Two collections that share an entry are taken for each
//! other, which costs one of them a seat too many or too few, and nobody else anything.

use crate::fairness::Listed;
use crate::options::Query;
use crate::target::{Target, Verb};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

/// Kubernetes' own numbers.
const OBJECTS_PER_SEAT: usize = 100;
const SEATS_MAX: usize = 10;

const ENTRIES: usize = 4096;

#[derive(Debug)]
pub(super) struct Sizes(Box<[AtomicU32]>);

impl Default for Sizes {
    fn default() -> Self {
        Self((0..ENTRIES).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Sizes {
    /// The entry of a collection; nothing for what is no list of one.
    pub(super) fn of(&self, target: &Target) -> Option<usize> {
        let Target::Objects { verb: Verb::List | Verb::Watch, at } = target else { return None };
        let mut hasher = DefaultHasher::new();
        (&at.workspace, &at.resource.group, &at.resource.plural, &at.namespace).hash(&mut hasher);
        usize::try_from(hasher.finish() % ENTRIES as u64).ok()
    }

    /// A page has no more objects than it asks for. A watch that begins at a revision lists nothing.
    pub(super) fn seats(&self, at: usize, query: Option<&str>) -> usize {
        let query = Query::parse(query.unwrap_or_default());
        let (begins, initial) = (query.get("resourceVersion").unwrap_or_default(), query.get("sendInitialEvents"));
        if query.flag("watch").unwrap_or(false) && !matches!(begins, "" | "0") && initial != Some("true") {
            return 1;
        }
        let limit = query.get("limit").and_then(|limit| limit.parse().ok()).filter(|limit| *limit > 0);
        let objects = (self.0[at].load(Ordering::Relaxed) as usize).min(limit.unwrap_or(usize::MAX));
        objects.div_ceil(OBJECTS_PER_SEAT).clamp(1, SEATS_MAX)
    }

    pub(super) fn note(&self, at: usize, Listed { sent, more }: Listed) {
        let sent = u32::try_from(sent).unwrap_or(u32::MAX);
        // A page says how many there are at least.
        if more {
            self.0[at].fetch_max(sent, Ordering::Relaxed);
        } else {
            self.0[at].store(sent, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_needs_what_it_needed_the_last_time() {
        let sizes = Sizes::default();
        assert_eq!(sizes.seats(7, None), 1);
        sizes.note(7, Listed { sent: 450, more: false });
        assert_eq!(sizes.seats(7, None), 5);
        assert_eq!(sizes.seats(7, Some("limit=120")), 2);
        assert_eq!(sizes.seats(7, Some("watch=true&resourceVersion=9")), 1);
        assert_eq!(sizes.seats(7, Some("watch=true&resourceVersion=9&sendInitialEvents=true")), 5);
        sizes.note(7, Listed { sent: 100, more: true });
        assert_eq!(sizes.seats(7, None), 5);
        sizes.note(7, Listed { sent: 100_000, more: false });
        assert_eq!((sizes.seats(7, None), sizes.seats(8, None)), (10, 1));
    }
}
