//! What shells and `man` are told of the commands.

use super::{Cli, answer};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io;

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// For which shell
    shell: Shell,
}

/// Lets a shell complete what is typed.
pub(super) fn completion(flags: &Flags) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "hanse", &mut script);
    answer(&String::from_utf8_lossy(&script))
}

/// The page that `man -l -` shows, with a section for each command.
pub(super) fn man() -> io::Result<()> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let sub = Man::new(sub.clone());
        sub.render_synopsis_section(&mut page)?;
        sub.render_description_section(&mut page)?;
        sub.render_options_section(&mut page)?;
    }
    answer(&String::from_utf8_lossy(&page))
}
