//! Which cells are left, when, and how long what they have stays.

use super::*;
use crate::apis::kinds::Health;
use crate::scheduler::affinity::Toleration;
use crate::scheduler::evict::{Circumstances, Copied, Eviction, Outcome, Why, decide};
use crate::scheduler::rule::{ApplicationFailover, CellFailover, Failover, Purge};
use std::collections::BTreeMap;

const NOW: i64 = 1000;

/// A rule for one cell that lets objects leave cells that fail.
fn one_cell() -> Rule {
    let cell = Some(CellFailover::default());
    let mut rule = Rule { failover: Failover { cell, heeds_taints: true, application: None }, ..rule() };
    rule.cells.spread = vec![spread(SpreadBy::Cell, 1, Some(1))];
    rule
}

fn applications(seconds: i64, purge: Purge) -> Rule {
    let application =
        ApplicationFailover { toleration_seconds: seconds, purge, grace_seconds: Some(60), carry: Vec::new() };
    let failover = Failover { application: Some(application), ..Failover::default() };
    Rule { failover, follow: true, ..one_cell() }
}

/// `execute=5` is a taint that was added five seconds ago, `silent=5` a cell that has not answered for as long.
fn failing(text: &str) -> Fleet {
    let mut fleet = fleet(text);
    for cell in &mut fleet.cells {
        let mut ago = |label: &str| {
            let ago: Option<i64> = cell.labels.remove(label).and_then(|text| text.as_str()?.parse().ok());
            ago.map(|ago| NOW - ago)
        };
        let (execute, away) = (ago("execute"), ago("away"));
        if let Some(added) = execute {
            let (key, value) = ("down".to_owned(), String::new());
            cell.taints.push(Taint { key, value, effect: Effect::NoExecute, added: Some(added) });
        }
        if away.is_some() {
            (cell.ready, cell.silent_since) = (false, away);
        }
    }
    fleet
}

/// `m1:well` is a copy that is there, is as it was decided, and well; `m1:old` is well as it was decided before,
/// `m1:sick=5` unhealthy for five seconds, `m1:lost` not applied.
fn copies(text: &str) -> BTreeMap<String, Copied> {
    let read = |word: &str| {
        let (cell, state) = word.split_once(':').unwrap();
        let (state, ago) = state.split_once('=').unwrap_or((state, "0"));
        let health = if state == "sick" { Health::Unhealthy } else { Health::Healthy };
        let since = NOW - ago.parse::<i64>().unwrap();
        let status = Some(json!({"job": {"id": "j-7"}}));
        let (applied, current) = (state != "lost", state != "old");
        (cell.to_owned(), Copied { applied, current, health, since, status })
    };
    text.split_whitespace().map(read).collect()
}

fn decided(fleet: &Fleet, rule: &Rule, copied: &str) -> Outcome {
    let (object, copies) = (object(), copies(copied));
    let rules = std::slice::from_ref(rule);
    let seen = Seen {
        object: &object,
        rules,
        cells: &fleet.cells,
        workload: None,
        before: &fleet.before,
        followed: &[],
        brings_definition: false,
        mode: Mode::Steady,
        unclear: None,
    };
    decide(&seen, &Circumstances { now: NOW, copies: &copies, released: false })
}

/// `m2 leaving m1 after 5 !CannotEvict`
fn told(outcome: &Outcome) -> String {
    let mut text = targets(&outcome.placement);
    for eviction in &outcome.evictions {
        text += &format!(" leaving {}", eviction.cell);
    }
    if let Some(next) = outcome.next {
        text += &format!(" after {next}");
    }
    for trouble in &outcome.placement.troubles {
        text += &format!(" !{}", trouble.reason());
    }
    text
}

#[track_caller]
fn check(cells: &str, rule: &Rule, copied: &str, expect: &str) -> Outcome {
    let outcome = decided(&failing(cells), rule, copied);
    assert_eq!(told(&outcome), expect, "{cells}");
    outcome
}

/// The same cells once the object has begun to leave `m1`, `ago` seconds ago, for `m2`.
fn leaving(cells: &str, ago: i64, purge: Purge) -> Fleet {
    let mut fleet = failing(cells);
    let because = BTreeSet::from([Because::Rule("r".to_owned())]);
    fleet.before.evictions.push(Eviction {
        cell: "m1".to_owned(),
        replicas: None,
        because,
        why: Why::Taint,
        purge,
        since: NOW - ago,
        grace_seconds: None,
        carry: BTreeMap::new(),
        before: BTreeSet::from(["m1".to_owned()]),
    });
    fleet
}

#[test]
fn a_taint_that_is_not_tolerated_sends_away_what_is_there() {
    let outcome = check("m1 now execute=5 | m2", &one_cell(), "", "m2 leaving m1 after 600");
    let eviction = &outcome.evictions[0];
    assert_eq!((eviction.why, eviction.purge, eviction.since), (Why::Taint, Purge::Gracefully, NOW));
    check("m1 now taint=gpu | m2", &one_cell(), "", "m1");
    let heedless = Rule { failover: Failover::default(), ..one_cell() };
    check("m1 now execute=5 | m2", &heedless, "", "m1");
}

