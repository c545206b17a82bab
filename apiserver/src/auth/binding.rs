//! Who has a role: the bindings of a workspace.

use super::User;
use serde::Deserialize;
use std::fmt;

/// A `RoleBinding`, which is in a namespace, or a `ClusterRoleBinding`, which is in none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub name: String,
    pub namespace: Option<String>,
    pub role: RoleRef,
    pub subjects: Vec<Subject>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RoleRef {
    #[serde(rename = "apiGroup")]
    pub group: String,
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Subject {
    pub kind: String,
    pub name: String,
    pub namespace: String,
}

/// Of a binding, what matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    role_ref: RoleRef,
    subjects: Option<Vec<Subject>>,
}

impl Binding {
    /// A binding as it is stored.
    pub fn read(namespace: Option<&str>, name: &str, bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let Written { role_ref, subjects } = serde_json::from_slice(bytes)?;
        let (name, namespace) = (name.to_owned(), namespace.map(str::to_owned));
        Ok(Self { name, namespace, role: role_ref, subjects: subjects.unwrap_or_default() })
    }

    /// Whom a subject means; nobody if it does not say enough.
    pub(super) fn holder<'a>(&'a self, subject: &'a Subject) -> Option<HolderName> {
        match &*subject.kind {
            "User" => Some(HolderName::User(subject.name.clone())),
            "Group" => Some(HolderName::Group(subject.name.clone())),
            "ServiceAccount" => {
                let namespace = self.namespace_of(subject);
                (!namespace.is_empty()).then(|| HolderName::User(User::account_name(namespace, &subject.name)))
            }
            _ => None,
        }
    }

    /// Accounts of a binding's own namespace need not say where they are.
    fn namespace_of<'a>(&'a self, subject: &'a Subject) -> &'a str {
        match &*subject.namespace {
            "" => self.namespace.as_deref().unwrap_or_default(),
            namespace => namespace,
        }
    }
}

/// By what somebody holds a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HolderName {
    User(String),
    Group(String),
}

/// By which binding, and as which of its subjects, somebody may do something.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub binding: &'a Binding,
    pub subject: &'a Subject,
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Binding { name, namespace, role, .. } = self.binding;
        match namespace {
            None => write!(f, "ClusterRoleBinding {name:?}")?,
            Some(namespace) => write!(f, "RoleBinding \"{name}/{namespace}\"")?,
        }
        let Subject { kind, name, .. } = self.subject;
        write!(f, " of {} {:?} to {kind} ", role.kind, role.name)?;
        match &**kind {
            "ServiceAccount" => write!(f, "\"{name}/{}\"", self.binding.namespace_of(self.subject)),
            _ => write!(f, "{name:?}"),
        }
    }
}
