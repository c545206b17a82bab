//! What an expression is after parsing: macros are expanded, every node has an id, and ids have positions.

use std::sync::Arc;

/// Identifies a node. Nodes that a macro made have ids of their own.
pub(crate) type Id = u32;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// What stands where something could not be read.
    Missing,
    Literal(Literal),
    Ident(Arc<str>),
    Select(Box<Select>),
    Call(Box<Call>),
    List(List),
    Map(Vec<Entry>),
    Object(Object),
    Fold(Box<Fold>),
}

#[derive(Clone, Debug)]
pub(crate) struct Select {
    pub(crate) operand: Expr,
    pub(crate) field: Arc<str>,
    /// `has(operand.field)`
    pub(crate) test: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: Arc<str>,
    pub(crate) target: Option<Expr>,
    pub(crate) arguments: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) elements: Vec<Expr>,
    /// Which elements are left out when they are absent: `[?a]`.
    pub(crate) optional: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) name: Arc<str>,
    pub(crate) fields: Vec<Initializer>,
}

#[derive(Clone, Debug)]
pub(crate) struct Initializer {
    pub(crate) id: Id,
    pub(crate) name: Arc<str>,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A comprehension: what `all`, `map` and their like become.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) variable: Arc<str>,
    pub(crate) second: Option<Arc<str>>,
    pub(crate) range: Expr,
    pub(crate) accumulator: Arc<str>,
    pub(crate) initial: Expr,
    /// The fold goes on as long as this holds.
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

impl Expr {
    /// How deep its nodes nest. Found without recursion, since what nests too deep is what this is for.
    pub(crate) fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut waiting = vec![(self, 1)];
        while let Some((expr, depth)) = waiting.pop() {
            deepest = deepest.max(depth);
            expr.each_child(&mut |child| waiting.push((child, depth + 1)));
        }
        deepest
    }

    fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            Kind::Missing | Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select(select) => visit(&select.operand),
            Kind::Call(call) => call.target.iter().chain(&call.arguments).for_each(visit),
            Kind::List(list) => list.elements.iter().for_each(visit),
            Kind::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).for_each(visit),
            Kind::Object(object) => object.fields.iter().map(|field| &field.value).for_each(visit),
            Kind::Fold(fold) => {
                [&fold.range, &fold.initial, &fold.condition, &fold.step, &fold.result].into_iter().for_each(visit);
            }
        }
    }
}

/// The name of the accumulator in macros of the language. No identifier can be written so.
pub(crate) const ACCUMULATOR: &str = "@result";

/// Operators are functions with these names.
pub(crate) mod operator {
    pub(crate) const CONDITIONAL: &str = "_?_:_";
    pub(crate) const AND: &str = "_&&_";
    pub(crate) const OR: &str = "_||_";
    pub(crate) const NOT: &str = "!_";
    pub(crate) const EQUALS: &str = "_==_";
    pub(crate) const NOT_EQUALS: &str = "_!=_";
    pub(crate) const LESS: &str = "_<_";
    pub(crate) const LESS_EQUALS: &str = "_<=_";
    pub(crate) const GREATER: &str = "_>_";
    pub(crate) const GREATER_EQUALS: &str = "_>=_";
    pub(crate) const ADD: &str = "_+_";
    pub(crate) const SUBTRACT: &str = "_-_";
    pub(crate) const MULTIPLY: &str = "_*_";
    pub(crate) const DIVIDE: &str = "_/_";
    pub(crate) const MODULO: &str = "_%_";
    pub(crate) const NEGATE: &str = "-_";
    pub(crate) const INDEX: &str = "_[_]";
    pub(crate) const OPTIONAL_INDEX: &str = "_[?_]";
    pub(crate) const OPTIONAL_SELECT: &str = "_?._";
    pub(crate) const IN: &str = "@in";
    pub(crate) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
}
