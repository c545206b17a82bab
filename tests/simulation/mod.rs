//! The federation as a whole, with cells that fail on purpose: whatever happens, in the end every cell holds what it
//! should, nothing else, and everything that is deleted is gone.

mod check;
mod fake;
mod machine;
mod people;
mod seeds;
mod world;

use fake::FakeCell;
use hanse::apis::definitions::{CELLS, COPIES, PLACEMENTS};
use people::{CONFIG_MAPS, DEPLOYMENTS, NAMESPACES};
use serde_json::{Value, json};
use std::time::Duration;
use world::World;

#[test]
fn an_object_is_in_its_cells_and_gone_from_them_before_it_is_gone() {
    let mut world = World::new(1, &["a", "b"]);
    world.send("x", "1");
    world.converged();
    assert_eq!(world.list(COPIES).len(), 4, "an object and its namespace in two cells");
    world.change("x", "2");
    world.converged();
    world.delete(CONFIG_MAPS, Some("n"), "x");
    world.until("nothing is left anywhere", World::is_empty);
    assert!(world.list(CONFIG_MAPS).is_empty());
    world.stop();
}

#[test]
fn what_does_not_change_costs_no_request_also_after_a_restart() {
    let mut world = World::new(2, &["a"]);
    world.send("x", "1");
    world.converged();
    world.stop();
    let before = world.cells["a"].requests();
    world.start();
    let copies = |world: &World| {
        let up = world.list(CELLS).iter().all(|cell| !cell["status"]["conditions"].is_null());
        up && world.cells["a"].requests() > before
    };
    world.until("the cell is watched again", copies);
    world.change("x", "2");
    world.converged();
    world.is_quiet_for(Duration::from_mins(10));
    world.stop();
    // A list of each of the two kinds, and one apply.
    assert!(world.cells["a"].requests() - before <= 3, "{}", world.cells["a"].requests() - before);
}

#[test]
fn nothing_is_sent_by_rules_that_are_not_known_yet() {
    let mut world = World::new(11, &["a"]);
    world.people(async |person| person.add_everywhere(Some("only there")).await);
    for number in 0..20 {
        world.send(&format!("o{number}"), "1");
    }
    world.converged();
    world.stop();
    let before = world.cells["a"].probes();
    world.start_with(false);
    let known = |world: &World| world.cells["a"].probes() > before + 3;
    world.until("the cell is up, and was for a while", known);
    world.stop();
    world.start();
    world.change("o0", "2");
    world.converged();
    world.stop();
    for number in 0..20 {
        let history = world.cells["a"].history(&format!("o{number}"));
        assert!(history.iter().all(|object| object["data"]["w"] == "only there"), "{history:#?}");
        assert_eq!(history.len(), if number == 0 { 2 } else { 1 }, "{history:#?}");
    }
}

/// Takes something of this name out of a cell.
fn take_away(cell: &FakeCell, name: &str) {
    cell.meddle(|objects| Some((objects.keys().find(|place| place[3] == name)?.clone(), None)));
}

#[test]
fn what_others_change_in_a_cell_is_put_right() {
    let mut world = World::new(3, &["a"]);
    world.send("x", "1");
    world.converged();
    world.cells["a"].meddle(|objects| {
        let (place, object) = objects.iter().find(|(place, _)| place[3] == "x")?;
        let mut object = object.clone();
        object["data"]["v"] = json!("changed by hand");
        object["metadata"]["managedFields"] = json!([{ "manager": "somebody", "operation": "Update" }]);
        Some((place.clone(), Some(object)))
    });
    world.converged();
    take_away(&world.cells["a"], "x");
    world.converged();
    world.stop();
}

#[test]
fn a_cell_that_is_away_delays_nobody_and_gets_the_difference_when_it_is_back() {
    let mut world = World::new(4, &["a", "b"]);
    world.send("stays", "1");
    world.send("goes", "1");
    world.converged();
    world.cells["b"].cut(true);
    world.delete(CONFIG_MAPS, Some("n"), "goes");
    world.send("new", "1");
    world.change("stays", "2");
    let holds = |world: &World, cell: &str, name: &str| {
        world.cells[cell]
            .objects()
            .iter()
            .find(|(place, _)| place[3] == name)
            .map(|(_, object)| object["data"]["v"].clone())
    };
    let reached = |world: &World| {
        holds(world, "a", "new") == Some(json!("1"))
            && holds(world, "a", "stays") == Some(json!("2"))
            && holds(world, "a", "goes").is_none()
    };
    world.until("the other cell has it all", reached);
    let waiting = world.list(CONFIG_MAPS).iter().any(|map| map["metadata"]["name"] == "goes");
    assert!(waiting, "what is still in a cell that is away is not gone");
    world.cells["b"].cut(false);
    world.converged();
    world.stop();
}

