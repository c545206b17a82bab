//! Requirements on an object's labels, all of which it has to meet.

use std::fmt;

use openapi::FieldError;
use serde_json::{Map, Value};

use super::parse::Parser;
use super::{ParseError, syntax};

/// `app=web,tier in (a,b),!old`. [`fmt::Display`] prints the form that reads the same whatever order it was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector {
    /// Sorted by key; `None` matches nothing at all.
    requirements: Option<Vec<Requirement>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    In,
    NotIn,
    Equals,
    DoubleEquals,
    NotEquals,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

impl LabelSelector {
    /// Reads the text of a query; an empty one selects everything.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Parser::new(text).requirements().map(Self::of).map_err(ParseError)
    }

    /// Reads the object form of specs: `{}` selects everything, `null` nothing.
    pub fn from_object(object: &Value) -> Result<Self, ParseError> {
        let Some(object) = given(object, "LabelSelector", Value::as_object)? else {
            return Ok(Self { requirements: None });
        };
        let mut requirements = Vec::new();
        for (key, value) in part(object, "matchLabels", Value::as_object)?.into_iter().flatten() {
            let value = given(value, "matchLabels", Value::as_str)?.unwrap_or_default().to_owned();
            requirements.push(Requirement::new(key.clone(), Operator::Equals, vec![value]).map_err(ParseError)?);
        }
        for expression in part(object, "matchExpressions", Value::as_array)?.into_iter().flatten() {
            requirements.push(expressed(expression)?);
        }
        Ok(Self::of(requirements))
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements: Some(requirements) }
    }

    /// Whether an object with these labels is meant. An object without a label differs from every value of it.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        let label = |key: &str| Some(labels?.get(key)?.as_str().unwrap_or_default());
        self.requirements.as_ref().is_some_and(|all| all.iter().all(|one| one.matches(label(&one.key))))
    }

    pub fn is_everything(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    /// Sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        self.requirements.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements().iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

/// One of `matchExpressions`.
fn expressed(expression: &Value) -> Result<Requirement, ParseError> {
    let empty = Map::new();
    let expression = given(expression, "matchExpressions", Value::as_object)?.unwrap_or(&empty);
    let operator = match part(expression, "operator", Value::as_str)?.unwrap_or_default() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => return Err(ParseError(format!("{other:?} is not a valid label selector operator"))),
    };
    let key = part(expression, "key", Value::as_str)?.unwrap_or_default().to_owned();
    let mut values = Vec::new();
    for value in part(expression, "values", Value::as_array)?.into_iter().flatten() {
        values.push(given(value, "values", Value::as_str)?.unwrap_or_default().to_owned());
    }
    Requirement::new(key, operator, values).map_err(ParseError)
}

fn part<'a, T>(
    object: &'a Map<String, Value>,
    name: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, ParseError> {
    object.get(name).map_or(Ok(None), |value| given(value, name, read))
}

/// The value as what it should be; `null` is as good as absent.
fn given<'a, T>(value: &'a Value, name: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>, ParseError> {
    match (value, read(value)) {
        (Value::Null, _) => Ok(None),
        (_, None) => Err(ParseError(format!("{name}: Invalid value: {value}: of the wrong type"))),
        (_, found) => Ok(found),
    }
}

impl Requirement {
    /// Checks what Kubernetes checks, in the same order, and tells of all that is wrong.
    pub(super) fn new(key: String, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        let mut wrong = Vec::new();
        let faults = syntax::key_faults(&key);
        if !faults.is_empty() {
            wrong.push(FieldError::invalid("key", key.as_str(), faults.join("; ")));
        }
        wrong.extend(operator.wrong_values(&values));
        for (at, value) in values.iter().enumerate() {
            let faults = syntax::value_faults(value);
            if !faults.is_empty() {
                wrong.push(FieldError::invalid(format!("values[{at}][{key}]"), value.as_str(), faults.join("; ")));
            }
        }
        match wrong.as_slice() {
            [] => Ok(Self { key, operator, values }),
            [one] => Err(one.to_string()),
            many => Err(format!("[{}]", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))),
        }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn operator(&self) -> Operator {
        self.operator
    }

    pub fn values(&self) -> &[String] {
        &self.values
    }

