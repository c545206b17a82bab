//! What rules may cost at most: each of them, and all of a schema together.

use openapi::FieldError;
use openapi::structural::{Node, Type};

/// What one rule may cost by its estimate, on all the values of an object that it is for.
pub(in crate::custom) const RULE_COST: u64 = 10_000_000;
/// What the rules of one schema may cost.
const SCHEMA_COST: u64 = 100_000_000;
/// As many of the most expensive rules are named.
const NAMED_MAX: usize = 4;

/// How many values there may be for each value of the schema: none if there is no limit.
pub(super) fn times(node: &Node) -> Option<u64> {
    let most = match node.ty() {
        Some(Type::Object) if node.additional_properties().is_specified() => node.max_properties()?,
        Some(Type::Array) => node.max_items()?,
        _ => return Some(1),
    };
    Some(u64::try_from(most).unwrap_or(0))
}

/// How much more than a limit something costs, in words.
pub(in crate::custom) fn excess(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// The sum of what the rules of a schema may cost.
#[derive(Debug, Default)]
pub(super) struct Total {
    sum: u64,
    /// Where the most expensive ones stand, and what they cost, in falling order.
    expensive: Vec<(String, u64)>,
}

impl Total {
    pub(super) fn add(&mut self, path: &str, cost: u64) {
        self.sum = self.sum.saturating_add(cost);
        if cost < SCHEMA_COST / 100 {
            return;
        }
        self.expensive.push((path.to_owned(), cost));
        self.expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        self.expensive.truncate(NAMED_MAX);
    }

    /// The errors, if it is too much, of a schema that stands at `base`.
    pub(super) fn errors(self, base: &str) -> Vec<FieldError> {
        if self.sum <= SCHEMA_COST {
            return Vec::new();
        }
        let blame = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let mut errors: Vec<_> =
            self.expensive.into_iter().map(|(path, _)| FieldError::forbidden(path, blame)).collect();
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(base, excess(name, self.sum, SCHEMA_COST)));
        errors
    }
}
