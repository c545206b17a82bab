//! Stories that seeds tell: anything happens, then all is well again, and everything has to be where it should be.

use super::fake::{Way, Weather};
use super::machine::Threads;
use super::people::{CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, Person};
use super::world::World;
use hanse::apis::definitions::{CELLS, COPIES, PLACEMENTS, RULES};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many objects go to one cell by each of the policies.
const MOVING: u64 = 3;

/// How many things happen in a story.
const HAPPENINGS: u64 = 120;

/// As many cells as a platform has cities.
const CITIES: usize = 50;

/// What there is in a story.
struct Cast {
    cells: Vec<String>,
    /// ConfigMaps and Deployments that go everywhere.
    maps: u64,
    deployments: u64,
}

impl Cast {
    /// With many cells there are fewer objects: together they make about as many copies.
    fn of(world: &World) -> Self {
        let cells: Vec<String> = world.cells.keys().cloned().collect();
        let (maps, deployments) = if cells.len() < CITIES { (10, 2) } else { (3, 1) };
        Self { cells, maps, deployments }
    }
}

/// A seed that moves on.
struct Dice(u64);

impl Dice {
    /// A number below `bound`.
    fn roll(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.roll(all.len() as u64)).unwrap_or_default()]
    }

    fn yes(&mut self) -> bool {
        self.roll(2) == 0
    }
}

/// The names of what goes to one cell.
fn moving() -> impl Iterator<Item = String> {
    ["directly", "gracefully"].into_iter().flat_map(|by| (0..MOVING).map(move |number| format!("{by}-{number}")))
}

/// What somebody does next, in words and as a request.
fn request(dice: &mut Dice, cast: &Cast) -> (String, Request) {
    let name = format!("o{}", dice.roll(cast.maps));
    let deployment = format!("d{}", dice.roll(cast.deployments));
    let by = *dice.one_of(&["directly", "gracefully"]);
    let moving = format!("{by}-{}", dice.roll(MOVING));
    let cell = dice.one_of(&cast.cells).clone();
    let (value, chance, yes) = (dice.roll(1000).to_string(), dice.roll(1000), dice.yes());
    match dice.roll(40) {
        0..=5 => (format!("send {name}"), Request::Send("everywhere", name, value)),
        6..=9 => (format!("change {name}"), Request::Change(name, value)),
        10..=13 => (format!("delete {name}"), Request::Delete(name)),
        14..=16 => (format!("send {moving}"), Request::Send(by, moving, value)),
        17 => (format!("change {moving}"), Request::Change(moving, value)),
        18 => (format!("delete {moving}"), Request::Delete(moving)),
        19 => (format!("force {name} away"), Request::ForceAway(name)),
        20..=21 => (format!("deploy {deployment}"), Request::Deploy(deployment, chance % 5)),
        22 => (format!("scale {deployment}"), Request::Scale(deployment, chance % 5)),
        23 => (format!("delete {deployment}"), Request::Undeploy(deployment)),
        24..=26 => (format!("relabel {cell} {yes}"), Request::Relabel(cell, yes)),
        27..=29 => (format!("taint {cell} {yes}"), Request::Taint(cell, yes)),
        30..=31 => (format!("leave or join {cell} {yes}"), Request::Join(cell, yes)),
        32..=33 => (format!("override {value} {yes}"), Request::Override(yes.then_some(value))),
        34 => (format!("rules {yes}"), Request::Rules(yes)),
        35 => (format!("script {yes}"), Request::Script(yes)),
        36 => (format!("tolerate {chance} {yes}"), Request::Tolerate(chance * 2, yes)),
        37 => (format!("unrecord copy {chance}"), Request::Unrecord(COPIES, chance)),
        38 => (format!("unrecord placement {chance}"), Request::Unrecord(PLACEMENTS, chance)),
        _ => (format!("redirect {name} {yes}"), Request::Redirect(name, if yes { "everywhere" } else { by })),
    }
}

