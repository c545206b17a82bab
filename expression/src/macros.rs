//! Macros: calls that stand for loops, tests and bindings, rewritten as the parser meets them.

use std::borrow::Cow;
use std::sync::Arc;

use crate::ast::{ACCUMULATOR, Call, Expr, Fold, Id, Kind, List, Literal, Select, operator};
use crate::library::Macro;
use crate::parser::{NODES_MAX, Parser, global};

/// Why a macro cannot be expanded, and the argument that is to blame.
type Refusal = (Id, Cow<'static, str>);

/// The variable of a binding's empty loop.
const UNUSED: &str = "#unused";
/// What accumulators were called once: not to be taken by a variable.
const FORMER_ACCUMULATOR: &str = "__result__";

impl Parser<'_, '_> {
    /// The call itself, or what it stands for. Nodes that a macro makes are where the call is.
    pub(crate) fn expand(&mut self, id: Id, function: Arc<str>, target: Option<Expr>, arguments: Vec<Expr>) -> Expr {
        let place = self.place(id);
        let mut maker = Maker { parser: self, place };
        match maker.expand(&function, target, arguments) {
            Ok(Expansion::Done(expr)) => expr,
            Ok(Expansion::None(target, arguments)) => {
                Expr { id, kind: Kind::Call(Box::new(Call { function, target, arguments })) }
            }
            Err((blamed, message)) => {
                let place = self.place(blamed);
                self.refuse(place, &message).expr
            }
        }
    }
}

enum Expansion {
    Done(Expr),
    None(Option<Expr>, Vec<Expr>),
}

struct Maker<'m, 'a, 'b> {
    parser: &'m mut Parser<'a, 'b>,
    place: usize,
}

/// The parts of a loop that differ between macros.
struct Loop {
    initial: Expr,
    condition: Expr,
    step: Expr,
    result: Expr,
}

