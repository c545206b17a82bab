//! What others serve, put among what is served here: in the order that their priorities ask for.

use crate::backends::{Backend, Backends};
use crate::catalog::group_priority;
use crate::relay::Known;
use serde_json::{Value, json};
use std::sync::Arc;

/// The priority of a version that a definition brings: Kubernetes' own. Those that are built in are not sorted anew.
const LOCAL_VERSION: i64 = 100;

/// Backends that serve versions of one group, the preferred version first.
struct Group<'a> {
    name: &'a str,
    priority: i64,
    backends: Vec<&'a Arc<Backend>>,
}

fn grouped(backends: &Backends) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for backend in backends.iter() {
        let at = groups.iter().position(|group| group.name == backend.group).unwrap_or_else(|| {
            groups.push(Group { name: &backend.group, priority: 0, backends: Vec::new() });
            groups.len() - 1
        });
        groups[at].priority = groups[at].priority.max(backend.group_priority);
        groups[at].backends.push(backend);
    }
    for group in &mut groups {
        let order = |a: &&Arc<Backend>, b: &&Arc<Backend>| {
            let by_priority = b.version_priority.cmp(&a.version_priority);
            by_priority.then_with(|| crate::catalog::version_order(&a.version, &b.version))
        };
        group.backends.sort_by(order);
    }
    groups.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.name.cmp(b.name)));
    groups
}

/// How a list of groups names them, and what it says of a version.
struct Form<'a> {
    name: fn(&Value) -> &str,
    version: &'a dyn Fn(&Backend) -> Value,
    group: fn(&str, Vec<Value>) -> Value,
}

/// The groups of a workspace in aggregated discovery.
pub(crate) fn aggregated(
    mut list: Value,
    backends: &Backends,
    known: &dyn Fn(&Backend) -> Option<Arc<Known>>,
) -> Value {
    let version = |backend: &Backend| {
        let found = known(backend);
        let freshness = if backend.available && found.is_some() { "Current" } else { "Stale" };
        let resources = found.map(|found| found.resources.clone()).unwrap_or_default();
        json!({ "version": backend.version, "resources": resources, "freshness": freshness })
    };
    let form = Form {
        name: |group| group["metadata"]["name"].as_str().unwrap_or_default(),
        version: &version,
        group: |name, versions| json!({ "metadata": { "name": name, "creationTimestamp": null }, "versions": versions }),
    };
    put(list["items"].as_array_mut(), backends, &form);
    list
}

/// The same as it was at first.
pub(crate) fn legacy(mut list: Value, backends: &Backends) -> Value {
    let form = Form {
        name: |group| group["name"].as_str().unwrap_or_default(),
        version: &|backend| {
            let both = format!("{}/{}", backend.group, backend.version);
            json!({ "groupVersion": both, "version": backend.version })
        },
        group: |name, versions| json!({ "name": name, "versions": versions }),
    };
    put(list["groups"].as_array_mut(), backends, &form);
    for group in list["groups"].as_array_mut().into_iter().flatten() {
        if group["preferredVersion"].is_null() {
            group["preferredVersion"] = group["versions"][0].clone();
        }
    }
    list
}

fn put(groups: Option<&mut Vec<Value>>, backends: &Backends, form: &Form<'_>) {
    let Some(groups) = groups else { return };
    for Group { name, priority, backends } in grouped(backends) {
        match groups.iter_mut().find(|group| (form.name)(group) == name) {
            Some(group) => join(group, &backends, form.version),
            None => {
                let versions = backends.iter().map(|backend| (form.version)(backend)).collect();
                let before = |group: &Value| {
                    let (other, own) = ((form.name)(group), group_priority((form.name)(group)));
                    own < priority || own == priority && other > name
                };
                let at = groups.iter().position(before).unwrap_or(groups.len());
                groups.insert(at, (form.group)(name, versions));
            }
        }
    }
}

