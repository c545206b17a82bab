//! Compiles the rules of a schema, place by place.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use expression::{CompileError, Declared, Environment, Program, Type, kubernetes};
use openapi::structural::{Node, Rule};

use super::declare::{REQUEST_BYTES, declare};
use super::{OLD_SELF, SELF};

pub(in crate::custom) static LIBRARIES: LazyLock<Environment> =
    LazyLock::new(|| kubernetes::everywhere().into_iter().fold(Environment::new(), Environment::with));

/// A place of a schema that has rules, or has some below it.
#[derive(Debug)]
pub(super) struct Place {
    /// In the order of the schema's; none where expressions cannot see the data.
    pub(super) rules: Option<Vec<Compiled>>,
    /// How many values like this a request can hold.
    pub(super) most: u64,
    pub(super) properties: BTreeMap<Box<str>, Place>,
    pub(super) additional: Option<Box<Place>>,
    pub(super) items: Option<Box<Place>>,
}

/// A rule that was compiled, or why it was not.
#[derive(Debug)]
pub(super) struct Compiled {
    /// None for an empty rule.
    pub(super) program: Result<Option<Program>, String>,
    pub(super) message: Result<Option<Program>, String>,
    /// The place below that errors are about, as errors name it.
    pub(super) field_path: Option<String>,
}

impl Compiled {
    /// The rule, if it can be run.
    pub(super) fn runs(&self) -> Option<&Program> {
        self.program.as_ref().ok()?.as_ref()
    }

    pub(super) fn uses_old(&self) -> bool {
        self.runs().is_some_and(|program| program.uses(OLD_SELF))
    }
}

impl Place {
    pub(super) fn compiled(&self) -> &[Compiled] {
        self.rules.as_deref().unwrap_or_default()
    }
}

/// What has rules below and at a place; none if nothing has.
pub(super) fn tree(node: &Node, is_root: bool) -> Option<Place> {
    let inner = |node: &Node| tree(node, false);
    let below = |(name, node): (&str, &Node)| inner(node).map(|place| (Box::from(name), place));
    let properties: BTreeMap<Box<str>, Place> = node.properties().filter_map(below).collect();
    let additional = node.additional_properties().schema().and_then(inner).map(Box::new);
    let items = node.items().and_then(inner).map(Box::new);
    let nothing = node.rules().is_empty() && properties.is_empty() && additional.is_none() && items.is_none();
    if nothing {
        return None;
    }
    let (rules, most) = rules_of(node, is_root || node.is_embedded_resource());
    Some(Place { rules, most, properties, additional, items })
}

fn rules_of(node: &Node, is_resource: bool) -> (Option<Vec<Compiled>>, u64) {
    if node.rules().is_empty() {
        return (Some(Vec::new()), 0);
    }
    let Some(typed) = declare(node, is_resource) else { return (None, 0) };
    // There is a comma between two of them at least.
    let most = REQUEST_BYTES / (typed.smallest + 1);
    let with = LIBRARIES.clone().variable(SELF, typed.declared.clone());
    let optional = with.clone().variable(OLD_SELF, Declared::optional(typed.declared.clone()));
    let with = with.variable(OLD_SELF, typed.declared);
    let compiled = node.rules().iter().map(|rule| {
        let environment = if rule.optional_old_self == Some(true) { &optional } else { &with };
        compile(rule, node, environment)
    });
    (Some(compiled.collect()), most)
}

fn compile(rule: &Rule, node: &Node, environment: &Environment) -> Compiled {
    let mut compiled = Compiled { program: Ok(None), message: Ok(None), field_path: None };
    if rule.rule.trim().is_empty() {
        return compiled;
    }
    match environment.compile(&rule.rule, &Type::Bool) {
        Ok(program) => compiled.program = Ok(Some(program)),
        Err(error) => {
            compiled.program = Err(refusal(&error, "", "cel expression must evaluate to a bool"));
            return compiled;
        }
    }
    if !rule.message_expression.is_empty() {
        let message = environment.compile(&rule.message_expression, &Type::String);
        let refused = |error| refusal(&error, "messageExpression ", "messageExpression must evaluate to a string");
        compiled.message = message.map(Some).map_err(refused);
    }
    if !rule.field_path.is_empty() {
        compiled.field_path = node.find(&rule.field_path, true).ok().map(|found| found.path);
    }
    compiled
}

fn refusal(error: &CompileError, subject: &str, wrong_type: &str) -> String {
    match error {
        CompileError::Issues(_) => format!("{subject}compilation failed: {error}"),
        CompileError::Type { .. } => wrong_type.to_owned(),
        CompileError::Program(_) if subject.is_empty() => format!("program instantiation failed: {error}"),
        CompileError::Program(_) => format!("{subject}instantiation failed: {error}"),
    }
}
