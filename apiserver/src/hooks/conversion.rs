//! Objects of custom resources in other versions, made by those who defined them.

use super::Endpoint;
use super::call::CallWebhook;
use openapi::FieldError;
use openapi::validation::names;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// As long as Kubernetes waits.
const LIMIT: Duration = Duration::from_secs(30);
/// Keys and values of all annotations together: Kubernetes' own bound.
const ANNOTATIONS_BYTES_MAX: usize = 256 << 10;

/// The objects in another version, in the same order. `uid` is what the answer has to repeat.
///
/// Those that are in that version already are not sent, nor are those that say nothing but what they are.
pub async fn convert(
    caller: &dyn CallWebhook,
    to: &Endpoint,
    review_versions: &[String],
    mut objects: Vec<Value>,
    desired: &str,
    uid: String,
) -> Result<Vec<Value>, String> {
    let version = review_versions.iter().find(|version| matches!(version.as_str(), "v1" | "v1beta1"));
    let version = version.ok_or("no supported conversion review versions")?;
    for object in objects.iter_mut().filter(|object| is_bare(object)) {
        object["apiVersion"] = desired.into();
    }
    let others: Vec<usize> = (0..objects.len()).filter(|at| text(&objects[*at], "/apiVersion") != desired).collect();
    if others.is_empty() {
        return Ok(objects);
    }
    let about = About::new(&objects, desired);
    let sent: Vec<&Value> = others.iter().map(|at| &objects[*at]).collect();
    let review = Review { version, uid, desired };
    let answer = caller.call(to, review.request(&sent).into(), LIMIT).await;
    let answer = answer.map_err(|error| about.failed(&error.to_string()))?;
    let converted = review.converted(answer).map_err(|why| about.failed(&why))?;
    if converted.len() != others.len() {
        let (of, found, expected) = (&about.kind, converted.len(), others.len());
        return Err(format!("conversion webhook for {of} returned {found} objects, expected {expected}"));
    }
    for (index, (at, new)) in others.into_iter().zip(converted).enumerate() {
        objects[at] = about.accepted(&objects[at], new, desired, index)?;
    }
    Ok(objects)
}

/// Says what it is, and nothing else.
fn is_bare(object: &Value) -> bool {
    let has = |map: &Map<String, Value>| map.len() == 2 && map.contains_key("kind") && map.contains_key("apiVersion");
    object.as_object().is_some_and(has)
}

fn text<'a>(tree: &'a Value, path: &str) -> &'a str {
    tree.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// A kind as Go prints it.
fn printed(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

struct Review<'a> {
    version: &'a str,
    uid: String,
    desired: &'a str,
}

impl Review<'_> {
    fn api_version(&self) -> String {
        format!("apiextensions.k8s.io/{}", self.version)
    }

    fn request(&self, objects: &[&Value]) -> Vec<u8> {
        let review = json!({
            "kind": "ConversionReview", "apiVersion": self.api_version(),
            "request": { "uid": self.uid, "desiredAPIVersion": self.desired, "objects": objects },
            "response": { "uid": "", "convertedObjects": null, "result": { "metadata": {} } },
        });
        review.to_string().into_bytes()
    }

    /// The objects of an answer that belongs to this question and reports success. Version 1beta1 did not look whose
    /// answer it was.
    fn converted(&self, mut answer: Value) -> Result<Vec<Value>, String> {
        let said = printed(text(&answer, "/apiVersion"), text(&answer, "/kind"));
        let expected = printed(&self.api_version(), "ConversionReview");
        if self.version == "v1" && said != expected {
            return Err(format!("expected webhook response of {expected}, got {said}"));
        }
        if answer.get("response").is_none_or(Value::is_null) {
            return Err("no response provided".to_owned());
        }
        let uid = text(&answer, "/response/uid");
        if self.version == "v1" && uid != self.uid {
            return Err(format!("expected response.uid={:?}, got {uid:?}", self.uid));
        }
        let (status, message) = (text(&answer, "/response/result/status"), text(&answer, "/response/result/message"));
        if status != "Success" {
            let unexplained = || format!("response.result.status was '{status}', not 'Success'");
            return Err(if message.is_empty() { unexplained() } else { message.to_owned() });
        }
        match answer.pointer_mut("/response/convertedObjects").map(Value::take) {
            Some(Value::Array(objects)) => Ok(objects),
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(_) => Err("json: cannot unmarshal convertedObjects into Go value of type []RawExtension".to_owned()),
        }
    }
}

/// What is converted, as messages name it.
struct About {
    kind: String,
    is_list: bool,
}

