//! Which objects of a collection somebody wants, as those are told who decide about it. Roles do not speak of it, others
//! may; what cannot be understood is left out, which only makes the question broader.

use crate::selector::{FieldSelector, LabelSelector, Operator, Requirement, TermOp};
use serde_json::{Value, json};

/// As somebody wrote them: they are read when somebody asks what they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selectors<'a> {
    pub fields: Selector<'a>,
    pub labels: Selector<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector<'a> {
    /// As in a query; an empty one selects everything.
    Text(&'a str),
    /// As in a review: objects with `key`, `operator` and `values`.
    Requirements(&'a [Value]),
}

/// What a selector says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    /// As in a review.
    pub requirements: Vec<Value>,
    /// Nothing was left out because it could not be read.
    pub whole: bool,
}

impl Default for Selector<'_> {
    fn default() -> Self {
        Self::Text("")
    }
}

impl Selectors<'_> {
    pub fn fields(&self) -> Understood {
        self.fields.understand(fields_of_text, field)
    }

    pub fn labels(&self) -> Understood {
        self.labels.understand(labels_of_text, label)
    }
}

impl Selector<'_> {
    fn understand(self, text: fn(&str) -> Option<Vec<Value>>, one: fn(&Value) -> Option<Value>) -> Understood {
        match self {
            Self::Text("") => Understood { requirements: Vec::new(), whole: true },
            Self::Text(written) => {
                let read = text(written);
                Understood { whole: read.is_some(), requirements: read.unwrap_or_default() }
            }
            Self::Requirements(written) => {
                let requirements: Vec<Value> = written.iter().filter_map(one).collect();
                Understood { whole: requirements.len() == written.len(), requirements }
            }
        }
    }
}

fn fields_of_text(text: &str) -> Option<Vec<Value>> {
    let selector = FieldSelector::parse(text).ok()?;
    let said = selector.terms().iter().map(|term| {
        let operator = match term.op {
            TermOp::Equal => "In",
            TermOp::NotEqual => "NotIn",
        };
        json!({ "key": term.field, "operator": operator, "values": [term.value] })
    });
    Some(said.collect())
}

/// Fields are compared with one value each.
fn field(requirement: &Value) -> Option<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let operator = requirement["operator"].as_str().filter(|operator| ["In", "NotIn"].contains(operator))?;
    let [value] = requirement["values"].as_array()?.as_slice() else { return None };
    Some(json!({ "key": text(&requirement["key"]), "operator": operator, "values": [text(value)] }))
}

fn labels_of_text(text: &str) -> Option<Vec<Value>> {
    Some(LabelSelector::parse(text).ok()?.requirements().iter().filter_map(say).collect())
}

fn label(requirement: &Value) -> Option<Value> {
    let selector = LabelSelector::from_object(&json!({ "matchExpressions": [requirement] })).ok()?;
    selector.requirements().first().and_then(say)
}

/// Reviews have no words for numbers that are compared.
fn say(requirement: &Requirement) -> Option<Value> {
    let operator = match requirement.operator() {
        Operator::In | Operator::Equals | Operator::DoubleEquals => "In",
        Operator::NotIn | Operator::NotEquals => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::GreaterThan | Operator::LessThan => return None,
    };
    let mut said = json!({ "key": requirement.key(), "operator": operator });
    if !requirement.values().is_empty() {
        said["values"] = requirement.values().into();
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `app In b,c; old Exists`, and what is missing.
    fn told(understood: &Understood) -> String {
        let one = |requirement: &Value| {
            let word = |field: &str| requirement[field].as_str().unwrap().to_owned();
            let values = requirement.get("values").map(|values| {
                let values = values.as_array().unwrap().iter().map(|value| value.as_str().unwrap());
                format!(" {}", values.collect::<Vec<_>>().join(","))
            });
            format!("{} {}{}", word("key"), word("operator"), values.unwrap_or_default())
        };
        let all: Vec<String> = understood.requirements.iter().map(one).collect();
        let rest = if understood.whole { "" } else { " ..." };
        format!("{}{rest}", all.join("; "))
    }

    #[track_caller]
    fn fields(selector: Selector<'_>, expected: &str) {
        assert_eq!(told(&Selectors { fields: selector, ..Selectors::default() }.fields()), expected, "{selector:?}");
    }

    #[track_caller]
    fn labels(selector: Selector<'_>, expected: &str) {
        assert_eq!(told(&Selectors { labels: selector, ..Selectors::default() }.labels()), expected, "{selector:?}");
    }

    #[test]
    fn the_text_of_a_query_becomes_requirements() {
        fields(Selector::Text(""), "");
        fields(Selector::Text("metadata.name=x"), "metadata.name In x");
        fields(Selector::Text(r"spec.nodeName!=n,a==b\,c"), "a In b,c; spec.nodeName NotIn n");
        fields(Selector::Text("x="), "x In ");
        fields(Selector::Text("a=b,nonsense"), " ...");
        labels(Selector::Text(""), "");
        labels(Selector::Text("a=b"), "a In b");
        labels(Selector::Text("tier in (y,x),a!=b,c==d"), "a NotIn b; c In d; tier In x,y");
        labels(Selector::Text("old,!new,e notin (f)"), "e NotIn f; new DoesNotExist; old Exists");
        labels(Selector::Text("a=b,!!"), " ...");
    }

    #[test]
    fn numbers_cannot_be_told_and_nothing_is_wrong_with_them() {
        labels(Selector::Text("n>4,a=b"), "a In b");
        labels(Selector::Text("n<4"), "");
    }

    #[test]
    fn of_the_requirements_of_a_review_those_count_that_are_understood() {
        let one = |operator: &str, values: &[&str]| json!({ "key": "k", "operator": operator, "values": values });
        let odd = one("Odd", &["a"]);
        fields(Selector::Requirements(&[one("In", &["a"]), one("NotIn", &["b"])]), "k In a; k NotIn b");
        fields(Selector::Requirements(&[one("In", &["a"]), odd.clone()]), "k In a ...");
        for refused in [one("In", &["a", "b"]), one("In", &[]), one("Exists", &[]), one("DoesNotExist", &[])] {
            fields(Selector::Requirements(&[refused]), " ...");
        }
        let exists = json!({ "key": "k", "operator": "Exists" });
        labels(Selector::Requirements(&[one("In", &["b", "a"]), exists]), "k In b,a; k Exists");
        labels(Selector::Requirements(&[one("DoesNotExist", &[]), odd.clone()]), "k DoesNotExist ...");
        labels(Selector::Requirements(&[odd]), " ...");
        labels(Selector::Requirements(&[Value::Null, json!(1)]), " ...");
        fields(Selector::Requirements(&[Value::Null, json!(1)]), " ...");
    }
}
