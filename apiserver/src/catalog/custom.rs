//! The resources that a definition describes, one a version.

use super::def::{Collecting, ResourceDef, Schema, Stored, SubresourceDef, Traits};
use super::order;
use crate::custom::{CONVERSIONS, Conversion, Converter, Custom, CustomSchema, Definition, Elsewhere, Interned};
use crate::object::Object;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::Revision;

const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// What can be done with objects whose definition is going.
const VERBS_GOING: [&str; 5] = ["delete", "deletecollection", "get", "list", "watch"];
/// What can be done with objects that are computed.
const VERBS_COMPUTED: [&str; 3] = ["get", "list", "watch"];
/// What can be done with objects that are computed of one other each.
const VERBS_ELSEWHERE: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];
/// What can be done through objects.
const VERBS_THROUGH: [&str; 5] = ["create", "delete", "get", "patch", "update"];
const VERBS_OF_PARTS: [&str; 3] = ["get", "patch", "update"];

/// The annotation of a definition that came with the server, and whose objects are computed.
pub const COMPUTED: &str = "hanse.dev/computed";

/// The annotation of a definition that came with the server, and whose objects decide what their workspace serves.
pub const DEFINES: &str = "hanse.dev/defines";

/// The annotation of a definition that says from where its resources are to be seen when somebody asks what there is:
/// `Organization,Project`. Whoever knows that there are any can use them from everywhere.
const CONTEXTS: &str = "discovery.miloapis.com/parent-contexts";

/// The annotation that says of what an object of the same name is computed, and is written instead: `plural.group`.
pub const WRITTEN_AS: &str = "hanse.dev/written-as";

/// The annotation of a definition that came with the server, and through whose objects requests go on.
pub const PASSAGE: &str = "hanse.dev/passage";

/// Where a definition comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub revision: Revision,
    /// When what it asks for of objects last changed.
    pub since: Revision,
}

/// What is served because of a definition; nothing if its names are not accepted.
pub(super) fn resources(definition: &Object, origin: Origin, interned: &Interned) -> Vec<Arc<ResourceDef>> {
    if !is_true(definition, "NamesAccepted") && !is_true(definition, "Established") {
        return Vec::new();
    }
    let kept = Definition::Kept { name: definition.name().to_owned(), revision: origin.revision };
    let going = definition.is_deleting() || is_true(definition, "Terminating");
    versions((definition, &["status", "acceptedNames"]), kept, (origin.since, going), conversion(definition), interned)
}

/// What is served because of a definition that is kept elsewhere. Its names were found to be free when it was shared.
pub(super) fn shared(definition: &Object, from: &Arc<Elsewhere>, interned: &Interned) -> Vec<Arc<ResourceDef>> {
    let source = Definition::Shared(from.clone());
    let state = (from.since, from.going);
    versions((definition, &["spec", "names"]), source, state, conversion(definition), interned)
}

/// What is served because of a definition that came with the server: nobody has to accept its names.
pub(super) fn given(
    definition: &Arc<Object>,
    converter: Option<Converter>,
    interned: &Interned,
) -> Vec<Arc<ResourceDef>> {
    let given = Definition::Given(definition.clone());
    let conversion = converter.map_or(Conversion::Rename, Conversion::Given);
    versions((definition, &["spec", "names"]), given, (Revision::ZERO, false), conversion, interned)
}

fn versions(
    (definition, names): (&Object, &[&str]),
    source: Definition,
    (since, terminating): (Revision, bool),
    conversion: Conversion,
    interned: &Interned,
) -> Vec<Arc<ResourceDef>> {
    let all: Vec<&Value> = definition.items(&["spec", "versions"]).collect();
    let compiled = all.iter().map(|version| (word(version, "name").to_owned(), interned.get(version)));
    let compiled: BTreeMap<String, Arc<CustomSchema>> = compiled.collect();
    let conversion = match (&source, conversion, definition.annotation(CONVERSIONS)) {
        // Whoever shares it has checked the rules.
        (Definition::Shared(_), Conversion::Rename, Some(said)) => {
            Conversion::Rules(interned.conversions(said, &all, &compiled))
        }
        (_, conversion, _) => conversion,
    };
    let shared = Shared {
        definition,
        names: definition.pointer(names).unwrap_or(&Value::Null),
        source,
        since,
        stored: all.iter().find(|version| flag(version, "storage")).map_or("", |version| word(version, "name")),
        versions: Arc::new(compiled),
        conversion,
        terminating,
    };
    let wanted = all.into_iter().filter(|version| flag(version, "served") || flag(version, "storage"));
    wanted.filter_map(|version| shared.resource(version)).map(Arc::new).collect()
}

/// What all versions of a definition have in common.
struct Shared<'a> {
    definition: &'a Object,
    names: &'a Value,
    source: Definition,
    since: Revision,
    stored: &'a str,
    versions: Arc<BTreeMap<String, Arc<CustomSchema>>>,
    conversion: Conversion,
    terminating: bool,
}

