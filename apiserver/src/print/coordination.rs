//! coordination.k8s.io: who leads, and who would.

use serde_json::Value;

use super::column::{AGE, NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        kind: "Lease",
        columns: &[NAME, text("Holder", "holderIdentity contains the identity of the holder of a current lease."), AGE],
        row: |it| row![it.name(), it.text("spec.holderIdentity"), it.age()],
    },
    Printer {
        kind: "LeaseCandidate",
        columns: &[
            NAME,
            text("LeaseName", "leaseName is the name of the lease for which this candidate is contending."),
            text("BinaryVersion", ""),
            text("EmulationVersion", ""),
            AGE,
        ],
        row: candidate,
    },
];

fn candidate(it: &Subject<'_>) -> Vec<Value> {
    row![
        it.name(),
        it.text("spec.leaseName"),
        it.text("spec.binaryVersion"),
        it.text("spec.emulationVersion"),
        it.age(),
    ]
}
