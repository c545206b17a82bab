//! Libraries: functions with their overloads, what they cost, and the types they bring.
//!
//! ```
//! use expression::{Library, Overload, Type, Value};
//!
//! let greetings = Library::new().function(
//!     "greet",
//!     [Overload::member("string_greet", [Type::String], Type::String, |arguments| {
//!         Ok(Value::from(format!("Moin {}", arguments[0].as_str().unwrap_or_default())))
//!     })
//!     .cost(|arguments, _| Some(arguments[0].size()))
//!     .estimate(|call| Some(call.target()?.size().as_cost().into()))],
//! );
//! ```

use crate::cost::{CallEstimate, Node};
use crate::types::Type;
use crate::value::{Error, Value};

/// Computes the result. The target of a member function is the first argument. Arguments have the types of the
/// overload, as far as values know their types: the element of a `list(string)` may turn out to be something else.
pub type Function = for<'a> fn(&[Value<'a>]) -> Result<Value<'a>, Error>;

/// What a call did cost; the result is `None` when it failed. `None` means the default of cel-go, mostly 1.
pub type RunCost = for<'a> fn(&[Value<'a>], Option<&Value<'a>>) -> Option<u64>;

/// What a call may cost, without its arguments. `None` means the default of cel-go, mostly 1.
pub type Estimate = for<'a> fn(&Call<'a>) -> Option<CallEstimate>;

/// A call to be estimated.
#[derive(Debug)]
pub struct Call<'a> {
    pub(crate) target: Option<Node<'a>>,
    pub(crate) arguments: Vec<Node<'a>>,
}

impl<'a> Call<'a> {
    /// What a member function is called on.
    pub fn target(&self) -> Option<&Node<'a>> {
        self.target.as_ref()
    }

    /// An argument, the target not counted.
    pub fn argument(&self, index: usize) -> Option<&Node<'a>> {
        self.arguments.get(index)
    }
}

/// One signature of a function.
#[derive(Clone, Debug)]
pub struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    pub(crate) parameters: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) run: Function,
    pub(crate) cost: Option<RunCost>,
    pub(crate) estimate: Option<Estimate>,
}

impl Overload {
    /// `function(a, b)`. The id is known to nobody but errors and costs, and unique.
    pub fn global(id: &'static str, parameters: impl Into<Vec<Type>>, result: Type, run: Function) -> Overload {
        Overload { id, member: false, parameters: parameters.into(), result, run, cost: None, estimate: None }
    }

    /// `a.function(b)`: the first parameter is the target.
    pub fn member(id: &'static str, parameters: impl Into<Vec<Type>>, result: Type, run: Function) -> Overload {
        Overload { member: true, ..Overload::global(id, parameters, result, run) }
    }

    pub fn cost(mut self, cost: RunCost) -> Overload {
        self.cost = Some(cost);
        self
    }

    pub fn estimate(mut self, estimate: Estimate) -> Overload {
        self.estimate = Some(estimate);
        self
    }
}

/// Functions and types that belong together.
#[derive(Clone, Debug, Default)]
pub struct Library {
    pub(crate) functions: Vec<(&'static str, Vec<Overload>)>,
    pub(crate) types: Vec<Type>,
    pub(crate) equalities: Vec<(Type, Estimate)>,
    pub(crate) macros: Vec<Macro>,
}

/// Calls that are rewritten before they are checked. Those of the language itself are always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Macro {
    /// `cel.bind(name, value, expression)`
    Bind,
    /// `list.sortBy(element, key)`, in terms of the function `@sortByAssociatedKeys`
    SortBy,
    /// `optMap`, `optFlatMap`, `a.?b`, `a[?b]`, `[?a]`, `{?a: b}`
    Optionals,
    /// `all`, `exists`, `existsOne`, `transformList`, `transformMap`, `transformMapEntry` with two variables
    TwoVariables,
}

impl Library {
    pub fn new() -> Library {
        Library::default()
    }

    /// A function, by its name: `size`, or `strings.quote` with a namespace. More overloads may come from other libraries.
    pub fn function(mut self, name: &'static str, overloads: impl IntoIterator<Item = Overload>) -> Library {
        self.functions.push((name, overloads.into_iter().collect()));
        self
    }

    /// A type that expressions may name, as in `type(x) == net.IP`.
    pub fn declare(mut self, ty: Type) -> Library {
        self.types.push(ty);
        self
    }

    /// What `==` and `!=` of two values of a type may cost; without it, sizes are compared, and an unknown size is endless.
    pub fn equality(mut self, ty: Type, estimate: Estimate) -> Library {
        self.equalities.push((ty, estimate));
        self
    }

    pub fn with_macro(mut self, expansion: Macro) -> Library {
        self.macros.push(expansion);
        self
    }
}
