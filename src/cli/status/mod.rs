//! `hanse status`: the cells of a workspace and how far each of them is, on one screen; with `--watch`, kept up to date.

mod live;
mod picture;
mod scene;

use super::answer;
use super::cell::{Error, HubFlags};
use super::columns::width;
use super::output::Form;
use clap::Args;
use scene::Scene;
use std::io;

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// Keep the screen up to date until q is pressed
    #[arg(long, short, conflicts_with = "output")]
    watch: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    hub: HubFlags,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Asking(#[from] Error),
    #[error("--watch needs a terminal; without it, `hanse status` prints the same once")]
    NoTerminal,
    #[error(transparent)]
    Terminal(#[from] io::Error),
}

pub(super) fn run(flags: &Flags) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut scene = Scene::new(&flags.hub)?;
    if flags.watch {
        return live::watch(&runtime, &mut scene);
    }
    let picture = runtime.block_on(scene.look())?;
    Ok(answer(&flags.form.write(|| picture.table(width(&io::stdout())), || picture.report()))?)
}
