//! What should be where, found out anew from what people asked for; and everything that is not so.

use super::fake::{FakeCell, Place};
use super::people::{CONFIG_MAPS, DEPLOYMENTS};
use super::world::{HUB, World};
use hanse::apis::definitions::{CELLS, COPIES, PLACEMENTS, RULES};
use hanse::syncer::audit::{Evidence, Found, audit, cell_name};
use hanse::syncer::mark;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl World {
    /// Everything that is not as it should be when all is quiet.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let evidence = Evidence {
            copies: self.list(COPIES),
            placements: self.list(PLACEMENTS),
            cells: self.cells.iter().map(|(name, cell)| (cell_name("w", name), Some(marked(cell)))).collect(),
        };
        let mut wrong: Vec<String> = audit(&evidence).iter().map(ToString::to_string).collect();
        wrong.extend(evidence.copies.iter().filter_map(doubt));
        let maps = self.list(CONFIG_MAPS);
        wrong.extend(self.not_everywhere(&maps, &self.list(DEPLOYMENTS)));
        for source in maps.iter().filter(|source| is_moving(source)) {
            let decided = |placement: &&Value| placement["spec"]["source"]["uid"] == source["metadata"]["uid"];
            let decided = evidence.placements.iter().find(decided).map(|placement| &placement["spec"]);
            wrong.extend(self.misplaced(source).map(|misplaced| format!("{misplaced}: {decided:?}")));
        }
        wrong
    }

    /// Cells that hold other ConfigMaps and Deployments than all that go everywhere, and sums that are not those.
    fn not_everywhere(&self, maps: &[Value], deployments: &[Value]) -> Vec<String> {
        let (cells, rules) = (self.list(CELLS), self.list(RULES));
        let rule = |name: &str| rules.iter().find(|rule| rule["metadata"]["name"] == name);
        let added = rule("all").map(|rule| rule["spec"]["overrides"][0]["overriders"]["plaintext"][0]["value"].clone());
        let added = added.unwrap_or_default();
        let of = |sources: &[Value], rule: Option<&Value>, says: &dyn Fn(&Value) -> Value| -> BTreeMap<String, Value> {
            let everywhere = sources.iter().filter(|source| source["metadata"]["labels"]["go"] == "everywhere");
            let everywhere = everywhere.filter(|_| rule.is_some());
            everywhere.map(|source| (name_of(source), says(source))).collect()
        };
        let mut wanted = of(maps, rule("all"), &|map| json!([map["data"]["v"], added]));
        wanted.extend(of(deployments, rule("work"), &|deployment| deployment["spec"]["replicas"].clone()));
        let (mut wrong, mut ready) = (Vec::new(), BTreeMap::<String, i64>::new());
        for (name, cell) in &self.cells {
            let known = cells.iter().find(|cell| cell["metadata"]["name"] == name.as_str());
            let off = known.is_none_or(|cell| !cell["metadata"]["labels"]["off"].is_null());
            let there = cell.look(there);
            let nothing = BTreeMap::new();
            let wanted = if off { &nothing } else { &wanted };
            if there != *wanted {
                wrong.push(format!("{name} holds {there:?} and should hold {wanted:?}"));
            }
            for (name, number) in cell.look(said_ready) {
                *ready.entry(name).or_default() += number;
            }
        }
        let told = |source: &&Value| source["status"]["readyReplicas"].as_i64().unwrap_or_default();
        let is_told = |source: &&Value| told(source) == ready.get(&name_of(source)).copied().unwrap_or_default();
        let untold = deployments.iter().filter(|source| rule("work").is_some() && !is_told(source));
        wrong.extend(untold.map(|source| format!("{} says {} of {ready:?}", name_of(source), source["status"])));
        wrong
    }

    /// Whether an object that goes to one cell is elsewhere, or something else.
    fn misplaced(&self, source: &Value) -> Option<String> {
        let name = name_of(source);
        let holders = self.holders(&name);
        let says = |cell: &FakeCell| {
            cell.look(|objects| {
                objects.iter().any(|(place, object)| place[3] == name && object["data"]["v"] == source["data"]["v"])
            })
        };
        let right = holders.len() == 1 && says(&self.cells[&holders[0]]);
        (!right).then(|| format!("{name} should be in one cell and say {}, and is in {holders:?}", source["data"]["v"]))
    }
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn doubt(copy: &Value) -> Option<String> {
    (copy["status"]["applied"] != "True").then(|| format!("not applied: {copy}"))
}

fn marked(cell: &FakeCell) -> Vec<Found> {
    let ours = |(_, object): &(&Place, &Value)| object["metadata"]["labels"][mark::OWNER] == HUB;
    let found = |(place, object): (&Place, &Value)| Found {
        place: place.clone(),
        uid: object["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
        source: object["metadata"]["annotations"][mark::SOURCE_UID].as_str().unwrap_or_default().to_owned(),
    };
    cell.look(|objects| objects.iter().filter(ours).map(found).collect())
}

/// Whether an object goes to one cell, which it may have to leave.
fn is_moving(object: &Value) -> bool {
    ["directly", "gracefully"].iter().any(|label| object["metadata"]["labels"]["go"] == *label)
}

/// What a cell holds of what goes everywhere, and what that says there.
fn there(objects: &BTreeMap<Place, Value>) -> BTreeMap<String, Value> {
    let ours = objects.iter().filter(|(_, object)| !is_moving(object));
    let ours = ours.filter_map(|(place, object)| match place[1].as_str() {
        "configmaps" => Some((place[3].clone(), json!([object["data"]["v"], object["data"]["w"]]))),
        "deployments" => Some((place[3].clone(), object["spec"]["replicas"].clone())),
        _ => None,
    });
    ours.collect()
}

/// What the deployments of a cell say of themselves.
fn said_ready(objects: &BTreeMap<Place, Value>) -> BTreeMap<String, i64> {
    let said = objects.iter().filter(|(place, _)| place[1] == "deployments");
    said.filter_map(|(place, object)| Some((place[3].clone(), object["status"]["readyReplicas"].as_i64()?))).collect()
}
