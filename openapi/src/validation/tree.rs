//! A value and where it stands, and the errors found on the way: the vocabulary in which the rules of the kinds speak.

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

use serde_json::Value;

use super::print;
use crate::builtin::{Field, Form, Type};
use crate::field::{FieldError, Wrong};

static NOTHING: Value = Value::Null;

/// A place in an object: `spec.containers[0].name`, `metadata.labels[key]`. Costs no text until an error names it.
#[derive(Clone, Debug)]
pub(super) struct Path<'a>(Option<Rc<Link<'a>>>);

#[derive(Debug)]
struct Link<'a> {
    parent: Path<'a>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Item(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    fn join(&self, step: Step<'a>) -> Self {
        Self(Some(Rc::new(Link { parent: self.clone(), step })))
    }

    fn steps(&self) -> Vec<Step<'a>> {
        let mut steps = Vec::new();
        let mut path = self;
        while let Some(link) = &path.0 {
            steps.push(link.step);
            path = &link.parent;
        }
        steps.reverse();
        steps
    }

    /// The field that stands here in an object of type `root`; none for an item of a list or a map.
    fn field_in(&self, root: &'static Type) -> Option<&'static Field> {
        match self.0.as_deref()? {
            Link { parent, step: Step::Field(name) } => parent.type_in(root)?.field(name),
            _ => None,
        }
    }

    /// The type of the value that stands here in an object of type `root`.
    fn type_in(&self, root: &'static Type) -> Option<&'static Type> {
        let mut ty = root;
        let mut many = false;
        for step in self.steps() {
            match step {
                Step::Field(name) => {
                    let field = ty.field(name)?;
                    many = matches!(field.form, Form::List | Form::Map);
                    ty = print::struct_of(field)?;
                }
                Step::Item(_) | Step::Key(_) if many => many = false,
                Step::Item(_) | Step::Key(_) => return None,
            }
        }
        Some(ty)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps().into_iter().enumerate() {
            match step {
                Step::Field("") => out.write_str("[]")?,
                Step::Field(name) if at == 0 => out.write_str(name)?,
                Step::Field(name) => write!(out, ".{name}")?,
                Step::Item(item) => write!(out, "[{item}]")?,
                Step::Key(key) => write!(out, "[{key}]")?,
            }
        }
        Ok(())
    }
}

/// A value and its place. A value that is not there reads as Go's zero: empty, 0, false.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    value: &'a Value,
    path: Path<'a>,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, path: Path(None) }
    }

    /// A place of the object that holds nothing.
    pub(super) fn nowhere(name: &'a str) -> Self {
        Self::root(&NOTHING).at(name)
    }

    pub(super) fn at(&self, name: &'a str) -> Self {
        Self { value: self.value.get(name).unwrap_or(&NOTHING), path: self.path.join(Step::Field(name)) }
    }

    /// The same value, said to stand under another name of the same parent.
    pub(super) fn called(&self, name: &'a str) -> Self {
        let parent = self.path.0.as_ref().map_or(Path(None), |link| link.parent.clone());
        Self { value: self.value, path: parent.join(Step::Field(name)) }
    }

    /// The same value, said to stand elsewhere.
    pub(super) fn placed_at(&self, other: &Node<'a>) -> Self {
        Self { value: self.value, path: other.path.clone() }
    }

    pub(super) fn key(&self, key: &'a str) -> Self {
        Self { value: self.value.get(key).unwrap_or(&NOTHING), path: self.path.join(Step::Key(key)) }
    }

    pub(super) fn item(&self, at: usize) -> Self {
        Self { value: self.value.get(at).unwrap_or(&NOTHING), path: self.path.join(Step::Item(at)) }
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let path = self.path.clone();
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().enumerate().map(move |(at, value)| Node { value, path: path.join(Step::Item(at)) })
    }

    /// The entries of a map, each under its key.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> + use<'a> {
        let path = self.path.clone();
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(move |(key, value)| (key.as_str(), Node { value, path: path.join(Step::Key(key)) }))
    }

    /// The place, as errors name it.
    pub(super) fn path(&self) -> String {
        self.path.to_string()
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    pub(super) fn exists(&self) -> bool {
        !self.value.is_null()
    }

    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text() == text
    }

    pub(super) fn int(&self) -> i64 {
        self.value.as_i64().unwrap_or_default()
    }

    pub(super) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    pub(super) fn is_false(&self) -> bool {
        self.value == &Value::Bool(false)
    }

    /// Items of a list, entries of a map, bytes of a text.
    pub(super) fn len(&self) -> usize {
        match self.value {
            Value::Array(items) => items.len(),
            Value::Object(entries) => entries.len(),
            Value::String(text) => text.len(),
            _ => 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn texts(&self) -> Vec<&'a str> {
        self.value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Both hold the same; nothing, an empty text, list and map are all nothing.
    pub(super) fn same(&self, other: &Node<'_>) -> bool {
        let nothing = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty(),
            _ => false,
        };
        self.value == other.value || (nothing(self.value) && nothing(other.value))
    }
}

