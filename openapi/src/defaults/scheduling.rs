//! Priority classes.

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule::on("scheduling.v1", "PriorityClass").set("preemptionPolicy", "PreemptLowerPriority")]
}