/// Versions that others serve of a group that is served here as well. What they serve is not served here.
fn join(group: &mut Value, backends: &[&Arc<Backend>], version: &dyn Fn(&Backend) -> Value) {
    let Some(versions) = group["versions"].as_array_mut() else { return };
    let taken = |found: &Value| backends.iter().any(|backend| found["version"] == backend.version.as_str());
    versions.retain(|found| !taken(found));
    let (first, last): (Vec<_>, Vec<_>) = backends.iter().partition(|backend| backend.version_priority > LOCAL_VERSION);
    let told = |all: Vec<&&Arc<Backend>>| all.into_iter().map(|backend| version(backend)).collect::<Vec<_>>();
    versions.splice(0..0, told(first));
    versions.extend(told(last));
    group["preferredVersion"].take();
    if let Some(map) = group.as_object_mut() {
        map.remove("preferredVersion");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;

    fn backends(all: &[(&str, &str, i64, i64)]) -> Backends {
        let object = |(group, version, priority, of_version): &(&str, &str, i64, i64)| -> Object {
            let service = json!({ "namespace": "n", "name": "s" });
            let spec = json!({
                "group": group, "version": version, "service": service,
                "groupPriorityMinimum": priority, "versionPriority": of_version,
            });
            json!({ "metadata": { "name": format!("{version}.{group}") }, "spec": spec }).try_into().unwrap()
        };
        let all: Vec<Object> = all.iter().map(object).collect();
        Backends::compile(all.iter(), |_, _| false)
    }

    /// `apps:v1 example.com:v2,v1`
    #[track_caller]
    fn check(local: &[(&str, &[&str])], others: &[(&str, &str, i64, i64)], expected: &str) {
        let version = |version: &&str| json!({ "version": version });
        let group = |(name, all): &(&str, &[&str])| json!({ "name": name, "versions": all.iter().map(version).collect::<Vec<_>>() });
        let list = json!({ "groups": local.iter().map(group).collect::<Vec<_>>() });
        let told = legacy(list, &backends(others));
        let text = |group: &Value| {
            let versions: Vec<&str> =
                group["versions"].as_array().unwrap().iter().map(|found| found["version"].as_str().unwrap()).collect();
            assert_eq!(group["preferredVersion"]["version"], versions[0]);
            format!("{}:{}", group["name"].as_str().unwrap(), versions.join(","))
        };
        let told: Vec<String> = told["groups"].as_array().unwrap().iter().map(text).collect();
        assert_eq!(told.join(" "), expected);
    }

    #[test]
    fn groups_and_versions_come_in_the_order_of_their_priorities() {
        let local: &[(&str, &[&str])] = &[("apps", &["v1"]), ("b.example.com", &["v1"])];
        check(local, &[("a.example.com", "v1", 1000, 1)], "apps:v1 a.example.com:v1 b.example.com:v1");
        check(local, &[("c.example.com", "v1", 1000, 1)], "apps:v1 b.example.com:v1 c.example.com:v1");
        check(local, &[("c.example.com", "v1", 20000, 1)], "c.example.com:v1 apps:v1 b.example.com:v1");
        let two = [("c.example.com", "v1", 10, 5), ("c.example.com", "v1beta1", 2000, 7)];
        check(local, &two, "apps:v1 c.example.com:v1beta1,v1 b.example.com:v1");
    }

    #[test]
    fn versions_join_those_that_are_served_here_and_take_their_place() {
        let local: &[(&str, &[&str])] = &[("b.example.com", &["v2", "v1"])];
        check(local, &[("b.example.com", "v3", 1, 200)], "b.example.com:v3,v2,v1");
        check(local, &[("b.example.com", "v3", 1, 5)], "b.example.com:v2,v1,v3");
        check(local, &[("b.example.com", "v2", 1, 5)], "b.example.com:v1,v2");
    }

    #[test]
    fn what_does_not_answer_is_told_of_as_it_was_and_stale() {
        let known = Known { resources: vec![json!({ "resource": "flunders" })], schema_hash: None };
        let all = backends(&[("a.example.com", "v1", 1, 1)]);
        let told = aggregated(json!({ "items": [] }), &all, &|_| Some(Arc::new(known.clone())));
        let version = &told["items"][0]["versions"][0];
        assert_eq!(
            (&version["freshness"], &version["resources"][0]["resource"]),
            (&json!("Stale"), &json!("flunders"))
        );
    }
}
