//! Whom expressions ask whether somebody may do something.

use crate::auth::{MASTERS, User};
use crate::hooks::Ask;
use expression::Value;
use expression::kubernetes::{self, Attributes, Authorizer, Decision};
use std::sync::Arc;

/// Who answers for a user.
pub type Answering = Arc<dyn Authorizer>;

/// The values of `authorizer` and `authorizer.requestResource`.
#[derive(Debug)]
pub(super) struct Authority {
    pub(super) authorizer: Value<'static>,
    pub(super) request_resource: Value<'static>,
}

impl Authority {
    pub(super) fn new(by: Answering, ask: &Ask<'_>) -> Self {
        let about = Attributes {
            group: ask.resource.group.clone(),
            resource: ask.resource.plural.clone(),
            subresource: ask.subresource.to_owned(),
            namespace: ask.namespace().to_owned(),
            name: ask.name.to_owned(),
            ..Attributes::default()
        };
        Self {
            authorizer: kubernetes::authorizer(by.clone()),
            request_resource: kubernetes::request_resource(by, about),
        }
    }
}

/// Answers by the one rule there is: masters may do everything. Service accounts are none.
pub fn masters(user: &User) -> Answering {
    Arc::new(Masters { is_one: user.is_in(MASTERS) })
}

#[derive(Debug)]
struct Masters {
    is_one: bool,
}

impl Authorizer for Masters {
    fn authorize(&self, attributes: &Attributes) -> Decision {
        let allowed = self.is_one && attributes.service_account.is_none();
        Decision { allowed, ..Decision::default() }
    }
}