#[test]
fn what_was_made_anew_without_an_answer_goes_with_its_source() {
    let mut world = World::new(8, &["a"]);
    world.send("x", "1");
    world.converged();
    let uid = |world: &World| {
        let objects = world.cells["a"].objects();
        objects.iter().find(|(place, _)| place[3] == "x").map(|(_, object)| object["metadata"]["uid"].clone())
    };
    let first = uid(&world);
    world.cells["a"].mute(true);
    take_away(&world.cells["a"], "x");
    let anew = |world: &World| uid(world).is_some_and(|now| Some(now) != first);
    world.until("it is there again, and nobody here has heard of it", anew);
    world.delete(CONFIG_MAPS, Some("n"), "x");
    world.until("nothing is left anywhere", World::is_empty);
    world.stop();
}

#[test]
fn a_cell_that_is_back_before_its_former_worker_has_ended_gets_another() {
    let mut world = World::new(9, &["a"]);
    world.send("x", "1");
    world.converged();
    let ready =
        |status: &'static str| move |world: &World| world.list(CELLS)[0]["status"]["conditions"][0]["status"] == status;
    let requests = world.cells["a"].requests();
    world.cells["a"].hold(true);
    world.change("x", "2");
    world.cells["a"].cut(true);
    world.until("the cell is away", ready("Unknown"));
    world.cells["a"].cut(false);
    world.until("the cell is back", ready("True"));
    world.cells["a"].hold(false);
    world.send("y", "1");
    world.converged();
    assert!(world.cells["a"].requests() > requests);
    world.stop();
}

#[test]
fn a_cell_that_leaves_is_emptied_first() {
    let mut world = World::new(5, &["a", "b"]);
    world.send("x", "1");
    world.converged();
    world.delete(CELLS, None, "b");
    let left = |world: &World| {
        let gone = !world.list(CELLS).iter().any(|cell| cell["metadata"]["name"] == "b");
        gone && world.cells["b"].objects().is_empty()
    };
    world.until("the cell is gone and empty", left);
    assert_eq!(world.cells["a"].objects().len(), 2);
    world.stop();
}

#[test]
fn an_object_leaves_a_cell_that_sends_it_away_and_is_never_nowhere() {
    let mut world = World::new(9, &["a", "b"]);
    world.people(async |person| person.rule_one().await);
    let map = json!({ "metadata": { "name": "x", "labels": { "go": "one" } }, "data": { "v": "1" } });
    world.people(async |person| person.make(CONFIG_MAPS, Some("n"), map).await);
    world.until("it is in one cell", |world| world.holders("x").len() == 1);
    let (first, other) = if world.holders("x") == ["a"] { ("a", "b") } else { ("b", "a") };
    let holding = |world: &World, cells: &[&str]| {
        let now = world.holders("x");
        assert!(!now.is_empty(), "it is nowhere");
        now == cells
    };
    // Where nothing answers there is nowhere to go.
    world.cells[other].cut(true);
    let away =
        |world: &World| world.list(CELLS).iter().any(|cell| cell["status"]["conditions"][0]["status"] == "Unknown");
    world.until("the other cell is known to be away", away);
    world.people(async |person| person.taint(first, true).await);
    let stuck = |world: &World| {
        let troubles = world.list(PLACEMENTS)[0]["status"]["troubles"].clone();
        holding(world, &[first]) && troubles[0]["reason"] == "CannotEvict"
    };
    world.until("it stays and says why", stuck);
    world.cells[other].cut(false);
    world.change("x", "2");
    // A ConfigMap is well as soon as it is there, so nothing has to be waited for.
    world.until("it has left", |world| holding(world, &[other]));
    assert_eq!(world.list(PLACEMENTS)[0]["spec"]["evictions"], json!([]));
    world.delete(CONFIG_MAPS, Some("n"), "x");
    world.until("nothing is left anywhere", World::is_empty);
    world.stop();
}

