//! What somebody may do because of the roles they hold, found by what they want to do.

use crate::auth::attributes::{Attributes, Objects, What};
use crate::auth::rule::{ALL, Rule, path_matches};
use std::borrow::Cow;
use std::collections::HashMap;

/// Which of the holder's bindings permits it.
type By = usize;

/// The rules of all roles that one holder has. However many they are, a question is a handful of look-ups.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By group, then by resource.
    resources: HashMap<Box<str>, HashMap<Box<str>, Verbs>>,
    /// Rules about single names: by group, resource and name.
    named: HashMap<Box<str>, HashMap<Box<str>, ByName>>,
    /// By path; those that end with a star are looked through.
    paths: HashMap<Box<str>, Verbs>,
    patterns: Vec<(Box<str>, Verbs)>,
    /// Why rules of some roles are missing.
    pub(super) trouble: Vec<String>,
}

type ByName = HashMap<Box<str>, Verbs>;

/// Few, and each only once: by the first binding that has it.
type Verbs = Vec<(Box<str>, By)>;

impl Index {
    pub(super) fn add(&mut self, rule: &Rule, by: By) {
        for group in &rule.groups {
            for resource in &rule.resources {
                self.add_resource(group, resource, rule, by);
            }
        }
        for path in &rule.paths {
            grant(self.of_path(path), rule, by);
        }
    }

    fn add_resource(&mut self, group: &str, resource: &str, rule: &Rule, by: By) {
        if rule.names.is_empty() {
            let resources = self.resources.entry(group.into()).or_default();
            return grant(resources.entry(resource.into()).or_default(), rule, by);
        }
        let names = self.named.entry(group.into()).or_default().entry(resource.into()).or_default();
        for name in &rule.names {
            grant(names.entry(name.as_str().into()).or_default(), rule, by);
        }
    }

    fn of_path(&mut self, path: &str) -> &mut Verbs {
        if !path.ends_with('*') {
            return self.paths.entry(path.into()).or_default();
        }
        let known = self.patterns.iter().position(|(pattern, _)| **pattern == *path);
        let at = known.unwrap_or_else(|| {
            self.patterns.push((path.into(), Vec::new()));
            self.patterns.len() - 1
        });
        &mut self.patterns[at].1
    }

    /// The first of the holder's bindings that permits it.
    pub(super) fn first(&self, wanted: &Attributes<'_>) -> Option<By> {
        let mut first = None;
        self.visit(wanted, &mut |by| {
            first = Some(first.map_or(by, |first: By| first.min(by)));
            false
        });
        first
    }

    pub(super) fn permits(&self, wanted: &Attributes<'_>) -> bool {
        self.visit(wanted, &mut |_| true)
    }

    /// Shows bindings that permit it until one is enough, and says whether one was.
    fn visit(&self, wanted: &Attributes<'_>, enough: &mut dyn FnMut(By) -> bool) -> bool {
        match wanted.what {
            What::Objects(objects) => self.visit_objects(wanted.verb, &objects, enough),
            What::Path(path) => {
                let patterns = self.patterns.iter().filter(|(pattern, _)| path_matches(pattern, path));
                let mut all = self.paths.get(path).into_iter().chain(patterns.map(|(_, verbs)| verbs));
                all.any(|verbs| permits(verbs, wanted.verb).is_some_and(&mut *enough))
            }
        }
    }

    fn visit_objects(&self, verb: &str, objects: &Objects<'_>, enough: &mut dyn FnMut(By) -> bool) -> bool {
        let Objects { group, resource, subresource, name, .. } = *objects;
        let (combined, any) = match subresource {
            "" => (Cow::Borrowed(resource), None),
            _ => (Cow::Owned(format!("{resource}/{subresource}")), Some(format!("*/{subresource}"))),
        };
        let words = [Some(&*combined), Some(ALL), any.as_deref()];
        let words = || words.into_iter().flatten();
        [group, ALL].into_iter().any(|group| {
            let all = self.resources.get(group);
            let all = all.into_iter().flat_map(|all| words().filter_map(|word| all.get(word)));
            let named = self.named.get(group);
            let named = named.into_iter().flat_map(|all| words().filter_map(|word| all.get(word)?.get(name)));
            all.chain(named).any(|verbs| permits(verbs, verb).is_some_and(&mut *enough))
        })
    }
}

fn grant(verbs: &mut Verbs, rule: &Rule, by: By) {
    for verb in &rule.verbs {
        if !verbs.iter().any(|(known, _)| **known == **verb) {
            verbs.push((verb.as_str().into(), by));
        }
    }
}

fn permits(verbs: &Verbs, verb: &str) -> Option<By> {
    verbs.iter().find(|(known, _)| **known == *verb || **known == *ALL).map(|(_, by)| *by)
}
