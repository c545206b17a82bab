//! Others who decide what somebody may do: what they are asked, in the words of a `SubjectAccessReview`.

use super::User;
use super::attributes::{Attributes, Objects, What};
use super::rules::Decision;
use super::selectors::Understood;
use crate::place::Workspace;
use serde_json::{Map, Value, json};
use std::fmt;
use std::pin::Pin;

/// Says in which workspace something is wanted: what kcp tells those whom it asks.
const WORKSPACE: &str = "authorization.kubernetes.io/cluster-name";

/// Somebody who decides when the rules of a workspace permit nothing.
pub trait Elsewhere: fmt::Debug + Send + Sync {
    /// An error says why nobody knows. `now` is in seconds.
    fn decide<'a>(
        &'a self,
        question: &'a Question,
        now: i64,
    ) -> Pin<Box<dyn Future<Output = Result<Decision, String>> + Send + 'a>>;
}

/// Whether somebody may do something, as others are asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// It is about somebody whom another API server vouches for.
    pub foreign: bool,
    /// The path, if it is about no resource.
    pub path: Option<String>,
    /// The `spec` of a review.
    pub spec: Value,
}

impl Question {
    pub fn new(user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Self {
        let mut spec = Map::new();
        let mut say = |field: &str, value: Value| {
            let is_said = match &value {
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                _ => true,
            };
            if is_said {
                spec.insert(field.to_owned(), value);
            }
        };
        say("user", user.name.as_str().into());
        say("uid", user.uid.as_str().into());
        say("groups", json!(user.groups));
        let mut extra = json!(user.extra);
        if !user.foreign {
            // Where people come from elsewhere, there are no workspaces.
            extra[WORKSPACE] = json!([workspace.as_str()]);
        }
        say("extra", extra);
        let path = match wanted.what {
            What::Path(path) => {
                say("nonResourceAttributes", json!({ "path": path, "verb": wanted.verb }));
                Some(path.to_owned())
            }
            What::Objects(objects) => {
                say("resourceAttributes", of_objects(wanted, objects));
                None
            }
        };
        Self { foreign: user.foreign, path, spec: Value::Object(spec) }
    }
}

fn of_objects(wanted: &Attributes<'_>, objects: Objects<'_>) -> Value {
    let Objects { group, resource, subresource, namespace, name } = objects;
    let version = if wanted.version.is_empty() { "*" } else { wanted.version };
    let all = [
        ("verb", wanted.verb),
        ("group", group),
        ("version", version),
        ("resource", resource),
        ("subresource", subresource),
        ("namespace", namespace),
        ("name", name),
    ];
    let said = all.into_iter().filter(|(_, word)| !word.is_empty());
    let mut told: Map<String, Value> = said.map(|(field, word)| (field.to_owned(), word.into())).collect();
    let selectors = [("fieldSelector", wanted.selectors.fields()), ("labelSelector", wanted.selectors.labels())];
    for (field, Understood { requirements, .. }) in selectors {
        if !requirements.is_empty() {
            told.insert(field.to_owned(), json!({ "requirements": requirements }));
        }
    }
    Value::Object(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Selector, Selectors};

    #[test]
    fn a_question_says_all_that_is_known_and_nothing_else() {
        let user = User { uid: "1".to_owned(), ..User::authenticated("ada", vec!["dev".to_owned()]) };
        let objects = Objects { group: "apps", resource: "deployments", namespace: "n", ..Objects::default() };
        let wanted = Attributes { version: "v1", ..Attributes::objects("list", objects) };
        let question = Question::new(&user, &Workspace::new("w"), &wanted);
        let attributes = json!({ "verb": "list", "group": "apps", "version": "v1", "resource": "deployments",
            "namespace": "n" });
        let spec = json!({ "user": "ada", "uid": "1", "groups": ["dev", "system:authenticated"],
            "extra": { WORKSPACE: ["w"] }, "resourceAttributes": attributes });
        assert_eq!(question, Question { foreign: false, path: None, spec });
        let foreign = User { foreign: true, ..User::anonymous() };
        let question = Question::new(&foreign, &Workspace::new("w"), &Attributes::path("get", "/x"));
        let spec = json!({ "user": "system:anonymous", "groups": ["system:unauthenticated"],
            "nonResourceAttributes": { "path": "/x", "verb": "get" } });
        assert_eq!(question, Question { foreign: true, path: Some("/x".to_owned()), spec });
    }

    #[test]
    fn a_question_says_which_objects_as_far_as_it_is_understood() {
        let check = |fields: &str, labels: &str, expected: Value| {
            let selectors = Selectors { fields: Selector::Text(fields), labels: Selector::Text(labels) };
            let objects = Objects { resource: "pods", ..Objects::default() };
            let wanted = Attributes { selectors, ..Attributes::objects("list", objects) };
            let spec = Question::new(&User::anonymous(), &Workspace::new("w"), &wanted).spec;
            let told = spec["resourceAttributes"].as_object().unwrap().clone();
            let told: Map<String, Value> = told.into_iter().filter(|(field, _)| field.ends_with("Selector")).collect();
            assert_eq!(Value::Object(told), expected, "{fields} {labels}");
        };
        let one =
            |key: &str, value: &str| json!({ "requirements": [{ "key": key, "operator": "In", "values": [value] }] });
        check("", "", json!({}));
        check(
            "metadata.name=x",
            "a=b",
            json!({ "fieldSelector": one("metadata.name", "x"), "labelSelector": one("a", "b") }),
        );
        check("nonsense", "a=b", json!({ "labelSelector": one("a", "b") }));
        check("", "n>4", json!({}));
    }
}