impl Shared<'_> {
    fn resource(&self, version: &Value) -> Option<ResourceDef> {
        let name = word(version, "name");
        let schema = self.versions.get(name)?.clone();
        let (group, plural) = (self.definition.text(&["spec", "group"]), self.accepted("plural"));
        let kind = self.accepted("kind").to_owned();
        let given =
            |name: &str| self.definition.annotation(name).filter(|_| matches!(self.source, Definition::Given(_)));
        let (computed, elsewhere) = (given(COMPUTED).is_some(), given(WRITTEN_AS).is_some());
        let defines = given(DEFINES).is_some();
        let mut subresources = Vec::new();
        if given(PASSAGE).is_some() {
            subresources.push(SubresourceDef { name: "proxy".to_owned(), verbs: VERBS_THROUGH.to_vec(), kind: None });
        }
        if schema.has_status && !computed {
            subresources.push(part("status", None));
        }
        if schema.scale.is_some() {
            subresources.push(part("scale", Some(("autoscaling/v1".to_owned(), "Scale".to_owned()))));
        }
        Some(ResourceDef {
            group: group.to_owned(),
            version: name.to_owned(),
            plural: plural.to_owned(),
            singular: self.accepted("singular").to_owned(),
            list_kind: self.accepted("listKind").to_owned(),
            namespaced: self.definition.text(&["spec", "scope"]) == "Namespaced",
            verbs: match (computed, self.terminating) {
                (true, _) if elsewhere => VERBS_ELSEWHERE.to_vec(),
                (true, _) => VERBS_COMPUTED.to_vec(),
                (false, true) => VERBS_GOING.to_vec(),
                (false, false) => VERBS.to_vec(),
            },
            short_names: self.all_accepted("shortNames"),
            categories: self.all_accepted("categories"),
            subresources,
            schema: Schema::Custom(Arc::new(Custom {
                schema,
                versions: self.versions.clone(),
                conversion: self.conversion.clone(),
                definition: self.source.clone(),
                since: self.since,
                served: flag(version, "served"),
                terminating: self.terminating,
                warning: self.warning(version, group, &kind),
                contexts: contexts(self.definition),
            })),
            kind,
            traits: Traits {
                generation: true,
                collecting: Collecting::Background,
                computed,
                defines,
                ..Traits::default()
            },
            stored: Stored {
                group: group.to_owned(),
                version: self.stored.to_owned(),
                plural: plural.to_owned(),
                identity: self.source.identity(),
            },
        })
    }

    /// What those are told who use a version that is going to go: what to use instead, if there is anything.
    fn warning(&self, version: &Value, group: &str, kind: &str) -> Option<String> {
        if !flag(version, "deprecated") {
            return None;
        }
        if let Some(own) = version.get("deprecationWarning").and_then(Value::as_str) {
            return Some(own.to_owned());
        }
        let name = word(version, "name");
        let all = self.definition.items(&["spec", "versions"]);
        let lasting = all.filter(|other| flag(other, "served") && !flag(other, "deprecated"));
        let newer = lasting.map(|other| word(other, "name")).filter(|other| order::versions(other, name).is_lt());
        let instead = newer.min_by(|a, b| order::versions(a, b));
        let instead = instead.map(|other| format!("; use {group}/{other} {kind}")).unwrap_or_default();
        Some(format!("{group}/{name} {kind} is deprecated{instead}"))
    }

    fn accepted(&self, field: &str) -> &str {
        word(self.names, field)
    }

    fn all_accepted(&self, field: &str) -> Vec<String> {
        let names = self.names.get(field).and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

fn part(name: &str, kind: Option<(String, String)>) -> SubresourceDef {
    SubresourceDef { name: name.to_owned(), verbs: VERBS_OF_PARTS.to_vec(), kind }
}

fn conversion(definition: &Object) -> Conversion {
    match definition.pointer(&["spec", "conversion", "webhook"]) {
        Some(webhook) if definition.text(&["spec", "conversion", "strategy"]) == "Webhook" => {
            Conversion::Webhook(webhook.clone())
        }
        _ => Conversion::Rename,
    }
}

fn is_true(definition: &Object, condition: &str) -> bool {
    definition.items(&["status", "conditions"]).any(|found| found["type"] == condition && found["status"] == "True")
}

fn word<'a>(tree: &'a Value, field: &str) -> &'a str {
    tree.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn flag(tree: &Value, field: &str) -> bool {
    tree.get(field) == Some(&Value::Bool(true))
}

/// From where its resources are to be seen; nothing, if from everywhere.
fn contexts(definition: &Object) -> Vec<String> {
    let said = definition.annotation(CONTEXTS).unwrap_or_default();
    let all: Vec<&str> = said.split([',', ';']).map(str::trim).filter(|context| !context.is_empty()).collect();
    if all.contains(&"*") { Vec::new() } else { all.into_iter().map(str::to_owned).collect() }
}
