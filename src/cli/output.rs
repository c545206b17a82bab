//! In what form an answer is given: for a person, or for a program.

use clap::ValueEnum;
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// For a person
    #[default]
    Table,
    Json,
    Yaml,
}

impl Output {
    pub(super) fn form(self, person: impl FnOnce() -> String, program: impl FnOnce() -> Value) -> String {
        match self {
            Self::Table => person(),
            Self::Json => format!("{:#}\n", program()),
            // What is JSON can be said in YAML.
            Self::Yaml => serde_saphyr::to_string(&program()).unwrap_or_default(),
        }
    }
}
