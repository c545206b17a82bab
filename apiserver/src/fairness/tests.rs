//! Who sits, who waits and who is sent away, by the lines alone and by those who wait in them.

use super::*;
use crate::auth::{Attributes, MASTERS};
use crate::object::Object;
use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Value, json};

const BOUNDS: Bounds =
    Bounds { seats: 4, seats_of_one: 2, waiting: 6, waiting_of_one: 4, wait: Duration::from_secs(10) };

fn given() -> Arc<Flows> {
    Arc::new(Flows::compile(&[], &[]))
}

fn guest_of(flows: &Flows, workspace: &str, user: User, width: usize) -> Guest {
    let class = flows.classify(&user, &Attributes::path("get", "/x")).unwrap();
    let arrived = Instant { seconds: 0, nanos: 0 };
    Guest { workspace: Workspace::new(workspace), user: Arc::new(user), class, width, arrived }
}

fn guest(flows: &Flows, workspace: &str, user: &str) -> Guest {
    guest_of(flows, workspace, User::authenticated(user, Vec::new()), 1)
}

/// A level for each name, with so many shares, and a schema that leads everybody of the same name to it.
fn levels(of: &[(&str, u32, Value)]) -> Arc<Flows> {
    let object = |name: &str, spec: Value| -> Object {
        json!({ "metadata": { "name": name, "uid": name }, "spec": spec }).try_into().unwrap()
    };
    let levels: Vec<Object> = of
        .iter()
        .map(|(name, shares, more)| {
            let mut limited = json!({ "nominalConcurrencyShares": shares, "limitResponse": { "type": "Queue",
                "queuing": { "queues": 8, "handSize": 1, "queueLengthLimit": 100 } } });
            for (field, value) in more.as_object().unwrap() {
                limited[field] = value.clone();
            }
            object(name, json!({ "type": "Limited", "limited": limited }))
        })
        .collect();
    let schemas: Vec<Object> = of
        .iter()
        .map(|(name, ..)| {
            let rule = json!({ "subjects": [{ "kind": "Group", "group": { "name": name } }],
                "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }] });
            object(
                name,
                json!({ "priorityLevelConfiguration": { "name": name }, "matchingPrecedence": 5,
                "distinguisherMethod": { "type": "ByUser" }, "rules": [rule] }),
            )
        })
        .collect();
    // Those that are given take nothing here.
    let none = openapi::flows::levels().into_iter().filter_map(|level| {
        let name = level["metadata"]["name"].as_str()?.to_owned();
        let spec = json!({ "type": "Limited", "limited": { "nominalConcurrencyShares": 0 } });
        Some(object(&name, spec))
    });
    Arc::new(Flows::compile(&schemas, &levels.into_iter().chain(none).collect::<Vec<_>>()))
}

fn of_level(flows: &Flows, level: &str, user: &str) -> Guest {
    guest_of(flows, "w", User::authenticated(user, vec![level.to_owned()]), 1)
}

#[tokio::test(start_paused = true)]
async fn a_crowd_waits_behind_itself() {
    let (seats, flows) = (Seats::new(BOUNDS), levels(&[("all", 1000, json!({}))]));
    let crowd = of_level(&flows, "all", "a");
    let mut sitting = Vec::new();
    for _ in 0..2 {
        sitting.push(seats.take(&crowd, &flows).await.unwrap());
    }
    let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(seats.take(&crowd, &flows))).collect();
    for one in &mut waiting {
        assert!(one.as_mut().now_or_never().is_none());
    }
    // The workspace's lines are full; somebody else's are not, and a seat is kept for others.
    assert_eq!(seats.take(&crowd, &flows).await.unwrap_err(), Turned::Away);
    let quiet = Guest { workspace: Workspace::new("quiet"), ..of_level(&flows, "all", "b") };
    drop(seats.take(&quiet, &flows).await.unwrap());
    drop(sitting.pop());
    drop(waiting.remove(0).await.unwrap());
    drop((waiting, sitting));
    assert!(seats.lines.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn waiting_has_an_end_and_those_who_left_are_forgotten() {
    let (seats, flows) = (Seats::new(Bounds { seats: 1, seats_of_one: 1, ..BOUNDS }), given());
    let held = seats.take(&guest(&flows, "w", "a"), &flows).await.unwrap();
    assert_eq!(seats.take(&guest(&flows, "w", "a"), &flows).await.unwrap_err(), Turned::Late);
    let impatient = guest(&flows, "v", "b");
    assert!(Box::pin(seats.take(&impatient, &flows)).now_or_never().is_none());
    assert_eq!(seats.waiting(), 0);
    let patient = guest(&flows, "v", "b");
    let mut patient = Box::pin(seats.take(&patient, &flows));
    assert!(patient.as_mut().now_or_never().is_none());
    drop(held);
    drop(patient.await.unwrap());
    assert!(seats.lines.lock().is_empty());
}

/// Everybody comes at once; in which order they are served, one seat at a time.
fn served(lines: &mut Lines<&'static str>, workspace: &Workspace, first: Ticket) -> Vec<&'static str> {
    let (mut order, mut sitting) = (Vec::new(), (workspace.clone(), first));
    loop {
        lines.leave(&sitting.0, &sitting.1);
        let Some((workspace, next)) = lines.next() else { return order };
        order.push(next.call);
        sitting = (workspace, next.ticket);
    }
}

#[test]
fn workspaces_take_turns_and_so_do_the_users_of_each() {
    let flows = given();
    let mut lines = Lines::new(Bounds { seats: 1, seats_of_one: 1, waiting: 99, waiting_of_one: 99, ..BOUNDS });
    let (first, _) = lines.arrive(&guest(&flows, "w", "a"), &flows, || ("", ()));
    for _ in 0..12 {
        lines.arrive(&guest(&flows, "w", "a"), &flows, || ("a", ()));
    }
    for (workspace, user, name) in [("w", "b", "b1"), ("v", "c", "c1"), ("v", "c", "c2")] {
        lines.arrive(&guest(&flows, workspace, user), &flows, || (name, ()));
    }
    let order = served(&mut lines, &Workspace::new("w"), first);
    assert_eq!(order.iter().filter(|name| name.starts_with('c')).count(), 2);
    let at = |name: &str| order.iter().position(|one| *one == name).unwrap();
    assert!(at("c1") <= 1 && at("c2") <= 3, "{order:?}");
    // Many of one user have six lines, and everybody else has others.
    let before = order[..at("b1")].iter().filter(|name| **name == "a").count();
    assert!(before <= 6, "{order:?}");
    assert!(lines.is_empty());
}

#[test]
fn a_level_keeps_what_it_does_not_lend_and_may_borrow_what_others_do() {
    let bounds = Bounds { seats: 100, seats_of_one: 10, waiting: 99, waiting_of_one: 99, ..BOUNDS };
    let flows = levels(&[
        ("busy", 200, json!({})),
        ("lends", 500, json!({ "lendablePercent": 60 })),
        ("keeps", 300, json!({ "borrowingLimitPercent": 0 })),
    ]);
    let (mut lines, workspace) = (Lines::new(bounds), Workspace::new("w"));
    for _ in 0..20 {
        lines.arrive(&of_level(&flows, "busy", "u"), &flows, || ((), ()));
    }
    // Two of its own and two of the three that are lent: the level that is always there keeps one as well.
    assert_eq!(lines.seated(&workspace, "busy"), 4);
    for _ in 0..20 {
        lines.arrive(&of_level(&flows, "keeps", "u"), &flows, || ((), ()));
        lines.arrive(&of_level(&flows, "lends", "u"), &flows, || ((), ()));
    }
    assert_eq!((lines.seated(&workspace, "keeps"), lines.seated(&workspace, "lends")), (3, 3));
}

#[test]
fn one_user_alone_has_all_seats_until_somebody_of_another_level_comes() {
    let flows = given();
    let bounds = Bounds { seats: 400, seats_of_one: 32, waiting: 20_000, waiting_of_one: 4_000, ..BOUNDS };
    let (mut lines, workspace) = (Lines::new(bounds), Workspace::new("w"));
    let (mut seated, mut rejected) = (Vec::new(), 0);
    for _ in 0..2_100 {
        match lines.arrive(&guest(&flows, "w", "a"), &flows, || ("user", ())) {
            (ticket, Place::Seat) => seated.push(ticket),
            (_, Place::Line(())) => {}
            (_, Place::None) => rejected += 1,
        }
    }
    // All but the seat of those who could not wait for one; and so many wait.
    assert_eq!((seated.len(), lines.waiting(), rejected), (31, 6 * 333, 2_100 - 31 - 6 * 333));
    let account = User::authenticated("system:serviceaccount:n:s", vec!["system:serviceaccounts".to_owned()]);
    let account = guest_of(&flows, "w", account, 1);
    assert!(matches!(lines.arrive(&account, &flows, || ("account", ())).1, Place::Seat));
    for _ in 0..2 {
        assert!(matches!(lines.arrive(&account, &flows, || ("account", ())).1, Place::Line(())));
    }
    for ticket in seated.drain(..2) {
        lines.leave(&workspace, &ticket);
        assert_eq!(lines.next().unwrap().1.call, "account");
        assert!(lines.next().is_none());
    }
}

#[test]
fn whoever_finds_no_seat_in_a_level_without_lines_is_sent_away() {
    let bounds = Bounds { seats: 100, seats_of_one: 10, waiting: 99, waiting_of_one: 99, ..BOUNDS };
    let reject = json!({ "limitResponse": { "type": "Reject" }, "borrowingLimitPercent": 0 });
    let flows = levels(&[("few", 100, reject), ("rest", 900, json!({}))]);
    let mut lines = Lines::new(bounds);
    assert!(matches!(lines.arrive(&of_level(&flows, "few", "u"), &flows, || ((), ())).1, Place::Seat));
    assert!(matches!(lines.arrive(&of_level(&flows, "few", "u"), &flows, || ((), ())).1, Place::None));
}

#[test]
fn whoever_is_exempt_is_next_but_a_workspace_has_no_more_than_its_seats() {
    let flows = given();
    let mut lines = Lines::new(Bounds { seats: 100, seats_of_one: 3, waiting: 99, waiting_of_one: 99, ..BOUNDS });
    let master = User { within: Some(Workspace::new("w")), ..User::authenticated("m", vec![MASTERS.to_owned()]) };
    let master = guest_of(&flows, "w", master, 1);
    let (mut first, mut seated) = (None, 0);
    for _ in 0..50 {
        let (ticket, place) = lines.arrive(&master, &flows, || ("master", ()));
        seated += usize::from(matches!(place, Place::Seat));
        first = first.or(Some(ticket));
    }
    assert_eq!(seated, 3);
    lines.arrive(&guest(&flows, "w", "a"), &flows, || ("a", ()));
    lines.leave(&Workspace::new("w"), &first.unwrap());
    assert_eq!(lines.next().unwrap().1.call, "master");
    // Others have theirs.
    assert!(matches!(lines.arrive(&guest(&flows, "v", "b"), &flows, || ("b", ())).1, Place::Seat));
}

#[test]
fn whoever_needs_many_seats_keeps_others_of_the_workspace_waiting() {
    let flows = levels(&[("all", 1000, json!({}))]);
    let bounds = Bounds { seats: 100, seats_of_one: 16, waiting: 99, waiting_of_one: 99, ..BOUNDS };
    let mut lines = Lines::new(bounds);
    let wide = Guest { width: 10, ..of_level(&flows, "all", "u") };
    let places: Vec<bool> = (0..6).map(|_| matches!(lines.arrive(&wide, &flows, || ((), ())).1, Place::Seat)).collect();
    assert_eq!(places, [true, true, true, true, false, false], "nobody counts for more than a quarter");
}

/// A server in virtual time: a request takes a tick for each that sits beside it, as on one processor. How long those
/// wait who come alone, with and without a crowd of 500 in another workspace.
#[test]
fn one_who_comes_alone_waits_no_longer_for_a_crowd_than_the_crowd_has_seats() {
    let flows = given();
    let bounds = Bounds { seats: 400, seats_of_one: 32, waiting: 20_000, waiting_of_one: 4_000, ..BOUNDS };
    let mut lines = Lines::new(bounds);
    let mut sitting: Vec<(Workspace, Ticket)> = Vec::new();
    let crowd: Vec<Guest> = (0..500).map(|at| guest(&flows, "crowd", &format!("u{}", at % 20))).collect();
    for one in &crowd {
        if let (ticket, Place::Seat) = lines.arrive(one, &flows, || ((), ())) {
            sitting.push((one.workspace.clone(), ticket));
        }
    }
    let quiet = guest(&flows, "quiet", "q");
    for round in 0..1_000 {
        // Never does a crowd, however many they are, sit on more than one workspace's seats, and never is there no seat.
        assert!(sitting.len() <= 32, "{}", sitting.len());
        let (ticket, place) = lines.arrive(&quiet, &flows, || ((), ()));
        assert!(matches!(place, Place::Seat), "round {round}");
        lines.leave(&quiet.workspace, &ticket);
        let (workspace, ticket) = sitting.swap_remove(round % sitting.len());
        lines.leave(&workspace, &ticket);
        while let Some((workspace, next)) = lines.next() {
            sitting.push((workspace, next.ticket));
        }
        // Whoever was served comes again at once.
        if let (ticket, Place::Seat) = lines.arrive(&crowd[round % 500], &flows, || ((), ())) {
            sitting.push((workspace, ticket));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Arrive(u8, u8, usize),
    Leave(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrive = (0u8..4, 0u8..3, 1usize..3).prop_map(|(workspace, user, width)| Step::Arrive(workspace, user, width));
    proptest::collection::vec(prop_oneof![2 => arrive, 1 => any::<usize>().prop_map(Step::Leave)], 0..200)
}

proptest! {
    #[test]
    fn bounds_hold_everybody_is_served_and_nothing_is_left_behind(steps in steps()) {
        let flows = given();
        let bounds = Bounds { seats: 20, seats_of_one: 8, waiting: 9, waiting_of_one: 4, wait: Duration::ZERO };
        let mut lines: Lines<()> = Lines::new(bounds);
        let (mut seated, mut waiting) = (Vec::new(), 0);
        for step in steps {
            match step {
                Step::Arrive(workspace, user, width) => {
                    let user = User::authenticated(&user.to_string(), Vec::new());
                    let guest = guest_of(&flows, &workspace.to_string(), user, width);
                    match lines.arrive(&guest, &flows, || ((), ())) {
                        (ticket, Place::Seat) => seated.push((guest.workspace, ticket)),
                        (_, Place::Line(())) => waiting += 1,
                        (_, Place::None) => {}
                    }
                }
                Step::Leave(at) if !seated.is_empty() => {
                    let (workspace, ticket) = seated.swap_remove(at % seated.len());
                    lines.leave(&workspace, &ticket);
                }
                Step::Leave(_) => {}
            }
            while let Some((workspace, next)) = lines.next() {
                seated.push((workspace, next.ticket));
                waiting -= 1;
            }
            // The last one in may take one seat too many.
            prop_assert!(seated.iter().map(|(_, ticket)| ticket.width).sum::<usize>() <= bounds.seats + 1);
            prop_assert!(lines.waiting() == waiting && waiting <= bounds.waiting);
        }
        while let Some((workspace, ticket)) = seated.pop() {
            lines.leave(&workspace, &ticket);
            while let Some((workspace, next)) = lines.next() {
                seated.push((workspace, next.ticket));
                waiting -= 1;
            }
        }
        prop_assert!(lines.is_empty() && waiting == 0);
    }
}
