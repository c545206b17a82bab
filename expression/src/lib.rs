//! The Common Expression Language, for data in JSON.
//!
//! An expression is compiled once against declared variables and libraries of functions, and run many times. What it may
//! cost can be asked before it runs; what it does cost is counted while it runs, against a budget that ends it.
//!
//! ```
//! use expression::{Budget, Declared, Environment, Input, Type};
//!
//! let fields = [("replicas".to_owned(), Declared::int()), ("name".to_owned(), Declared::string().at_most(63))];
//! let environment = Environment::new().variable("self", Declared::object("Scale", fields));
//! let program = environment.compile("self.replicas <= 5 && self.name.startsWith('web')", &Type::Bool).unwrap();
//! assert_eq!(program.estimate().max, 6);
//!
//! let data = serde_json::json!({"replicas": 3, "name": "web-1"});
//! let mut budget = Budget::from(1_000_000);
//! let inputs = [("self", Input::Json(&data))];
//! assert_eq!(program.run(&inputs, &mut budget).unwrap().as_bool(), Some(true));
//! assert_eq!(budget.cost, 1_000_000 - 6);
//! ```

mod ast;
mod check;
mod convert;
mod cost;
mod effort;
mod environment;
mod error;
mod escape;
mod estimate;
mod input;
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
pub use environment::Environment;
pub use error::Error;
pub use escape::{escape, unescape};
pub use input::{Budget, Fields, Input};
pub use issue::Issue;
pub use library::{Call, Estimate, Function, Library, Macro, Overload, RunCost};
pub use number::format_double;
pub use program::{CompileError, Program};
pub use time::{Duration, Timestamp, format_duration, format_timestamp};
pub use types::{Declared, Field, Form, Identity, Items, Object, Type};
pub use value::{List, Map, Opaque, Text, Value};
