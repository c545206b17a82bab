//! Sizes and costs as ranges, and what an estimate may know of an argument.

use crate::ast::Literal;
use crate::types::{Declared, Form, Type};

/// Traversing a string costs a tenth per character.
pub const TRAVERSAL: f64 = 0.1;
/// A pattern costs a quarter per character, for every unit that the text costs.
pub const PATTERN: f64 = 0.25;
pub const LIST_CREATION: u64 = 10;
pub const MAP_CREATION: u64 = 30;
pub const OBJECT_CREATION: u64 = 40;

/// How many characters, bytes, items or entries there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub min: u64,
    pub max: u64,
}

/// What something may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub min: u64,
    pub max: u64,
}

/// What a call may cost, without its arguments, and the size of its result if that can be told.
#[derive(Clone, Copy, Debug)]
pub struct CallEstimate {
    pub cost: Cost,
    pub result: Option<Size>,
}

impl From<Cost> for CallEstimate {
    fn from(cost: Cost) -> Self {
        CallEstimate { cost, result: None }
    }
}

impl Size {
    pub const UNKNOWN: Size = Size { min: 0, max: u64::MAX };

    pub fn exactly(size: u64) -> Size {
        Size { min: size, max: size }
    }

    pub fn plus(self, other: Size) -> Size {
        Size { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub fn times(self, other: Size) -> Size {
        Size { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub fn union(self, other: Size) -> Size {
        Size { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// So much for each; rounded up.
    pub fn at(self, factor: f64) -> Cost {
        Cost { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    /// So much for each.
    pub fn each(self, cost: Cost) -> Cost {
        Cost { min: self.min.saturating_mul(cost.min), max: self.max.saturating_mul(cost.max) }
    }

    pub fn as_cost(self) -> Cost {
        Cost { min: self.min, max: self.max }
    }
}

impl Cost {
    pub fn exactly(cost: u64) -> Cost {
        Cost { min: cost, max: cost }
    }

    pub fn plus(self, other: Cost) -> Cost {
        Cost { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub fn times(self, other: Cost) -> Cost {
        Cost { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub fn union(self, other: Cost) -> Cost {
        Cost { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub fn at(self, factor: f64) -> Cost {
        Cost { min: scale(self.min, factor), max: scale(self.max, factor) }
    }
}

/// A number of units at so much each, rounded up. Also what costs at run time are computed by.
pub fn scale(units: u64, factor: f64) -> u64 {
    // A conversion from float to integer saturates.
    (units as f64 * factor).ceil() as u64
}

/// An argument of a call that is being estimated.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    pub(crate) ty: Type,
    pub(crate) computed: Option<Size>,
    pub(crate) declared: Option<&'a Declared>,
    pub(crate) literal: Option<&'a Literal>,
}

impl<'a> Node<'a> {
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The size if it follows from the expression: of literals, of sums of them, of declared data.
    pub fn computed_size(&self) -> Option<Size> {
        self.computed
    }

    pub fn size(&self) -> Size {
        self.computed.or_else(|| declared_size(self.declared?)).unwrap_or(Size::UNKNOWN)
    }

    /// An element of this list, or the first parameter of whatever type it is.
    pub fn items(&self) -> Option<Node<'a>> {
        let ty = match &self.ty {
            Type::List(items) | Type::Optional(items) | Type::Type(Some(items)) => (**items).clone(),
            Type::Map(entry) => entry.0.clone(),
            Type::Opaque(opaque) => opaque.1.first()?.clone(),
            _ => return None,
        };
        let declared = self.declared.and_then(|list| match &list.form {
            Form::List(items) => Some(&items.declared),
            Form::Map(values) => Some(&**values),
            _ => None,
        });
        Some(Node { ty, computed: None, declared, literal: None })
    }

    /// The integer, if this is written as one.
    pub fn literal_int(&self) -> Option<i64> {
        match self.literal {
            Some(Literal::Int(value)) => Some(*value),
            _ => None,
        }
    }
}

pub(crate) fn declared_size(declared: &Declared) -> Option<Size> {
    Some(Size { min: 0, max: declared.size.unwrap_or(0) })
}
