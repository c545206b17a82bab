//! `hanse cell leave`: everything is taken back from a cell before it is forgotten; or left there, if that is wished.

use super::everywhere::{Everywhere, Found};
use super::hub;
use super::{Error, HubFlags};
use crate::cli::{answer, progress};
use crate::fleet::LOST;
use crate::fleet::api::CellApi;
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

const ASK_AGAIN: Duration = Duration::from_millis(200);

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// The name of the cell
    name: String,
    /// Forget the cell at once and leave the objects in it: for a cluster that will not come back
    #[arg(long)]
    force: bool,
    /// How long to wait until everything is removed
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    #[command(flatten)]
    hub: HubFlags,
}

pub(super) async fn run(flags: &Flags) -> Result<(), Error> {
    let hub = hub::connect(&flags.hub)?;
    let place = hub::cell(&flags.name);
    let Some(cell) = hub.get(&place).await.map_err(Error::Hub)? else {
        return Err(Error::Unknown(flags.name.clone()));
    };
    let mut left_behind = 0;
    if flags.force {
        left_behind = recorded(flags, &cell).await?;
        let patch = json!({ "metadata": { "annotations": { LOST: "true" } } });
        hub.merge(&place, &patch).await.map_err(Error::Hub)?;
    }
    let uid = cell["metadata"]["uid"].as_str().unwrap_or_default();
    match hub.delete(&place, uid).await {
        // It left, and another has its name.
        Err(error) if error.code() != Some(409) => return Err(Error::Hub(error)),
        _ => {}
    }
    let waiting = progress::spinner(&format!("removing everything from cell {}", flags.name));
    let gone = tokio::time::timeout(Duration::from_secs(flags.wait), until_gone(&*hub, flags, uid)).await;
    waiting.finish_and_clear();
    let last = match gone {
        Ok(gone) => gone.map(|()| None)?,
        Err(_) => hub.get(&place).await.map_err(Error::Hub)?,
    };
    match last {
        Some(cell) => Err(still_there(flags, &cell).await?),
        None if left_behind > 0 => {
            Ok(answer(&format!("cell {} removed; {left_behind} objects were left in it\n", flags.name))?)
        }
        None => Ok(answer(&format!("cell {} removed\n", flags.name))?),
    }
}

async fn until_gone(hub: &dyn CellApi, flags: &Flags, uid: &str) -> Result<(), Error> {
    loop {
        match hub.get(&hub::cell(&flags.name)).await.map_err(Error::Hub)? {
            Some(cell) if cell["metadata"]["uid"] == uid => tokio::time::sleep(ASK_AGAIN).await,
            _ => return Ok(()),
        }
    }
}

/// How many objects are recorded in the cell, from whatever workspace they come.
async fn recorded(flags: &Flags, cell: &Value) -> Result<usize, Error> {
    let everywhere = Everywhere::find(&hub::kubeconfig(&flags.hub)?).await?;
    let uid = |found: &Found| found.object["metadata"]["uid"] == cell["metadata"]["uid"];
    let home = everywhere.list(&hub::cells()).await?.into_iter().find(uid);
    let Some(home) = home else { return Ok(0) };
    Ok(hub::number_in(&everywhere.list(&hub::copies()).await?, &home.place.id, &flags.name))
}

async fn still_there(flags: &Flags, cell: &Value) -> Result<Error, Error> {
    let left = recorded(flags, cell).await?;
    let why = if hub::is_ready(cell) { String::new() } else { format!(" ({})", hub::why_not(cell)) };
    Ok(Error::Leaving { name: flags.name.clone(), left, why })
}
