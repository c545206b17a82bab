//! The Common Expression Language, for data in JSON.
//!
//! An expression is compiled once against declared variables and libraries of functions, and run many times. What it may
//! cost can be asked before it runs; what it does cost is counted while it runs, against a budget that ends it.

mod ast;
mod check;
mod convert;
mod cost;
mod data;
mod effort;
mod environment;
mod escape;
mod estimate;
mod issue;
pub mod kubernetes;
mod lexer;
mod library;
mod macros;
mod number;
mod operate;
mod parser;
pub mod pattern;
mod plan;
mod program;
mod run;
mod standard;
mod time;
mod types;
mod unify;
mod validate;
mod value;

pub use cost::{
    CallEstimate, Cost, LIST_CREATION, MAP_CREATION, Node, OBJECT_CREATION, PATTERN, Size, TRAVERSAL, scale,
};
pub use data::{List, Map};
pub use environment::Environment;
pub use escape::{escape, unescape};
pub use issue::Issue;
pub use library::{Call, Estimate, Function, Library, Macro, Overload, RunCost};
pub use number::format_double;
pub use program::{Budget, CompileError, Fields, Input, Program};
pub use time::{format_duration, format_timestamp};
pub use types::{Declared, Field, Form, Identity, Items, Object, Type};
pub use value::{Duration, Error, Opaque, Text, Timestamp, Value};
