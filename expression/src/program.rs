//! Programs: expressions that have been compiled.

use std::fmt;
use std::sync::Arc;

use crate::check::{Reference, check};
use crate::cost::Cost;
use crate::effort;
use crate::environment::Environment;
use crate::error::Error;
use crate::estimate;
use crate::input::{Budget, Input};
use crate::issue::{Issue, Issues};
use crate::parser::parse;
use crate::plan::{Planner, Step};
use crate::run::Frame;
use crate::types::{Declared, Type};
use crate::validate;
use crate::value::Value;

/// Why an expression cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// It is not an expression, or its types do not fit.
    Issues(Vec<Issue>),
    /// It gives something else than what is wanted.
    Type { expected: Type, found: Type },
    /// It is sound, but something constant in it fails.
    Program(Error),
}

impl fmt::Display for CompileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Issues(issues) => {
                let lines: Vec<String> = issues.iter().map(Issue::to_string).collect();
                out.write_str(&lines.join("\n"))
            }
            CompileError::Type { expected, found } => write!(out, "must evaluate to {expected}, not {found}"),
            CompileError::Program(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for CompileError {}

/// An expression ready to be run.
#[derive(Debug)]
pub struct Program {
    root: Step,
    variables: Vec<(Arc<str>, Declared)>,
    used: Vec<usize>,
    slots: usize,
    ty: Type,
    estimate: Cost,
}

impl Environment {
    /// Compiles an expression. With `Type::Dyn` any result is welcome.
    pub fn compile(&self, text: &str, expected: &Type) -> Result<Program, CompileError> {
        let mut issues = Issues::new(text);
        let mut parsed = parse(text, &self.base.macros, &mut issues);
        if !issues.is_empty() {
            return Err(CompileError::Issues(issues.finish()));
        }
        let checked = check(&mut parsed.root, &parsed.places, self, &mut issues);
        if issues.is_empty() {
            validate::literals(&parsed, &checked, &mut issues);
        }
        if !issues.is_empty() {
            return Err(CompileError::Issues(issues.finish()));
        }
        let ty = checked.ty(parsed.root.id).clone();
        if !matches!(expected, Type::Dyn) && !ty.is_exactly(expected) {
            return Err(CompileError::Type { expected: expected.clone(), found: ty });
        }
        let estimate = estimate::estimate(&parsed.root, &checked, self);
        let mut planner = Planner::new(self, &checked);
        let root = planner.plan(&parsed.root).map_err(CompileError::Program)?;
        let used = checked.references.iter().filter_map(|reference| match reference {
            Reference::Variable(index) => Some(*index),
            _ => None,
        });
        let (variables, used, slots) = (self.variables.clone(), used.collect(), planner.slots);
        Ok(Program { root, variables, used, slots, ty, estimate })
    }
}

impl Program {
    /// The type of the result.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The least and the most that running it may cost, by the declared sizes.
    pub fn estimate(&self) -> Cost {
        self.estimate
    }

    /// Whether it mentions a variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.used.iter().any(|index| &*self.variables[*index].0 == variable)
    }

    /// Runs it. A variable that has no input is absent: an optional one is empty, others fail when they are asked for.
    pub fn run<'a>(&'a self, inputs: &'a [(&'a str, Input<'a>)], budget: &mut Budget) -> Result<Value<'a>, Error> {
        let _counting = effort::Count::start();
        Frame::new(&self.variables, self.slots, inputs, budget).eval(&self.root)
    }
}
