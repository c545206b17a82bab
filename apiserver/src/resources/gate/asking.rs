//! Whom expressions ask whether somebody may do something: whoever decides about requests.

use super::Resources;
use crate::auth::{Attributes, Objects, User};
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
        let wanted = if about.resource.is_empty() {
            Attributes::path(&about.verb, &about.path)
        } else {
            let kubernetes::Attributes { verb, group, resource, subresource, namespace, name, .. } = about;
            Attributes::objects(verb, Objects { group, resource, subresource, namespace, name })
        };
        match self.resources.authorizer().decide(user, &self.workspace, &wanted) {
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
