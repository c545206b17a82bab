//! Requests for tokens.

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule::on("authentication.v1", "TokenRequestSpec").set("expirationSeconds", 3600)]
}
