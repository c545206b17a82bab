//! Every cell that is not chosen has a reason that its reader can act on.

use super::*;
use crate::apis::FieldPath;
use crate::scheduler::affinity::CellLabel;
use crate::scheduler::affinity::Field;
use crate::scheduler::affinity::FieldRequirement;
use crate::scheduler::affinity::Join;
use crate::scheduler::affinity::ObjectValue;
use crate::scheduler::affinity::Operator;
use crate::scheduler::affinity::Toleration;
use crate::scheduler::rule::NothingFits;
use apiserver::selector::LabelSelector;

/// The reason of the only refusal.
#[track_caller]
fn refused(cells: &str, rule: Rule, expect: &str) {
    let placement = planned(&fleet(cells), &[rule], None, Mode::Steady);
    let reasons: Vec<String> = placement.refused.iter().map(|refusal| refusal.reason.to_string()).collect();
    assert_eq!(reasons, [expect], "{placement:#?}");
}

fn affinity(affinity: Affinity) -> Rule {
    let mut rule = rule();
    rule.cells.groups = vec![Group { affinity, ..Group::default() }];
    rule
}

fn join(object: ObjectValue, cell: CellLabel, optional: bool) -> Rule {
    let mut rule = rule();
    rule.cells.joins.push(Join { object, cell, optional });
    rule
}

fn label(key: &str) -> ObjectValue {
    ObjectValue::Label(key.to_owned())
}

#[test]
fn a_refusal_names_what_stands_in_the_way() {
    refused("m1 taint=gpu", rule(), "taint gpu:NoSchedule is not tolerated");
    refused("m1 silent", rule(), "it is not ready");
    refused("m1 barren", rule(), "it does not serve Deployment of apps/v1");
    refused("m1 now leaving", rule(), "the cell is being removed");
    refused("m1 evicted", rule(), "the object was evicted from it");
    refused("m1", affinity(Affinity::named(&["m2"])), "the rule names other cells");
    let exclude = Affinity { exclude: vec!["m1".to_owned()], ..Affinity::named(&["m1"]) };
    refused("m1", affinity(exclude), "the rule excludes it by name");
    let labels = Some(LabelSelector::parse("tier in (a,b)").unwrap());
    refused(
        "m1 tier=c",
        affinity(Affinity { labels, ..Affinity::default() }),
        r#"its labels do not match "tier in (a,b)""#,
    );
    let requirement = FieldRequirement { field: Field::Zone, operator: Operator::NotIn, values: vec!["a".to_owned()] };
    let fields = vec![requirement];
    refused("m1 zone=a,b", affinity(Affinity { fields, ..Affinity::default() }), "the rule asks for another zone");
}

#[test]
fn a_join_finds_the_cells_an_object_asks_for() {
    let city = || join(label("city"), CellLabel::Is("city".to_owned()), false);
    check("m1 city=dfw | m2 city=ord | m3", &[city()], None, "m1");
    refused("m2 city=ord", city(), r#"label city is "dfw" on the object, "ord" on the cell"#);
    let class = CellLabel::Named { prefix: "class.".to_owned(), says: "true".to_owned() };
    check(
        "m1 class.gpu=true | m2 class.cpu=true | m3 class.gpu=false",
        &[join(label("class"), class, false)],
        None,
        "m1",
    );
    let field = ObjectValue::Field(FieldPath::parse("metadata.name").unwrap());
    check("m1 app=web | m2", &[join(field, CellLabel::Is("app".to_owned()), false)], None, "m1");
    refused(
        "m1",
        join(label("none"), CellLabel::Is("x".to_owned()), false),
        "the object has no label none, and the rule matches cells by it",
    );
    check("m1", &[join(label("none"), CellLabel::Is("x".to_owned()), true)], None, "m1");
}

#[test]
fn tolerations_let_an_object_in() {
    let tolerating = |toleration| {
        let mut rule = rule();
        rule.cells.tolerations = vec![toleration];
        [rule]
    };
    let key = |key: &str| Toleration { key: key.to_owned(), ..Toleration::default() };
    check("m1 taint=gpu | m2 taint=x", &tolerating(key("gpu")), None, "m1");
    check("m1 silent", &tolerating(key(crate::scheduler::cell::NOT_READY)), None, "m1");
    check("m1 taint=gpu", &tolerating(Toleration::default()), None, "m1");
    let other = Toleration { effect: Some(Effect::NoExecute), ..key("gpu") };
    check("m1 taint=gpu", &tolerating(other), None, "!NoCellFits");
}

#[test]
fn what_is_in_a_cell_stays_when_the_cell_is_tainted_silent_or_forgets_what_it_serves() {
    check("m1 now taint=gpu | m2 now silent | m3 now barren | m4", &[rule()], None, "m1 m2 m3 m4");
}

#[test]
fn what_fits_nowhere_any_more_stays_and_says_so() {
    let named = affinity(Affinity::named(&["m9"]));
    let placement = check("m1 now=3 | m2", std::slice::from_ref(&named), Some(3), "m1=3 !NoCellFits");
    assert_eq!(placement.troubles[0].to_string(), "none of 2 cells fits rule r; the copies in 1 are kept");
    check("m1 now=3 leaving | m2", std::slice::from_ref(&named), Some(3), "!NoCellFits");
    check("m1 | m2", &[named], Some(3), "!NoCellFits");
}

/// Karmada deletes a placed workload when no cluster fits: reproduced by asking for it.
#[test]
fn a_rule_can_ask_for_withdrawal_when_nothing_fits() {
    let rule = Rule { nothing_fits: NothingFits::Withdraw, ..affinity(Affinity::named(&["m9"])) };
    check("m1 now=3 | m2", &[rule], Some(3), "!NoCellFits");
}

#[test]
fn a_cell_that_no_longer_matches_is_left_for_those_that_do() {
    check("m1 now | m2", &[affinity(Affinity::named(&["m2"]))], None, "m2");
}

#[test]
fn groups_of_cells_are_tried_in_order_and_kept() {
    let mut rule = rule();
    rule.cells.groups = vec![group("first", &["m1"]), group("second", &["m2"])];
    let rules = [rule];
    let placement = check("m1 | m2", &rules, None, "m1");
    assert_eq!(placement.groups["r"], "first");
    let placement = check("m1 taint=x | m2", &rules, None, "m2");
    assert_eq!(placement.groups["r"], "second");
    let mut fleet = fleet("m1 | m2 now");
    fleet.before.groups.insert("r".to_owned(), "second".to_owned());
    assert_eq!(targets(&planned(&fleet, &rules, None, Mode::Steady)), "m2");
    assert_eq!(targets(&planned(&fleet, &rules, None, Mode::Fresh)), "m1");
    let placement = check("m1 taint=x | m2 taint=y", &rules, None, "!NoCellFits");
    assert_eq!(placement.refused[0].reason.to_string(), "taint x:NoSchedule is not tolerated");
}
