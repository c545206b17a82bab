//! Which workspaces cost most. So many are counted, whatever the number of workspaces: one that is not takes the place of
//! the one that cost least, and inherits what that is said to have cost. So none is told to have cost less than it did,
//! and whoever costs more than the last of those that are counted is among them (Metwally, Agrawal and El Abbadi's
//! "space saving").

use crate::place::Workspace;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;

/// Workspaces that are counted.
const COUNTED_MAX: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct Costs {
    /// Nothing else is locked while this is held.
    counted: Mutex<HashMap<Workspace, Cost>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    requests: u64,
    micros: u64,
    /// How much of it may have been others'.
    inherited: u64,
}

impl Costs {
    /// Takes in how long a request was answered for.
    pub(crate) fn note(&self, workspace: &Workspace, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut counted = self.counted.lock();
        if !counted.contains_key(workspace) {
            let inherited = if counted.len() < COUNTED_MAX { 0 } else { take_cheapest(&mut counted) };
            counted.insert(workspace.clone(), Cost { requests: 0, micros: inherited, inherited });
        }
        if let Some(cost) = counted.get_mut(workspace) {
            cost.requests += 1;
            cost.micros = cost.micros.saturating_add(micros);
        }
    }

    /// All that are counted, the most expensive first. `path`: where a workspace is.
    pub(crate) fn told(&self, path: impl Fn(&Workspace) -> Option<String>) -> Value {
        let mut all: Vec<(Workspace, Cost)> =
            self.counted.lock().iter().map(|(workspace, cost)| (workspace.clone(), *cost)).collect();
        all.sort_by(|(a, cost_of_a), (b, cost_of_b)| cost_of_b.micros.cmp(&cost_of_a.micros).then_with(|| a.cmp(b)));
        let seconds = |micros: u64| Duration::from_micros(micros).as_secs_f64();
        let one = |(workspace, cost): &(Workspace, Cost)| {
            json!({
                "cluster": workspace.as_str(), "path": path(workspace), "requests": cost.requests,
                "seconds": seconds(cost.micros), "secondsOfOthersAtMost": seconds(cost.inherited),
            })
        };
        json!({ "workspaces": all.iter().map(one).collect::<Vec<_>>() })
    }
}

fn take_cheapest(counted: &mut HashMap<Workspace, Cost>) -> u64 {
    let cheapest = counted.iter().min_by_key(|(_, cost)| cost.micros).map(|(workspace, _)| workspace.clone());
    let taken = cheapest.and_then(|workspace| counted.remove(&workspace));
    taken.map(|cost| cost.micros).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_expensive_are_found_among_any_number() {
        let costs = Costs::default();
        let note = |id: &str, micros: u64| costs.note(&Workspace::new(id), Duration::from_micros(micros));
        for number in 0..10_000 {
            note(&format!("small{number}"), 1);
            if number % 10 == 0 {
                note("big", 500);
            }
            note("bigger", 100);
        }
        let told = costs.told(|workspace| Some(format!("root:{workspace}")));
        let all = told["workspaces"].as_array().unwrap();
        assert_eq!(all.len(), COUNTED_MAX);
        assert_eq!((&all[0]["cluster"], &all[0]["requests"]), (&json!("bigger"), &json!(10_000)));
        assert_eq!((&all[1]["path"], &all[1]["seconds"]), (&json!("root:big"), &json!(0.5)));
        assert!(all[0]["seconds"].as_f64().unwrap() >= 1.0);
    }
}
