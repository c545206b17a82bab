//! Which types fit which, and what type parameters turn out to stand for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::types::Type;

/// What type parameters stand for, as far as is known. What did not fit can be taken back.
#[derive(Debug, Default)]
pub(crate) struct Unifier {
    known: HashMap<Arc<str>, Type>,
    /// What was known before each change since the last commitment.
    trail: Vec<(Arc<str>, Option<Type>)>,
    fresh: usize,
}

impl Unifier {
    /// A parameter that nothing is known of.
    pub(crate) fn fresh(&mut self) -> Type {
        self.fresh += 1;
        Type::Param(format!("_var{}", self.fresh - 1).into())
    }

    /// Whether each type fits its counterpart. If one does not, nothing is learned from the others.
    pub(crate) fn all_fit(&mut self, one: &[Type], two: &[Type]) -> bool {
        self.trail.clear();
        let fit = one.len() == two.len() && one.iter().zip(two).all(|(one, two)| self.assignable(one, two));
        if !fit {
            while let Some((name, before)) = self.trail.pop() {
                match before {
                    Some(ty) => self.known.insert(name, ty),
                    None => self.known.remove(&name),
                };
            }
        }
        fit
    }

    pub(crate) fn fits(&mut self, one: &Type, two: &Type) -> bool {
        self.all_fit(std::slice::from_ref(one), std::slice::from_ref(two))
    }

    fn learn(&mut self, name: &Arc<str>, ty: Type) {
        let before = self.known.insert(name.clone(), ty);
        self.trail.push((name.clone(), before));
    }

    fn assignable(&mut self, one: &Type, two: &Type) -> bool {
        if let Type::Param(name) = two {
            let (valid, known) = self.substitutes(one, name);
            if valid || known {
                return valid;
            }
        }
        if let Type::Param(name) = one {
            return self.substitutes(two, name).0;
        }
        match (one, two) {
            (Type::Dyn | Type::Error, _) | (_, Type::Dyn | Type::Error) => true,
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(one), Type::List(two)) | (Type::Optional(one), Type::Optional(two)) => {
                self.assignable(one, two)
            }
            (Type::Map(one), Type::Map(two)) => self.assignable(&one.0, &two.0) && self.assignable(&one.1, &two.1),
            (Type::Opaque(one), Type::Opaque(two)) => {
                let parameters = one.1.len() == two.1.len();
                one.0 == two.0 && parameters && one.1.iter().zip(&two.1).all(|(one, two)| self.assignable(one, two))
            }
            _ => one.is_exactly(two),
        }
    }

    /// Whether the parameter may stand for the type, and whether it is known to stand for one.
    fn substitutes(&mut self, ty: &Type, name: &Arc<str>) -> (bool, bool) {
        if matches!(ty, Type::Param(other) if other == name) {
            return (true, true);
        }
        if let Some(known) = self.known.get(name).cloned() {
            if ty.is_exactly(&known) {
                return (true, true);
            }
            if self.assignable(ty, &known) {
                let general = most_general(ty, &known);
                if !self.occurs(name, &general) {
                    self.learn(name, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.occurs(name, ty) {
            return (false, false);
        }
        self.learn(name, ty.clone());
        (true, false)
    }

    /// Whether a parameter is part of a type: it cannot stand for something that contains it.
    fn occurs(&self, name: &Arc<str>, within: &Type) -> bool {
        match within {
            Type::Param(other) if other == name => true,
            Type::Param(other) => self.known.get(other).is_some_and(|known| self.occurs(name, known)),
            Type::List(inner) | Type::Optional(inner) | Type::Type(Some(inner)) => self.occurs(name, inner),
            Type::Map(entry) => self.occurs(name, &entry.0) || self.occurs(name, &entry.1),
            Type::Opaque(opaque) => opaque.1.iter().any(|parameter| self.occurs(name, parameter)),
            _ => false,
        }
    }

    /// The type with everything in it that is known. With `settled`, what is unknown is dynamic.
    pub(crate) fn resolve(&self, ty: &Type, settled: bool) -> Type {
        match ty {
            Type::Param(name) => match self.known.get(name) {
                Some(known) => self.resolve(known, settled),
                None if settled => Type::Dyn,
                None => ty.clone(),
            },
            _ => map_parameters(ty, &mut |parameter| self.resolve(parameter, settled)),
        }
    }

    /// Overload signatures with parameters of their own.
    pub(crate) fn instantiate(&mut self, types: &[&Type]) -> Vec<Type> {
        let mut names: HashMap<Arc<str>, Type> = HashMap::new();
        types.iter().map(|ty| self.rename(ty, &mut names)).collect()
    }

    fn rename(&mut self, ty: &Type, names: &mut HashMap<Arc<str>, Type>) -> Type {
        match ty {
            Type::Param(name) => names.entry(name.clone()).or_insert_with(|| self.fresh()).clone(),
            _ => map_parameters(ty, &mut |parameter| self.rename(parameter, names)),
        }
    }
}

fn map_parameters(ty: &Type, change: &mut dyn FnMut(&Type) -> Type) -> Type {
    match ty {
        Type::List(inner) => Type::list(change(inner)),
        Type::Optional(inner) => Type::optional(change(inner)),
        Type::Type(Some(inner)) => Type::of(change(inner)),
        Type::Map(entry) => {
            let key = change(&entry.0);
            Type::map(key, change(&entry.1))
        }
        Type::Opaque(opaque) if !opaque.1.is_empty() => {
            let parameters = opaque.1.iter().map(change).collect();
            Type::Opaque(Arc::new((opaque.0.clone(), parameters)))
        }
        plain => plain.clone(),
    }
}

fn is_nullable(ty: &Type) -> bool {
    matches!(ty, Type::Null | Type::Opaque(_) | Type::Optional(_) | Type::Object(_) | Type::Duration | Type::Timestamp)
}

/// Of two types that fit each other, the one that says less.
pub(crate) fn most_general(one: &Type, two: &Type) -> Type {
    if says_no_more(one, two) { one.clone() } else { two.clone() }
}

fn says_no_more(one: &Type, two: &Type) -> bool {
    match (one, two) {
        (Type::Dyn | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(one), Type::List(two)) | (Type::Optional(one), Type::Optional(two)) => says_no_more(one, two),
        (Type::Map(one), Type::Map(two)) => says_no_more(&one.0, &two.0) && says_no_more(&one.1, &two.1),
        (Type::Type(_), Type::Type(_)) => true,
        (Type::Opaque(one), Type::Opaque(two)) => {
            one.0 == two.0 && one.1.len() == two.1.len() && one.1.iter().zip(&two.1).all(|(a, b)| says_no_more(a, b))
        }
        _ => one.is_exactly(two),
    }
}
