//! Stored objects, held to a schema that is not theirs yet. Pure, and silent about what is in them.

use super::conversion::Converted;
use super::schema;
use apiserver::custom::{ANSWER_COST, Conversions, CustomSchema, Failure};
use apiserver::object::Object;
use openapi::structural::Node;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A schema, compiled.
pub(super) struct Judge {
    versions: BTreeMap<String, Arc<CustomSchema>>,
    rules: Option<Conversions>,
    /// The version that objects would be stored in.
    stored: String,
    namespaced: bool,
}

impl Judge {
    pub(super) fn of(schema: &Object, converted: &Converted) -> Self {
        let definition = schema::named(schema);
        let name = |version: &Value| version["name"].as_str().unwrap_or_default().to_owned();
        let all = || definition.items(&["spec", "versions"]);
        let versions: BTreeMap<_, _> =
            all().map(|version| (name(version), Arc::new(CustomSchema::compile(version)))).collect();
        let said =
            converted.rules.as_ref().map(|(_, said)| serde_json::from_str::<Vec<Value>>(said).unwrap_or_default());
        Self {
            rules: said.map(|said| Conversions::compile(&said, &versions)),
            stored: all().find(|version| version["storage"] == true).map(name).unwrap_or_default(),
            namespaced: definition.text(&["spec", "scope"]) == "Namespaced",
            versions,
        }
    }

    /// Why an object could not be kept as it is: `spec.hat: Too long`.
    pub(super) fn wrong(&self, mut object: Object) -> Vec<String> {
        let version = object.api_version().rsplit('/').next().unwrap_or_default().to_owned();
        let Some(schema) = self.versions.get(&version) else {
            return vec![format!("there would be no version {version}")];
        };
        let gone = object.as_tree(|tree| {
            let gone = schema.prune(tree);
            schema.complete(tree);
            gone
        });
        let mut wrong: Vec<String> =
            gone.iter().map(|field| format!("{} would be lost", general(field, schema.structural().root()))).collect();
        let judged = if let Some(rules) = &self.rules {
            wrong.extend(self.unconvertible(&object, rules));
            rules
                .convert(&mut object, &self.stored, &mut { ANSWER_COST })
                .ok()
                .and_then(|()| self.versions.get(&self.stored))
        } else {
            Some(schema)
        };
        if let Some(schema) = judged {
            object.as_tree(|tree| drop(schema.prune(tree)));
            let errors = schema.validate(&object, None, self.namespaced).errors;
            let field = |field: &str| general(field, schema.structural().root());
            wrong.extend(errors.iter().map(|error| format!("{}: {}", field(&error.field), error.wrong.words())));
        }
        wrong.sort_unstable();
        wrong.dedup();
        wrong
    }

    fn unconvertible(&self, object: &Object, rules: &Conversions) -> Vec<String> {
        let tried = self.versions.keys().filter_map(|version| {
            let Failure { field, .. } = rules.convert(&mut object.clone(), version, &mut { ANSWER_COST }).err()?;
            Some(format!("{field} could not be converted to {version}"))
        });
        tried.collect()
    }
}

/// A field as its schema knows it: indices, and keys that the schema does not name, are the author's business.
fn general(field: &str, root: &Node) -> String {
    let (mut told, mut node, mut rest) = (String::new(), root, field);
    while !rest.is_empty() {
        let name = rest.trim_start_matches('.');
        if let Some(index) = name.strip_prefix('[') {
            told.push_str("[]");
            let Some((items, (_, after))) = node.items().zip(index.split_once(']')) else { return told };
            (node, rest) = (items, after);
            continue;
        }
        let end = name.find(['.', '[']).unwrap_or(name.len());
        if !told.is_empty() {
            told.push('.');
        }
        let Some(property) = node.property(&name[..end]) else {
            told.push('*');
            return told;
        };
        told.push_str(&name[..end]);
        (node, rest) = (property, &name[end..]);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judge(shape: &Value, conversions: Option<Value>) -> Judge {
        let version =
            |name: &str, storage: bool| json!({ "name": name, "served": true, "storage": storage, "schema": shape });
        let versions = json!([version("v1", true), version("v2", false)]);
        let spec = json!({ "group": "g", "scope": "Cluster", "names": { "plural": "things", "kind": "Thing" }, "versions": versions });
        let schema = Object::try_from(json!({ "metadata": { "name": "a.things.g" }, "spec": spec })).unwrap();
        let said = conversions.map(|said| Object::try_from(json!({ "spec": { "conversions": said } })).unwrap());
        Judge::of(&schema, &Converted::by(said.as_ref()))
    }

    fn thing(spec: Value) -> Object {
        Object::try_from(json!({ "apiVersion": "g/v1", "kind": "Thing", "metadata": { "name": "a" }, "spec": spec }))
            .unwrap()
    }

    fn shape(fields: Value) -> Value {
        json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": fields, "required": ["b"] } } })
    }

    #[test]
    fn what_would_be_lost_or_refused_is_told_without_what_it_says() {
        let short = json!({ "type": "string", "maxLength": 2 });
        let map = json!({ "type": "object", "additionalProperties": short });
        let judge = judge(&shape(json!({ "a": short, "b": short, "m": map })), None);
        assert!(judge.wrong(thing(json!({ "a": "x", "b": "x" }))).is_empty());
        let told = judge.wrong(thing(json!({ "a": "secret", "hat": "secret", "m": { "secret.key": "secret" } })));
        assert_eq!(told, ["spec.* would be lost", "spec.a: Too long", "spec.b: Required value", "spec.m.*: Too long"]);
        let mut other = thing(json!({}));
        other.map_mut().insert("apiVersion".to_owned(), json!("g/v0"));
        assert_eq!(judge.wrong(other), ["there would be no version v0"]);
    }

    #[test]
    fn what_could_not_be_converted_is_told() {
        let text = json!({ "type": "string" });
        let rule = json!({ "field": ".spec.a", "destination": ".spec.a", "transformation": "string(int(self))" });
        let judge = judge(
            &shape(json!({ "a": text, "b": text })),
            Some(json!([{ "from": "v1", "to": "v2", "rules": [rule] }])),
        );
        assert!(judge.wrong(thing(json!({ "a": "1", "b": "x" }))).is_empty());
        assert_eq!(judge.wrong(thing(json!({ "a": "one", "b": "x" }))), ["spec.a could not be converted to v2"]);
    }
}
