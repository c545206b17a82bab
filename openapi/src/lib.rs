//! Pure documents: what the kinds of the API are, and functions over objects that need nothing but the object.
//!
//! No input or output, no clock, no concurrency. Start at [`builtin::kind`]; [`protobuf`] turns objects from and into
//! their binary form, [`check()`] finds what does not belong in an object, [`normalize`] brings it into the form that
//! a Kubernetes API server gives back. Custom resources have no type but a schema: [`structural`].
//!
//! Objects are `serde_json` trees whose maps are sorted (the crate's default, not its `preserve_order`). Kubernetes itself
//! prints maps sorted and structs in declaration order, and no client looks at the order. Sorted maps give one object
//! one text, however it came in: equal objects are equal bytes, so a write that changes nothing is seen as such and
//! a hash of the bytes is a hash of the object. They are also half the size: an ordered map makes every value of a tree,
//! even `true`, 72 bytes instead of 32. What is lost is the order in which several problems of one object are reported.

mod address;
pub mod builtin;
mod check;
pub mod defaults;
pub mod document;
mod field;
pub mod flows;
pub mod names;
mod normal;
pub mod protobuf;
mod prune;
pub mod scalar;
pub mod structural;
pub mod validation;
mod zero;

pub use check::{PROBLEMS_MAX, Problem, check};
pub use field::{FieldError, Wrong};
pub use normal::normalize;
pub use prune::prune;

#[cfg(test)]
mod tests {
    /// Cargo joins the features of all crates: one that asks for `preserve_order` would change every object's bytes.
    #[test]
    fn maps_are_sorted() {
        let object: serde_json::Value = serde_json::from_str(r#"{"b": 1, "a": {"d": 2, "c": 3}}"#).unwrap();
        assert_eq!(object.to_string(), r#"{"a":{"c":3,"d":2},"b":1}"#);
    }
}
