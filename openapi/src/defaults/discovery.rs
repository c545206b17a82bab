//! Endpoint slices.

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule::on("discovery.v1", "EndpointPort").set("name", "").set("protocol", "TCP")]
}
