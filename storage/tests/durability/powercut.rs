//! Loss of power: what the disk has received stays, what the system only meant to write is gone.
//!
//! The store lives on an ext4 image behind a loop device. At some moment its writers are stopped and the image file is
//! copied as it is: that is what the disk has received. The copy is mounted, which replays the file system's journal,
//! and must hold everything that was acknowledged before the stop.
//!
//! Where images cannot be mounted, these tests say `skipped` and why. Rounds per engine: `DURABILITY_POWER_CUTS`.

use crate::child::{self, Speaker};
use crate::dice::{Dice, count};
use crate::load::Job;
use crate::model::Model;
use crate::mounts::{self, Mount, on_images};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use storage::Engine;

const WRITERS: usize = 6;
const POWER_CUTS: u64 = 6;
const IMAGE_MEGABYTES: u64 = 2048;

#[test]
fn the_log_loses_nothing_to_a_power_cut() {
    cut_again_and_again(Engine::Log, "powercut::the_log_loses_nothing_to_a_power_cut");
}

#[test]
fn fjall_loses_nothing_to_a_power_cut() {
    cut_again_and_again(Engine::Fjall, "powercut::fjall_loses_nothing_to_a_power_cut");
}

#[test]
fn sled_loses_nothing_to_a_power_cut() {
    cut_again_and_again(Engine::Sled, "powercut::sled_loses_nothing_to_a_power_cut");
}

fn cut_again_and_again(engine: Engine, test: &str) {
    if !child::wrote() {
        on_images(test, || cut(engine, test));
    }
}

fn cut(engine: Engine, test: &str) {
    let mut dice = Dice::thrown(test);
    let cuts = count("DURABILITY_POWER_CUTS", POWER_CUTS);
    let mut failures = Vec::new();
    let mut acknowledged = 0;
    let mut power = Power::new(engine, test, &mut dice);
    for cut in 0..cuts {
        if let Err(what) = power.cut(&mut dice) {
            println!("{test}: cut {cut}: {what}");
            failures.push(what);
            acknowledged += power.model.acknowledged();
            power = Power::new(engine, test, &mut dice);
        }
    }
    acknowledged += power.model.acknowledged();
    println!("{test}: {cuts} power cuts, {acknowledged} acknowledged commits checked, {} failures", failures.len());
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A store on an image, and what it must hold.
struct Power<'a> {
    engine: Engine,
    test: &'a str,
    dir: tempfile::TempDir,
    image: PathBuf,
    model: Model,
}

impl<'a> Power<'a> {
    fn new(engine: Engine, test: &'a str, dice: &mut Dice) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        mounts::format(&image, IMAGE_MEGABYTES).unwrap();
        Self { engine, test, dir, image, model: Model::new(dice.next(), WRITERS) }
    }

    /// One life of the machine, its end, and what is found afterwards. The next life begins with that.
    fn cut(&mut self, dice: &mut Dice) -> Result<(), String> {
        let survived = self.dir.path().join("survived");
        let mount = Mount::image(&self.image, &self.dir.path().join("mounted"))?;
        let job = self.job(&mount);
        let mut command = child::command(self.test, "load");
        command.envs(job.to_env());
        let mut speaker = Speaker::start(command);
        speaker.listen(1 + dice.below(300), |line| line.starts_with("ack "))?;
        speaker.listen_for(Duration::from_micros(dice.below(20_000)));
        stop(&speaker)?;
        copy_at_rest(&mount, &self.image, &survived)?;
        let said = speaker.kill();
        drop(mount);
        fs::rename(&survived, &self.image).unwrap();
        self.model.told(&said)?;
        let mount = Mount::image(&self.image, &self.dir.path().join("mounted"))?;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let job = self.job(&mount);
        runtime.block_on(self.model.verify(&job)).map(drop)
    }

    fn job(&self, mount: &Mount) -> Job {
        let dir = mount.at.join("store");
        Job { dir, engine: self.engine, seed: self.model.seed, starts: self.model.next.clone() }
    }
}

/// Returns when every thread of the process stands still.
fn stop(speaker: &Speaker) -> Result<(), String> {
    let process = Pid::from_raw(speaker.id()).unwrap();
    kill_process(process, Signal::STOP).map_err(|error| error.to_string())?;
    match waitpid(Some(process), WaitOptions::UNTRACED) {
        Ok(Some((_, status))) if status.stopped() => Ok(()),
        other => Err(format!("the child did not stop: {other:?}")),
    }
}

/// Copies the image as it is at one moment: again, if the system wrote to it meanwhile.
fn copy_at_rest(mount: &Mount, image: &Path, to: &Path) -> Result<(), String> {
    let device = mount.device();
    for _ in 0..100 {
        let before = writes_to(device);
        mounts::tool("cp", ["--sparse=always", &image.to_string_lossy(), &to.to_string_lossy()])?;
        if before.is_some() && before == writes_to(device) {
            return Ok(());
        }
    }
    Err(format!("{device} was never at rest"))
}

/// How much was ever written to a block device; `None` while something is under way.
fn writes_to(device: &str) -> Option<Vec<u64>> {
    let stat = fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap();
    let numbers: Vec<u64> = stat.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let in_flight = numbers[8];
    let changes: Vec<u64> = [4, 6, 11, 13, 15].iter().filter_map(|at| numbers.get(*at).copied()).collect();
    (in_flight == 0).then_some(changes)
}
