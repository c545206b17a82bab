//! The `hanse` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    hanse::cli::main()
}
