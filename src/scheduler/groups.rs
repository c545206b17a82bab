//! Which regions, zones or providers an object is spread over.
//!
//! Of all sets of groups that are large enough and hold enough cells, the one with the highest score is taken; of two
//! equal ones that with more cells. A set that is the beginning of the winner is enough and wins over it.

use std::cmp::Reverse;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grouped {
    pub(super) name: String,
    pub(super) cells: usize,
    pub(super) score: i64,
    /// The object is in one of its cells.
    pub(super) placed: bool,
}

/// How many sets are looked at, those that are not large enough yet included. There are exponentially many; a rule that
/// spreads over five of twenty regions has 15,504 of five. Beyond, the best groups are taken one by one.
const SETS_MAX: usize = 50_000;

struct Search<'a> {
    groups: &'a [Grouped],
    least: usize,
    most: usize,
    cells: usize,
    path: Vec<&'a Grouped>,
    found: Vec<Vec<&'a Grouped>>,
    looked_at: usize,
}

impl<'a> Search<'a> {
    fn walk(&mut self, sum: usize, begin: usize) {
        self.looked_at += 1;
        if sum >= self.cells && (self.least..=self.most).contains(&self.path.len()) {
            self.found.push(self.path.clone());
            return;
        }
        if self.path.len() >= self.most || self.looked_at >= SETS_MAX {
            return;
        }
        let groups = self.groups;
        for (at, group) in groups.iter().enumerate().skip(begin) {
            // The rest is too short to reach the least number of groups.
            if self.path.len() + groups.len() - at < self.least {
                return;
            }
            self.path.push(group);
            self.walk(sum + group.cells, at + 1);
            self.path.pop();
        }
    }
}

/// At least `least` and at most `most` groups that together have `cells` cells; `None` if there are none such.
pub(super) fn select(mut groups: Vec<Grouped>, least: usize, most: usize, cells: usize) -> Option<Vec<String>> {
    if groups.is_empty() {
        return None;
    }
    groups.sort_by(|a, b| (a.cells, Reverse(a.score), &a.name).cmp(&(b.cells, Reverse(b.score), &b.name)));
    let mut search = Search { groups: &groups, least, most, cells, path: Vec::new(), found: Vec::new(), looked_at: 0 };
    search.walk(0, 0);
    if search.looked_at >= SETS_MAX {
        return greedy(&groups, least, most, cells);
    }
    let used = groups.iter().filter(|group| group.placed).count();
    Some(best(search.found, used)?.into_iter().map(|group| group.name.clone()).collect())
}

/// `used` is how many groups have the object: where they are the winner, nothing moves.
fn best(mut sets: Vec<Vec<&Grouped>>, used: usize) -> Option<Vec<&Grouped>> {
    for set in &mut sets {
        set.sort_by_key(|group| (Reverse(group.score), &group.name));
    }
    let score = |set: &Vec<&Grouped>| set.iter().fold(0_i64, |sum, group| sum.saturating_add(group.score));
    let cells = |set: &Vec<&Grouped>| set.iter().map(|group| group.cells).sum::<usize>();
    // Stable: sets found first stay first.
    sets.sort_by_key(|set| (Reverse(score(set)), Reverse(cells(set))));
    let mut sets = sets.into_iter();
    let first = sets.next()?;
    if first.len() == used && first.iter().all(|group| group.placed) {
        return Some(first);
    }
    Some(sets.fold(first, |best, set| if set.len() < best.len() && best.starts_with(&set) { set } else { best }))
}

/// By score; and if those have too few cells, by size.
fn greedy(groups: &[Grouped], least: usize, most: usize, cells: usize) -> Option<Vec<String>> {
    let mut order: Vec<&Grouped> = groups.iter().collect();
    order.sort_by_key(|group| (Reverse(group.score), Reverse(group.cells), &group.name));
    beginning(&order, least, most, cells).or_else(|| {
        order.sort_by_key(|group| (Reverse(group.cells), Reverse(group.score), &group.name));
        beginning(&order, least, most, cells)
    })
}

/// As few of the first as are enough.
fn beginning(order: &[&Grouped], least: usize, most: usize, cells: usize) -> Option<Vec<String>> {
    let enough = |taken: &usize| order[..*taken].iter().map(|group| group.cells).sum::<usize>() >= cells;
    let taken = (least.max(1)..=most.min(order.len())).find(enough)?;
    Some(order[..taken].iter().map(|group| group.name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups as `name cells score`, the first letter being the name.
    #[track_caller]
    fn check(groups: &[(&str, usize, i64)], least: usize, most: usize, cells: usize, expect: &[&str]) {
        let made = |(name, cells, score): &(&str, usize, i64)| Grouped {
            name: (*name).into(),
            cells: *cells,
            score: *score,
            placed: false,
        };
        let selected = select(groups.iter().map(made).collect(), least, most, cells);
        assert_eq!(selected.unwrap_or_default(), expect);
    }

    #[test]
    fn the_set_with_the_highest_score_is_taken() {
        check(&[], 2, 3, 1, &[]);
        check(&[("R1", 1, 80)], 2, 3, 1, &[]);
        check(&[("R1", 1, 80), ("R2", 2, 30)], 2, 3, 4, &[]);
        check(&[("R1", 1, 80)], 1, 3, 1, &["R1"]);
        let six = [("R1", 1, 80), ("R3", 1, 80), ("R2", 1, 60), ("R5", 2, 60), ("R4", 5, 50), ("R6", 3, 50)];
        check(&six, 1, 3, 10, &["R5", "R4", "R6"]);
        let six = [("R1", 1, 60), ("R2", 1, 50), ("R3", 1, 40), ("R4", 3, 30), ("R5", 3, 20), ("R6", 3, 10)];
        check(&six, 1, 3, 6, &["R1", "R4", "R5"]);
        check(&[("R1", 1, 60), ("R2", 2, 50), ("R3", 3, 40), ("R4", 4, 30)], 1, 2, 5, &["R1", "R4"]);
        check(&[("R4", 1, 60), ("R3", 3, 50), ("R1", 3, 40), ("R2", 4, 30)], 1, 2, 5, &["R3", "R1"]);
    }

    #[test]
    fn a_beginning_that_is_enough_wins_over_the_whole() {
        let six = [("R1", 1, 80), ("R2", 4, 40), ("R3", 1, 30), ("R4", 3, 30), ("R5", 3, 20), ("R6", 5, 10)];
        check(&six, 2, 6, 5, &["R1", "R2"]);
    }

    #[test]
    fn too_many_sets_are_not_looked_at_one_by_one() {
        let names: Vec<String> = (0..60).map(|at| format!("r{at:02}")).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 10)).collect();
        let expect: Vec<&str> = names[..30].iter().map(String::as_str).collect();
        check(&many, 30, 30, 30, &expect);
        // Not even if none of them is large enough.
        check(&many, 1, 20, 30, &[]);
        let mut larger = many.clone();
        (larger[58].1, larger[59].1) = (9, 9);
        (larger[58].2, larger[59].2) = (1, 1);
        check(&larger, 2, 20, 36, &[&["r58", "r59"], &expect[..18]].concat());
    }
}