/// What people ask for.
enum Request {
    Send(&'static str, String, String),
    Change(String, String),
    Delete(String),
    ForceAway(String),
    Redirect(String, &'static str),
    Deploy(String, u64),
    Scale(String, u64),
    Undeploy(String),
    Relabel(String, bool),
    Taint(String, bool),
    Join(String, bool),
    Override(Option<String>),
    Rules(bool),
    Script(bool),
    Tolerate(u64, bool),
    Unrecord(super::people::Resource, u64),
}

impl Request {
    async fn ask(self, person: &Person) {
        match self {
            Self::Send(by, name, value) => person.send_by(by, &name, &value).await,
            Self::Change(name, value) => person.change(&name, &value).await,
            Self::Delete(name) => person.delete(CONFIG_MAPS, Some("n"), &name).await,
            Self::ForceAway(name) => person.force_away(&name).await,
            Self::Redirect(name, by) => person.redirect(&name, by).await,
            Self::Deploy(name, replicas) => person.deploy(&name, replicas).await,
            Self::Scale(name, replicas) => person.scale(&name, replicas).await,
            Self::Undeploy(name) => person.delete(DEPLOYMENTS, Some("n"), &name).await,
            Self::Relabel(cell, off) => person.relabel(&cell, off).await,
            Self::Taint(cell, tainted) => person.taint(&cell, tainted).await,
            Self::Join(cell, true) => person.join(&cell).await,
            Self::Join(cell, false) => person.delete(CELLS, None, &cell).await,
            Self::Override(value) => person.add_everywhere(value.as_deref()).await,
            Self::Rules(true) => person.rules_everywhere().await,
            Self::Rules(false) => person.delete(RULES, None, "all").await,
            Self::Script(scripted) => person.script(scripted).await,
            Self::Tolerate(seconds, yes) => person.tolerate(Some(seconds).filter(|seconds| *seconds > 500), yes).await,
            Self::Unrecord(resource, chance) => person.unrecord(resource, chance).await,
        }
    }
}

/// Somebody asks for something, or several at once for things that may be the same; they may not wait for an answer.
fn people_ask(world: &mut World, dice: &mut Dice, cast: &Cast) {
    let several = if dice.roll(4) == 0 { 2 + dice.roll(4) } else { 1 };
    let waits = dice.roll(4) > 0;
    let (words, requests): (Vec<_>, Vec<_>) = (0..several).map(|_| request(dice, cast)).unzip();
    world.note(format!("{}{}", words.join(" | "), if waits { "" } else { " ..." }));
    if waits {
        world.people(async |person| {
            futures_util::future::join_all(requests.into_iter().map(|request| request.ask(person))).await;
        });
    } else {
        for request in requests {
            world.meanwhile(|person| async move { request.ask(&person).await });
        }
    }
}

/// Something happens to a cell, or in it.
fn cells_fail(world: &mut World, dice: &mut Dice, cast: &Cast) {
    let (name, object) = (dice.one_of(&cast.cells).clone(), format!("o{}", dice.roll(cast.maps)));
    let cell = world.cells[&name].clone();
    let what = match dice.roll(14) {
        0..=2 => {
            cell.set_way(Way::Closed);
            "closed"
        }
        3..=4 => {
            cell.set_way(Way::Silent);
            "silent"
        }
        5..=7 => {
            cell.set_way(Way::Open);
            "open"
        }
        8 => {
            cell.meddle(|objects| Some((objects.keys().find(|place| place[3] == object)?.clone(), None)));
            "loses an object"
        }
        9 => {
            cell.meddle(|objects| Some((objects.keys().find(|place| place[1] == "namespaces")?.clone(), None)));
            "loses a namespace"
        }
        10 => {
            cell.forget_history();
            "forgets"
        }
        11 => {
            cell.let_go();
            "lets go"
        }
        _ => {
            cell.report(dice.roll(5));
            "reports"
        }
    };
    world.note(format!("{name} {what}"));
}

/// Something happens to the server, or to its clock.
fn server_fails(world: &mut World, dice: &mut Dice) {
    match dice.roll(8) {
        0..=2 => {
            world.note("kill".to_owned());
            world.kill();
            world.start();
        }
        3 => {
            world.note("stop".to_owned());
            world.stop();
            world.start();
        }
        4..=6 => {
            let seconds = i64::try_from(dice.roll(7200)).unwrap_or_default() - 3600;
            world.note(format!("the clock jumps {seconds} s"));
            world.clock.jump(seconds);
        }
        _ if world.machine.is_virtual() => {
            world.note("half an hour passes".to_owned());
            world.machine.pass(Duration::from_mins(31));
        }
        _ => {}
    }
}

/// Others get on with what they do: not at all, a little, or until they have nothing to do.
fn time_passes(world: &World, dice: &mut Dice) {
    match dice.roll(10) {
        0..=2 => {}
        3..=6 => world.machine.give_way(dice.roll(200)),
        7..=8 => {
            world.machine.pass(Duration::from_millis(dice.roll(if world.machine.is_virtual() { 3000 } else { 20 })))
        }
        _ if world.machine.is_virtual() => world.machine.pass(Duration::from_secs(dice.roll(120))),
        _ => {}
    }
}

fn anything(world: &mut World, dice: &mut Dice, cast: &Cast) {
    match dice.roll(20) {
        0..=12 => people_ask(world, dice, cast),
        13..=17 => cells_fail(world, dice, cast),
        _ => server_fails(world, dice),
    }
    time_passes(world, dice);
}

/// Nothing fails any more, and every cell is wanted.
fn heal(world: &mut World) {
    world.note("all is well".to_owned());
    // What was asked for before may not come after that.
    world.all_are_answered();
    for cell in world.cells.values() {
        cell.set_way(Way::Open);
        cell.set_weather(Weather::default());
        cell.let_go();
    }
    let all_are_there = |world: &World| {
        world.people(async |person| {
            for name in world.cells.keys() {
                person.join(name).await;
                person.relabel(name, false).await;
                person.taint(name, false).await;
            }
            person.rules_everywhere().await;
        });
        let (cells, rules) = (world.list(CELLS), world.list(RULES));
        let stays = |object: &serde_json::Value| object["metadata"]["deletionTimestamp"].is_null();
        let is_ready = |cell: &serde_json::Value| cell["status"]["conditions"][0]["status"] == "True";
        let well = cells.iter().filter(|cell| stays(cell) && is_ready(cell)).count() == world.cells.len();
        well && rules.iter().filter(|rule| stays(rule)).count() == 2
    };
    world.until("all cells have joined and answer", all_are_there);
}

/// One story, as its seed tells it, in a world of so many cells.
fn tell(world: &mut World, seed: u64) {
    let (mut dice, cast) = (Dice(seed), Cast::of(world));
    world.people(async |person| person.policies_that_move().await);
    let weather = Weather { losses: dice.roll(12), slowness: dice.roll(3) * 40, lingering: dice.yes() };
    let weather = if world.machine.is_virtual() { weather } else { Weather { slowness: 2, ..weather } };
    world.cells.values().for_each(|cell| cell.set_weather(weather));
    for _ in 0..HAPPENINGS {
        anything(world, &mut dice, &cast);
    }
    heal(world);
    world.send("settled", "1");
    world.until("whoever decides knows that all cells are well", |world| {
        world.holders("settled").len() == world.cells.len()
    });
    // Whatever waits until its time is up waits no more, and is looked at.
    world.clock.jump(10_000_000);
    world.people(async |person| {
        for name in moving() {
            person.change(&name, "at last").await;
        }
    });
    world.cells.values().for_each(|cell| cell.report(1));
    world.converged();
    if world.machine.is_virtual() {
        world.machine.pass(Duration::from_mins(2));
        // Also while everything is told anew, every tenth time.
        world.is_quiet_for(Duration::from_mins(if seed.is_multiple_of(10) { 31 } else { 5 }));
        assert!(world.wrong().is_empty(), "it does not stay as it should be: {:#?}", world.wrong());
    }
    end(world, &cast);
}

/// Everything is deleted, and goes.
fn end(world: &mut World, cast: &Cast) {
    let names = (0..cast.maps).map(|number| format!("o{number}")).chain(moving()).chain(["settled".to_owned()]);
    for name in names {
        world.delete(CONFIG_MAPS, Some("n"), &name);
    }
    for number in 0..cast.deployments {
        world.delete(DEPLOYMENTS, Some("n"), &format!("d{number}"));
    }
    // It stays in cells for as long as it is here.
    world.delete(NAMESPACES, None, "n");
    world.until("nothing is left anywhere", World::is_empty);
    assert!(world.list(CONFIG_MAPS).is_empty() && world.list(DEPLOYMENTS).is_empty());
    world.stop();
}

thread_local! {
    /// Panics of this thread: those of the server are caught by whoever runs it.
    static PANICS: Cell<u64> = const { Cell::new(0) };
}

/// Has panics counted by the thread that they happen in.
fn count_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.set(PANICS.get() + 1);
            before(panic);
        }));
    });
}