/// Text that is kept of the errors of one object. Many errors that each repeat a long list must not add up.
const BYTES_MAX: usize = 1 << 20;

/// The errors of one object, in the order in which they are found.
#[derive(Debug)]
pub(super) struct Errors {
    root: &'static Type,
    list: Vec<FieldError>,
    bytes: usize,
    /// What others found, and has not been told yet.
    known: Vec<FieldError>,
}

impl Errors {
    pub(super) fn of(root: &'static Type) -> Self {
        Self { root, list: Vec::new(), bytes: 0, known: Vec::new() }
    }

    /// What others found is told in its turn.
    pub(super) fn knowing(self, known: Vec<FieldError>) -> Self {
        Self { known, ..self }
    }

    pub(super) fn root(&self) -> &'static Type {
        self.root
    }

    pub(super) fn into_list(self) -> Vec<FieldError> {
        self.list
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// There is no room for more: what is found now is not told.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX
    }

    fn add(&mut self, error: FieldError) {
        if !self.is_full() {
            self.bytes += error.field.len() + error.detail.len() + error.value.as_ref().map_or(0, String::len);
            self.list.push(error);
        }
    }

    /// Keeps the first of equal errors.
    pub(super) fn dedup(&mut self) {
        let mut seen = HashSet::new();
        self.list.retain(|error| seen.insert(error.to_string()));
    }

    pub(super) fn required(&mut self, at: &Node, detail: &str) {
        self.add(FieldError::required(at.path.to_string(), detail));
    }

    /// The value that stands at the place is wrong. A text that is not there is shown as empty.
    pub(super) fn invalid(&mut self, at: &Node, detail: impl Into<String>) {
        self.invalid_showing(at, at, detail);
    }

    /// As [`Errors::invalid`], with another value shown.
    pub(super) fn invalid_showing(&mut self, at: &Node, shown: &Node, detail: impl Into<String>) {
        if !self.is_full() {
            let shown = self.show(shown);
            self.push(Wrong::Invalid, at, Some(shown), detail.into());
        }
    }

    /// The value is wrong, and too long to be shown.
    pub(super) fn invalid_silently(&mut self, at: &Node, detail: &str) {
        self.push(Wrong::Invalid, at, None, detail.to_owned());
    }

    pub(super) fn invalid_value(&mut self, at: &Node, value: impl Into<Value>, detail: impl Into<String>) {
        self.add(FieldError::invalid(at.path.to_string(), value, detail));
    }

    /// Refuses a text once for every message.
    pub(super) fn refuse(&mut self, at: &Node, messages: Vec<String>) {
        for message in messages {
            self.invalid_value(at, at.text(), message);
        }
    }

    pub(super) fn immutable(&mut self, new: &Node, old: &Node) {
        if !new.same(old) {
            self.invalid(new, "field is immutable");
        }
    }

    /// A field that declares itself immutable has changed. Its value is not shown.
    pub(super) fn declared_immutable(&mut self, at: &Node) {
        self.invalid_value(at, Value::Null, "field is immutable");
    }

    /// Supported values are told in the order given.
    pub(super) fn unsupported(&mut self, at: &Node, supported: &[&str]) {
        self.add(FieldError::not_supported(at.path.to_string(), at.text(), supported));
    }

    pub(super) fn unsupported_value(&mut self, at: &Node, value: impl Into<Value>, supported: &[&str]) {
        self.add(FieldError::not_supported(at.path.to_string(), value, supported));
    }

    /// An expression has to be there; whether it can be compiled is for others to know.
    pub(super) fn expression(&mut self, at: &Node, missing: &str) {
        if at.text().trim().is_empty() {
            return self.required(at, missing);
        }
        self.known_at(at);
    }

    /// Tells what others found here.
    pub(super) fn known_at(&mut self, at: &Node) {
        if !self.known.is_empty() {
            let path = at.path();
            let told = self.known.extract_if(.., |error| error.field == path).collect();
            self.extend(told);
        }
    }

    /// A text that must be one of a few, and must be.
    pub(super) fn one_of(&mut self, at: &Node, supported: &[&str]) {
        if at.is_empty() {
            self.required(at, "");
        } else if !supported.contains(&at.text()) {
            self.unsupported(at, supported);
        }
    }

    pub(super) fn duplicate(&mut self, at: &Node, value: impl Into<Value>) {
        self.add(FieldError::duplicate(at.path.to_string(), value));
    }

    pub(super) fn duplicate_because(&mut self, at: &Node, value: impl Into<Value>, detail: &str) {
        let error = FieldError::duplicate(at.path.to_string(), value);
        self.add(FieldError { detail: detail.to_owned(), ..error });
    }

    pub(super) fn duplicate_shown(&mut self, at: &Node, shown: String) {
        self.push(Wrong::Duplicate, at, Some(shown), String::new());
    }

    pub(super) fn not_found(&mut self, at: &Node) {
        self.add(FieldError::not_found(at.path.to_string(), at.text()));
    }

    pub(super) fn not_found_because(&mut self, at: &Node, value: &str, detail: String) {
        let error = FieldError::not_found(at.path.to_string(), value);
        self.add(FieldError { detail, ..error });
    }

    pub(super) fn forbidden(&mut self, at: &Node, detail: impl Into<String>) {
        self.add(FieldError::forbidden(at.path.to_string(), detail));
    }

    pub(super) fn too_long(&mut self, at: &Node, bytes_max: usize) {
        self.add(FieldError::too_long(at.path.to_string(), bytes_max));
    }

    pub(super) fn too_many_characters(&mut self, at: &Node, characters_max: usize) {
        self.push(Wrong::TooLong, at, None, format!("may not be more than {characters_max} characters"));
    }

    pub(super) fn too_many(&mut self, at: &Node, items_max: usize) {
        self.too_many_of(at, at.len(), items_max);
    }

    /// As [`Errors::too_many`], for items that are not counted one by one.
    pub(super) fn too_many_of(&mut self, at: &Node, items: usize, items_max: usize) {
        let detail = format!("must have at most {items_max} item{}", if items_max == 1 { "" } else { "s" });
        self.push(Wrong::TooMany, at, Some(items.to_string()), detail);
    }

    pub(super) fn extend(&mut self, errors: Vec<FieldError>) {
        errors.into_iter().for_each(|error| self.add(error));
    }

    pub(super) fn negative(&mut self, at: &Node) {
        self.at_least(at, 0);
    }

    pub(super) fn at_least(&mut self, at: &Node, min: i64) {
        if at.int() < min {
            self.invalid_value(at, at.int(), format!("must be greater than or equal to {min}"));
        }
    }

    fn push(&mut self, wrong: Wrong, at: &Node, value: Option<String>, detail: String) {
        self.add(FieldError { wrong, field: at.path.to_string(), value, detail });
    }

    fn show(&self, at: &Node) -> String {
        match at.path.field_in(self.root) {
            Some(field) if !at.exists() => print::nothing(field),
            _ => print::go(at.value(), at.path.type_in(self.root)),
        }
    }
}
