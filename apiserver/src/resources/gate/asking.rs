//! Whom expressions ask whether somebody may do something: whoever decides about requests.

use super::Resources;
use crate::auth::{Attributes, Objects, Selector, Selectors, User};
use crate::place::Workspace;
use expression::kubernetes::{self, Authorizer};

/// Asks for one user, in one workspace.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) resources: Resources,
    pub(super) workspace: Workspace,
    pub(super) user: User,
}

impl Authorizer for Asking {
    fn authorize(&self, about: &kubernetes::Attributes) -> kubernetes::Decision {
        let account = about.service_account.as_ref().map(|(namespace, name)| User {
            name: User::account_name(namespace, name),
            groups: User::account_groups(namespace),
            ..User::default()
        });
        let user = account.as_ref().unwrap_or(&self.user);
        match self.resources.authorizer().decide(user, &self.workspace, &wanted(about)) {
            Ok(decision) => kubernetes::Decision {
                allowed: decision.is_allowed(),
                reason: decision.reason().to_owned(),
                error: None,
            },
            Err(error) => {
                kubernetes::Decision { error: Some(error.message().to_owned()), ..kubernetes::Decision::default() }
            }
        }
    }
}

fn wanted(about: &kubernetes::Attributes) -> Attributes<'_> {
    if about.resource.is_empty() {
        return Attributes::path(&about.verb, &about.path);
    }
    let kubernetes::Attributes { verb, group, resource, subresource, namespace, name, .. } = about;
    let (fields, labels) = (Selector::Text(&about.field_selector), Selector::Text(&about.label_selector));
    let objects = Objects { group, resource, subresource, namespace, name };
    Attributes { selectors: Selectors { fields, labels }, ..Attributes::objects(verb, objects) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_asks_about_all_that_it_says() {
        let about = kubernetes::Attributes {
            verb: "list".to_owned(),
            resource: "pods".to_owned(),
            namespace: "n".to_owned(),
            field_selector: "spec.nodeName=here".to_owned(),
            label_selector: "a=b".to_owned(),
            ..kubernetes::Attributes::default()
        };
        let objects = Objects { resource: "pods", namespace: "n", ..Objects::default() };
        let selectors = Selectors { fields: Selector::Text("spec.nodeName=here"), labels: Selector::Text("a=b") };
        assert_eq!(wanted(&about), Attributes { selectors, ..Attributes::objects("list", objects) });
        let plain = kubernetes::Attributes { resource: "pods".to_owned(), ..kubernetes::Attributes::default() };
        assert_eq!(wanted(&plain).selectors, Selectors::default());
        let path = kubernetes::Attributes { path: "/x".to_owned(), ..about.clone() };
        let path = kubernetes::Attributes { resource: String::new(), ..path };
        assert_eq!(wanted(&path), Attributes::path("list", "/x"));
    }
}