    fn matches(&self, label: Option<&str>) -> bool {
        let is_one_of = |label: &str| self.values.iter().any(|value| value == label);
        let compared = || Some(label?.parse::<i64>().ok()?.cmp(&self.values.first()?.parse().ok()?));
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(is_one_of),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(is_one_of),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => compared().is_some_and(|order| order.is_gt()),
            Operator::LessThan => compared().is_some_and(|order| order.is_lt()),
        }
    }
}

impl Operator {
    fn wrong_values(self, values: &[String]) -> Vec<FieldError> {
        let shown = || if values.is_empty() { Value::Null } else { Value::from(values) };
        let wrong = |detail: &str| vec![FieldError::invalid("values", shown(), detail)];
        match (self, values.len()) {
            (Self::In | Self::NotIn, 0) => wrong("for 'in', 'notin' operators, values set can't be empty"),
            (Self::Exists | Self::DoesNotExist, 1..) => wrong("values set must be empty for exists and does not exist"),
            (Self::GreaterThan | Self::LessThan, _) => {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                let wrong = |(at, value): (usize, &String)| {
                    let is_integer = value.parse::<i64>().is_ok();
                    (!is_integer).then(|| FieldError::invalid(format!("values[{at}]"), value.as_str(), detail))
                };
                values.iter().enumerate().filter_map(wrong).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator, values } = self;
        let mut sorted: Vec<&str> = values.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let values = sorted.join(",");
        match operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(selector: &str, labels: &Value, expect: bool) {
        assert_eq!(LabelSelector::parse(selector).unwrap().matches(labels.as_object()), expect, "{selector} {labels}");
    }

    #[test]
    fn an_absent_label_differs_from_every_value() {
        let labels = json!({"app": "web", "n": "5"});
        for selector in
            ["", "app", "!x", "x!=a", "x notin (a,b)", "app in (db,web)", "app!=db", "n>4", "n<6", "app==web"]
        {
            check(selector, &labels, true);
        }
        for selector in
            ["x", "!app", "x=", "x=a", "app notin (web)", "app!=web", "n>5", "n<5", "x>1", "app>1", "app,!n"]
        {
            check(selector, &labels, false);
        }
        check("x!=a,!y", &Value::Null, true);
        check("x", &Value::Null, false);
    }

    fn object(object: Value) -> Result<String, String> {
        let selector = LabelSelector::from_object(&object).map_err(|error| error.to_string())?;
        let text = selector.to_string();
        Ok(if selector.matches(None) { format!("{text} matches none") } else { text })
    }

    #[test]
    fn the_object_form_is_read() {
        assert_eq!(object(json!({})), Ok(" matches none".to_owned()));
        assert_eq!(object(json!(null)), Ok(String::new()));
        let expressions = json!([
            {"key": "tier", "operator": "In", "values": ["c", "b"]},
            {"key": "env", "operator": "NotIn", "values": ["dev"]},
            {"key": "a", "operator": "Exists"},
            {"key": "b", "operator": "DoesNotExist", "values": []},
        ]);
        let all = json!({"matchLabels": {"app": "web"}, "matchExpressions": expressions});
        assert_eq!(object(all), Ok("a,app=web,!b,env notin (dev),tier in (b,c)".to_owned()));
    }

    fn refused(key: &str, operator: &str, values: Value, expect: &str) {
        let expression = json!({"key": key, "operator": operator, "values": values});
        assert_eq!(object(json!({"matchExpressions": [expression]})), Err(expect.to_owned()));
    }

    #[test]
    fn a_wrong_object_is_refused_in_kubernetes_words() {
        refused("a", "Like", json!([]), "\"Like\" is not a valid label selector operator");
        let empty = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";
        refused("a", "In", json!([]), empty);
        let full = r#"values: Invalid value: ["x"]: values set must be empty for exists and does not exist"#;
        refused("a", "Exists", json!(["x"]), full);
        assert!(object(json!({"matchLabels": {"a": 1}})).is_err());
        assert!(object(json!({"matchLabels": []})).is_err());
        assert!(object(json!([])).is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(text in "([!a-c ]{1,3}(=|==|!=| in \\(|[<>]| notin \\(|)[a-c0-9,]{0,3}\\)?,?){1,3}") {
            if let Ok(selector) = LabelSelector::parse(&text) {
                prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
            }
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,40}|[a-z!=,()<> \0]{0,30}") {
            let _ = LabelSelector::parse(&text);
        }
    }
}