impl Maker<'_, '_, '_> {
    fn has(&self, expansion: Macro) -> bool {
        self.parser.macros.contains(&expansion)
    }

    fn expand(&mut self, function: &str, target: Option<Expr>, arguments: Vec<Expr>) -> Result<Expansion, Refusal> {
        let Some(target) = target else {
            return match (function, arguments.len()) {
                ("has", 1) => self.presence(arguments).map(Expansion::Done),
                _ => Ok(Expansion::None(None, arguments)),
            };
        };
        let two = self.has(Macro::TwoVariables);
        let done = match (function, arguments.len()) {
            ("all" | "exists" | "exists_one", 2) => self.quantifier(function, target, arguments, 1),
            ("all" | "exists" | "exists_one" | "existsOne", 3) if two => {
                self.quantifier(function, target, arguments, 2)
            }
            ("map", 2 | 3) => self.map(target, arguments),
            ("filter", 2) => self.filter(target, arguments),
            ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) if two => {
                self.transform(function, target, arguments)
            }
            ("optMap" | "optFlatMap", 2) if self.has(Macro::Optionals) => {
                self.optional_map(function, target, arguments)
            }
            ("sortBy", 2) if self.has(Macro::SortBy) => self.sort_by(target, arguments),
            ("bind", 3) if self.has(Macro::Bind) && is_ident(&target, "cel") => self.bind(arguments),
            _ => return Ok(Expansion::None(Some(target), arguments)),
        };
        done.map(Expansion::Done)
    }

    fn node(&mut self, kind: Kind) -> Expr {
        let id = self.parser.id(self.place);
        Expr { id, kind }
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.node(Kind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.node(Kind::Ident(name.into()))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.node(Kind::List(List { elements, optional: Vec::new() }))
    }

    fn call(&mut self, function: &str, arguments: Vec<Expr>) -> Expr {
        let id = self.parser.id(self.place);
        global(id, function, arguments)
    }

    fn member_call(&mut self, function: &str, target: Expr, arguments: Vec<Expr>) -> Expr {
        self.node(Kind::Call(Box::new(Call { function: function.into(), target: Some(target), arguments })))
    }

    fn fold(&mut self, range: Expr, variables: Vec<Arc<str>>, parts: Loop) -> Expr {
        let mut variables = variables.into_iter();
        let fold = Fold {
            variable: variables.next().unwrap_or_else(|| UNUSED.into()),
            second: variables.next(),
            range,
            accumulator: ACCUMULATOR.into(),
            initial: parts.initial,
            condition: parts.condition,
            step: parts.step,
            result: parts.result,
        };
        self.node(Kind::Fold(Box::new(fold)))
    }

    /// A loop over nothing, whose accumulator is the bound name: the initial value is what it is bound to.
    fn binding(&mut self, name: Arc<str>, value: Expr, inner: Expr) -> Expr {
        let (range, condition) = (self.list(Vec::new()), self.literal(Literal::Bool(false)));
        let step = self.ident(&name);
        let (variable, second) = (UNUSED.into(), None);
        let fold = Fold { variable, second, range, accumulator: name, initial: value, condition, step, result: inner };
        self.node(Kind::Fold(Box::new(fold)))
    }

    fn presence(&mut self, mut arguments: Vec<Expr>) -> Result<Expr, Refusal> {
        match arguments.pop() {
            Some(Expr { kind: Kind::Select(select), .. }) => {
                let select = Select { test: true, ..*select };
                Ok(self.node(Kind::Select(Box::new(select))))
            }
            other => Err((other.map_or(0, |expr| expr.id), "invalid argument to has() macro".into())),
        }
    }

    /// The first `count` arguments as names of variables, and the arguments after them.
    fn variables(&self, arguments: Vec<Expr>, count: usize, complaint: &'static str) -> Result<Taken, Refusal> {
        let mut names: Vec<Arc<str>> = Vec::with_capacity(count);
        let mut rest = arguments;
        let after = rest.split_off(count);
        for argument in &rest {
            let Kind::Ident(name) = &argument.kind else { return Err((argument.id, complaint.into())) };
            names.push(name.clone());
        }
        for (argument, name) in rest.iter().zip(&names) {
            if &**name == ACCUMULATOR || &**name == FORMER_ACCUMULATOR {
                return Err((argument.id, "iteration variable overwrites accumulator variable".into()));
            }
        }
        Ok(Taken { names, written: rest, after: after.into_iter() })
    }

    fn quantifier(
        &mut self,
        function: &str,
        target: Expr,
        arguments: Vec<Expr>,
        count: usize,
    ) -> Result<Expr, Refusal> {
        let mut taken = self.variables(arguments, count, "argument must be a simple name")?;
        taken.refuse_twins()?;
        let predicate = taken.next();
        let parts = match function {
            "all" => {
                let accumulator = self.accumulator();
                Loop {
                    initial: self.literal(Literal::Bool(true)),
                    condition: self.call(operator::NOT_STRICTLY_FALSE, vec![accumulator]),
                    step: self.with_accumulator(operator::AND, predicate),
                    result: self.accumulator(),
                }
            }
            "exists" => {
                let accumulator = self.accumulator();
                let not = self.call(operator::NOT, vec![accumulator]);
                Loop {
                    initial: self.literal(Literal::Bool(false)),
                    condition: self.call(operator::NOT_STRICTLY_FALSE, vec![not]),
                    step: self.with_accumulator(operator::OR, predicate),
                    result: self.accumulator(),
                }
            }
            _ => self.count_matches(predicate),
        };
        Ok(self.fold(target, taken.names, parts))
    }

    fn with_accumulator(&mut self, function: &str, other: Expr) -> Expr {
        let accumulator = self.accumulator();
        self.call(function, vec![accumulator, other])
    }

    fn count_matches(&mut self, predicate: Expr) -> Loop {
        let one = self.literal(Literal::Int(1));
        let counted = self.with_accumulator(operator::ADD, one);
        let unchanged = self.accumulator();
        let one = self.literal(Literal::Int(1));
        Loop {
            initial: self.literal(Literal::Int(0)),
            condition: self.literal(Literal::Bool(true)),
            step: self.call(operator::CONDITIONAL, vec![predicate, counted, unchanged]),
            result: self.with_accumulator(operator::EQUALS, one),
        }
    }

    /// A loop that collects; elements that do not pass the filter leave the collection as it is.
    fn collect(&mut self, initial: Expr, filter: Option<Expr>, step: Expr) -> Loop {
        let step = match filter {
            None => step,
            Some(filter) => {
                let unchanged = self.accumulator();
                self.call(operator::CONDITIONAL, vec![filter, step, unchanged])
            }
        };
        Loop { initial, condition: self.literal(Literal::Bool(true)), step, result: self.accumulator() }
    }

    fn map(&mut self, target: Expr, arguments: Vec<Expr>) -> Result<Expr, Refusal> {
        let filtered = arguments.len() == 3;
        let mut taken = self.variables(arguments, 1, "argument is not an identifier")?;
        let filter = filtered.then(|| taken.next());
        let element = taken.next();
        let appended = self.list(vec![element]);
        let step = self.with_accumulator(operator::ADD, appended);
        let initial = self.list(Vec::new());
        let parts = self.collect(initial, filter, step);
        Ok(self.fold(target, taken.names, parts))
    }

    fn filter(&mut self, target: Expr, arguments: Vec<Expr>) -> Result<Expr, Refusal> {
        let mut taken = self.variables(arguments, 1, "argument is not an identifier")?;
        let filter = taken.next();
        let appended = self.list(std::mem::take(&mut taken.written));
        let step = self.with_accumulator(operator::ADD, appended);
        let initial = self.list(Vec::new());
        let parts = self.collect(initial, Some(filter), step);
        Ok(self.fold(target, taken.names, parts))
    }

    fn transform(&mut self, function: &str, target: Expr, arguments: Vec<Expr>) -> Result<Expr, Refusal> {
        let filtered = arguments.len() == 4;
        let mut taken = self.variables(arguments, 2, "argument must be a simple name")?;
        taken.refuse_twins()?;
        let filter = filtered.then(|| taken.next());
        let made = taken.next();
        let (initial, step) = match function {
            "transformList" => {
                let appended = self.list(vec![made]);
                (self.list(Vec::new()), self.with_accumulator(operator::ADD, appended))
            }
            "transformMap" => {
                let (accumulator, key) = (self.accumulator(), self.ident(&taken.names[0]));
                (self.node(Kind::Map(Vec::new())), self.call("cel.@mapInsert", vec![accumulator, key, made]))
            }
            _ => (self.node(Kind::Map(Vec::new())), self.with_accumulator("cel.@mapInsert", made)),
        };
        let parts = self.collect(initial, filter, step);
        Ok(self.fold(target, taken.names, parts))
    }

    fn optional_map(&mut self, function: &str, target: Expr, arguments: Vec<Expr>) -> Result<Expr, Refusal> {
        let mut arguments = arguments.into_iter();
        let flat = function == "optFlatMap";
        let name = match arguments.next() {
            Some(Expr { kind: Kind::Ident(name), .. }) => name,
            other => {
                let complaint = if flat {
                    "optFlatMap() variable name must be a simple identifier"
                } else {
                    "optMap() variable name must be a simple identifier"
                };
                return Err((other.map_or(0, |expr| expr.id), complaint.into()));
            }
        };
        let inner = arguments.next().unwrap_or(Expr { id: 0, kind: Kind::Missing });
        let copy = self.copy(&target);
        let value = self.member_call("value", copy, Vec::new());
        let mut present = self.binding(name, value, inner);
        if !flat {
            present = self.call("optional.of", vec![present]);
        }
        let (has, none) = (self.member_call("hasValue", target, Vec::new()), self.call("optional.none", Vec::new()));
        Ok(self.call(operator::CONDITIONAL, vec![has, present, none]))
    }

    fn sort_by(&mut self, target: Expr, arguments: Vec<Expr>) -> Result<Expr, Refusal> {
        const INPUT: &str = "@__sortBy_input__";
        if matches!(target.kind, Kind::Literal(_) | Kind::Map(_) | Kind::Object(_) | Kind::Missing) {
            let complaint =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err((target.id, complaint.into()));
        }
        let input = self.ident(INPUT);
        let keys = self.map(input, arguments)?;
        let input = self.ident(INPUT);
        let sorted = self.member_call("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.binding(INPUT.into(), target, sorted))
    }

    fn bind(&mut self, arguments: Vec<Expr>) -> Result<Expr, Refusal> {
        let complaint = "cel.bind() variable names must be simple identifiers";
        let mut taken = self.variables(arguments, 1, complaint)?;
        let (value, inner) = (taken.next(), taken.next());
        Ok(self.binding(taken.names[0].clone(), value, inner))
    }

    /// The same expression with ids of its own, at the places of the original.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let id = self.parser.id(self.place);
        if self.parser.places.len() > NODES_MAX {
            return Expr { id, kind: Kind::Missing };
        }
        let kind = match &expr.kind {
            Kind::Select(select) => {
                Kind::Select(Box::new(Select { operand: self.copy(&select.operand), ..(**select).clone() }))
            }
            Kind::Call(call) => Kind::Call(Box::new(Call {
                function: call.function.clone(),
                target: call.target.as_ref().map(|target| self.copy(target)),
                arguments: call.arguments.iter().map(|argument| self.copy(argument)).collect(),
            })),
            Kind::List(list) => Kind::List(List {
                elements: list.elements.iter().map(|element| self.copy(element)).collect(),
                optional: list.optional.clone(),
            }),
            Kind::Map(entries) => Kind::Map(entries.iter().map(|entry| self.copy_entry(entry)).collect()),
            Kind::Object(object) => {
                let mut object = object.clone();
                for field in &mut object.fields {
                    field.value = self.copy(&field.value);
                }
                Kind::Object(object)
            }
            Kind::Fold(fold) => Kind::Fold(Box::new(Fold {
                variable: fold.variable.clone(),
                second: fold.second.clone(),
                accumulator: fold.accumulator.clone(),
                range: self.copy(&fold.range),
                initial: self.copy(&fold.initial),
                condition: self.copy(&fold.condition),
                step: self.copy(&fold.step),
                result: self.copy(&fold.result),
            })),
            plain => plain.clone(),
        };
        Expr { id, kind }
    }

    fn copy_entry(&mut self, entry: &crate::ast::Entry) -> crate::ast::Entry {
        let (key, value) = (self.copy(&entry.key), self.copy(&entry.value));
        crate::ast::Entry { key, value, optional: entry.optional }
    }
}

/// Arguments of a macro, the variables taken off.
struct Taken {
    names: Vec<Arc<str>>,
    written: Vec<Expr>,
    after: std::vec::IntoIter<Expr>,
}

impl Taken {
    fn next(&mut self) -> Expr {
        self.after.next().unwrap_or(Expr { id: 0, kind: Kind::Missing })
    }

    fn refuse_twins(&self) -> Result<(), Refusal> {
        match (&self.names[..], &self.written[..]) {
            ([one, two], [_, written]) if one == two => {
                Err((written.id, format!("duplicate variable name: {one}").into()))
            }
            _ => Ok(()),
        }
    }
}

fn is_ident(expr: &Expr, name: &str) -> bool {
    matches!(&expr.kind, Kind::Ident(found) if &**found == name)
}
