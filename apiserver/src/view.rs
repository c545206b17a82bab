//! What is seen of a collection that is not for everybody to see all of.

use crate::error::ApiError;
use crate::object::Object;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use storage::{Change, Key, KeyRange};

/// Decides which objects of a collection somebody sees, and how.
pub trait View: fmt::Debug + Send + Sync {
    fn sees(&self, key: &Key, value: &[u8]) -> bool;

    /// An object as it is seen.
    fn shown(&self, _key: &Key, value: &Bytes) -> Bytes {
        value.clone()
    }

    /// Completes an object that is written so that it will be seen, or says why it may not be written.
    fn require(&self, _object: &mut Object, _old: Option<&Object>) -> Result<(), ApiError> {
        Ok(())
    }

    /// Where everything is that can be seen, as of now; nothing where that is not known.
    fn keys(&self) -> Result<Option<Vec<Key>>, ApiError> {
        Ok(None)
    }

    /// Where something may happen that changes what is seen, although the objects stay as they are.
    fn depends_on(&self) -> Option<KeyRange> {
        None
    }

    /// Whether a change there does. Whoever watches has to begin anew then.
    fn is_moved_by(&self, _: &Change) -> bool {
        false
    }
}

/// A view, or everything.
pub type Seeing = Option<Arc<dyn View>>;
