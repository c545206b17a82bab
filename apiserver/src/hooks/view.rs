//! The objects of a request in the version that a hook asks for.

use super::Ask;
use super::ask::Kind;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use std::borrow::Cow;
use std::sync::Arc;

/// A version of the requested resource. `None`: the one that was requested.
pub(crate) type Version = Option<Arc<ResourceDef>>;

/// The object of a request and what it replaces, in one version of the resource.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    version: Version,
    kind: Kind,
    object: Option<Cow<'a, Object>>,
    old: Option<Cow<'a, Object>>,
    /// The object as requested, while it is shown in another version and nobody has touched it: that version may not be
    /// able to say everything.
    requested: Option<Cow<'a, Object>>,
    touched: bool,
}

impl<'a> View<'a> {
    pub(crate) fn new(ask: &Ask<'a>, object: Option<Cow<'a, Object>>) -> Self {
        let (kind, old) = (ask.kind_in(ask.resource), ask.old.map(Cow::Borrowed));
        Self { version: None, kind, object, old, requested: None, touched: false }
    }

    pub(crate) fn resource<'b>(&'b self, ask: &Ask<'b>) -> &'b ResourceDef {
        self.version.as_deref().unwrap_or(ask.resource)
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(crate) fn object(&self) -> Option<&Object> {
        self.object.as_deref()
    }

    pub(crate) fn old(&self) -> Option<&Object> {
        self.old.as_deref()
    }

    pub(crate) fn into_object(self) -> Option<Object> {
        self.object.map(Cow::into_owned)
    }

    /// Whether the objects are shown in this version already.
    pub(crate) fn is_in(&self, version: &Version) -> bool {
        match (&self.version, version) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// Takes another object for the one that is shown.
    pub(crate) fn put(&mut self, object: Object) {
        (self.object, self.requested, self.touched) = (Some(Cow::Owned(object)), None, true);
    }

    /// Shows the objects in another version. A part that has a kind of its own looks the same in all of them.
    pub(crate) async fn turn(&mut self, ask: &Ask<'a>, version: Version) -> Result<(), ApiError> {
        let resource = version.as_deref().unwrap_or(ask.resource);
        let kind = ask.kind_in(resource);
        if kind != self.kind {
            let back = kind == ask.kind_in(ask.resource);
            self.old = match ask.old {
                Some(old) if !back => Some(converted(ask, old.clone(), resource).await?),
                old => old.map(Cow::Borrowed),
            };
            if let Some(shown) = self.object.take() {
                let object = if self.touched { shown } else { self.requested.take().unwrap_or(shown) };
                if !back && !self.touched {
                    self.requested = Some(object.clone());
                }
                let same = back && !self.touched;
                self.object = Some(if same { object } else { converted(ask, object.into_owned(), resource).await? });
            }
            self.touched &= !back;
        }
        (self.kind, self.version) = (kind, version);
        Ok(())
    }
}

async fn converted<'a>(ask: &Ask<'_>, object: Object, to: &ResourceDef) -> Result<Cow<'a, Object>, ApiError> {
    ask.versions.convert(object, to).await.map(Cow::Owned).map_err(ApiError::internal)
}
