//! The federation as a whole, with cells that fail on purpose: whatever happens, in the end every cell holds what it
//! should, nothing else, and everything that is deleted is gone.

mod fake;
mod world;

use futures_util::stream::{self, StreamExt};
use hanse::apis::definitions::{CELLS, COPIES, PLACEMENTS};
use serde_json::json;
use world::{CONFIG_MAPS, NAMESPACES, World};

async fn is_empty(world: &World) -> bool {
    let cells = world.cells.values().all(|cell| cell.objects().is_empty());
    cells && world.list(COPIES).await.is_empty() && world.list(PLACEMENTS).await.is_empty()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_in_its_cells_and_gone_from_them_before_it_is_gone() {
    let mut world = World::new(1, &["a", "b"]).await;
    world.send("x", "1").await;
    world.converged().await;
    assert_eq!(world.list(COPIES).await.len(), 4, "an object and its namespace in two cells");
    world.change("x", "2").await;
    world.converged().await;
    world.delete(CONFIG_MAPS, Some("n"), "x").await;
    world.until("nothing is left anywhere", is_empty).await;
    assert!(world.list(CONFIG_MAPS).await.is_empty());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_change_costs_no_request_also_after_a_restart() {
    let mut world = World::new(2, &["a"]).await;
    world.send("x", "1").await;
    world.converged().await;
    world.stop().await;
    let before = world.cells["a"].requests();
    world.start();
    let copies = async |world: &World| {
        let up = world.list(CELLS).await.iter().all(|cell| !cell["status"]["conditions"].is_null());
        up && world.cells["a"].requests() > before
    };
    world.until("the cell is watched again", copies).await;
    world.change("x", "2").await;
    world.converged().await;
    world.stop().await;
    // A list of each of the two kinds, and one apply.
    assert!(world.cells["a"].requests() - before <= 3, "{}", world.cells["a"].requests() - before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_by_rules_that_are_not_known_yet() {
    let mut world = World::new(11, &["a"]).await;
    world.add_everywhere(Some("only there")).await;
    for number in 0..20 {
        world.send(&format!("o{number}"), "1").await;
    }
    world.converged().await;
    world.stop().await;
    let before = world.cells["a"].probes();
    world.start_with(false);
    let known = async |world: &World| world.cells["a"].probes() > before + 3;
    world.until("the cell is up, and was for a while", known).await;
    world.stop().await;
    world.start();
    world.change("o0", "2").await;
    world.converged().await;
    world.stop().await;
    for number in 0..20 {
        let history = world.cells["a"].history(&format!("o{number}"));
        assert!(history.iter().all(|object| object["data"]["w"] == "only there"), "{history:#?}");
        assert_eq!(history.len(), if number == 0 { 2 } else { 1 }, "{history:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_change_in_a_cell_is_put_right() {
    let mut world = World::new(3, &["a"]).await;
    world.send("x", "1").await;
    world.converged().await;
    world.cells["a"].meddle(|objects| {
        let (place, object) = objects.iter().find(|(place, _)| place[3] == "x")?;
        let mut object = object.clone();
        object["data"]["v"] = json!("changed by hand");
        object["metadata"]["managedFields"] = json!([{ "manager": "somebody", "operation": "Update" }]);
        Some((place.clone(), Some(object)))
    });
    world.converged().await;
    world.cells["a"].meddle(|objects| Some((objects.keys().find(|place| place[3] == "x")?.clone(), None)));
    world.converged().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_that_is_away_delays_nobody_and_gets_the_difference_when_it_is_back() {
    let mut world = World::new(4, &["a", "b"]).await;
    world.send("stays", "1").await;
    world.send("goes", "1").await;
    world.converged().await;
    world.cells["b"].cut(true);
    world.delete(CONFIG_MAPS, Some("n"), "goes").await;
    world.send("new", "1").await;
    world.change("stays", "2").await;
    let holds = |world: &World, cell: &str, name: &str| {
        world.cells[cell]
            .objects()
            .iter()
            .find(|(place, _)| place[3] == name)
            .map(|(_, object)| object["data"]["v"].clone())
    };
    let reached = async |world: &World| {
        holds(world, "a", "new") == Some(json!("1"))
            && holds(world, "a", "stays") == Some(json!("2"))
            && holds(world, "a", "goes").is_none()
    };
    world.until("the other cell has it all", reached).await;
    let waiting = world.list(CONFIG_MAPS).await.iter().any(|map| map["metadata"]["name"] == "goes");
    assert!(waiting, "what is still in a cell that is away is not gone");
    world.cells["b"].cut(false);
    world.converged().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_made_anew_without_an_answer_goes_with_its_source() {
    let mut world = World::new(8, &["a"]).await;
    world.send("x", "1").await;
    world.converged().await;
    let uid = |world: &World| {
        let objects = world.cells["a"].objects();
        objects.iter().find(|(place, _)| place[3] == "x").map(|(_, object)| object["metadata"]["uid"].clone())
    };
    let first = uid(&world);
    world.cells["a"].mute(true);
    world.cells["a"].meddle(|objects| Some((objects.keys().find(|place| place[3] == "x")?.clone(), None)));
    let anew = async |world: &World| uid(world).is_some_and(|now| Some(now) != first);
    world.until("it is there again, and nobody here has heard of it", anew).await;
    world.delete(CONFIG_MAPS, Some("n"), "x").await;
    world.until("nothing is left anywhere", is_empty).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_that_is_back_before_its_former_worker_has_ended_gets_another() {
    let mut world = World::new(9, &["a"]).await;
    world.send("x", "1").await;
    world.converged().await;
    let ready = |status: &'static str| {
        async move |world: &World| world.list(CELLS).await[0]["status"]["conditions"][0]["status"] == status
    };
    let requests = world.cells["a"].requests();
    world.cells["a"].hold(true);
    world.change("x", "2").await;
    world.cells["a"].cut(true);
    world.until("the cell is away", ready("Unknown")).await;
    world.cells["a"].cut(false);
    world.until("the cell is back", ready("True")).await;
    world.cells["a"].hold(false);
    world.send("y", "1").await;
    world.converged().await;
    assert!(world.cells["a"].requests() > requests);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_that_leaves_is_emptied_first() {
    let mut world = World::new(5, &["a", "b"]).await;
    world.send("x", "1").await;
    world.converged().await;
    world.delete(CELLS, None, "b").await;
    let left = async |world: &World| {
        let gone = !world.list(CELLS).await.iter().any(|cell| cell["metadata"]["name"] == "b");
        gone && world.cells["b"].objects().is_empty()
    };
    world.until("the cell is gone and empty", left).await;
    assert_eq!(world.cells["a"].objects().len(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_leaves_a_cell_that_sends_it_away_and_is_never_nowhere() {
    let mut world = World::new(9, &["a", "b"]).await;
    world.choose_one().await;
    let map = json!({ "metadata": { "name": "x", "labels": { "go": "one" } }, "data": { "v": "1" } });
    world.make(CONFIG_MAPS, Some("n"), map).await;
    world.until("it is in one cell", async |world: &World| world.holders("x").len() == 1).await;
    let (first, other) = if world.holders("x") == ["a"] { ("a", "b") } else { ("b", "a") };
    let holding = async |world: &World, cells: &[&str]| {
        let now = world.holders("x");
        assert!(!now.is_empty(), "it is nowhere");
        now == cells
    };
    // Where nothing answers there is nowhere to go.
    world.cells[other].cut(true);
    let away = async |world: &World| {
        world.list(CELLS).await.iter().any(|cell| cell["status"]["conditions"][0]["status"] == "Unknown")
    };
    world.until("the other cell is known to be away", away).await;
    world.taint(first, true).await;
    let stuck = async |world: &World| {
        let troubles = world.list(PLACEMENTS).await[0]["status"]["troubles"].clone();
        holding(world, &[first]).await && troubles[0]["reason"] == "CannotEvict"
    };
    world.until("it stays and says why", stuck).await;
    world.cells[other].cut(false);
    world.until("both have it", async |world: &World| holding(world, &["a", "b"]).await).await;
    // Nobody can tell whether a ConfigMap is well, so the time has to be up.
    world.jump(601);
    world.change("x", "2").await;
    world.until("it has left", async |world: &World| holding(world, &[other]).await).await;
    assert_eq!(world.list(PLACEMENTS).await[0]["spec"]["evictions"], json!([]));
    world.delete(CONFIG_MAPS, Some("n"), "x").await;
    world.until("nothing is left anywhere", is_empty).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_races_of_create_and_delete_leave_nothing() {
    let mut world = World::new(6, &["a", "b"]).await;
    for round in 0..10 {
        let names: Vec<String> = (0..100).map(|number| format!("r{round}-{number}")).collect();
        let races = names.iter().map(|name| async {
            world.send(name, "1").await;
            world.delete(CONFIG_MAPS, Some("n"), name).await;
        });
        futures_util::future::join_all(races).await;
    }
    world
        .until("nothing is left anywhere", async |world: &World| {
            is_empty(world).await && world.list(CONFIG_MAPS).await.is_empty()
        })
        .await;
    world.stop().await;
}

/// A number below `bound`, from a seed that moves on.
fn roll(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

/// How many objects go everywhere, and how many go to one cell by each of the policies.
const EVERYWHERE: u64 = 12;
const MOVING: u64 = 3;

async fn anything(world: &mut World, seed: &mut u64) {
    let name = format!("o{}", roll(seed, EVERYWHERE));
    let by = ["directly", "gracefully"][usize::try_from(roll(seed, 2)).unwrap()];
    let moving = format!("{by}-{}", roll(seed, MOVING));
    let cells: Vec<String> = world.cells.keys().cloned().collect();
    let cell = cells[usize::try_from(roll(seed, cells.len() as u64)).unwrap()].as_str();
    match roll(seed, 34) {
        0..=4 => world.send(&name, "1").await,
        5..=7 => world.change(&name, &roll(seed, 1000).to_string()).await,
        8..=10 => world.delete(CONFIG_MAPS, Some("n"), &name).await,
        11 => world.cells[cell].cut(true),
        12 => world.cells[cell].cut(false),
        13 => world.cells[cell].meddle(|objects| Some((objects.keys().find(|place| place[3] == name)?.clone(), None))),
        14 => {
            world.stop().await;
            world.start();
        }
        15 => world.relabel(cell, true).await,
        16 => world.relabel(cell, false).await,
        17 => world.jump(i64::try_from(roll(seed, 7200)).unwrap() - 3600),
        18 => {
            world.kill().await;
            world.start();
        }
        19..=21 => world.send_by(by, &moving, "1").await,
        22 => world.change(&moving, &roll(seed, 1000).to_string()).await,
        23 => world.delete(CONFIG_MAPS, Some("n"), &moving).await,
        24..=25 => world.taint(cell, true).await,
        26 => world.taint(cell, false).await,
        27 => world.add_everywhere(Some(&roll(seed, 1000).to_string())).await,
        28 => world.add_everywhere(None).await,
        29 => world.script(roll(seed, 2) == 0).await,
        30 => world.tolerate(Some(roll(seed, 2000)).filter(|seconds| *seconds > 500), roll(seed, 2) == 0).await,
        _ => tokio::task::yield_now().await,
    }
}

/// One story, as its seed tells it; every fiftieth has as many cells as a platform has cities.
async fn tell(seed: u64) {
    let number = if seed.is_multiple_of(50) { 50 } else { 3 };
    let names: Vec<String> = (0..number).map(|number| format!("c{number}")).collect();
    let mut world = World::new(seed, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut dice = seed;
    world.choose_and_move().await;
    world.cells.values().for_each(|cell| cell.lose(10));
    for _ in 0..200 {
        anything(&mut world, &mut dice).await;
    }
    for (name, cell) in &world.cells {
        cell.cut(false);
        cell.lose(0);
        world.relabel(name, false).await;
        world.taint(name, false).await;
    }
    let ready = async |world: &World| {
        world.list(CELLS).await.iter().all(|cell| cell["status"]["conditions"][0]["status"] == "True")
    };
    world.until("all cells answer", ready).await;
    world.send("settled", "1").await;
    let settled = async |world: &World| world.holders("settled").len() == world.cells.len();
    world.until("whoever decides knows that all cells are well", settled).await;
    // Whatever waits until its time is up waits no more, and is looked at.
    world.jump(10_000_000);
    let names = || (0..EVERYWHERE).map(|number| format!("o{number}")).chain(moving()).chain(["settled".to_owned()]);
    for name in moving() {
        world.change(&name, "at last").await;
    }
    world.converged().await;
    for name in names() {
        world.delete(CONFIG_MAPS, Some("n"), &name).await;
    }
    // It stays in cells for as long as it is here.
    world.delete(NAMESPACES, None, "n").await;
    world.until("nothing is left anywhere", is_empty).await;
    world.stop().await;
}

/// The names of what goes to one cell.
fn moving() -> impl Iterator<Item = String> {
    ["directly", "gracefully"].into_iter().flat_map(|by| (0..MOVING).map(move |number| format!("{by}-{number}")))
}

/// Which stories are told: more, if `SIMULATION_SEEDS` says so, beginning with `SIMULATION_FIRST`.
fn seeds() -> impl Iterator<Item = u64> {
    let said = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = said("SIMULATION_FIRST").unwrap_or(1);
    first..first + said("SIMULATION_SEEDS").unwrap_or(12)
}

/// Stories that are told at once: most of the time they wait for each other's turn.
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_in_the_end_everything_is_where_it_should_be() {
    let told = stream::iter(seeds()).map(|seed| async move { (seed, tokio::spawn(tell(seed)).await.is_ok()) });
    let told: Vec<(u64, bool)> = told.buffer_unordered(AT_ONCE).collect().await;
    let badly: Vec<u64> = told.iter().filter(|(_, well)| !well).map(|(seed, _)| *seed).collect();
    assert!(badly.is_empty(), "seeds {badly:?} end badly");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_is_in_a_cell_by_its_own_name_and_by_another_if_rules_want_both() {
    let mut world = World::new(10, &["a"]).await;
    world.choose_and_move().await;
    world.send("x", "1").await;
    world.send_by("directly", "y", "1").await;
    world.converged().await;
    assert_eq!(world.cells["a"].objects().len(), 4, "two objects, each in a namespace of its own");
    for name in ["x", "y"] {
        world.delete(CONFIG_MAPS, Some("n"), name).await;
    }
    let left = async |world: &World| world.cells["a"].objects().len() == 1;
    world.until("the namespace that was made for the one is gone, the other has the name of its source", left).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_goes_into_a_namespace_of_a_cell_that_is_not_there() {
    let mut world = World::new(7, &["a"]).await;
    world.send("x", "1").await;
    world.converged().await;
    world.cells["a"].meddle(|objects| Some((objects.keys().find(|place| place[1] == "namespaces")?.clone(), None)));
    world.converged().await;
    assert_eq!(world.list(NAMESPACES).await.len(), 1);
    world.stop().await;
}
