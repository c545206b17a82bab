//! In what form an answer is given: for a person, or for a program.

use clap::{Args, ValueEnum};
use serde_json::Value;

/// The flag that says so.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct Form {
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    #[default]
    Table,
    Json,
    Yaml,
}

impl Form {
    pub(super) fn write(self, person: impl FnOnce() -> String, program: impl FnOnce() -> Value) -> String {
        match self.output {
            Output::Table => person(),
            Output::Json => format!("{:#}\n", program()),
            // What is JSON can be said in YAML.
            Output::Yaml => serde_saphyr::to_string(&program()).unwrap_or_default(),
        }
    }
}
