//! Events, which two groups serve under different field names.

use serde_json::Value;

use crate::print::column::{Column, NAME, text};
use crate::print::look::Look;
use crate::print::subject::{Subject, instant};
use crate::print::words::or;
use crate::print::{Printer, row};

pub(super) const CORE: Printer = Printer { kind: "Event", columns: COLUMNS, row: |it| event(it, &CORE_FIELDS) };

pub(in crate::print) const EVENTS: &[Printer] =
    &[Printer { kind: "Event", columns: COLUMNS, row: |it| event(it, &GROUP_FIELDS) }];

const COLUMNS: &[Column] = &[
    text("Last Seen", "The time at which the most recent occurrence of this event was recorded."),
    text("Type", "Type of this event (Normal, Warning), new types could be added in the future"),
    text("Reason", "This should be a short, machine understandable string that gives the reason"),
    text("Object", "The object that this event is about."),
    text("Subobject", "If referring to a piece of an object instead of an entire object").wide(),
    text("Source", "The component reporting this event.").wide(),
    text("Message", "A human-readable description of the status of this operation."),
    text("First Seen", "The time at which the event was first recorded.").wide(),
    text("Count", "The number of times this event has occurred.").wide(),
    NAME.wide(),
];

struct Fields {
    about: &'static str,
    message: &'static str,
    source: &'static str,
    reporter: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
}

const CORE_FIELDS: Fields = Fields {
    about: "involvedObject",
    message: "message",
    source: "source",
    reporter: "reportingComponent",
    first: "firstTimestamp",
    last: "lastTimestamp",
    count: "count",
};

const GROUP_FIELDS: Fields = Fields {
    about: "regarding",
    message: "note",
    source: "deprecatedSource",
    reporter: "reportingController",
    first: "deprecatedFirstTimestamp",
    last: "deprecatedLastTimestamp",
    count: "deprecatedCount",
};

fn event(it: &Subject<'_>, fields: &Fields) -> Vec<Value> {
    let known = |path: &str| instant(it.text(path)).is_some();
    let first = it.since(if known(fields.first) { fields.first } else { "eventTime" });
    let (last, count) = match (it.at("series"), it.number(fields.count)) {
        (Some(series), _) => (it.since("series.lastObservedTime"), series.number("count")),
        (None, count) => {
            let last = if known(fields.last) { it.since(fields.last) } else { first.clone() };
            // One that happened once is not counted.
            (last, if count == 0 { 1 } else { count })
        }
    };
    let nothing = Value::Null;
    let about = it.at(fields.about).unwrap_or(&nothing);
    row![
        last,
        it.text("type"),
        it.text("reason"),
        target(about),
        about.text("fieldPath"),
        source(it, fields),
        it.text(fields.message).trim(),
        first,
        count,
        it.name(),
    ]
}

fn target(about: &Value) -> String {
    let kind = about.text("kind").to_lowercase();
    match about.text("name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value, fields: &Fields) -> String {
    let nothing = Value::Null;
    let source = event.at(fields.source).unwrap_or(&nothing);
    let component = or(source.text("component"), event.text(fields.reporter));
    match or(source.text("host"), event.text("reportingInstance")) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}
