//! What an expression may refer to: variables, types and functions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::library::{Estimate, Library, Macro, Overload};
use crate::standard;
use crate::types::{Declared, Type};

/// Variables, types and functions. Cheap to clone and to extend.
#[derive(Clone, Debug)]
pub struct Environment {
    pub(crate) base: Arc<Base>,
    pub(crate) variables: Vec<(Arc<str>, Declared)>,
}

/// What libraries declare, merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    pub(crate) functions: HashMap<&'static str, Vec<Overload>>,
    pub(crate) types: HashMap<Box<str>, Type>,
    pub(crate) equalities: Vec<(Type, Estimate)>,
    pub(crate) macros: Vec<Macro>,
    /// Names of open types: what they and names below them stand for may have any fields.
    pub(crate) open: Vec<&'static str>,
}

static STANDARD: LazyLock<Arc<Base>> = LazyLock::new(|| {
    let mut base = Base::default();
    let params = |name: &str| Type::param(name);
    let named = [
        Type::Bool,
        Type::Bytes,
        Type::Double,
        Type::Duration,
        Type::Int,
        Type::list(params("A")),
        Type::map(params("A"), params("B")),
        Type::Null,
        Type::String,
        Type::Timestamp,
        Type::Type(None),
        Type::Uint,
    ];
    for ty in named {
        base.types.insert(ty.name().into(), ty);
    }
    for library in &*standard::LIBRARIES {
        base.merge(library);
    }
    Arc::new(base)
});

impl Base {
    fn merge(&mut self, library: &Library) {
        for (name, overloads) in &library.functions {
            self.functions.entry(name).or_default().extend(overloads.iter().cloned());
        }
        for ty in &library.types {
            self.types.insert(ty.name().into(), ty.clone());
        }
        self.equalities.extend(library.equalities.iter().cloned());
        self.macros.extend(library.macros.iter().copied());
        self.open.extend(library.open.iter().copied());
    }
}

impl Default for Environment {
    fn default() -> Self {
        Environment::new()
    }
}

impl Environment {
    /// The standard library and nothing else.
    pub fn new() -> Environment {
        Environment { base: STANDARD.clone(), variables: Vec::new() }
    }

    /// Adds a library. Environments are cheap to copy once their libraries are in.
    pub fn with(mut self, library: Library) -> Environment {
        Arc::make_mut(&mut self.base).merge(&library);
        self
    }

    /// Declares a variable; a later one with the same name takes its place.
    ///
    /// The first one is the root of estimates: what is selected from something that no declaration tells the size of is
    /// taken for a part of it, as Kubernetes does.
    pub fn variable(mut self, name: &str, declared: Declared) -> Environment {
        self.variables.retain(|(other, _)| &**other != name);
        self.variables.push((name.into(), declared));
        self
    }

    pub(crate) fn find_variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|(other, _)| &**other == name)
    }

    /// A type by its name: of the libraries, or of an object that a variable has somewhere.
    pub(crate) fn find_type(&self, name: &str) -> Option<Type> {
        let below =
            |root: &&&str| name.strip_prefix(**root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let open = || self.base.open.iter().find(below).map(|_| Type::open(name));
        self.base.types.get(name).cloned().or_else(open)
    }
}
