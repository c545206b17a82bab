//! The words in which defaults are written.
//!
//! ```text
//! on("Job")
//!     .having("spec.backoffLimitPerIndex", |job| job.set("spec.backoffLimit", i32::MAX))
//!     .set("spec.backoffLimit", 6)
//! ```
//!
//! Steps run in the order in which they are written. A path leads from the type of the rule through structs to one
//! field. A field *lacks* where Go would see nothing: absent, or zero for what is no pointer.

use serde_json::{Map, Value};

use crate::builtin::{Element, Field, Form, Type, table};
use crate::scalar::quantity;
use crate::zero;

/// What happens to every object of one type.
pub(super) struct Rule {
    pub(super) ty: Option<&'static Type>,
    steps: Vec<Step>,
    unknown: Vec<String>,
}

enum Step {
    Set(Place, Value),
    Put(Place, Value),
    Remove(Place),
    Copy(Place, Place),
    Fill(Place, Place),
    Round(Place),
    Given(Place, Value, Vec<Step>),
    Having(Place, Vec<Step>),
    Lacking(Place, Vec<Step>),
    Each(Place, Vec<Step>),
    Then(fn(&mut Map<String, Value>)),
}

/// A field, and the way to it.
struct Place {
    way: Vec<&'static str>,
    name: &'static str,
    is_pointer: bool,
}

impl Rule {
    /// A rule for a type of a package: `Rule::on("core.v1", "Pod")`.
    pub(super) fn on(package: &str, name: &str) -> Self {
        let ty = table().types.iter().find(|ty| ty.package.alias == package && ty.name == name);
        let unknown = if ty.is_some() { Vec::new() } else { vec![format!("{package}.{name}")] };
        Self { ty, steps: Vec::new(), unknown }
    }

    pub(super) fn of(ty: &'static Type) -> Self {
        Self { ty: Some(ty), steps: Vec::new(), unknown: Vec::new() }
    }

    /// Gives a field that lacks this value, and the structs on the way to it.
    pub(super) fn set(self, path: &'static str, value: impl Into<Value>) -> Self {
        self.step(path, |place| Step::Set(place, value.into()))
    }

    /// Gives a field this value, whatever it holds.
    pub(super) fn put(self, path: &'static str, value: impl Into<Value>) -> Self {
        self.step(path, |place| Step::Put(place, value.into()))
    }

    pub(super) fn remove(self, path: &'static str) -> Self {
        self.step(path, Step::Remove)
    }

    /// Gives a field that lacks the value of another one.
    pub(super) fn copy(self, from: &'static str, to: &'static str) -> Self {
        self.between(from, to, Step::Copy)
    }

    /// Gives a map the entries of another one that it lacks.
    pub(super) fn fill(self, from: &'static str, to: &'static str) -> Self {
        self.between(from, to, Step::Fill)
    }

    /// Rounds the quantities of a map up to thousandths.
    pub(super) fn round(self, path: &'static str) -> Self {
        self.step(path, Step::Round)
    }

    /// What else happens where the field has this value.
    pub(super) fn given(self, path: &'static str, value: impl Into<Value>, then: fn(Self) -> Self) -> Self {
        let steps = self.inner(self.ty, then);
        self.block(path, steps, |place, steps| Step::Given(place, value.into(), steps))
    }

    /// What else happens where the field does not lack.
    pub(super) fn having(self, path: &'static str, then: fn(Self) -> Self) -> Self {
        let steps = self.inner(self.ty, then);
        self.block(path, steps, Step::Having)
    }

    /// What else happens where the field lacks.
    pub(super) fn lacking(self, path: &'static str, then: fn(Self) -> Self) -> Self {
        let steps = self.inner(self.ty, then);
        self.block(path, steps, Step::Lacking)
    }

    /// What happens to every item of a list.
    pub(super) fn each(self, path: &'static str, then: fn(Self) -> Self) -> Self {
        let item = self.ty.and_then(|ty| resolve(ty, path)).and_then(|(_, field)| structure(field));
        let steps = self.inner(item, then);
        self.block(path, steps, Step::Each)
    }

    /// What these words cannot say.
    pub(super) fn then(mut self, change: fn(&mut Map<String, Value>)) -> Self {
        self.steps.push(Step::Then(change));
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn join(&mut self, other: Self) {
        self.steps.extend(other.steps);
    }

    pub(super) fn run(&self, map: &mut Map<String, Value>) {
        run(&self.steps, map);
    }

    /// The types and fields that the rule names and the table does not know.
    #[cfg(test)]
    pub(super) fn unknown(self) -> Vec<String> {
        self.unknown
    }

    fn inner(&self, ty: Option<&'static Type>, then: fn(Self) -> Self) -> Self {
        then(Self { ty, steps: Vec::new(), unknown: Vec::new() })
    }

    fn step(mut self, path: &'static str, step: impl FnOnce(Place) -> Step) -> Self {
        if let Some(place) = self.place(path) {
            self.steps.push(step(place));
        }
        self
    }

    fn between(mut self, from: &'static str, to: &'static str, step: fn(Place, Place) -> Step) -> Self {
        if let (Some(from), Some(to)) = (self.place(from), self.place(to)) {
            self.steps.push(step(from, to));
        }
        self
    }

    fn block(mut self, path: &'static str, inner: Self, step: impl FnOnce(Place, Vec<Step>) -> Step) -> Self {
        self.unknown.extend(inner.unknown);
        self.step(path, |place| step(place, inner.steps))
    }

    fn place(&mut self, path: &'static str) -> Option<Place> {
        let found = self.ty.and_then(|ty| resolve(ty, path));
        if found.is_none() {
            self.unknown.push(format!("{}: {path}", self.ty.map_or("?", |ty| ty.name)));
        }
        let (way, field) = found?;
        Some(Place { way, name: field.name, is_pointer: field.form == Form::Pointer })
    }
}

fn resolve(mut ty: &'static Type, path: &'static str) -> Option<(Vec<&'static str>, &'static Field)> {
    let mut way: Vec<&'static str> = path.split('.').collect();
    let last = way.pop()?;
    for name in &way {
        ty = structure(ty.field(name)?)?;
    }
    Some((way, ty.field(last)?))
}

pub(super) fn structure(field: &Field) -> Option<&'static Type> {
    match field.element {
        Element::Struct(id) => Some(id.get()),
        _ => None,
    }
}