impl About {
    /// A list is of the version that its objects should have.
    fn new(objects: &[Value], desired: &str) -> Self {
        let (api_version, kind) =
            objects.first().map_or(("", ""), |one| (text(one, "/apiVersion"), text(one, "/kind")));
        let is_list = objects.len() != 1;
        let kind = if is_list { printed(desired, &format!("{kind}List")) } else { printed(api_version, kind) };
        Self { kind, is_list }
    }

    fn failed(&self, why: &str) -> String {
        format!("conversion webhook for {} failed: {why}", self.kind)
    }

    /// The converted object, with the metadata that a conversion cannot change.
    fn accepted(&self, old: &Value, new: Value, desired: &str, index: usize) -> Result<Value, String> {
        let returned = |what: &str, why: String| format!("conversion webhook for {} returned {what}: {why}", self.kind);
        let (of, in_list) = (format!(" at index {index}"), self.is_list);
        let version = text(&new, "/apiVersion");
        let object = if in_list { "invalid converted object" } else { "invalid object" };
        if !new.is_object() {
            return Err(returned(&format!("{object}{of}"), "an object has to be a JSON object".to_owned()));
        }
        if version != desired {
            let why = format!("invalid groupVersion (expected {desired}, received {version})");
            return Err(returned(&format!("{object}{of}"), why));
        }
        let (was, is) = (text(old, "/kind"), text(&new, "/kind"));
        if was != is {
            let why = format!("invalid kind (expected {was}, received {is})");
            return Err(returned(&format!("{object}{of}"), why));
        }
        let same = if in_list { format!("{object}{of}") } else { object.to_owned() };
        check_same(old, &new).map_err(|why| returned(&same, why))?;
        let metadata = if in_list { format!("invalid metadata in object{of}") } else { "invalid metadata".to_owned() };
        restored(old, new).map_err(|why| returned(&metadata, why))
    }
}

fn check_same(old: &Value, new: &Value) -> Result<(), String> {
    for (what, path) in [("name", "/metadata/name"), ("namespace", "/metadata/namespace"), ("UID", "/metadata/uid")] {
        let (was, is) = (text(old, path), text(new, path));
        if was != is {
            return Err(format!("must have the same {what}: {was} != {is}"));
        }
    }
    Ok(())
}

/// The new object with the old metadata, but for labels and annotations.
fn restored(old: &Value, mut new: Value) -> Result<Value, String> {
    let given = match new.get_mut("metadata").map(Value::take) {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Object(metadata)) => metadata,
        Some(other) => return Err(format!("invalid metadata of type {} in converted object", go_type(&other))),
    };
    let mut metadata = match old.get("metadata") {
        None => Map::new(),
        Some(Value::Object(metadata)) => metadata.clone(),
        Some(other) => return Err(format!("invalid metadata of type {} in input object", go_type(other))),
    };
    for field in ["labels", "annotations"] {
        match given.get(field) {
            None | Some(Value::Null) => drop(metadata.remove(field)),
            Some(value) => {
                check_words(field, metadata.get(field), value)?;
                metadata.insert(field.to_owned(), value.clone());
            }
        }
    }
    new["metadata"] = Value::Object(metadata);
    Ok(new)
}

/// What was there before need not follow rules that are younger than it.
fn check_words(field: &str, old: Option<&Value>, new: &Value) -> Result<(), String> {
    let Value::Object(words) = new else {
        return Err(format!("invalid metadata.{field} of type {} in converted object", go_type(new)));
    };
    if let Some((key, value)) = words.iter().find(|(_, value)| !value.is_string()) {
        let found = go_type(value);
        return Err(format!("metadata.{field}[{key}] must be a string, but is {found} in converted object"));
    }
    if old == Some(new) {
        return Ok(());
    }
    let errors = if field == "labels" { wrong_labels(words) } else { wrong_annotations(words) };
    let mut told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    told.dedup();
    match told.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

fn wrong_labels(labels: &Map<String, Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels {
        let wrong = names::qualified_name(key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid("metadata.labels", key.as_str(), why)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(
            names::label_value(value).into_iter().map(|why| FieldError::invalid("metadata.labels", value, why)),
        );
    }
    errors
}

/// Kubernetes names the place of these in the singular.
fn wrong_annotations(annotations: &Map<String, Value>) -> Vec<FieldError> {
    let place = "metadata.annotation";
    let mut errors = Vec::new();
    for key in annotations.keys() {
        let wrong = names::qualified_name(&key.to_lowercase()).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(place, key.as_str(), why)));
    }
    let bytes = |(key, value): (&String, &Value)| key.len() + value.as_str().unwrap_or_default().len();
    if annotations.iter().map(bytes).sum::<usize>() > ANNOTATIONS_BYTES_MAX {
        errors.push(FieldError::too_long(place, ANNOTATIONS_BYTES_MAX));
    }
    errors
}

/// What Go calls the type of a value that it has read.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
