//! `hanse status`: the cells of a workspace and how far each of them is, on one screen; with `--watch`, kept up to date.

mod live;
mod picture;

use super::answer;
use super::cell::{Error, HubFlags, hub};
use super::output::Output;
use crate::fleet::api::CellApi;
use clap::Args;
use picture::Picture;
use std::sync::Arc;

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// Keep it on the screen, up to date, until q is pressed
    #[arg(long, short)]
    watch: bool,
    #[arg(long, short, value_enum, default_value_t, conflicts_with = "watch")]
    output: Output,
    #[command(flatten)]
    hub: HubFlags,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Asking(#[from] Error),
    #[error("--watch draws on a terminal, and this is none")]
    NoTerminal,
    #[error(transparent)]
    Terminal(#[from] std::io::Error),
}

pub(super) fn run(flags: &Flags) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let hub = hub::connect(&flags.hub)?;
    if flags.watch {
        return live::watch(&runtime, &hub);
    }
    let picture = runtime.block_on(look(&hub))?;
    let text = flags.output.form(|| picture.table(), || picture.report());
    Ok(answer(&text)?)
}

async fn look(hub: &Arc<dyn CellApi>) -> Result<Picture, Error> {
    let (cells, placements, copies) = (hub::cells(), hub::placements(), hub::copies());
    let all = tokio::try_join!(hub.list(&cells, ""), hub.list(&placements, ""), hub.list(&copies, ""));
    let (cells, placements, copies) = all.map_err(Error::Hub)?;
    Ok(Picture::of(&cells.items, &placements.items, &copies.items))
}