fn run(steps: &[Step], map: &mut Map<String, Value>) {
    for step in steps {
        step.run(map);
    }
}

impl Step {
    fn run(&self, map: &mut Map<String, Value>) {
        match self {
            Self::Set(place, value) => place.set(map, value),
            Self::Put(place, value) => place.put(map, value.clone()),
            Self::Remove(place) => place.remove(map),
            Self::Copy(from, to) => copy(map, from, to),
            Self::Fill(from, to) => fill(map, from, to),
            Self::Round(place) => place.entries(map).for_each(round),
            Self::Given(place, value, steps) if place.find(map) == Some(value) => run(steps, map),
            Self::Having(place, steps) if place.find(map).is_some() => run(steps, map),
            Self::Lacking(place, steps) if place.find(map).is_none() => run(steps, map),
            Self::Each(place, steps) => place.items(map).for_each(|item| run(steps, item)),
            Self::Then(change) => change(map),
            Self::Given(..) | Self::Having(..) | Self::Lacking(..) => {}
        }
    }
}

impl Place {
    /// The value of the field, unless it lacks.
    fn find<'a>(&self, map: &'a Map<String, Value>) -> Option<&'a Value> {
        let inner = self.way.iter().try_fold(map, |map, name| map.get(*name)?.as_object())?;
        inner.get(self.name).filter(|value| !self.is_nothing(value))
    }

    fn is_nothing(&self, value: &Value) -> bool {
        value.is_null() || !self.is_pointer && zero::is_empty(value)
    }

    fn find_mut<'a>(&self, map: &'a mut Map<String, Value>) -> Option<&'a mut Value> {
        let inner = self.way.iter().try_fold(map, |map, name| map.get_mut(*name)?.as_object_mut())?;
        inner.get_mut(self.name)
    }

    /// The struct of the field. Makes the ones on the way to it; `None` where something else is in the way.
    fn parent<'a>(&self, map: &'a mut Map<String, Value>) -> Option<&'a mut Map<String, Value>> {
        self.way.iter().try_fold(map, |map, name| {
            let inner = map.entry(*name).or_insert(Value::Null);
            if inner.is_null() {
                *inner = Value::Object(Map::new());
            }
            inner.as_object_mut()
        })
    }

    fn set(&self, map: &mut Map<String, Value>, value: &Value) {
        if self.find(map).is_none() {
            self.put(map, value.clone());
        }
    }

    fn put(&self, map: &mut Map<String, Value>, value: Value) {
        if let Some(parent) = self.parent(map) {
            parent.insert(self.name.to_owned(), value);
        }
    }

    fn remove(&self, map: &mut Map<String, Value>) {
        if let Some(inner) = self.way.iter().try_fold(map, |map, name| map.get_mut(*name)?.as_object_mut()) {
            inner.remove(self.name);
        }
    }

    fn items<'a>(&self, map: &'a mut Map<String, Value>) -> impl Iterator<Item = &'a mut Map<String, Value>> + use<'a> {
        let items = self.find_mut(map).and_then(Value::as_array_mut);
        items.into_iter().flatten().filter_map(Value::as_object_mut)
    }

    fn entries<'a>(&self, map: &'a mut Map<String, Value>) -> impl Iterator<Item = &'a mut Value> + use<'a> {
        self.find_mut(map).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
    }
}

fn copy(map: &mut Map<String, Value>, from: &Place, to: &Place) {
    if to.find(map).is_none()
        && let Some(value) = from.find(map).cloned()
    {
        to.put(map, value);
    }
}

fn fill(map: &mut Map<String, Value>, from: &Place, to: &Place) {
    let Some(Value::Object(source)) = from.find(map).cloned() else { return };
    copy(map, from, to);
    if let Some(Value::Object(target)) = to.find_mut(map) {
        for (name, value) in source {
            target.entry(name).or_insert(value);
        }
    }
}

fn round(value: &mut Value) {
    let rounded = value.as_str().and_then(|text| quantity::canonical_in_milli(text).ok());
    if let Some(rounded) = rounded.map(|text| Value::from(&*text)) {
        *value = rounded;
    }
}
