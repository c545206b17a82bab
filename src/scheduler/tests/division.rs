//! How replicas are divided: Karmada's documented results, and what moves when something changes.

use super::*;
use crate::scheduler::rule::Preference;
use crate::scheduler::rule::Preferences;
use crate::scheduler::rule::Weight;

fn weighted(weights: &[(&str, i64)]) -> Rule {
    let weight = |(cell, weight): &(&str, i64)| Weight { cells: Affinity::named(&[cell]), weight: *weight };
    dividing(Division::Weighted(weights.iter().map(weight).collect()))
}

fn available() -> Vec<Rule> {
    vec![dividing(Division::Available)]
}

fn aggregated() -> Vec<Rule> {
    vec![dividing(Division::Aggregated)]
}

#[test]
fn duplicated_is_all_replicas_everywhere() {
    check("m1 | m2 | m3", &[rule()], Some(3), "m1=3 m2=3 m3=3");
    check("m1 | m2", &[dividing(Division::Duplicated)], Some(3), "m1=3 m2=3");
}

#[test]
fn what_has_no_replicas_is_placed_without_a_number() {
    check("m1 | m2", &[rule()], None, "m1 m2");
    check("m1 | m2", &available(), None, "m1 m2");
}

#[test]
fn fixed_weights_divide_by_webster_whatever_was_there_and_whatever_has_room() {
    check("m1 | m2", &[weighted(&[("m1", 1), ("m2", 1)])], Some(2), "m1=1 m2=1");
    check("m1 | m2 | m3", &[weighted(&[("m1", 3), ("m2", 2), ("m3", 1)])], Some(13), "m1=7 m2=4 m3=2");
    check("m1 | m2", &[weighted(&[("m1", 1), ("m2", 3)])], Some(9), "m1=2 m2=7");
    check("m1 free=0 now=9 | m2 free=0", &[weighted(&[("m1", 1), ("m2", 2)])], Some(9), "m1=3 m2=6");
}

#[test]
fn without_a_fitting_weight_all_weigh_the_same() {
    check("m1 | m2", &[weighted(&[])], Some(4), "m1=2 m2=2");
    check("m1 | m2", &[weighted(&[("m9", 7)])], Some(4), "m1=2 m2=2");
    let placement = check("m1 | m2 | m3", &[weighted(&[("m1", 1), ("m3", 1)])], Some(4), "m1=2 m3=2");
    assert_eq!(placement.refused[0].reason, Reason::NoWeight);
}

#[test]
fn the_largest_weight_that_fits_a_cell_counts() {
    let everywhere = Weight { cells: Affinity::default(), weight: 1 };
    let more = Weight { cells: Affinity::named(&["m1"]), weight: 3 };
    check("m1 | m2", &[dividing(Division::Weighted(vec![everywhere, more]))], Some(8), "m1=6 m2=2");
}

#[test]
fn by_room_the_first_time() {
    check("m1 free=20 | m2 free=12 | m3 free=6", &available(), Some(12), "m1=6 m2=4 m3=2");
    check("m1 free=6 | m2 free=12 | m3 free=6", &available(), Some(12), "m1=3 m2=6 m3=3");
    check("m1 free=10 | m2 free=1", &available(), Some(12), "!NotEnoughCapacity");
    check("m1 | m2 free=3", &available(), Some(3), "m2=3");
}

#[test]
fn more_replicas_are_added_where_there_is_room_and_none_moves() {
    check("m1 free=10 now=5 | m2 free=10 now=1", &available(), Some(8), "m1=6 m2=2");
    check("m1 free=0 now=5 | m2 free=10 now=1", &available(), Some(8), "m1=5 m2=3");
    check("m1 free=0 now=5 | m2 free=1 now=1", &available(), Some(8), "m1=5 m2=1 !NotEnoughCapacity");
}

#[test]
fn fewer_replicas_shrink_every_cell_in_proportion() {
    check("m1 free=0 now=6 | m2 free=99 now=3", &available(), Some(6), "m1=4 m2=2");
    check("m1 free=0 now=6 | m2 free=99 now=3", &available(), Some(9), "m1=6 m2=3");
}

#[test]
fn the_replicas_of_a_lost_cell_are_placed_anew() {
    check("m1 free=9 now=3 leaving | m2 free=9 now=3 | m3 free=9", &available(), Some(6), "m2=5 m3=1");
}

