//! What a definition was before: rules that it broke then, it may go on breaking.

use serde_json::{Map, Value};

use super::super::tree::{Errors, Node};
use super::{conversion, shape, structure};
use crate::builtin::kind_in;
use crate::structural::{Structural, any_unpruned};

/// Versions of a definition may have had more selectable fields once.
const SELECTABLE_MAX: usize = 8;

/// Which rules held already. A new definition has kept all of them.
pub(super) struct Before<'a> {
    pub(super) all_had_schemas: bool,
    pub(super) valid_types: bool,
    pub(super) structural: bool,
    pub(super) pruned_defaults: bool,
    pub(super) atomic_sets: bool,
    pub(super) proper_keys: bool,
    pub(super) understood_reviews: bool,
    pub(super) may_have_odd_bundle: bool,
    /// Versions whose selectable fields are many, and the same as before.
    selectable: Vec<&'a str>,
}

pub(super) fn is_established(object: &Node) -> bool {
    let conditions = object.at("status").at("conditions");
    let established = conditions.items().find(|condition| condition.at("type").is("Established"));
    established.is_some_and(|condition| condition.at("status").is("True"))
}

impl<'a> Before<'a> {
    pub(super) fn of(object: &Node<'a>, old: Option<&Node<'a>>) -> Self {
        let Some(old) = old else { return Self::nothing() };
        let versions = old.at("spec").at("versions");
        let schemas: Vec<&Value> = versions
            .items()
            .map(|version| version.at("schema").at("openAPIV3Schema"))
            .filter(Node::exists)
            .map(|schema| schema.value())
            .collect();
        let lacks = |wrong: fn(&Map<String, Value>) -> bool| {
            !schemas.iter().any(|schema| shape::any(schema, &mut |inner| wrong(inner)))
        };
        let reviews = old.at("spec").at("conversion").at("webhook").at("conversionReviewVersions").texts();
        let structural = |schema: &&Value| shape::unreadable(schema).is_none() && is_structural(schema);
        Self {
            all_had_schemas: schemas.len() == versions.len(),
            valid_types: lacks(shape::has_odd_type),
            structural: schemas.iter().all(structural),
            pruned_defaults: !schemas.iter().any(|schema| any_unpruned(Structural::read(schema).root())),
            atomic_sets: lacks(shape::has_granular_set),
            proper_keys: lacks(shape::has_improper_keys),
            understood_reviews: reviews.is_empty()
                || reviews.iter().any(|version| conversion::REVIEW_VERSIONS.contains(version)),
            may_have_odd_bundle: may_have_odd_bundle(old),
            selectable: unchanged_selectable(object, old),
        }
    }

    fn nothing() -> Self {
        Self {
            all_had_schemas: true,
            valid_types: true,
            structural: true,
            pruned_defaults: true,
            atomic_sets: true,
            proper_keys: true,
            understood_reviews: true,
            may_have_odd_bundle: true,
            selectable: Vec::new(),
        }
    }

    /// Of a version, or of all together for an empty name.
    pub(super) fn too_many_selectable(&self, version: &str) -> bool {
        if version.is_empty() { !self.selectable.is_empty() } else { self.selectable.contains(&version) }
    }
}

pub(super) fn is_structural(schema: &Value) -> bool {
    let Some(ty) = kind_in("apiextensions.k8s.io/v1", "CustomResourceDefinition") else { return true };
    let mut errors = Errors::of(ty);
    structure::structure(&mut errors, &Node::root(schema));
    errors.is_empty()
}

fn may_have_odd_bundle(old: &Node) -> bool {
    let bundle = old.at("spec").at("conversion").at("webhook").at("clientConfig").at("caBundle");
    !is_established(old) || (!bundle.is_empty() && !conversion::is_bundle(bundle.text()))
}

fn unchanged_selectable<'a>(object: &Node<'a>, old: &Node<'a>) -> Vec<&'a str> {
    let versions = |object: &Node<'a>| object.at("spec").at("versions").items().collect::<Vec<_>>();
    let before = versions(old);
    let same = |version: &Node<'a>| {
        let name = version.at("name");
        let old = before.iter().find(|old| old.at("name").text() == name.text())?;
        let fields = old.at("selectableFields");
        (fields.len() > SELECTABLE_MAX && fields.same(&version.at("selectableFields"))).then(|| name.text())
    };
    versions(object).iter().filter_map(same).collect()
}
