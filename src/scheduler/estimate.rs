//! How many replicas a cell has room for, as far as it has said.

use super::cell::Capacity;
use super::cell::Cell;
use super::cell::NodeModel;
use std::collections::BTreeMap;

/// What one replica needs, in the units of [`Capacity`].
pub type Request = BTreeMap<String, i64>;

/// What Kubernetes recommends as the most pods of one node; a model node takes no more.
const PODS_PER_NODE_MAX: i64 = 110;

/// A cell that has said nothing has room for nothing.
pub(super) fn room(cell: &Cell, request: &Request) -> i64 {
    let Some(capacity) = &cell.capacity else { return 0 };
    let fitting = by_models(capacity, request).unwrap_or_else(|| fits(&capacity.resources, request));
    fitting.min(capacity.pods).max(0)
}

/// As many as there are if nothing is asked for.
fn fits(free: &BTreeMap<String, i64>, request: &Request) -> i64 {
    let asked = request.iter().filter(|(_, amount)| **amount > 0);
    asked.map(|(name, amount)| free.get(name).copied().unwrap_or(0) / amount).min().unwrap_or(i64::MAX)
}

/// `None` if there are no models, or if they do not speak of what is asked for.
fn by_models(capacity: &Capacity, request: &Request) -> Option<i64> {
    let asked = request.iter().any(|(_, amount)| *amount > 0);
    let knows = |name: &String| capacity.models.iter().any(|model| model.least.contains_key(name));
    if capacity.models.is_empty() || !asked || !request.keys().all(knows) {
        return None;
    }
    let in_model = |model: &NodeModel| model.count.max(0) * fits(&model.least, request).clamp(0, PODS_PER_NODE_MAX);
    Some(capacity.models.iter().map(in_model).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(amounts: &[(&str, i64)]) -> BTreeMap<String, i64> {
        amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
    }

    #[track_caller]
    fn check(pods: i64, free: &[(&str, i64)], models: &[(i64, &[(&str, i64)])], request: &[(&str, i64)], expect: i64) {
        let models = models.iter().map(|(count, least)| NodeModel { count: *count, least: amounts(least) }).collect();
        let capacity = Some(Capacity { pods, resources: amounts(free), models });
        assert_eq!(room(&Cell { capacity, ..Cell::default() }, &amounts(request)), expect);
    }

    #[test]
    fn the_scarcest_resource_decides() {
        check(110, &[("cpu", 4000), ("memory", 1000)], &[], &[("cpu", 500), ("memory", 200)], 5);
        check(3, &[("cpu", 4000)], &[], &[("cpu", 500)], 3);
        check(9, &[("cpu", 4000)], &[], &[], 9);
        check(9, &[("cpu", 4000)], &[], &[("gpu", 1)], 0);
        check(-1, &[], &[], &[], 0);
        assert_eq!(room(&Cell::default(), &Request::new()), 0);
    }

    #[test]
    fn small_nodes_do_not_hold_a_large_pod_together() {
        check(500, &[("cpu", 8000)], &[(4, &[("cpu", 2000)])], &[("cpu", 3000)], 0);
        check(500, &[("cpu", 8000)], &[(4, &[("cpu", 2000)]), (1, &[("cpu", 4000)])], &[("cpu", 1000)], 12);
        check(500, &[("cpu", 8000)], &[(4, &[("cpu", 2000)])], &[("gpu", 1)], 0);
    }
}