#[test]
fn fresh_divides_as_if_nothing_were_there() {
    let cells = "m1 free=0 now=8 | m2 free=8";
    check_mode(cells, &available(), Some(8), Mode::Steady, "m1=8");
    check_mode(cells, &available(), Some(8), Mode::Fresh, "m1=4 m2=4");
}

#[test]
fn aggregated_takes_the_fewest_cells_and_divides_by_room_among_them() {
    check("m1 free=6 | m2 free=12 | m3 free=6", &aggregated(), Some(12), "m2=12");
    check("m1 free=6 | m2 free=6 | m3 free=6", &aggregated(), Some(12), "m1=6 m2=6");
    check("m1 free=10 | m2 free=5", &aggregated(), Some(12), "m1=8 m2=4");
    check("m1 free=10 | m2 free=5", &aggregated(), Some(16), "!NotEnoughCapacity");
}

#[test]
fn aggregated_fills_the_cells_it_has_first() {
    check("m1 free=99 | m2 free=3 now=2", &aggregated(), Some(4), "m2=4");
    check("m1 free=99 | m2 free=1 now=2", &aggregated(), Some(4), "m1=2 m2=2");
}

#[test]
fn a_workload_of_zero_replicas_stays_known_to_its_cells() {
    check("m1 free=9 now=3 | m2 free=9", &available(), Some(0), "m1=0 m2=0");
}

#[test]
fn what_overflows_goes_to_the_next_tier() {
    let mut rule = dividing(Division::Aggregated);
    rule.cells.groups = vec![Group { overflow: vec![Affinity::named(&["m2"])], ..group("g", &["m1"]) }];
    let rules = [rule];
    check("m1 free=5 | m2 free=50", &rules, Some(4), "m1=4");
    check("m1 free=5 | m2 free=50", &rules, Some(9), "m1=5 m2=4");
    check("m1 free=5 | m2 free=3", &rules, Some(9), "!NotEnoughCapacity");
}

#[test]
fn preferences_bound_each_cell() {
    let preference = |least, most, weight| Preference { least, most, weight };
    let cells = [("m1", preference(0, Some(2), 5)), ("*", preference(1, None, 1))];
    let cells = cells.into_iter().map(|(name, preference)| (name.to_owned(), preference)).collect();
    let rules = [dividing(Division::Preferred(Preferences { cells, rebalance: true }))];
    check("m1 | m2 | m3", &rules, Some(10), "m1=2 m2=4 m3=4");
}

/// The figures of Karmada's own tests of its assignment.
#[test]
fn replicas_are_assigned_as_karmada_assigns_them() {
    let room = available();
    check("m1 free=1 now=2 | m2 free=1 now=4 | m3 free=1 now=6", &room, Some(6), "m1=1 m2=2 m3=3");
    check("m1 free=10 now=2 | m2 free=10 now=4 | m3 free=10 now=6", &room, Some(24), "m1=6 m2=8 m3=10");
    let short = "m1=2 m2=4 m3=6 !NotEnoughCapacity";
    check("m1 free=1 now=2 | m2 free=1 now=4 | m3 free=1 now=6", &room, Some(24), short);
    check("m1 free=6 | m2 free=8 | m3 free=10", &room, Some(12), "m1=3 m2=4 m3=5");
    check("m1 free=8 | m2 free=8 | m3 free=10", &room, Some(12), "m1=4 m2=4 m3=4");
    check("m1 free=3 | m2 free=3 | m3 free=3", &room, Some(12), "!NotEnoughCapacity");
    check("m1 free=3 now=6 | m2 free=3", &room, Some(12), "m1=9 m2=3");
    let few = aggregated();
    check("m1 free=1 now=4 | m2 free=1 now=8 | m3 free=1", &few, Some(6), "m2=6");
    check("m1 free=100 now=4 | m2 free=100 now=8", &few, Some(8), "m2=8");
    check("m1 free=4 now=4 | m2 free=6 now=8 | m3 free=8", &few, Some(24), "m1=7 m2=12 m3=5");
    check("m1 free=6 now=4 | m2 free=6 now=8 | m3 free=20", &few, Some(24), "m1=10 m2=14");
    check("m1 free=4 now=4 | m3 free=8 | m4 free=12", &few, Some(24), "m1=7 m3=7 m4=10");
    check("m1 free=6 | m2 free=8 | m3 free=10", &few, Some(12), "m2=5 m3=7");
    check("m1 free=12 | m2 free=8 | m3 free=10", &few, Some(12), "m1=12");
    check("m1 free=3 | m2 free=3 | m3 free=3", &few, Some(12), "!NotEnoughCapacity");
}
