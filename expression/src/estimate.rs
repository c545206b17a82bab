//! What an expression may cost, from the types and declared sizes of its data. The rules are those of cel-go.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{ACCUMULATOR, Call as CallExpr, Entry, Expr, Fold, Id, Kind, List, Literal, operator};
use crate::check::{Checked, Reference};
use crate::cost::{CallEstimate, Cost, LIST_CREATION, MAP_CREATION, Node, OBJECT_CREATION, Size, declared_size};
use crate::environment::Environment;
use crate::library::{Call, Overload};
use crate::standard::shorter;
use crate::types::{Declared, Form, Type};
use crate::value::characters;

/// The least and the most.
pub(crate) fn estimate(root: &Expr, checked: &Checked, environment: &Environment) -> Cost {
    let mut estimator = Estimator {
        environment,
        checked,
        paths: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
        locals: Vec::new(),
    };
    estimator.cost(root)
}

/// Where the data that an expression stands for is declared. Paths are followed as Kubernetes follows them: the first
/// step always leads to the root, whatever its name is.
#[derive(Clone, Copy, Debug)]
struct Path<'e> {
    /// `None` below what is declared.
    declared: Option<&'e Declared>,
    is_key: bool,
    /// The number of steps. 0: made by the expression itself.
    length: usize,
}

const NOWHERE: Path<'static> = Path { declared: None, is_key: false, length: 0 };

/// Sizes of what is in a list or map.
#[derive(Clone, Copy, Debug)]
struct EntrySize {
    is_list: bool,
    key: Size,
    value: Size,
}

impl EntrySize {
    fn union(self, other: EntrySize) -> EntrySize {
        EntrySize { key: self.key.union(other.key), value: self.value.union(other.value), ..self }
    }
}

/// A step of a path.
#[derive(Clone, Copy, Debug)]
enum Turn<'n> {
    Field(&'n str),
    Item,
    Value,
    Key,
    Index,
}

#[derive(Clone, Debug)]
struct Local<'e> {
    name: Arc<str>,
    path: Path<'e>,
    size: Option<Size>,
    entry: Option<EntrySize>,
}

struct Estimator<'e> {
    environment: &'e Environment,
    checked: &'e Checked,
    paths: HashMap<Id, Path<'e>>,
    sizes: HashMap<Id, Size>,
    entries: HashMap<Id, EntrySize>,
    locals: Vec<Local<'e>>,
}

const IDENT: Cost = Cost { min: 1, max: 1 };

impl<'e> Estimator<'e> {
    fn cost(&mut self, expr: &Expr) -> Cost {
        match &expr.kind {
            Kind::Missing | Kind::Literal(_) => Cost::default(),
            Kind::Ident(name) => self.ident(expr, name),
            Kind::Select(select) => {
                let operand = self.cost(&select.operand);
                if select.test {
                    return operand;
                }
                let path = self.step(self.path(&select.operand), Turn::Field(&select.field));
                self.paths.insert(expr.id, path);
                let priced =
                    matches!(self.checked.ty(select.operand.id), Type::Map(_) | Type::Object(_) | Type::Param(_));
                if priced { operand.plus(IDENT) } else { operand }
            }
            Kind::Call(call) => self.call(expr, call),
            Kind::List(list) => self.list(expr, list),
            Kind::Map(entries) => self.map(expr, entries),
            Kind::Object(object) => {
                let fields = object.fields.iter().map(|field| self.cost(&field.value));
                fields.fold(Cost::default(), Cost::plus).plus(Cost::exactly(OBJECT_CREATION))
            }
            Kind::Fold(fold) if is_binding(fold) => self.binding(expr, fold),
            Kind::Fold(fold) => self.fold(expr, fold),
        }
    }

    fn ident(&mut self, expr: &Expr, name: &str) -> Cost {
        let path = match (self.local(name), self.checked.reference(expr.id)) {
            (Some(local), _) => local.path,
            (None, Reference::Variable(index)) => self.root(&self.environment.variables[*index].1),
            _ => self.step(NOWHERE, Turn::Value),
        };
        self.paths.insert(expr.id, path);
        IDENT
    }

