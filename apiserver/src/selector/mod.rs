//! Which objects are meant: label selectors and field selectors.
//!
//! Both are read from the text of a query; a label selector also from the object form that specs carry. What is accepted,
//! how it is printed and the words of every refusal are those of a Kubernetes API server.

mod field;
mod label;
mod parse;
mod syntax;

pub use field::{FieldSelector, Term, TermOp};
pub use label::{LabelSelector, Operator, Requirement};

/// Why a text or an object is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);
