//! Types of expressions, and what their names refer to.

use std::sync::Arc;

use crate::ast::{Call, Entry, Expr, Fold, Id, Kind, List, Literal, Object, Select, operator};
use crate::environment::Environment;
use crate::issue::Issues;
use crate::library::Overload;
use crate::types::Type;
use crate::unify::{Unifier, most_general};

/// What a name or a call was found to mean.
#[derive(Clone, Debug, Default)]
pub(crate) enum Reference {
    #[default]
    None,
    /// The variable of the environment with this number.
    Variable(usize),
    /// A variable of a fold.
    Local,
    Type(Type),
    /// The overloads that fit, by their place among those of the function.
    Overloads(Arc<str>, Vec<usize>),
}

/// What is known of an expression, by the ids of its nodes.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) types: Vec<Type>,
    pub(crate) references: Vec<Reference>,
}

impl Checked {
    pub(crate) fn ty(&self, id: Id) -> &Type {
        self.types.get(id as usize).unwrap_or(&Type::Dyn)
    }

    pub(crate) fn reference(&self, id: Id) -> &Reference {
        self.references.get(id as usize).unwrap_or(&Reference::None)
    }
}

struct Checker<'a, 'e> {
    environment: &'e Environment,
    issues: &'e mut Issues<'a>,
    places: &'e [usize],
    types: Vec<Type>,
    references: Vec<Reference>,
    unifier: Unifier,
    locals: Vec<(Arc<str>, Type)>,
}

/// Checks an expression that was parsed without complaints.
pub(crate) fn check(root: &mut Expr, places: &[usize], environment: &Environment, issues: &mut Issues<'_>) -> Checked {
    let mut checker = Checker {
        environment,
        issues,
        places,
        types: vec![Type::Error; places.len()],
        references: vec![Reference::None; places.len()],
        unifier: Unifier::default(),
        locals: Vec::new(),
    };
    checker.check(root);
    let types = checker.types.iter().map(|ty| checker.unifier.resolve(ty, true)).collect();
    Checked { types, references: checker.references }
}

impl Checker<'_, '_> {
    fn complain(&mut self, id: Id, message: String) {
        let place = self.places.get(id as usize).copied();
        self.issues.report(place, message);
    }

    fn ty(&self, expr: &Expr) -> Type {
        self.types.get(expr.id as usize).cloned().unwrap_or(Type::Error)
    }

    fn set(&mut self, id: Id, ty: Type) {
        if let Some(place) = self.types.get_mut(id as usize) {
            *place = ty;
        }
    }

    fn refer(&mut self, id: Id, reference: Reference) {
        if let Some(place) = self.references.get_mut(id as usize) {
            *place = reference;
        }
    }

