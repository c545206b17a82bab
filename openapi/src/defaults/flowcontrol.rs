//! Flow schemas and priority levels.

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("flowcontrol.v1", name);
    vec![
        on("FlowSchemaSpec").set("matchingPrecedence", 1000),
        on("ExemptPriorityLevelConfiguration").set("nominalConcurrencyShares", 0).set("lendablePercent", 0),
        on("LimitedPriorityLevelConfiguration").set("nominalConcurrencyShares", 30).set("lendablePercent", 0),
        on("QueuingConfiguration").set("handSize", 8).set("queues", 64).set("queueLengthLimit", 50),
    ]
}
