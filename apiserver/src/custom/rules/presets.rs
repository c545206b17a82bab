//! Defaults of a schema, held to its rules.

use openapi::FieldError;
use openapi::structural::Node;

use super::OBJECT_COST;
use super::compile::Place;
use super::evaluate::Evaluation;

/// What is wrong with the defaults of a schema that stands at `base`, but for those that were found to be `wrong`.
pub(super) fn check(root: &Place, node: &Node, base: &str, wrong: &[&str]) -> Vec<FieldError> {
    let mut checker = Checker { errors: Vec::new(), left: Some(OBJECT_COST), wrong };
    checker.place(root, node, base);
    checker.errors
}

struct Checker<'a> {
    errors: Vec<FieldError>,
    /// What is left of the budget that all of them share; none once it is spent.
    left: Option<u64>,
    /// Places of errors that are known.
    wrong: &'a [&'a str],
}

impl Checker<'_> {
    fn place(&mut self, place: &Place, node: &Node, path: &str) {
        let Some(left) = self.left else { return };
        let at = format!("{path}.default");
        let known = self.wrong.iter().any(|wrong| wrong.starts_with(&at));
        if let Some(value) = node.default_value().filter(|_| !known) {
            // A default may stand where it stood before, and where nothing did.
            let kept = Evaluation::of(left).part(place, node, &at, value, Some(value));
            self.left = kept.left;
            let sound = kept.errors.is_empty();
            self.errors.extend(kept.errors);
            if sound {
                let new = Evaluation::of(left).part(place, node, &at, value, None);
                self.left = self.left.zip(new.left).map(|(one, other)| one.min(other));
                self.errors.extend(new.errors);
            }
        }
        if let (Some(place), Some(items)) = (&place.items, node.items()) {
            self.place(place, items, &format!("{path}.items"));
        }
        for (name, place) in &place.properties {
            if let Some(node) = node.property(name) {
                self.place(place, node, &format!("{path}.properties[{name}]"));
            }
        }
    }
}
