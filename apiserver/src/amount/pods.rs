//! What a pod as a whole asks for: its containers together, or what it says for all of them.

use super::{Amounts, add, amounts, raise};
use serde_json::Value;

/// The requests, or the limits, of a pod's spec.
#[derive(Debug)]
pub(crate) struct Sums<'a> {
    spec: &'a Value,
    kind: &'static str,
}

impl<'a> Sums<'a> {
    pub(crate) fn requests(spec: &'a Value) -> Self {
        Self { spec, kind: "requests" }
    }

    pub(crate) fn limits(spec: &'a Value) -> Self {
        Self { spec, kind: "limits" }
    }

    fn items(&self, list: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.spec.get(list).and_then(Value::as_array).into_iter().flatten()
    }

    fn of_container(&self, container: &Value) -> Amounts {
        amounts(container.get("resources").and_then(|resources| resources.get(self.kind)))
    }

    /// Containers run at the same time; before them, one after the other, those that only initialise, each beside
    /// the ones before it that stay.
    pub(crate) fn of_containers(&self) -> Amounts {
        let mut sum = Amounts::new();
        for container in self.items("containers") {
            add(&mut sum, &self.of_container(container));
        }
        let (mut staying, mut initial) = (Amounts::new(), Amounts::new());
        for container in self.items("initContainers") {
            let mut own = self.of_container(container);
            if container["restartPolicy"] == "Always" {
                add(&mut sum, &own);
                add(&mut staying, &own);
                own = staying.clone();
            } else {
                add(&mut own, &staying);
            }
            raise(&mut initial, &own);
        }
        raise(&mut sum, &initial);
        sum
    }

    /// All containers together, whenever they run.
    pub(crate) fn in_all(&self) -> Amounts {
        let mut sum = Amounts::new();
        for container in self.items("containers").chain(self.items("initContainers")) {
            add(&mut sum, &self.of_container(container));
        }
        sum
    }

    /// What the pod says for all of its containers.
    pub(crate) fn said(&self) -> Amounts {
        amounts(self.spec.get("resources").and_then(|resources| resources.get(self.kind)))
    }

    /// With what the pod says taking the place of what its containers say.
    pub(crate) fn of_pod(&self, is_said_of_pods: impl Fn(&str) -> bool) -> Amounts {
        let mut sum = self.of_containers();
        sum.extend(self.said().into_iter().filter(|(name, _)| is_said_of_pods(name)));
        sum
    }
}

/// What a pod can ask for as a whole.
pub(crate) fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}
