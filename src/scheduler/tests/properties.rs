//! What holds of every plan, whatever the cells and rules.

use super::*;
use crate::scheduler::affinity::Field;
use crate::scheduler::rule::Weight;
use proptest::prelude::*;
use std::collections::BTreeMap;

prop_compose! {
    fn a_cell()(free in 0i64..30, region in 0u8..3, tainted in prop::bool::weighted(0.2), now in prop::option::of(0i64..6))
        -> (i64, u8, bool, Option<i64>) { (free, region, tainted, now) }
}

fn a_fleet() -> impl Strategy<Value = Fleet> {
    prop::collection::vec(a_cell(), 1..7).prop_map(|cells| {
        let line = |(at, (free, region, tainted, now)): (usize, (i64, u8, bool, Option<i64>))| {
            let taint = if tainted { " taint=x" } else { "" };
            let now = now.map_or(String::new(), |now| format!(" now={now}"));
            format!("m{at} free={free} region={region}{taint}{now}")
        };
        fleet(&cells.into_iter().enumerate().map(line).collect::<Vec<_>>().join("|"))
    })
}

fn a_division() -> impl Strategy<Value = Division> {
    let weight = |at: usize| Weight { cells: Affinity::named(&[&format!("m{at}")]), weight: at as i64 + 1 };
    prop_oneof![
        Just(Division::Duplicated),
        Just(Division::Available),
        Just(Division::Aggregated),
        Just(Division::Weighted((0..4).map(weight).collect())),
    ]
}

fn a_spread() -> impl Strategy<Value = Vec<Spread>> {
    let by_cell = (1usize..4, 0usize..3).prop_map(|(least, more)| spread(SpreadBy::Cell, least, Some(least + more)));
    let by_region = (1usize..3, 0usize..2)
        .prop_map(|(least, more)| spread(SpreadBy::Field(Field::Region), least, Some(least + more)));
    (prop::option::of(by_region), prop::option::of(by_cell))
        .prop_map(|(region, cell)| region.into_iter().chain(cell).collect())
}

fn a_rule() -> impl Strategy<Value = Rule> {
    let ties = prop_oneof![Just(Ties::ByName), Just(Ties::Scattered)];
    (a_division(), a_spread(), ties).prop_map(|(division, spread, ties)| {
        let mut rule = dividing(division);
        (rule.cells.spread, rule.cells.ties) = (spread, ties);
        rule
    })
}

fn by_cell(placement: &Placement) -> BTreeMap<&str, Option<i64>> {
    placement.targets.iter().map(|target| (target.cell.as_str(), target.replicas)).collect()
}

fn sum(placement: &Placement) -> i64 {
    placement.targets.iter().filter_map(|target| target.replicas).sum()
}

