//! policy: how many pods may be missing.

use serde_json::Value;

use super::column::{AGE, NAME, integer, text};
use super::look::Look;
use super::subject::Subject;
use super::words::number_or_text;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[Printer {
    kind: "PodDisruptionBudget",
    columns: &[
        NAME,
        text("Min Available", "The minimum number of pods that must be available."),
        text("Max Unavailable", "The maximum number of pods that may be unavailable."),
        integer("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time."),
        AGE,
    ],
    row: budget,
}];

fn budget(it: &Subject<'_>) -> Vec<Value> {
    let bound = |path| it.at(path).map_or_else(|| "N/A".to_owned(), number_or_text);
    row![
        it.name(),
        bound("spec.minAvailable"),
        bound("spec.maxUnavailable"),
        it.number("status.disruptionsAllowed"),
        it.age(),
    ]
}