/// Tells a story; how it went, and how long that took. Whoever wants to hear it again is told how.
fn hear(threads: Threads, seed: u64, cells: usize) -> (bool, Duration) {
    let begun = Instant::now();
    let names: Vec<String> = (0..cells).map(|number| format!("c{number:02}")).collect();
    let mut world = World::on(threads, seed, &names);
    PANICS.set(0);
    let told = std::panic::catch_unwind(AssertUnwindSafe(|| tell(&mut world, seed)));
    let well = told.is_ok() && PANICS.get() == 0;
    if !well {
        eprintln!(
            "seed {seed} ends badly with {cells} cells; to tell it again:\n  SIMULATION_FIRST={seed} SIMULATION_SEEDS=1 \
             cargo test --release --workspace --all-features --test all simulation::seeds -- --nocapture\n  {}",
            world.done().join("\n  ")
        );
    }
    (well, begun.elapsed())
}

/// A number that the environment says.
fn said(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// How many cells a story has.
fn cells(seed: u64) -> usize {
    if seed.is_multiple_of(2) { CITIES } else { 3 }
}

/// How turns are taken in a story: the fewer there are until others have theirs, the more can happen in between.
fn threads(seed: u64) -> Threads {
    Threads::Virtual { turns: [1, 3, 11, 61][usize::try_from(seed / 2 % 4).unwrap_or_default()] }
}

/// Stories that seeds tell, as many as `SIMULATION_SEEDS` says, beginning with `SIMULATION_FIRST`.
#[test]
fn whatever_happens_in_the_end_everything_is_where_it_should_be() {
    count_panics();
    let first = said("SIMULATION_FIRST").unwrap_or(1);
    let last = first + said("SIMULATION_SEEDS").unwrap_or(8);
    let (next, begun) = (AtomicU64::new(first), Instant::now());
    let hear_some = || {
        let mut heard = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= last {
                return heard;
            }
            heard.push((seed, hear(threads(seed), seed, cells(seed))));
        }
    };
    let at_once = said("SIMULATION_AT_ONCE").unwrap_or(2);
    let heard: Vec<(u64, (bool, Duration))> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(hear_some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let (slowest, time) = heard.iter().map(|(seed, (_, time))| (*seed, *time)).max_by_key(|(_, time)| *time).unwrap();
    let large = heard.iter().filter(|(seed, _)| cells(*seed) == CITIES).count();
    let mut badly: Vec<u64> = heard.iter().filter(|(_, (well, _))| !well).map(|(seed, _)| *seed).collect();
    badly.sort_unstable();
    println!(
        "{} seeds from {first} on, {large} of them with {CITIES} cells, in {:.0} s; the slowest was {slowest} with {:.1} s; {} ended badly: {badly:?}",
        heard.len(),
        begun.elapsed().as_secs_f64(),
        time.as_secs_f64(),
        badly.len(),
    );
    assert!(badly.is_empty(), "seeds {badly:?} end badly");
}

/// The same with threads that really run at once, where it takes as long as it takes.
#[test]
fn whatever_happens_at_the_same_time_everything_is_where_it_should_be_in_the_end() {
    count_panics();
    let heard = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4).map(|seed| scope.spawn(move || hear(Threads::Real, seed, 3).0)).collect();
        threads.into_iter().all(|thread| thread.join().unwrap())
    });
    assert!(heard);
}