#[test]
fn a_taint_is_tolerated_for_as_long_as_the_rule_says() {
    let tolerating = |seconds: Option<i64>| {
        let mut rule = one_cell();
        rule.cells.tolerations = vec![Toleration { key: "down".to_owned(), seconds, ..Toleration::default() }];
        rule
    };
    check("m1 now execute=5 | m2", &tolerating(Some(30)), "", "m1 after 25");
    check("m1 now execute=30 | m2", &tolerating(Some(30)), "", "m2 leaving m1 after 600");
    check("m1 now execute=9999 | m2", &tolerating(None), "", "m1");
}

#[test]
fn a_silent_cell_is_left_after_five_minutes_by_rules_that_say_so() {
    check("m1 now away=299 | m2", &one_cell(), "", "m1 after 1");
    check("m1 now away=300 | m2", &one_cell(), "", "m2 leaving m1 after 600");
    let patient = Rule { failover: Failover { heeds_taints: true, ..Failover::default() }, ..one_cell() };
    check("m1 now away=9999 | m2", &patient, "", "m1");
}

#[test]
fn what_has_nowhere_else_to_go_stays_and_says_so() {
    check("m1 now execute=5", &one_cell(), "", "m1 !CannotEvict");
    let outcome = check("m1 now execute=5 | m2 taint=gpu", &one_cell(), "", "m1 !CannotEvict");
    let told = outcome.placement.troubles[0].to_string();
    assert_eq!(told, "it should leave cell m1, but stays: none of 2 cells fits rule r");
    // Of several it leaves as many as it can.
    let mut both = one_cell();
    both.cells.spread = vec![spread(SpreadBy::Cell, 2, Some(2))];
    check("m1 now execute=5 | m2 now execute=5 | m3", &both, "", "m2 m3 leaving m1 after 600 !CannotEvict");
}

#[test]
fn the_old_copy_stays_until_the_new_one_is_well() {
    let cells = "m1 execute=5 | m2 now";
    let check = |ago, copied: &str, expect: &str| {
        assert_eq!(told(&decided(&leaving(cells, ago, Purge::Gracefully), &one_cell(), copied)), expect, "{copied}");
    };
    check(10, "m1:well", "m2 leaving m1 after 590");
    check(10, "m1:well m2:sick", "m2 leaving m1 after 590");
    check(10, "m1:well m2:old", "m2 leaving m1 after 590");
    check(10, "m1:well m2:well", "m2");
    // Time is up.
    check(600, "m1:well m2:sick", "m2");
    // But the last copy never goes.
    check(600, "m1:well m2:lost", "m2 leaving m1");
    check(600, "m1:well", "m2 leaving m1");
}

#[test]
fn what_must_never_go_stays_until_somebody_says_otherwise() {
    let fleet = leaving("m1 execute=5 | m2 now", 9999, Purge::Never);
    assert_eq!(told(&decided(&fleet, &one_cell(), "m1:well m2:well")), "m2 leaving m1");
    assert!(fleet.before.evictions[0].keeps_copy());
    assert!(!leaving("m1", 0, Purge::Directly).before.evictions[0].keeps_copy());
}

#[test]
fn a_way_that_leads_nowhere_is_not_gone() {
    // The cell that it was to go to has left; the old one still has it.
    let fleet = leaving("m1 | m2 now leaving", 10, Purge::Gracefully);
    assert_eq!(told(&decided(&fleet, &one_cell(), "m1:well")), "m1");
    let fleet = leaving("m1 execute=5 | m2 now leaving", 10, Purge::Gracefully);
    assert_eq!(told(&decided(&fleet, &one_cell(), "m1:well")), "m1 !CannotEvict");
    // A cell that is gone is left.
    let fleet = leaving("m2 now", 10, Purge::Gracefully);
    assert_eq!(told(&decided(&fleet, &one_cell(), "")), "m2");
}

#[test]
fn an_application_that_is_not_well_moves_when_its_time_is_up() {
    let rule = applications(30, Purge::Gracefully);
    check("m1 now | m2", &rule, "m1:sick=29", "m1 after 1");
    let outcome = check("m1 now | m2", &rule, "m1:sick=30", "m2 leaving m1 after 60");
    assert_eq!(outcome.evictions[0].why, Why::Application);
    check("m1 now | m2", &rule, "m1:well", "m1");
    check("m1 now", &rule, "m1:sick=30", "m1 !CannotEvict");
    let alone = Rule { follow: false, ..rule };
    check("m1 now | m2", &alone, "m1:sick=9999", "m1");
}

#[test]
fn what_the_new_copy_has_to_know_is_carried_along() {
    let mut rule = applications(30, Purge::Directly);
    let carrying = |path: &str| vec![("job-id".to_owned(), path.to_owned())];
    rule.failover.application.as_mut().unwrap().carry = carrying("{.job.id}");
    let outcome = check("m1 now | m2", &rule, "m1:sick=30", "m2 leaving m1 after 60");
    assert_eq!(outcome.evictions[0].carry, BTreeMap::from([("job-id".to_owned(), "j-7".to_owned())]));
    assert_eq!(outcome.evictions[0].before, BTreeSet::from(["m1".to_owned()]));
    rule.failover.application.as_mut().unwrap().carry = carrying("{.job.none}");
    check("m1 now | m2", &rule, "m1:sick=30", "m1 !CannotEvict");
}