    fn mismatch(&mut self, id: Id, expected: &Type, found: &Type) {
        self.complain(id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn check(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let ty = match &mut expr.kind {
            Kind::Missing => Type::Error,
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(name) => {
                let name = name.clone();
                self.ident(id, &name)
            }
            Kind::Select(_) => return self.select(expr),
            Kind::Call(call) => self.call(id, call),
            Kind::List(list) => self.list(list),
            Kind::Map(entries) => self.map(entries),
            Kind::Object(object) => self.object(id, object),
            Kind::Fold(fold) => self.fold(fold),
        };
        self.set(id, ty);
    }

    fn undeclared(&mut self, id: Id, name: &str) -> Type {
        self.complain(id, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }

    fn ident(&mut self, id: Id, name: &str) -> Type {
        match self.resolve(name) {
            Some((reference, ty)) => {
                self.refer(id, reference);
                ty
            }
            None => self.undeclared(id, name),
        }
    }

    /// A name with or without dots. One that begins with a dot is never that of a fold's variable.
    fn resolve(&self, name: &str) -> Option<(Reference, Type)> {
        if let Some((_, ty)) = self.locals.iter().rev().find(|(local, _)| &**local == name) {
            return Some((Reference::Local, ty.clone()));
        }
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some(index) = self.environment.find_variable(name) {
            return Some((Reference::Variable(index), self.environment.variables[index].1.ty.clone()));
        }
        let ty = self.environment.find_type(name)?;
        Some((Reference::Type(ty.clone()), Type::of(ty)))
    }

    fn select(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::Select(select) = &mut expr.kind else { return };
        if !select.test
            && let Some(name) = qualified(&select.operand)
            && !self.is_local(&name)
            && let Some((reference, ty)) = self.resolve(&format!("{name}.{}", select.field))
        {
            self.refer(id, reference);
            self.set(id, ty);
            expr.kind = Kind::Ident(format!("{name}.{}", select.field).into());
            return;
        }
        let Select { operand, field, test } = &mut **select;
        let (field, test) = (field.clone(), *test);
        let found = self.field(id, operand, &field, false);
        let ty = if test { Type::Bool } else { self.unifier.resolve(&found, false) };
        self.set(id, ty);
    }

    fn is_local(&self, dotted: &str) -> bool {
        let first = dotted.split('.').next().unwrap_or_default();
        self.locals.iter().any(|(local, _)| &**local == first)
    }

    fn field(&mut self, id: Id, operand: &mut Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let ty = self.unifier.resolve(&self.ty(operand), false);
        let (target, was_optional) = match &ty {
            Type::Optional(inner) => ((**inner).clone(), true),
            _ => (ty, false),
        };
        let found = match &target {
            Type::Map(entry) => entry.1.clone(),
            Type::Object(object) => self.object_field(id, object, field),
            Type::Param(_) => {
                self.unifier.fits(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            _ => {
                self.complain(id, format!("type '{target}' does not support field selection"));
                Type::Dyn
            }
        };
        if was_optional || optional { Type::optional(found) } else { found }
    }

    fn object_field(&mut self, id: Id, object: &crate::types::Object, field: &str) -> Type {
        if object.is_open {
            return Type::Dyn;
        }
        if object.fields.is_none() {
            self.complain(id, format!("unexpected failed resolution of '{}'", object.name));
            return Type::Error;
        }
        match object.field(field) {
            Some(field) => field.declared.ty.clone(),
            None => {
                self.complain(id, format!("undefined field '{field}'"));
                Type::Error
            }
        }
    }

    fn call(&mut self, id: Id, call: &mut Call) -> Type {
        if &*call.function == operator::OPTIONAL_SELECT {
            return self.optional_select(id, call);
        }
        for argument in &mut call.arguments {
            self.check(argument);
        }
        let Some(target) = &mut call.target else {
            let name: Arc<str> = call.function.strip_prefix('.').unwrap_or(&call.function).into();
            if !self.environment.base.functions.contains_key(&*name) {
                return self.undeclared(id, &call.function);
            }
            call.function = name;
            return self.overloads(id, call);
        };
        if let Some(prefix) = qualified(target) {
            let name = format!("{}.{}", prefix.strip_prefix('.').unwrap_or(&prefix), call.function);
            if self.environment.base.functions.contains_key(&*name) {
                call.function = name.into();
                call.target = None;
                return self.overloads(id, call);
            }
        }
        self.check(target);
        if !self.environment.base.functions.contains_key(&*call.function) {
            return self.undeclared(id, &call.function.clone());
        }
        self.overloads(id, call)
    }

    fn optional_select(&mut self, id: Id, call: &mut Call) -> Type {
        let [operand, field] = &mut call.arguments[..] else { return Type::Error };
        let Kind::Literal(Literal::String(name)) = &field.kind else { return Type::Error };
        let name = name.clone();
        self.set(field.id, Type::String);
        let found = self.field(id, operand, &name, true);
        self.refer(id, Reference::Overloads(call.function.clone(), vec![0]));
        self.unifier.resolve(&found, false)
    }

    fn overloads(&mut self, id: Id, call: &Call) -> Type {
        let environment = self.environment;
        let Some(overloads) = environment.base.functions.get(&*call.function) else { return Type::Error };
        if matches!(&*call.function, operator::AND | operator::OR) {
            return self.logic(id, call);
        }
        let arguments: Vec<Type> =
            call.target.iter().chain(&call.arguments).map(|argument| self.ty(argument)).collect();
        let mut fitting = Vec::new();
        let mut result: Option<Type> = None;
        for (place, overload) in overloads.iter().enumerate() {
            if overload.member != call.target.is_some() {
                continue;
            }
            let Some(found) = self.try_overload(overload, &arguments) else { continue };
            fitting.push(place);
            result = Some(match result {
                Some(Type::Dyn) => Type::Dyn,
                Some(before) if !found.is_exactly(&before) => Type::Dyn,
                Some(before) => before,
                None => found,
            });
        }
        match result {
            Some(ty) => {
                self.refer(id, Reference::Overloads(call.function.clone(), fitting));
                ty
            }
            None => self.no_overload(id, call, &arguments),
        }
    }

    fn try_overload(&mut self, overload: &Overload, arguments: &[Type]) -> Option<Type> {
        if overload.parameters.len() != arguments.len() {
            return None;
        }
        let signature: Vec<&Type> = std::iter::once(&overload.result).chain(&overload.parameters).collect();
        let signature = self.unifier.instantiate(&signature);
        self.unifier.all_fit(arguments, &signature[1..]).then(|| self.unifier.resolve(&signature[0], false))
    }

    fn logic(&mut self, id: Id, call: &Call) -> Type {
        let mut sound = true;
        for argument in &call.arguments {
            let ty = self.ty(argument);
            if !self.unifier.fits(&ty, &Type::Bool) {
                self.mismatch(argument.id, &Type::Bool, &ty);
                sound = false;
            }
        }
        if !sound {
            return Type::Error;
        }
        self.refer(id, Reference::Overloads(call.function.clone(), vec![0]));
        Type::Bool
    }

    fn no_overload(&mut self, id: Id, call: &Call, arguments: &[Type]) -> Type {
        let mut names: Vec<String> =
            arguments.iter().map(|argument| self.unifier.resolve(argument, true).to_string()).collect();
        let target = match call.target {
            Some(_) => names.remove(0) + ".",
            None => String::new(),
        };
        let (function, names) = (&call.function, names.join(", "));
        self.complain(id, format!("found no matching overload for '{function}' applied to '{target}({names})'"));
        Type::Error
    }

    /// The type of an element that may be absent, inside.
    fn unwrapped(&mut self, expr: &Expr, optional: bool) -> Type {
        let ty = self.ty(expr);
        if !optional {
            return ty;
        }
        match ty {
            Type::Optional(inner) => (*inner).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                self.mismatch(expr.id, &Type::optional(other.clone()), &other);
                other
            }
        }
    }

    /// The type of a list's elements or a map's values. That all are of one is asked later.
    fn join(&mut self, before: Option<Type>, ty: Type) -> Type {
        let Some(before) = before else { return ty };
        if self.unifier.fits(&before, &ty) { most_general(&before, &ty) } else { Type::Dyn }
    }

    fn list(&mut self, list: &mut List) -> Type {
        let mut items = None;
        for (index, element) in list.elements.iter_mut().enumerate() {
            self.check(element);
            let ty = self.unwrapped(element, list.optional.contains(&index));
            items = Some(self.join(items, ty));
        }
        Type::list(items.unwrap_or_else(|| self.unifier.fresh()))
    }

    fn map(&mut self, entries: &mut [Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for Entry { key, value, optional } in entries {
            self.check(key);
            let ty = self.ty(key);
            keys = Some(self.join(keys, ty));
            self.check(value);
            let ty = self.unwrapped(value, *optional);
            values = Some(self.join(values, ty));
        }
        match (keys, values) {
            (Some(keys), Some(values)) => Type::map(keys, values),
            _ => {
                let keys = self.unifier.fresh();
                Type::map(keys, self.unifier.fresh())
            }
        }
    }

    fn object(&mut self, id: Id, object: &mut Object) -> Type {
        let name = object.name.strip_prefix('.').unwrap_or(&object.name).to_owned();
        let ty = match self.environment.find_type(&name) {
            None => return self.undeclared(id, &name),
            Some(Type::Object(ty)) => ty,
            Some(other) => {
                self.complain(id, format!("'{}' is not a message type", other.name()));
                return Type::Error;
            }
        };
        for field in &mut object.fields {
            self.check(&mut field.value);
            let declared = self.object_field(field.id, &ty, &field.name);
            let found = self.unwrapped(&field.value, field.optional);
            if !self.unifier.fits(&declared, &found) {
                let name = &field.name;
                let message = format!("expected type of field '{name}' is '{declared}' but provided type is '{found}'");
                self.complain(field.id, message);
            }
        }
        self.refer(id, Reference::Type(Type::Object(ty.clone())));
        Type::Object(ty)
    }

    fn fold(&mut self, fold: &mut Fold) -> Type {
        self.check(&mut fold.range);
        self.check(&mut fold.initial);
        let range = self.unifier.resolve(&self.ty(&fold.range), false);
        let accumulated = self.ty(&fold.initial);
        self.locals.push((fold.accumulator.clone(), accumulated.clone()));
        let (first, second) = self.range(&fold.range, &range, fold.second.is_some());
        self.locals.push((fold.variable.clone(), first));
        if let Some(name) = &fold.second {
            self.locals.push((name.clone(), second));
        }
        self.check(&mut fold.condition);
        self.expect(&fold.condition, &Type::Bool);
        self.check(&mut fold.step);
        self.expect(&fold.step, &accumulated);
        self.locals.truncate(self.locals.len() - 1 - usize::from(fold.second.is_some()));
        self.check(&mut fold.result);
        self.locals.pop();
        self.unifier.resolve(&self.ty(&fold.result), false)
    }

    fn expect(&mut self, expr: &Expr, expected: &Type) {
        let found = self.ty(expr);
        if !self.unifier.fits(expected, &found) {
            self.mismatch(expr.id, expected, &found);
        }
    }

    /// What the variables of a fold over this range are.
    fn range(&mut self, expr: &Expr, range: &Type, two: bool) -> (Type, Type) {
        match range {
            Type::List(items) if two => (Type::Int, (**items).clone()),
            Type::List(items) => ((**items).clone(), Type::Error),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.unifier.fits(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let rule = "cannot be range of a comprehension (must be list, map, or dynamic)";
                self.complain(expr.id, format!("expression of type '{other}' {rule}"));
                (Type::Error, Type::Error)
            }
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// `a.b.c`, if that is all that the expression is.
fn qualified(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.to_string()),
        Kind::Select(select) if !select.test => Some(format!("{}.{}", qualified(&select.operand)?, select.field)),
        _ => None,
    }
}
