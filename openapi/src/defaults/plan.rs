//! The way through an object to every place where a rule applies.
//!
//! It is laid out once for all types, and leads only where there is something to do. The one type of the table that
//! holds itself, the JSON schema, has no defaults in it: so no way is longer than the nesting of Go's types.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::rule::{Rule, structure};
use crate::builtin::{Element, Field, Form, Type, table};

type Name = (&'static str, &'static str);

/// One plan for every type of the table, in its order.
pub(super) struct Plans {
    by_name: HashMap<Name, usize>,
    all: Vec<Plan>,
}

struct Plan {
    rule: Rule,
    /// The fields inside of which something is to do, and the plan for it.
    inner: Vec<(&'static Field, usize)>,
}

fn name(ty: &Type) -> Name {
    (ty.package.alias, ty.name)
}

impl Plans {
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let types = table().types;
        let by_name: HashMap<Name, usize> = types.iter().enumerate().map(|(at, ty)| (name(ty), at)).collect();
        let mut all: Vec<Plan> = types.iter().map(|ty| Plan { rule: Rule::of(ty), inner: Vec::new() }).collect();
        for rule in rules {
            if let Some(at) = rule.ty.and_then(|ty| by_name.get(&name(ty))) {
                all[*at].rule.join(rule);
            }
        }
        for (ty, plan) in types.iter().zip(&mut all) {
            plan.rule.join(marked(ty));
        }
        let mut plans = Self { by_name, all };
        plans.connect(types);
        plans
    }

    fn connect(&mut self, types: &'static [Type]) {
        let fields: Vec<Vec<(&'static Field, usize)>> = types.iter().map(|ty| self.structs(ty)).collect();
        let mut busy: Vec<bool> = self.all.iter().map(|plan| !plan.rule.is_empty()).collect();
        let mut known = 0;
        while known < busy.iter().filter(|busy| **busy).count() {
            known = busy.iter().filter(|busy| **busy).count();
            for (at, fields) in fields.iter().enumerate() {
                busy[at] |= fields.iter().any(|(_, inner)| busy[*inner]);
            }
        }
        for (plan, fields) in self.all.iter_mut().zip(fields) {
            plan.inner = fields.into_iter().filter(|(_, inner)| busy[*inner]).collect();
        }
    }

    fn structs(&self, ty: &'static Type) -> Vec<(&'static Field, usize)> {
        let plan_of = |field: &'static Field| Some((field, *self.by_name.get(&name(structure(field)?))?));
        ty.json_fields().filter_map(plan_of).collect()
    }

    pub(super) fn apply(&self, map: &mut Map<String, Value>, ty: &'static Type) {
        if let Some(at) = self.by_name.get(&name(ty)) {
            self.run(*at, map);
        }
    }

    /// Outer rules come first, as in Go: what they add gets its own defaults then.
    fn run(&self, at: usize, map: &mut Map<String, Value>) {
        let plan = &self.all[at];
        plan.rule.run(map);
        for (field, inner) in &plan.inner {
            match (field.form, map.get_mut(field.name)) {
                (Form::One | Form::Pointer, Some(Value::Object(map))) => self.run(*inner, map),
                (Form::List, Some(Value::Array(items))) => {
                    items.iter_mut().filter_map(Value::as_object_mut).for_each(|map| self.run(*inner, map));
                }
                (Form::Map, Some(Value::Object(entries))) => {
                    entries.values_mut().filter_map(Value::as_object_mut).for_each(|map| self.run(*inner, map));
                }
                _ => {}
            }
        }
    }
}

/// What the table itself says: marked defaults, and resources that are counted in thousandths.
fn marked(ty: &'static Type) -> Rule {
    // Overhead of a runtime class has no defaulting in Kubernetes.
    let rounds = ty.package.alias != "node.v1";
    ty.json_fields().fold(Rule::of(ty), |rule, field| match (field.form, field.element) {
        (Form::Map, Element::Quantity) if rounds => rule.round(field.name),
        _ => match field.default.and_then(|text| serde_json::from_str(text).ok()) {
            Some(value) if field.form == Form::Pointer || !crate::zero::is_empty(&value) => rule.set(field.name, value),
            _ => rule,
        },
    })
}
