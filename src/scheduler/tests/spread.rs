//! Which of the cells that fit are taken.

use super::*;
use crate::scheduler::affinity::Field;

fn region() -> SpreadBy {
    SpreadBy::Field(Field::Region)
}

fn spreading(division: Division, constraints: &[Spread]) -> [Rule; 1] {
    let mut rule = dividing(division);
    rule.cells.spread = constraints.to_vec();
    [rule]
}

fn duplicated(constraints: &[Spread]) -> [Rule; 1] {
    spreading(Division::Duplicated, constraints)
}

#[test]
fn at_most_so_many_cells_and_those_that_have_it_first() {
    let one = duplicated(&[spread(SpreadBy::Cell, 1, Some(1))]);
    check("m1 free=1 | m2 free=9", &one, Some(1), "m2=1");
    check("m1 free=1 now=1 | m2 free=9", &one, Some(1), "m1=1");
    check("m1 | m2", &one, None, "m1");
    let placement = check("m1 | m2 now | m3", &one, None, "m2");
    assert_eq!(placement.refused[0].reason, Reason::EnoughCells(1));
}

#[test]
fn without_an_upper_bound_all_are_taken() {
    check("m1 | m2", &duplicated(&[spread(SpreadBy::Cell, 1, None)]), Some(1), "m1=1 m2=1");
}

/// Karmada's reading of a bound that was left out: reproduced by asking for it.
#[test]
fn an_upper_bound_of_zero_cannot_be_met_and_moves_nothing() {
    check("m1 | m2", &duplicated(&[spread(SpreadBy::Cell, 1, Some(0))]), Some(1), "!CannotSpread");
    check("m1 now=1 | m2", &duplicated(&[spread(SpreadBy::Cell, 1, Some(0))]), Some(1), "m1=1 !CannotSpread");
}

#[test]
fn too_few_cells_place_nothing_and_remove_nothing() {
    let three = duplicated(&[spread(SpreadBy::Cell, 3, Some(3))]);
    check("m1 | m2", &three, Some(1), "!CannotSpread");
    check("m1 now=1 | m2 now=1", &three, Some(1), "m1=1 m2=1 !CannotSpread");
}

#[test]
fn larger_cells_take_the_places_of_smaller_ones_if_there_is_not_room_enough() {
    let two = spreading(Division::Available, &[spread(SpreadBy::Cell, 1, Some(2))]);
    check("m1 free=1 now=1 | m2 free=1 now=1 | m3 free=9", &two, Some(9), "m1=2 m3=7");
    check("m1 free=2 | m2 free=3 | m3 free=2", &two, Some(9), "!NotEnoughCapacity");
}

#[test]
fn regions_are_chosen_before_cells() {
    let cells = "a1 free=9 region=a | a2 free=9 region=a | b1 free=9 region=b | c1 free=1 region=c | x free=99";
    let two = duplicated(&[spread(region(), 2, Some(2)), spread(SpreadBy::Cell, 2, Some(3))]);
    let placement = check(cells, &two, Some(5), "a1=5 a2=5 b1=5");
    let reasons: Vec<String> = placement.refused.iter().map(|refusal| refusal.reason.to_string()).collect();
    assert_eq!(reasons, [r#"region "c" was not chosen"#, "its region is not known, and the rule spreads by it"]);
    let three = duplicated(&[spread(region(), 3, None), spread(SpreadBy::Cell, 1, Some(3))]);
    check(cells, &three, Some(5), "a1=5 b1=5 c1=5");
    check(cells, &duplicated(&[spread(region(), 4, None)]), Some(5), "!CannotSpread");
}

#[test]
fn a_region_that_has_room_beats_one_that_has_the_object() {
    let cells = "a1 free=10 now=0 region=a | b1 free=40 region=b | b2 free=30 region=b";
    let one = spreading(Division::Available, &[spread(region(), 1, Some(1)), spread(SpreadBy::Cell, 1, Some(5))]);
    check(cells, &one, Some(50), "b1=29 b2=21");
}

#[test]
fn regions_that_have_the_object_are_not_left_for_fewer() {
    let two = duplicated(&[spread(region(), 1, Some(2)), spread(SpreadBy::Cell, 2, Some(2))]);
    check("m0 free=20 region=1 | m1 free=0 region=0 | m2 free=0 region=0", &two, Some(1), "m0=1 m1=1");
    check("m0 free=19 now=1 region=1 | m1 free=0 now=1 region=0 | m2 free=0 region=0", &two, Some(1), "m0=1 m1=1");
}

#[test]
fn there_are_no_more_regions_than_cells() {
    let impossible = duplicated(&[spread(region(), 2, Some(2)), spread(SpreadBy::Cell, 1, Some(1))]);
    check("a1 region=a | b1 region=b", &impossible, None, "!CannotSpread");
}

#[test]
fn zones_providers_and_labels_spread_as_well() {
    let zone = [spread(SpreadBy::Field(Field::Zone), 2, Some(2)), spread(SpreadBy::Cell, 1, Some(2))];
    check("m1 zone=a | m2 zone=a | m3 zone=b", &duplicated(&zone), None, "m1 m3");
    let label = [spread(SpreadBy::Label("rack".to_owned()), 2, Some(2)), spread(SpreadBy::Cell, 2, Some(2))];
    check("m1 rack=a | m2 rack=a | m3 rack=b | m4", &duplicated(&label), None, "m1 m3");
    let provider = [spread(SpreadBy::Field(Field::Provider), 3, None)];
    check("m1 provider=a | m2 provider=b", &duplicated(&provider), None, "!CannotSpread");
}

#[test]
fn that_it_is_known_where_a_cell_is_can_be_all_that_is_asked() {
    let known = [spread(SpreadBy::Known(Field::Zone), 5, Some(0)), spread(SpreadBy::Cell, 1, Some(9))];
    check("m1 zone=a | m2", &duplicated(&known), None, "m1");
}

#[test]
fn objects_are_scattered_over_equal_cells_and_each_stays_where_it_is() {
    let mut rule = duplicated(&[spread(SpreadBy::Cell, 1, Some(1))])[0].clone();
    rule.cells.ties = Ties::Scattered;
    let fleet = fleet("m1 | m2 | m3");
    let mut counts = std::collections::BTreeMap::new();
    for n in 0..300 {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"uid": format!("uid-{n}")}});
        let seen = Seen {
            object: &object,
            rules: std::slice::from_ref(&rule),
            cells: &fleet.cells,
            workload: None,
            before: &fleet.before,
            followed: &[],
            brings_definition: false,
            mode: Mode::Steady,
            unclear: None,
        };
        *counts.entry(plan(&seen).targets[0].cell.clone()).or_insert(0) += 1;
    }
    assert!(counts.len() == 3 && counts.values().all(|count| *count > 60), "{counts:?}");
}