#[test]
fn a_thousand_races_of_create_and_delete_leave_nothing() {
    let mut world = World::new(6, &["a", "b"]);
    for round in 0..10 {
        let names: Vec<String> = (0..100).map(|number| format!("r{round}-{number}")).collect();
        world.people(async |person| {
            let races = names.iter().map(|name| async {
                person.send(name, "1").await;
                person.delete(CONFIG_MAPS, Some("n"), name).await;
            });
            futures_util::future::join_all(races).await;
        });
    }
    world.until("nothing is left anywhere", |world| world.is_empty() && world.list(CONFIG_MAPS).is_empty());
    world.stop();
}

#[test]
fn a_namespace_is_in_a_cell_by_its_own_name_and_by_another_if_rules_want_both() {
    let mut world = World::new(10, &["a"]);
    world.people(async |person| person.policies_that_move().await);
    world.send("x", "1");
    world.people(async |person| person.send_by("directly", "y", "1").await);
    world.converged();
    assert_eq!(world.cells["a"].objects().len(), 4, "two objects, each in a namespace of its own");
    for name in ["x", "y"] {
        world.delete(CONFIG_MAPS, Some("n"), name);
    }
    let left = |world: &World| world.cells["a"].objects().len() == 1;
    world.until("the namespace that was made for the one is gone, the other has the name of its source", left);
    world.stop();
}

#[test]
fn nothing_goes_into_a_namespace_of_a_cell_that_is_not_there() {
    let mut world = World::new(7, &["a"]);
    world.send("x", "1");
    world.converged();
    world.cells["a"].meddle(|objects| Some((objects.keys().find(|place| place[1] == "namespaces")?.clone(), None)));
    world.converged();
    assert_eq!(world.list(NAMESPACES).len(), 1);
    world.stop();
}

/// After this long everything is told anew.
const RESYNC: Duration = Duration::from_mins(30);

/// What a source has ever said of how many are ready, beginning with now.
fn sums_from_now_on(world: &World, work: impl FnOnce(&World)) -> Vec<i64> {
    let deployments = world.person.client.builtin().find("apps", "v1", "deployments").unwrap();
    let mut follow = world.person.client.follow(deployments).unwrap();
    work(world);
    world.machine.run(async {
        let mut sums = Vec::new();
        while let Ok(Ok(seen)) = tokio::time::timeout(Duration::from_millis(1), follow.next()).await {
            let now: Value = seen.now.map(|now| serde_json::from_slice(&now.value).unwrap()).unwrap_or_default();
            sums.extend(now["status"]["readyReplicas"].as_i64());
        }
        sums
    })
}

#[test]
fn statuses_are_not_summed_up_in_part_nor_copies_taken_back_while_everything_is_told_anew() {
    let names: Vec<String> = (0..8).map(|number| format!("c{number}")).collect();
    let mut world = World::on(machine::Threads::Virtual { turns: 1 }, 12, &names);
    world.people(async |person| person.deploy("web", 1).await);
    // What is told after the others: with these, telling everything takes more than a turn.
    for number in 0..100 {
        world.send(&format!("o{number}"), "1");
    }
    world.converged();
    world.cells.values().for_each(|cell| cell.report(1));
    world.converged();
    let deletions = |world: &World| -> usize {
        world.cells.values().map(|cell| cell.history("web").len() + cell.history("o0").len()).sum()
    };
    let sums = sums_from_now_on(&world, |world| {
        let begun = world.revision();
        // One cell after the other has something to report, whenever everything is about to be told.
        for round in 0..4_u64 {
            for (cell, reported) in world.cells.values().zip([2_u64; 8]) {
                cell.report(reported + round);
                world.machine.give_way(40);
            }
            world.machine.pass(RESYNC - Duration::from_millis(20));
            for cell in world.cells.values() {
                cell.report(3 + round);
                world.machine.pass(Duration::from_millis(5));
                world.machine.give_way(40);
            }
        }
        world.converged();
        assert!(world.revision() > begun);
    });
    assert!(sums.windows(2).all(|pair| pair[0] <= pair[1]), "what was ready is not fewer: {sums:?}");
    assert_eq!(sums.last(), Some(&(8 * 6)));
    let before = deletions(&world);
    world.machine.pass(RESYNC * 2);
    assert_eq!(deletions(&world), before, "nothing is done to what does not change");
    world.delete(DEPLOYMENTS, Some("n"), "web");
    world.until("it is gone", |world| world.list(DEPLOYMENTS).is_empty());
    world.stop();
}
