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

use crate::cost::CallEstimate;
pub(crate) use crate::cost::Node;
use crate::error::Error;
use crate::types::Type;
use crate::value::Value;

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
    /// The cost applies only where the checker could tell that it is this overload.
    pub(crate) only_if_known: bool,
    /// All overloads of the function run the same code, which looks at the values itself.
    pub(crate) singleton: bool,
    /// The argument that is a regular expression, counted with the target.
    pub(crate) pattern: Option<usize>,
}

impl Overload {
    /// `function(a, b)`. The id is known to nobody but errors and costs, and unique.
    pub fn global(id: &'static str, parameters: impl Into<Vec<Type>>, result: Type, run: Function) -> Overload {
        let (cost, estimate) = (None, None);
        let (only_if_known, singleton) = (false, false);
        let parameters = parameters.into();
        let pattern = None;
        Overload { id, member: false, parameters, result, run, cost, estimate, only_if_known, singleton, pattern }
    }

    /// `a.function(b)`: the first parameter is the target.
    pub fn member(id: &'static str, parameters: impl Into<Vec<Type>>, result: Type, run: Function) -> Overload {
        Overload { member: true, ..Overload::global(id, parameters, result, run) }
    }

    pub fn cost(mut self, cost: RunCost) -> Overload {
        self.cost = Some(cost);
        self
    }

    /// The argument at this place, counted with the target, is a regular expression. One that is written out and cannot
    /// be compiled makes the expression unfit to run.
    pub fn pattern(mut self, place: usize) -> Overload {
        self.pattern = Some(place);
        self
    }

    /// Whether the values are of the types of the parameters, as far as values know.
    pub(crate) fn accepts(&self, arguments: &[Value<'_>]) -> bool {
        let fit = |(parameter, value): (&Type, &Value<'_>)| is_of(value, parameter);
        self.parameters.len() == arguments.len() && self.parameters.iter().zip(arguments).all(fit)
    }

    pub(crate) fn cost_if_known(mut self, cost: RunCost) -> Overload {
        self.cost = Some(cost);
        self.only_if_known = true;
        self
    }

    pub(crate) fn singleton(mut self) -> Overload {
        self.singleton = true;
        self
    }

    pub fn estimate(mut self, estimate: Estimate) -> Overload {
        self.estimate = Some(estimate);
        self
    }
}

/// Whether a value is of a type; of lists and maps, the first element tells.
fn is_of(value: &Value<'_>, ty: &Type) -> bool {
    match (ty, value) {
        (Type::Dyn | Type::Param(_), _) => true,
        (Type::List(items), Value::List(list)) => match list.get(0) {
            Some(Ok(first)) => is_of(&first, items),
            Some(Err(_)) => false,
            None => true,
        },
        (Type::Map(entry), Value::Map(map)) => match map.first() {
            Some(Ok((key, value))) => is_of(&key, &entry.0) && is_of(&value, &entry.1),
            Some(Err(_)) => false,
            None => true,
        },
        (Type::Int, Value::Int(_)) | (Type::String, Value::String(_)) | (Type::Bool, Value::Bool(_)) => true,
        (Type::Int | Type::String | Type::Bool, _) => false,
        _ => value.ty().name() == ty.name(),
    }
}

/// Functions and types that belong together.
#[derive(Clone, Debug, Default)]
pub struct Library {
    pub(crate) functions: Vec<(&'static str, Vec<Overload>)>,
    pub(crate) types: Vec<Type>,
    pub(crate) equalities: Vec<(Type, Estimate)>,
    pub(crate) macros: Vec<Macro>,
    pub(crate) open: Vec<&'static str>,
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

    /// Object types that can be written with any fields: `Name{…}`, `Name.field{…}`, and so on.
    pub fn open(mut self, name: &'static str) -> Library {
        self.open.push(name);
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
