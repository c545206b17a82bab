//! Who is named in the bindings of which workspaces. Only who is named in one may be let into it; whether they are is
//! for its rules to say.

use super::index::Digest;
use apiserver::auth::User;
use apiserver::keyspace;
use apiserver::object::Peek;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use storage::Key;

pub(super) const BINDINGS: (&str, &str, &str) = ("rbac.authorization.k8s.io", "v1", "clusterrolebindings");

/// Somebody as a binding names them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    User(String),
    Group(String),
}

/// By subject, the workspaces in which bindings name it, and how many there are of these.
#[derive(Debug, Default)]
pub(super) struct Subjects {
    named_in: HashMap<Subject, BTreeMap<Arc<str>, u32>>,
}

impl Subjects {
    /// All workspaces in which somebody is named who counts as one of these.
    pub(super) fn workspaces(&self, standing: &[Cow<'_, User>]) -> BTreeSet<Arc<str>> {
        let all = subjects_of(standing);
        let found = all.iter().filter_map(|subject| self.named_in.get(subject));
        found.flat_map(BTreeMap::keys).cloned().collect()
    }

    fn add(&mut self, subject: Subject, workspace: &Arc<str>) {
        *self.named_in.entry(subject).or_default().entry(workspace.clone()).or_default() += 1;
    }

    fn take(&mut self, subject: &Subject, workspace: &str) {
        let Some(all) = self.named_in.get_mut(subject) else { return };
        if let Some(count) = all.get_mut(workspace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                all.remove(workspace);
            }
        }
        if all.is_empty() {
            self.named_in.remove(subject);
        }
    }
}

/// By which names bindings mean somebody.
pub(super) fn subjects_of(standing: &[Cow<'_, User>]) -> Vec<Subject> {
    let of = |user: &Cow<'_, User>| {
        let groups: Vec<Subject> = user.groups.iter().cloned().map(Subject::Group).collect();
        [Subject::User(user.name.clone())].into_iter().chain(groups)
    };
    standing.iter().flat_map(of).collect()
}

/// Who is named in a binding. Accounts are users by another name.
pub(super) fn named(binding: &[u8]) -> Vec<Subject> {
    let all: Vec<Value> = Peek::of(binding).value(&["subjects"]).unwrap_or_default();
    let subject = |said: &Value| {
        let word = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
        match said["kind"].as_str()? {
            "User" => Some(Subject::User(word("name"))),
            "Group" => Some(Subject::Group(word("name"))),
            "ServiceAccount" => {
                Some(Subject::User(format!("system:serviceaccount:{}:{}", word("namespace"), word("name"))))
            }
            _ => None,
        }
    };
    all.iter().filter_map(subject).collect()
}

impl Digest for Subjects {
    const OF: (&'static str, &'static str, &'static str) = BINDINGS;

    fn note(&mut self, key: &Key, before: Option<&[u8]>, now: Option<&[u8]>) {
        let Some(parts) = keyspace::parse(key) else { return };
        let workspace: Arc<str> = parts.workspace.into();
        for subject in before.map(named).unwrap_or_default() {
            self.take(&subject, &workspace);
        }
        for subject in now.map(named).unwrap_or_default() {
            self.add(subject, &workspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn somebody_is_found_where_any_binding_names_them() {
        let mut known = Subjects::default();
        let key = |text: &str| {
            let (workspace, name) = text.split_once('/').unwrap();
            Key::new(format!("rbac.authorization.k8s.io/clusterrolebindings/-/{workspace}//{name}"))
        };
        let binding = |kind: &str, name: &str| {
            json!({ "subjects": [{ "kind": kind, "name": name, "namespace": "n" }] }).to_string().into_bytes()
        };
        let check = |known: &Subjects, name: &str, groups: &[&str], expected: &[&str]| {
            let groups = groups.iter().map(|group| (*group).to_owned()).collect();
            let user = User { name: name.to_owned(), groups, ..User::default() };
            let found = known.workspaces(&[Cow::Owned(user)]);
            assert_eq!(found.iter().map(|id| &**id).collect::<Vec<_>>(), expected, "{name}");
        };
        known.note(&key("a/1"), None, Some(&binding("User", "ann")));
        known.note(&key("a/2"), None, Some(&binding("User", "ann")));
        known.note(&key("b/1"), None, Some(&binding("Group", "dev")));
        known.note(&key("c/1"), None, Some(&binding("ServiceAccount", "bot")));
        check(&known, "ann", &["dev"], &["a", "b"]);
        check(&known, "dev", &[], &[]);
        check(&known, "system:serviceaccount:n:bot", &[], &["c"]);
        known.note(&key("a/1"), Some(&binding("User", "ann")), None);
        check(&known, "ann", &[], &["a"]);
        known.note(&key("a/2"), Some(&binding("User", "ann")), Some(&binding("User", "bob")));
        check(&known, "ann", &[], &[]);
        check(&known, "bob", &[], &["a"]);
        known.note(&key("a/2"), Some(&binding("User", "bob")), None);
        assert_eq!(known.named_in.len(), 2);
    }
}
