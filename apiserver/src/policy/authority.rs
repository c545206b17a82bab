//! Whom expressions ask whether somebody may do something.

use crate::hooks::{Answering, Ask};
use expression::Value;
use expression::kubernetes::{self, Attributes};

/// The values of `authorizer` and `authorizer.requestResource`.
#[derive(Debug)]
pub(super) struct Authority {
    pub(super) authorizer: Value<'static>,
    pub(super) request_resource: Value<'static>,
}

impl Authority {
    pub(super) fn new(ask: &Ask<'_>) -> Self {
        let by: Answering = (ask.answering)(ask.user);
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
