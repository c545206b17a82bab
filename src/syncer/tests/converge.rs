//! What holds of every diff, tried on a model of a cell.

use super::*;
use crate::scheduler::rule::Strangers;
use crate::syncer::diff::Actual;
use crate::syncer::diff::Desired;
use crate::syncer::diff::Held;
use crate::syncer::diff::Inventory;
use crate::syncer::diff::Key;
use crate::syncer::diff::Step;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A cell that does what it is told, and numbers everything it does.
#[derive(Clone, Debug, Default)]
struct Model {
    objects: BTreeMap<Key, Value>,
    inventory: Inventory,
    clock: u64,
}

impl Model {
    fn actual(&self) -> Actual {
        Actual { objects: self.objects.clone(), shared: BTreeSet::new() }
    }

    fn step(&mut self, step: Step) {
        self.clock += 1;
        match step {
            Step::Apply { object, held } => self.apply(object, held),
            Step::Note { key, held } => drop(self.inventory.insert(key, held)),
            Step::Delete { key, uid } => {
                assert_eq!(self.objects[&key]["metadata"]["uid"], uid.as_str());
                self.objects.remove(&key);
            }
            Step::Release { key } => {
                let patch = mark::release(&self.objects[&key]);
                apiserver::patch::merge(self.objects.get_mut(&key).unwrap(), &patch);
                self.inventory.remove(&key);
            }
            Step::Forget { key } => drop(self.inventory.remove(&key)),
            Step::Report { .. } => {}
        }
    }

    fn apply(&mut self, object: Value, held: Held) {
        let key = Key::of(&object);
        let uid = match self.objects.get(&key) {
            Some(there) => there["metadata"]["uid"].as_str().unwrap().to_owned(),
            None => format!("c-{}", self.clock),
        };
        let mut made = object;
        made["metadata"]["uid"] = uid.as_str().into();
        made["metadata"]["resourceVersion"] = self.clock.to_string().into();
        self.objects.insert(key.clone(), made);
        self.inventory.insert(key, Held { uid, version: self.clock.to_string(), ..held });
    }
}

/// Names 0 to 4, each wanted by source `uid` with some data, or not at all.
type Wanted = Vec<Option<(u8, u8, bool)>>;

fn desired(wanted: &Wanted) -> Vec<Desired> {
    let one = |(name, wanted): (usize, &Option<(u8, u8, bool)>)| {
        let (uid, data, preserve) = (*wanted)?;
        let uid = format!("u-{name}-{uid}");
        let source = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("n{name}"), "uid": uid},
            "data": {"k": data.to_string()}});
        let object = rendered(&source, &[], &Terms::default()).unwrap().object;
        let retain = BTreeSet::new();
        Some(Desired { object, source_uid: uid, strangers: Strangers::Leave, retain, suspended: false, preserve })
    };
    wanted.iter().enumerate().filter_map(one).collect()
}

fn a_wish() -> impl Strategy<Value = Wanted> {
    prop::collection::vec(prop::option::of((0u8..2, 0u8..3, prop::bool::weighted(0.2))), 5)
}

/// Runs until there is nothing to do but report; how many rounds it took.
fn settle(model: &mut Model, wanted: &[Desired]) -> usize {
    for round in 0..10 {
        let steps = crate::syncer::diff(wanted, &model.inventory, &model.actual(), OWNER);
        if steps.iter().all(|step| matches!(step, Step::Report { .. })) {
            return round;
        }
        steps.into_iter().for_each(|step| model.step(step));
    }
    panic!("it does not settle: {:?}", crate::syncer::diff(wanted, &model.inventory, &model.actual(), OWNER));
}

fn stranger(name: usize) -> (Key, Value) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "theirs"},
        "metadata": {"name": format!("n{name}"), "uid": format!("s-{name}"), "resourceVersion": "1"}});
    (Key::of(&object), object)
}

proptest! {
    #[test]
    fn a_cell_converges_and_then_nothing_is_done(wishes in prop::collection::vec(a_wish(), 1..5)) {
        let mut model = Model::default();
        for wish in &wishes {
            let wanted = desired(wish);
            // What was preserved for a predecessor is in the way; people have to settle that.
            let rounds = settle(&mut model, &wanted);
            prop_assert!(rounds <= 3, "{rounds}");
            for one in &wanted {
                let key = Key::of(&one.object);
                let ours = mark::belongs(&model.objects[&key], OWNER) == mark::Belongs::Us(one.source_uid.clone());
                prop_assert!(!ours || model.objects[&key]["data"] == one.object["data"]);
                prop_assert!(ours || mark::belongs(&model.objects[&key], OWNER) == mark::Belongs::Stranger);
            }
            prop_assert_eq!(settle(&mut model, &wanted), 0);
        }
    }

    #[test]
    fn strangers_are_never_touched(wishes in prop::collection::vec(a_wish(), 1..5), theirs in prop::collection::btree_set(0usize..5, 0..4)) {
        let mut model = Model::default();
        model.objects.extend(theirs.iter().map(|name| stranger(*name)));
        for wish in &wishes {
            settle(&mut model, &desired(wish));
            for (key, object) in theirs.iter().map(|name| stranger(*name)) {
                prop_assert_eq!(&model.objects[&key], &object);
            }
        }
    }

    #[test]
    fn what_is_deleted_is_what_was_put_there_and_is_not_wanted(before in a_wish(), after in a_wish()) {
        let mut model = Model::default();
        settle(&mut model, &desired(&before));
        let wanted = desired(&after);
        let steps = crate::syncer::diff(&wanted, &model.inventory, &model.actual(), OWNER);
        let deleted: BTreeSet<Key> = steps.iter().filter_map(|step| match step {
            Step::Delete { key, .. } => Some(key.clone()),
            _ => None,
        }).collect();
        let same = |key: &Key| wanted.iter().any(|one| {
            Key::of(&one.object) == *key && one.source_uid == model.inventory[key].source_uid
        });
        let replaced = |key: &Key| wanted.iter().any(|one| Key::of(&one.object) == *key);
        let expect: BTreeSet<Key> = model.inventory.iter()
            .filter(|(key, held)| !same(key) && (replaced(key) || !held.preserve))
            .map(|(key, _)| key.clone()).collect();
        prop_assert_eq!(deleted, expect);
    }
}
