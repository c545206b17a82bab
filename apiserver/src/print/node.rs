//! node.k8s.io: what runs containers.

use super::column::{AGE, NAME, text};
use super::look::Look;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[Printer {
    kind: "RuntimeClass",
    columns: &[NAME, text("Handler", ""), AGE],
    row: |it| row![it.name(), it.text("handler"), it.age()],
}];
