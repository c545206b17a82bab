//! API services.

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule::on("apiregistration.v1", "ServiceReference").set("port", 443)]
}
