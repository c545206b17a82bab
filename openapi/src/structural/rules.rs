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
    let mut walk = Walk { path: base.to_owned(), found: Vec::new(), nodes: Vec::new() };
    walk.node(root, None);
    walk.found
}

struct Walk<'a> {
    path: String,
    found: Vec<Ruled<'a>>,
    nodes: Vec<&'a Node>,
}

impl<'a> Walk<'a> {
    /// `uncorrelated` is how much of the path leads to the first schema whose values cannot be told what they were.
    fn node(&mut self, node: &'a Node, uncorrelated: Option<usize>) {
        self.nodes.push(node);
        for (index, rule) in node.rules().iter().enumerate() {
            let (path, nodes) = (self.path.clone(), self.nodes.clone());
            let uncorrelated = uncorrelated.map(|length| path[..length].to_owned());
            self.found.push(Ruled { path, index, rule, nodes, uncorrelated });
        }
        let here = self.path.len();
        if let Some(inner) = node.additional_properties().schema() {
            self.step(&[".additionalProperties"], inner, uncorrelated);
        }
        let atomic = node.map_type() == Some(MapType::Atomic);
        for (name, property) in node.properties() {
            self.step(&[".properties[", name, "]"], property, uncorrelated.or(atomic.then_some(here)));
        }
        if let Some(items) = node.items() {
            let keyed = node.list_type() == Some(ListType::Map);
            self.step(&[".items"], items, uncorrelated.or((!keyed).then_some(here)));
        }
        self.nodes.pop();
    }

    fn step(&mut self, steps: &[&str], node: &'a Node, uncorrelated: Option<usize>) {
        let length = self.path.len();
        self.path.extend(steps.iter().copied());
        self.node(node, uncorrelated);
        self.path.truncate(length);
    }
}
