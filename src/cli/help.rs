//! What shells and `man` are told of the commands.

use super::{Cli, answer};
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::{self, Write};

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// The shell to complete for
    shell: Shell,
}

/// Lets a shell complete what is typed.
pub(super) fn completion(flags: &Flags) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "hanse", &mut script);
    answer(&String::from_utf8_lossy(&script))
}

/// What the page says besides what the commands say of themselves.
const BESIDES: &str = r#".SH EXIT STATUS
0 if the command succeeded, 1 if it failed (one line on standard error says why), 2 if it was used wrongly.
.SH ENVIRONMENT
.TP
\fBKUBECONFIG\fR
The kubeconfig files of the server to talk to, separated by colons; ~/.kube/config if it is not set.
.TP
\fBHANSE_LOG\fR
What a server logs to standard error, such as \fIwarn\fR or \fIhanse=debug,storage=debug\fR.
.TP
\fBNO_COLOR\fR
If it is set, output to a terminal is not coloured.
"#;

/// The page that `man -l -` shows, with a section for each command.
pub(super) fn man() -> io::Result<()> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    let whole = Man::new(command.clone());
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    whole.render_description_section(&mut page)?;
    describe(&command, &mut page)?;
    page.extend_from_slice(BESIDES.as_bytes());
    whole.render_version_section(&mut page)?;
    answer(&String::from_utf8_lossy(&page))
}

/// What every section of a command would begin with.
const OWN_HEADINGS: [&str; 3] = ["SYNOPSIS", "DESCRIPTION", "OPTIONS"];

/// A section for each command that does something by itself.
fn describe(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        if below.has_subcommands() {
            describe(below, page)?;
            continue;
        }
        let name = below.get_bin_name().unwrap_or(below.get_name());
        writeln!(page, ".SH {}", name.to_uppercase())?;
        let man = Man::new(below.clone());
        page.extend(body(|part| man.render_synopsis_section(part))?);
        writeln!(page, ".PP")?;
        page.extend(body(|part| man.render_description_section(part))?);
        page.extend(body(|part| man.render_options_section(part))?);
    }
    Ok(())
}

/// A section without its heading. Headings of groups of flags are below that of their command.
fn body(render: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut part = Vec::new();
    render(&mut part)?;
    let text = String::from_utf8_lossy(&part);
    let lines = text.lines().filter(|line| !OWN_HEADINGS.iter().any(|own| line.strip_prefix(".SH ") == Some(own)));
    let below =
        lines.map(|line| line.strip_prefix(".SH ").map_or_else(|| line.to_owned(), |name| format!(".SS {name}")));
    Ok(below.map(|line| line + "\n").collect::<String>().into_bytes())
}
