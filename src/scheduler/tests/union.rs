//! Several rules, and objects that follow others.

use super::*;
use crate::scheduler::rule::Namespaces;
use crate::scheduler::rule::Strangers;

fn named(name: &str, cells: &[&str], division: Option<Division>) -> Rule {
    let mut rule = Rule { name: name.to_owned(), replicas: division, ..rule() };
    rule.cells.groups = vec![group("", cells)];
    rule
}

fn because(placement: &Placement) -> Vec<Vec<&str>> {
    let name = |because| match because {
        &Because::Rule(ref name) | &Because::Follows(ref name) => name.as_str(),
    };
    placement.targets.iter().map(|target| target.because.iter().map(name).collect()).collect()
}

#[test]
fn an_object_of_two_rules_goes_to_the_cells_of_both() {
    let rules = [named("a", &["m1", "m2"], None), named("b", &["m2", "m3"], None)];
    let placement = check("m1 | m2 | m3 | m4", &rules, None, "m1 m2 m3");
    assert_eq!(because(&placement), [vec!["a"], vec!["a", "b"], vec!["b"]]);
    let refused: Vec<_> =
        placement.refused.iter().map(|refusal| (refusal.cell.as_str(), refusal.rule.as_str())).collect();
    assert_eq!(refused, [("m4", "a"), ("m4", "b")]);
}

#[test]
fn a_rule_that_fits_nothing_does_not_take_from_another() {
    let rules = [named("a", &["m1"], None), named("b", &["m9"], None)];
    check("m1 | m2", &rules, None, "m1 !NoCellFits");
}

#[test]
fn rules_that_divide_alike_divide_together() {
    let by_room = Some(Division::Available);
    let rules = [named("a", &["m1"], by_room.clone()), named("b", &["m2"], by_room), named("c", &["m3"], None)];
    check("m1 free=10 | m2 free=10 | m3 free=20", &rules, Some(8), "m1=2 m2=2 m3=4");
}

#[test]
fn rules_that_divide_differently_are_in_conflict_and_nothing_moves() {
    let rules = [named("a", &["m1"], Some(Division::Available)), named("r", &["m2"], Some(Division::Aggregated))];
    check("m1 free=9 | m2 free=9", &rules, Some(8), "!RulesConflict");
    let placement = check("m1 free=9 | m2 free=9 now=8", &rules, Some(4), "m2=8 !RulesConflict");
    assert_eq!(placement.troubles[0].to_string(), "rules a, r disagree about how replicas are divided");
}

#[test]
fn rules_that_disagree_about_names_or_strangers_are_in_conflict() {
    let mut rules = [named("a", &["m1"], None), named("b", &["m1"], None)];
    rules[0].namespaces = Some(Namespaces::ByUid);
    check("m1", &rules, None, "m1");
    rules[1].namespaces = Some(Namespaces::Same);
    rules[0].strangers = Some(Strangers::Adopt);
    rules[1].strangers = Some(Strangers::Leave);
    check("m1", &rules, None, "!RulesConflict !RulesConflict");
}

#[test]
fn while_one_dividing_rule_fails_the_others_do_not_take_its_share() {
    let by_room = Some(Division::Available);
    let rules = [named("r", &["m1"], by_room.clone()), named("s", &["m9"], by_room)];
    check("m1 free=9 now=4 | m2 free=9 now=4", &rules, Some(8), "m1=4 m2=4 !NoCellFits");
}

#[test]
fn what_others_refer_to_goes_where_they_are() {
    let fleet = fleet("m1 | m2 | m3 leaving");
    let followed = [
        Followed { by: "apps/web".to_owned(), cells: vec!["m2".to_owned(), "m3".to_owned()] },
        Followed { by: "apps/api".to_owned(), cells: vec!["m2".to_owned(), "gone".to_owned()] },
    ];
    let object = object();
    let rules = [named("a", &["m1"], None)];
    let (cells, before) = (fleet.cells.as_slice(), &fleet.before);
    let seen = Seen {
        object: &object,
        rules: &rules,
        cells,
        workload: None,
        before,
        followed: &followed,
        brings_definition: false,
        mode: Mode::Steady,
        unclear: None,
    };
    let placement = plan(&seen);
    assert_eq!(because(&placement), [vec!["a"], vec!["apps/api", "apps/web"]]);
    let placement = plan(&Seen { rules: &[], ..seen });
    assert_eq!(targets(&placement), "m2");
    assert_eq!(placement.troubles, []);
}

#[test]
fn what_nobody_speaks_for_goes_nowhere() {
    check("m1 now | m2", &[], None, "");
}
