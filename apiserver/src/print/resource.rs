//! resource.k8s.io: devices, and claims to them.

use serde_json::Value;

use super::column::{AGE, Column, NAME, integer, text};
use super::look::Look;
use super::subject::Subject;
use super::words::NONE;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer { kind: "DeviceClass", columns: &[NAME, AGE], row: |it| row![it.name(), it.age()] },
    Printer { kind: "ResourceClaimTemplate", columns: &[NAME, AGE], row: |it| row![it.name(), it.age()] },
    Printer {
        kind: "ResourceClaim",
        columns: &[NAME, text("State", "A summary of the current state (allocated, pending, reserved, etc.)."), AGE],
        row: |it| row![it.name(), claim_state(it), it.age()],
    },
    Printer { kind: "ResourceSlice", columns: SLICE, row: slice },
    Printer { kind: "DeviceTaintRule", columns: TAINT_RULE, row: taint_rule },
    Printer { kind: "ResourcePoolStatusRequest", columns: POOL_STATUS, row: pool_status },
];

const SLICE: &[Column] = &[
    NAME,
    text("Node", "NodeName identifies the node which provides the resources in this pool."),
    text("Driver", "Driver identifies the DRA driver providing the capacity information."),
    text("Pool", "Name is used to identify the pool."),
    AGE,
];

const TAINT_RULE: &[Column] = &[
    NAME,
    text("Key", "The taint key to be applied to a device."),
    text("Value", "The taint value corresponding to the taint key."),
    text("Effect", "The effect of the taint on claims that do not tolerate the taint"),
    text("TimeAdded", "TimeAdded represents the time at which the taint was added"),
    AGE,
];

const POOL_STATUS: &[Column] = &[
    NAME,
    text("Driver", "The driver to query pools for."),
    text("Total", "Total number of devices across all pools."),
    text("Available", "Number of available devices across all pools."),
    text("Allocated", "Number of allocated devices across all pools."),
    text("Unavailable", "Number of unavailable devices across all pools."),
    text("Errors", "Number of pools with validation errors."),
    integer("Pools", "Total number of matching pools."),
    text("Status", "Processing status."),
    text("Completed", "Time since the observation completed."),
];

fn claim_state(claim: &Value) -> &'static str {
    let is_reserved = !claim.list("status.reservedFor").is_empty();
    match (claim.is_being_deleted(), claim.has("status.allocation"), is_reserved) {
        (false, false, _) => "pending",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
        (true, false, _) => "deleted",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
    }
}

fn slice(it: &Subject<'_>) -> Vec<Value> {
    row![it.name(), it.text("spec.nodeName"), it.text("spec.driver"), it.text("spec.pool.name"), it.age()]
}

fn taint_rule(it: &Subject<'_>) -> Vec<Value> {
    let added = if it.has("spec.taint.timeAdded") { it.since("spec.taint.timeAdded") } else { String::new() };
    row![
        it.name(),
        it.text("spec.taint.key"),
        it.text("spec.taint.value"),
        it.text("spec.taint.effect"),
        added,
        it.age(),
    ]
}

fn pool_status(it: &Subject<'_>) -> Vec<Value> {
    let ends = |condition: &&Value| {
        condition.text("status") == "True" && matches!(condition.text("type"), "Complete" | "Failed")
    };
    let end = it.list("status.conditions").iter().find(ends);
    let (state, is_complete) = match end.map(|end| end.text("type")) {
        Some("Complete") => ("Complete", true),
        Some(_) => ("Failed", false),
        None => ("Pending", false),
    };
    let (pools, told) = (it.number("status.poolCount"), it.count("status.pools"));
    let status =
        if is_complete && pools > told { format!("Complete ({told}/{pools} pools)") } else { state.to_owned() };
    let completed = end.filter(|_| is_complete).map(|end| it.passed(end.text("lastTransitionTime")));
    let known = it.has("status") && state != "Failed";
    let sum = |count: fn(&Value) -> i64| match known {
        true => it.list("status.pools").iter().map(count).fold(0, i64::saturating_add).to_string(),
        false => "-".to_owned(),
    };
    row![
        it.name(),
        it.text("spec.driver"),
        sum(|pool| pool.number("totalDevices")),
        sum(|pool| pool.number("availableDevices")),
        sum(|pool| pool.number("allocatedDevices")),
        sum(|pool| pool.number("unavailableDevices")),
        sum(|pool| i64::from(pool.has("validationError"))),
        pools,
        status,
        completed.unwrap_or_else(|| NONE.to_owned()),
    ]
}
