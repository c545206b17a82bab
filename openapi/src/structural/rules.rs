//! All rules of a schema, and where they stand.

use super::node::{ListType, MapType, Node, Rule};

/// A rule and its place.
#[derive(Debug)]
pub struct Ruled<'a> {
    /// Of the schema that has the rule: `spec.validation.openAPIV3Schema.properties[spec]`.
    pub path: String,
    /// Among the rules of its schema.
    pub index: usize,
    pub rule: &'a Rule,
    /// From the root down to the schema that has the rule.
    pub nodes: Vec<&'a Node>,
    /// The first schema above, if any, whose values cannot be told what they were before.
    pub uncorrelated: Option<String>,
}

impl<'a> Ruled<'a> {
    pub fn node(&self) -> &'a Node {
        self.nodes[self.nodes.len() - 1]
    }
}

pub(super) fn of<'a>(root: &'a Node, base: &str) -> Vec<Ruled<'a>> {
    let mut walk = Walk { found: Vec::new(), nodes: Vec::new() };
    walk.node(root, base.to_owned(), None);
    walk.found
}

struct Walk<'a> {
    found: Vec<Ruled<'a>>,
    nodes: Vec<&'a Node>,
}

impl<'a> Walk<'a> {
    fn node(&mut self, node: &'a Node, path: String, uncorrelated: Option<&str>) {
        self.nodes.push(node);
        for (index, rule) in node.rules().iter().enumerate() {
            let (path, nodes) = (path.clone(), self.nodes.clone());
            let uncorrelated = uncorrelated.map(str::to_owned);
            self.found.push(Ruled { path, index, rule, nodes, uncorrelated });
        }
        if let Some(inner) = node.additional_properties().schema() {
            self.node(inner, format!("{path}.additionalProperties"), uncorrelated);
        }
        let atomic = node.map_type() == Some(MapType::Atomic);
        for (name, property) in node.properties() {
            let lost = uncorrelated.or(atomic.then_some(path.as_str()));
            self.node(property, format!("{path}.properties[{name}]"), lost);
        }
        if let Some(items) = node.items() {
            let lost = uncorrelated.or((node.list_type() != Some(ListType::Map)).then_some(path.as_str()));
            self.node(items, format!("{path}.items"), lost);
        }
        self.nodes.pop();
    }
}
