//! kill -9, again and again on the same directory: what was acknowledged is there, whole, in order.

use crate::child::{self, Speaker};
use crate::dice::{Dice, count};
use crate::load::Job;
use crate::model::Model;
use std::time::Duration;
use storage::Engine;

const WRITERS: usize = 6;
/// Kills per engine; more by `DURABILITY_KILLS`.
const KILLS: u64 = 55;

#[test]
fn the_log_loses_nothing_to_kill() {
    if !child::wrote() {
        kill_again_and_again(Engine::Log, "crash::the_log_loses_nothing_to_kill");
    }
}

#[test]
fn fjall_loses_nothing_to_kill() {
    if !child::wrote() {
        kill_again_and_again(Engine::Fjall, "crash::fjall_loses_nothing_to_kill");
    }
}

#[test]
fn sled_loses_nothing_to_kill() {
    if !child::wrote() {
        kill_again_and_again(Engine::Sled, "crash::sled_loses_nothing_to_kill");
    }
}

fn kill_again_and_again(engine: Engine, test: &str) {
    let mut dice = Dice::thrown(test);
    let kills = count("DURABILITY_KILLS", KILLS);
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut model = Model::new(dice.next(), WRITERS);
    let mut replayed = 0;
    for kill in 0..kills {
        let job = Job { dir: dir.path().join("store"), engine, seed: model.seed, starts: model.next.clone() };
        let outcome = round(&mut dice, &job, test)
            .and_then(|said| model.told(&said))
            .and_then(|_| runtime.block_on(model.verify(&job)))
            .and_then(|checked| no_side_files(&job).map(|()| checked));
        match outcome {
            Ok(checked) => replayed += checked.replayed,
            Err(what) => panic!("{test}: after kill {kill}: {what}"),
        }
    }
    let acknowledged = model.acknowledged();
    println!("{test}: {kills} kills, {acknowledged} acknowledged commits checked, {replayed} changes replayed");
    assert!(acknowledged > kills as usize, "hardly anything was written");
}

/// Starts the writers and kills them at some moment: while opening, or after some commits and a little.
fn round(dice: &mut Dice, job: &Job, test: &str) -> Result<Vec<String>, String> {
    let mut command = child::command(test, "load");
    command.envs(job.to_env());
    let mut speaker = Speaker::start(command);
    if dice.below(8) == 0 {
        speaker.listen(1, |line| line == "opening")?;
    } else {
        speaker.listen(1 + dice.below(250), |line| line.starts_with("ack "))?;
    }
    speaker.listen_for(Duration::from_micros(dice.below(20_000)));
    Ok(speaker.kill())
}

/// sled never syncs the files beside its log, so nothing of ours may be in them.
fn no_side_files(job: &Job) -> Result<(), String> {
    let Ok(mut blobs) = std::fs::read_dir(job.dir.join("sled/blobs")) else { return Ok(()) };
    blobs.next().map_or(Ok(()), |blob| Err(format!("sled put a value beside its log: {blob:?}")))
}
