//! Giving a pod its node.

use super::Resources;
use super::mutate::{Change, Next};
use super::update::check_uid;
use crate::auth::Authorized;
use crate::error::ApiError;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::place::ObjectRef;
use crate::strategy::pods;
use openapi::FieldError;
use openapi::scalar::time::Instant;

/// The pod should be where the binding says.
struct Bound<'a> {
    at: &'a ObjectRef,
    binding: &'a Object,
    now: Instant,
}

impl Change for Bound<'_> {
    async fn next(&self, old: &Object) -> Result<Next, ApiError> {
        let Self { at, binding, now } = *self;
        check_uid(at, old, binding.uid())?;
        let seen = binding.resource_version();
        if !seen.is_empty() && seen != old.resource_version() {
            return Err(ApiError::modified(at));
        }
        let node = binding.text(&["target", "name"]);
        pods::may_be_bound(old).map_err(|why| ApiError::unbindable(&at.name, &why))?;
        Ok(Next::Write(pods::bound(old, node, binding, now)))
    }
}

impl Resources {
    /// Assigns the pod at `at` to the node that `binding` names. Who runs it there is not this server's business.
    pub async fn bind(
        &self,
        at: &Authorized<ObjectRef>,
        binding: &Object,
        options: &WriteOptions,
    ) -> Result<(), ApiError> {
        let errors = errors(binding);
        if !errors.is_empty() {
            return Err(ApiError::invalid("", "Binding", binding.name(), &errors));
        }
        let change = Bound { at: at.get(), binding, now: self.inner.ambient.now() };
        self.mutate(at.get(), options.dry_run, &change).await.map(drop)
    }
}

fn errors(binding: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = binding.text(&["target", "kind"]);
    if !kind.is_empty() && kind != "Node" {
        errors.push(FieldError::not_supported("target.kind", kind, &["Node", "<empty>"]));
    }
    if binding.text(&["target", "name"]).is_empty() {
        errors.push(FieldError::required("target.name", ""));
    }
    errors
}
