//! Expressions, read once. One that cannot be read is kept with the reason, which is told whenever it is asked for.

use super::environment::{self, OBJECT, Scope};
use crate::object::Object;
use expression::{CompileError, Declared, Environment, Program, Type};
use serde_json::Value;

/// An expression that may be run.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) program: Result<Program, Fault>,
}

/// Why an expression cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) detail: String,
    /// Not of its author's making.
    pub(super) is_internal: bool,
}

/// What an expression has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Anything,
    Bool,
    Text,
    TextOrNull,
    Object,
    Operations,
}

impl Wanted {
    fn types(self) -> Vec<Type> {
        match self {
            Self::Anything => Vec::new(),
            Self::Bool => vec![Type::Bool],
            Self::Text => vec![Type::String],
            Self::TextOrNull => vec![Type::String, Type::Null],
            Self::Object => vec![Type::open(OBJECT)],
            Self::Operations => vec![Type::list(environment::json_patch())],
        }
    }
}

impl Expression {
    pub(super) fn compile(environment: &Environment, text: &str, wanted: Wanted) -> Self {
        let program = match environment.compile(text, &Type::Dyn) {
            Ok(program) => fitting(program, &wanted.types()),
            Err(CompileError::Program(why)) => {
                Err(Fault { detail: format!("program instantiation failed: {why}"), is_internal: true })
            }
            Err(issues) => Err(Fault { detail: format!("compilation failed: {issues}"), is_internal: false }),
        };
        Self { text: text.to_owned(), program }
    }
}

fn fitting(program: Program, wanted: &[Type]) -> Result<Program, Fault> {
    if wanted.is_empty() || wanted.iter().any(|ty| program.ty().is_exactly(ty)) {
        return Ok(program);
    }
    let found = spelled(program.ty());
    let wanted: Vec<String> = wanted.iter().map(spelled).collect();
    let detail = match wanted.as_slice() {
        [one] => format!("must evaluate to {one} but got {found}"),
        many => format!("must evaluate to one of [{}] but got {found}", many.join(" ")),
    };
    Err(Fault { detail, is_internal: false })
}

/// A type under its own name, where the checker's complaints shorten it.
fn spelled(ty: &Type) -> String {
    match ty {
        Type::List(items) => format!("list({})", spelled(items)),
        Type::Map(entry) => format!("map({}, {})", spelled(&entry.0), spelled(&entry.1)),
        Type::Optional(inner) => format!("optional_type({})", spelled(inner)),
        Type::Type(Some(inner)) => format!("type({})", spelled(inner)),
        other => other.name().to_owned(),
    }
}

/// Expressions with names, which those after them can use.
#[derive(Debug, Default)]
pub(super) struct Named(pub(super) Vec<(String, Expression)>);

impl Named {
    /// The variables of a policy. One that cannot be read may be anything to those after it.
    pub(super) fn read(policy: &Object, scope: Scope) -> Self {
        let mut named = Self::default();
        for item in policy.items(&["spec", "variables"]) {
            let environment = environment::environment(scope, Some(named.declared()));
            named.add(&environment, text(item, "name"), text(item, "expression"));
        }
        named
    }

    pub(super) fn add(&mut self, environment: &Environment, name: &str, text: &str) {
        let expression = Expression::compile(environment, text, Wanted::Anything);
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), expression));
    }

    /// The type of `variables`.
    pub(super) fn declared(&self) -> Declared {
        let ty = |expression: &Expression| expression.program.as_ref().map_or(Type::Dyn, |found| plain(found.ty()));
        let field = |(name, expression): &(String, Expression)| (name.clone(), Declared::given(ty(expression)));
        Declared::object("kubernetes.variables", self.0.iter().map(field))
    }
}

/// The type as it is known to others: of objects nothing is.
fn plain(ty: &Type) -> Type {
    match ty {
        Type::List(items) => Type::list(plain(items)),
        Type::Map(entry) => Type::map(plain(&entry.0), plain(&entry.1)),
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => ty.clone(),
        _ => Type::Dyn,
    }
}

/// A text in a tree; empty where there is none.
pub(super) fn text<'a>(tree: &'a Value, field: &str) -> &'a str {
    tree.get(field).and_then(Value::as_str).unwrap_or_default()
}
