//! Requests for devices.

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    ["ExactDeviceRequest", "DeviceSubRequest"].map(how_many).into()
}

/// One device, if nothing else is said.
fn how_many(name: &str) -> Rule {
    Rule::on("resource.v1", name)
        .set("allocationMode", "ExactCount")
        .given("allocationMode", "ExactCount", |request| request.set("count", 1))
}