proptest! {
    #[test]
    fn the_order_of_cells_and_rules_does_not_matter(fleet in a_fleet(), a in a_rule(), b in a_rule(), replicas in 0i64..40) {
        let b = Rule { name: "s".to_owned(), ..b };
        let workload = workload(replicas);
        let forth = planned(&fleet, &[a.clone(), b.clone()], Some(&workload), Mode::Steady);
        let mut reversed = Fleet { cells: fleet.cells.clone(), before: fleet.before.clone() };
        reversed.cells.reverse();
        reversed.before.targets.reverse();
        let back = planned(&reversed, &[b, a], Some(&workload), Mode::Steady);
        prop_assert_eq!(by_cell(&forth), by_cell(&back));
        prop_assert_eq!(forth.refused, back.refused);
        prop_assert_eq!(forth.troubles, back.troubles);
    }

    #[test]
    fn divided_replicas_add_up(fleet in a_fleet(), rule in a_rule(), replicas in 0i64..40, fresh: bool) {
        let mode = if fresh { Mode::Fresh } else { Mode::Steady };
        let placement = planned(&fleet, std::slice::from_ref(&rule), Some(&workload(replicas)), mode);
        if !placement.troubles.is_empty() {
            return Ok(());
        }
        if rule.replicas == Some(Division::Duplicated) {
            prop_assert!(placement.targets.iter().all(|target| target.replicas == Some(replicas)));
        } else {
            prop_assert_eq!(sum(&placement), replicas);
        }
    }

    #[test]
    fn no_more_cells_and_regions_are_used_than_allowed(fleet in a_fleet(), rule in a_rule(), replicas in 0i64..40) {
        let placement = planned(&fleet, std::slice::from_ref(&rule), Some(&workload(replicas)), Mode::Steady);
        prop_assume!(placement.troubles.is_empty() && !matches!(rule.replicas, Some(Division::Weighted(_))));
        let regions: BTreeSet<&str> = placement.targets.iter().map(|target| {
            fleet.cells.iter().find(|cell| cell.name == target.cell).unwrap().region.as_str()
        }).collect();
        for constraint in &rule.cells.spread {
            let used = if constraint.by == SpreadBy::Cell { placement.targets.len() } else { regions.len() };
            prop_assert!(used <= constraint.most.unwrap(), "{used} of {constraint:?}");
        }
    }

    #[test]
    fn every_cell_is_a_target_or_has_a_reason(fleet in a_fleet(), rule in a_rule(), replicas in 0i64..40) {
        let placement = planned(&fleet, &[rule], Some(&workload(replicas)), Mode::Steady);
        let placed = by_cell(&placement);
        let refused: BTreeSet<&str> = placement.refused.iter().map(|refusal| refusal.cell.as_str()).collect();
        for cell in &fleet.cells {
            let name = cell.name.as_str();
            let named = placed.contains_key(name) != refused.contains(name);
            // When the cells together do not do, none of them is to blame.
            prop_assert!(named || (!placement.troubles.is_empty() && !placed.contains_key(name)), "{name}");
        }
    }

    #[test]
    fn a_cell_that_is_none_of_the_objects_business_moves_nothing(fleet in a_fleet(), rule in a_rule(), replicas in 0i64..40) {
        let workload = workload(replicas);
        let alone = planned(&fleet, std::slice::from_ref(&rule), Some(&workload), Mode::Steady);
        let mut more = Fleet { cells: fleet.cells, before: fleet.before };
        more.cells.push(super::fleet("a-new-one free=99 region=9 taint=unrelated").cells.remove(0));
        let beside = planned(&more, &[rule], Some(&workload), Mode::Steady);
        prop_assert_eq!(by_cell(&alone), by_cell(&beside));
    }

    #[test]
    fn what_was_decided_is_decided_again(fleet in a_fleet(), rule in a_rule(), replicas in 0i64..40) {
        let first = planned(&fleet, std::slice::from_ref(&rule), Some(&workload(replicas)), Mode::Steady);
        prop_assume!(first.troubles.is_empty());
        // What was placed takes the room that was estimated for it, and gives back what it had.
        let mut after = Fleet { cells: fleet.cells.clone(), before: Before::default() };
        for cell in &mut after.cells {
            let now = by_cell(&first).get(cell.name.as_str()).copied().flatten().unwrap_or(0);
            let had = fleet.before.targets.iter().find(|target| target.cell == cell.name).and_then(|t| t.replicas).unwrap_or(0);
            let capacity = cell.capacity.as_mut().unwrap();
            capacity.pods += had - now;
        }
        (after.before.targets, after.before.groups) = (first.targets.clone(), first.groups.clone());
        let second = planned(&after, &[rule], Some(&workload(replicas)), Mode::Steady);
        prop_assert_eq!(by_cell(&first), by_cell(&second));
    }

    #[test]
    fn trouble_never_takes_a_workload_away(fleet in a_fleet(), rule in a_rule(), replicas in 1i64..40) {
        let placement = planned(&fleet, &[rule], Some(&workload(replicas)), Mode::Steady);
        if !placement.troubles.is_empty() {
            prop_assert_eq!(placement.targets.len(), fleet.before.targets.len());
        }
    }
}
