//! batch: jobs, and what starts them.

use serde_json::Value;

use super::age::{human_duration, nanos_between};
use super::column::{AGE, CONTAINERS, Column, IMAGES, NAME, boolean, integer, text};
use super::look::Look;
use super::subject::{Subject, instant};
use super::words::{NONE, UNSET, containers, selector};
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] =
    &[Printer { kind: "Job", columns: JOB, row: job }, Printer { kind: "CronJob", columns: CRON_JOB, row: cron_job }];

const SELECTOR: Column = text("Selector", "A label query over pods that should match the pod count.").wide();

const JOB: &[Column] = &[
    NAME,
    text("Status", "Status of the job."),
    text("Completions", "The number of pods which reached phase Succeeded."),
    text("Duration", "Time required to complete the job."),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    SELECTOR,
];

const CRON_JOB: &[Column] = &[
    NAME,
    text("Schedule", "The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron."),
    text("Timezone", "The time zone name for the given schedule"),
    boolean("Suspend", "This flag tells the controller to suspend subsequent executions"),
    integer("Active", "A list of pointers to currently running jobs."),
    text("Last Schedule", "Information when was the last time the job was successfully scheduled."),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    SELECTOR,
];

fn job(it: &Subject<'_>) -> Vec<Value> {
    let (names, images) = containers(it.list("spec.template.spec.containers"));
    row![
        it.name(),
        status(it),
        completions(it),
        duration(it),
        it.age(),
        names,
        images,
        selector(it.at("spec.selector")),
    ]
}

fn status(job: &Value) -> &'static str {
    const ENDED: [&str; 2] = ["Complete", "Failed"];
    const UNDER_WAY: [&str; 3] = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
    if let Some(end) = ENDED.into_iter().find(|kind| job.is_true(kind)) {
        return end;
    }
    if job.is_being_deleted() {
        return "Terminating";
    }
    UNDER_WAY.into_iter().find(|kind| job.is_true(kind)).unwrap_or("Running")
}

fn completions(job: &Value) -> String {
    let done = job.number("status.succeeded");
    match (job.at("spec.completions"), job.number("spec.parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        (None, _) => format!("{done}/1"),
    }
}

fn duration(it: &Subject<'_>) -> String {
    let Some(started) = instant(it.text("status.startTime")) else { return String::new() };
    let ended = instant(it.text("status.completionTime")).unwrap_or(it.now);
    human_duration(nanos_between(started, ended))
}

fn cron_job(it: &Subject<'_>) -> Vec<Value> {
    let job = "spec.jobTemplate.spec";
    let (names, images) = containers(it.list(&format!("{job}.template.spec.containers")));
    let suspended = it.at("spec.suspend").map_or(UNSET, |_| if it.flag("spec.suspend") { "True" } else { "False" });
    let last = if it.has("status.lastScheduleTime") { it.since("status.lastScheduleTime") } else { NONE.to_owned() };
    row![
        it.name(),
        it.text("spec.schedule"),
        it.text_or("spec.timeZone", NONE),
        suspended,
        it.count("status.active"),
        last,
        it.age(),
        names,
        images,
        selector(it.at(&format!("{job}.selector"))),
    ]
}
