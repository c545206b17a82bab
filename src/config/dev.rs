//! The flags of `hanse dev`: those of a server, and how large the demonstration is.

use super::ServeFlags;
use clap::{Arg, Args};

/// Where the data is, if nobody says.
const DATA_DIR: &str = "hanse-data";

#[derive(Args, Clone, Debug)]
#[command(mut_arg("data_dir", |arg| arg.required(false).default_value(DATA_DIR)), mut_args(told_elsewhere))]
pub struct DevFlags {
    /// How many cells to create
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    pub cells: usize,
    /// How many projects to create, each with a Deployment that is placed in one of the cells
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub projects: usize,
    #[command(flatten)]
    pub serve: ServeFlags,
}

/// Flags that have a heading are for those who operate a server: `hanse serve --help` tells of them.
fn told_elsewhere(arg: Arg) -> Arg {
    let is_special = arg.get_help_heading().is_some();
    arg.hide_short_help(is_special).hide_long_help(is_special)
}
