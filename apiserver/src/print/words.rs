//! How lists, labels, selectors and quantities are put into one line.

use openapi::scalar::quantity;
use serde_json::{Map, Value};

use super::look::Look;

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// A text, or another if it is empty.
pub(super) fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

pub(super) fn or_none(text: &str) -> &str {
    or(text, NONE)
}

/// The texts of a list.
pub(super) fn texts(list: &[Value]) -> impl Iterator<Item = &str> {
    list.iter().filter_map(Value::as_str)
}

pub(super) fn join<I: IntoIterator>(parts: I, between: &str) -> String
where
    I::Item: AsRef<str>,
{
    let mut joined = String::new();
    for (at, part) in parts.into_iter().enumerate() {
        joined.push_str(if at == 0 { "" } else { between });
        joined.push_str(part.as_ref());
    }
    joined
}

/// The first `max` parts, and how many more there are.
pub(super) fn first_few<I: IntoIterator>(parts: I, max: usize, between: &str) -> String
where
    I::Item: AsRef<str>,
{
    let mut parts = parts.into_iter();
    let first = join(parts.by_ref().take(max), between);
    and_more(first, parts.count())
}

pub(super) fn and_more(shown: String, more: usize) -> String {
    if more == 0 { shown } else { format!("{shown} + {more} more...") }
}

/// The names and the images of the containers in a list.
pub(super) fn containers(list: &[Value]) -> (String, String) {
    let all = |field| join(list.iter().map(|container| container.text(field)), ",");
    (all("name"), all("image"))
}

pub(super) fn labels(map: Option<&Map<String, Value>>) -> String {
    let mut pairs: Vec<String> = pairs(map).map(|(key, value)| format!("{key}={value}")).collect();
    pairs.sort();
    or_none(&pairs.join(",")).to_owned()
}

fn pairs(map: Option<&Map<String, Value>>) -> impl Iterator<Item = (&str, &str)> {
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or("")))
}

/// A selector that selects nothing or everything is `<none>`.
pub(super) fn selector(selector: Option<&Value>) -> String {
    match selector_text(selector) {
        Some(text) => or_none(&text).to_owned(),
        None => "<error>".to_owned(),
    }
}

/// `None` for a selector whose operators and values do not go together. Keys and values are taken to be labels: they
/// were checked when the object was written.
pub(super) fn selector_text(selector: Option<&Value>) -> Option<String> {
    let Some(selector) = selector else { return Some(String::new()) };
    let mut terms: Vec<(&str, String)> =
        pairs(selector.map("matchLabels")).map(|(key, value)| (key, format!("{key}={value}"))).collect();
    for expression in selector.list("matchExpressions") {
        let key = expression.text("key");
        let mut values: Vec<&str> = texts(expression.list("values")).collect();
        values.sort_unstable();
        let text = match (expression.text("operator"), values.as_slice()) {
            ("In", [_, ..]) => format!("{key} in ({})", values.join(",")),
            ("NotIn", [_, ..]) => format!("{key} notin ({})", values.join(",")),
            ("Exists", []) => key.to_owned(),
            ("DoesNotExist", []) => format!("!{key}"),
            _ => return None,
        };
        terms.push((key, text));
    }
    terms.sort_by_key(|(key, _)| *key);
    Some(join(terms.iter().map(|(_, text)| text), ","))
}

/// A quantity in its canonical form; one that is missing is zero.
pub(super) fn amount(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => return "0".to_owned(),
    };
    quantity::canonical(&text).map_or_else(|_| "0".to_owned(), |text| text.into_owned())
}

/// A number or a percentage, as it was given.
pub(super) fn number_or_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `Kind.group`, or the kind alone in the core group.
pub(super) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// The addresses or names of a load balancer, each once.
pub(super) fn load_balancer(object: &Value) -> String {
    let points = object.list("status.loadBalancer.ingress").iter();
    let mut points: Vec<&str> = points.map(|point| or(point.text("ip"), point.text("hostname"))).collect();
    points.retain(|point| !point.is_empty());
    points.sort_unstable();
    points.dedup();
    join(points, ",")
}