    fn local(&self, name: &str) -> Option<&Local<'e>> {
        self.locals.iter().rev().find(|local| &*local.name == name)
    }

    fn path(&self, expr: &Expr) -> Path<'e> {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.path;
        }
        self.paths.get(&expr.id).copied().unwrap_or(NOWHERE)
    }

    fn root(&self, declared: &'e Declared) -> Path<'e> {
        match &declared.form {
            Form::Given => self.step(NOWHERE, Turn::Value),
            Form::Optional(inner) => Path { declared: Some(inner), is_key: false, length: 1 },
            _ => Path { declared: Some(declared), is_key: false, length: 1 },
        }
    }

    fn step(&self, path: Path<'e>, turn: Turn<'_>) -> Path<'e> {
        let length = path.length + 1;
        if path.length == 0 {
            let declared = match self.environment.variables.first().map(|(_, declared)| declared) {
                Some(Declared { form: Form::Optional(inner), .. }) => Some(&**inner),
                other => other.filter(|root| !matches!(root.form, Form::Given)),
            };
            return Path { declared, is_key: false, length };
        }
        let below = path.declared.filter(|_| !path.is_key);
        let (declared, is_key) = match (below.map(|declared| &declared.form), turn) {
            (Some(Form::List(items)), Turn::Item | Turn::Value) => (Some(&items.declared), false),
            (Some(Form::Map(values)), Turn::Item | Turn::Value) => (Some(&**values), false),
            (Some(Form::Map(_)), Turn::Key) => (path.declared, true),
            (Some(Form::Object(object)), Turn::Field(name)) => {
                (object.fields.as_ref().and_then(|fields| fields.get(name)).map(|field| &field.declared), false)
            }
            _ => (None, false),
        };
        Path { declared, is_key, length }
    }

    fn size_of_path(path: Path<'e>) -> Option<Size> {
        let declared = path.declared?;
        // Of keys nothing is declared, which counts as no size at all.
        if path.is_key { Some(Size::exactly(0)) } else { declared_size(declared) }
    }

    fn size(&mut self, expr: &Expr) -> Option<Size> {
        if let Some(size) = self.sizes.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = literal_size(expr) {
            return Some(size);
        }
        if let Some(size) = Self::size_of_path(self.path(expr)) {
            self.sizes.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(self.checked.ty(expr.id)) {
            return Some(Size::exactly(1));
        }
        let Kind::Ident(name) = &expr.kind else { return None };
        self.local(name)?.size
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Size {
        self.size(expr).unwrap_or(Size::UNKNOWN)
    }

    fn entry(&self, expr: &Expr) -> Option<EntrySize> {
        if let Some(entry) = self.entries.get(&expr.id) {
            return Some(*entry);
        }
        let Kind::Ident(name) = &expr.kind else { return None };
        self.local(name)?.entry
    }

    fn node<'n>(&mut self, expr: &'n Expr) -> Node<'n>
    where
        'e: 'n,
    {
        let computed = self.size(expr);
        let path = self.path(expr);
        let declared = path.declared.filter(|_| !path.is_key);
        let literal = match &expr.kind {
            Kind::Literal(literal) => Some(literal),
            _ => None,
        };
        Node { ty: self.checked.ty(expr.id).clone(), computed, declared, literal }
    }

    fn call(&mut self, expr: &Expr, call: &CallExpr) -> Cost {
        if &*call.function == "dyn" {
            let [argument] = &call.arguments[..] else { return Cost::default() };
            let cost = self.cost(argument);
            self.copy_sizes(expr.id, argument);
            return IDENT.plus(cost);
        }
        let costs: Vec<Cost> = call.arguments.iter().map(|argument| self.cost(argument)).collect();
        let arguments: Vec<Node<'_>> = call.arguments.iter().map(|argument| self.node(argument)).collect();
        let Reference::Overloads(function, places) = self.checked.reference(expr.id) else { return Cost::default() };
        let target_cost = call.target.as_ref().map_or(Cost::default(), |target| self.cost(target));
        let target = call.target.as_ref().map(|target| self.node(target));
        let estimated = Call { target, arguments };
        let overloads: &'e [Overload] =
            self.environment.base.functions.get(&**function).map(Vec::as_slice).unwrap_or_default();
        let mut sum = Cost { min: u64::MAX, max: 0 };
        let mut result: Option<Size> = None;
        for overload in places.iter().filter_map(|place| overloads.get(*place)) {
            let found = self.overload(expr, call, overload, &estimated, &costs);
            sum = sum.union(found.cost);
            result = match (result, found.result) {
                (Some(one), Some(two)) => Some(one.union(two)),
                (one, two) => one.or(two),
            };
            if matches!(overload.id, "index_list" | "index_map") {
                result = self.entry(&call.arguments[0]).map(|entry| entry.value);
                let path = self.step(self.path(&call.arguments[0]), Turn::Item);
                self.paths.insert(expr.id, path);
            }
            if result.is_none() {
                result = self.size(expr);
            }
        }
        if let Some(size) = result {
            self.sizes.insert(expr.id, size);
        }
        target_cost.plus(sum)
    }

    fn overload(
        &mut self,
        expr: &Expr,
        call: &CallExpr,
        overload: &Overload,
        estimated: &Call<'_>,
        costs: &[Cost],
    ) -> CallEstimate {
        let sum = costs.iter().copied().fold(Cost::default(), Cost::plus);
        match (&*call.function, costs) {
            (operator::AND | operator::OR, [left, right]) => {
                return Cost { min: left.min, max: left.plus(*right).max }.into();
            }
            (operator::CONDITIONAL, [condition, yes, no]) => {
                let [_, yes_expr, no_expr] = &call.arguments[..] else { return sum.into() };
                let size = self.size_or_unknown(yes_expr).union(self.size_or_unknown(no_expr));
                if let (Some(yes), Some(no)) = (self.entry(yes_expr), self.entry(no_expr)) {
                    self.entries.insert(expr.id, yes.union(no));
                }
                return CallEstimate { cost: condition.plus(yes.union(*no)), result: Some(size) };
            }
            (operator::ADD, [_, _]) if matches!(overload.id, "add_list" | "add_string" | "add_bytes") => {
                if let (Some(one), Some(two)) = (self.entry(&call.arguments[0]), self.entry(&call.arguments[1])) {
                    self.entries.insert(expr.id, one.union(two));
                }
            }
            _ => {}
        }
        let own = match &*call.function {
            operator::EQUALS => self.equality(estimated).or_else(|| shorter(estimated)),
            operator::NOT_EQUALS => shorter(estimated),
            _ => overload.estimate.and_then(|estimate| estimate(estimated)),
        };
        let own = own.unwrap_or_else(|| IDENT.into());
        CallEstimate { cost: own.cost.plus(sum), result: own.result }
    }

    /// What libraries say of the equality of two values of a type of theirs.
    fn equality(&self, call: &Call<'_>) -> Option<CallEstimate> {
        let (one, two) = (call.argument(0)?, call.argument(1)?);
        if !one.ty().is_exactly(two.ty()) {
            return None;
        }
        let known = self.environment.base.equalities.iter().find(|(ty, _)| ty.is_exactly(one.ty()));
        known.and_then(|(_, estimate)| estimate(call))
    }

    fn copy_sizes(&mut self, to: Id, from: &Expr) {
        if let Some(size) = self.size(from) {
            self.sizes.insert(to, size);
        }
        if let Some(entry) = self.entry(from) {
            self.entries.insert(to, entry);
        }
    }

    fn list(&mut self, expr: &Expr, list: &List) -> Cost {
        let mut sum = Cost::exactly(LIST_CREATION);
        let mut items = Size { min: if list.elements.is_empty() { 0 } else { u64::MAX }, max: 0 };
        for element in &list.elements {
            sum = sum.plus(self.cost(element));
            items = items.union(self.size_or_unknown(element));
        }
        self.entries.insert(expr.id, EntrySize { is_list: true, key: Size::exactly(1), value: items });
        sum
    }

    fn map(&mut self, expr: &Expr, entries: &[Entry]) -> Cost {
        let mut sum = Cost::exactly(MAP_CREATION);
        let nothing = Size { min: if entries.is_empty() { 0 } else { u64::MAX }, max: 0 };
        let (mut keys, mut values) = (nothing, nothing);
        for entry in entries {
            sum = sum.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
            keys = keys.union(self.size_or_unknown(&entry.key));
            values = values.union(self.size_or_unknown(&entry.value));
        }
        self.entries.insert(expr.id, EntrySize { is_list: false, key: keys, value: values });
        sum
    }

    fn binding(&mut self, expr: &Expr, fold: &Fold) -> Cost {
        let sum = self.cost(&fold.range).plus(self.cost(&fold.initial));
        self.push_accumulator(fold);
        let sum = sum.plus(self.cost(&fold.result));
        self.locals.pop();
        self.copy_sizes(expr.id, &fold.result);
        sum
    }

    fn push_accumulator(&mut self, fold: &Fold) {
        let path = self.path(&fold.initial);
        let (size, entry) = (self.size(&fold.initial), self.entry(&fold.initial));
        self.locals.push(Local { name: fold.accumulator.clone(), path, size, entry });
    }

    fn push_variables(&mut self, fold: &Fold) {
        let entry = self.entry(&fold.range);
        let is_list = match entry {
            Some(entry) => entry.is_list,
            None => matches!(self.checked.ty(fold.range.id), Type::List(_)),
        };
        let range = self.path(&fold.range);
        let value = (self.step(range, Turn::Value), entry.map(|entry| entry.value));
        let mut key = (self.step(range, if is_list { Turn::Index } else { Turn::Key }), entry.map(|entry| entry.key));
        let variables = match (&fold.second, is_list) {
            (Some(second), _) => {
                // cel-go appends both to one path, and where that has room for one more, the second takes the place of
                // the first.
                if range.length > 0 && !range.length.is_power_of_two() {
                    key.0 = value.0;
                }
                vec![(&fold.variable, key), (second, value)]
            }
            (None, true) => vec![(&fold.variable, value)],
            (None, false) => vec![(&fold.variable, key)],
        };
        for (name, (path, size)) in variables {
            self.locals.push(Local { name: name.clone(), path, size, entry: None });
        }
    }

    fn fold(&mut self, expr: &Expr, fold: &Fold) -> Cost {
        let mut sum = self.cost(&fold.range).plus(self.cost(&fold.initial));
        let outside = self.locals.len();
        self.push_accumulator(fold);
        self.push_variables(fold);
        let round = self.cost(&fold.condition);
        let round = self.cost(&fold.step).plus(round);
        self.locals.truncate(outside + 1);
        sum = sum.plus(self.cost(&fold.result));
        self.locals.truncate(outside);
        let count = self.size_or_unknown(&fold.range);
        match &fold.initial.kind {
            Kind::Literal(_) => {
                if let Some(size) = self.size(&fold.initial) {
                    self.sizes.insert(expr.id, size);
                }
            }
            Kind::List(_) | Kind::Map(_) => {
                self.sizes.insert(expr.id, count);
                if let Some(entry) = self.entry(&fold.step) {
                    self.entries.insert(expr.id, entry);
                }
            }
            _ => {}
        }
        sum.plus(count.each(round))
    }
}

/// A loop over nothing, which binds its accumulator.
fn is_binding(fold: &Fold) -> bool {
    let empty = matches!(&fold.range.kind, Kind::List(list) if list.elements.is_empty());
    empty && matches!(fold.condition.kind, Kind::Literal(Literal::Bool(false))) && &*fold.accumulator != ACCUMULATOR
}

fn literal_size(expr: &Expr) -> Option<Size> {
    let size = match &expr.kind {
        Kind::Literal(Literal::String(text)) => characters(text),
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        Kind::Literal(_) => 1,
        Kind::List(list) => list.elements.len() as u64,
        Kind::Map(entries) => entries.len() as u64,
        _ => return None,
    };
    Some(Size::exactly(size))
}

fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}
