//! Why there is no value.

use std::borrow::Cow;

/// Why an evaluation has no value. A message may be absorbed by `||`, `&&` and comprehensions; a spent budget never.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Failed(Cow<'static, str>),
    #[error("operation cancelled: actual cost limit exceeded")]
    Cost,
}

impl Error {
    pub fn new(message: impl Into<Cow<'static, str>>) -> Error {
        Error::Failed(message.into())
    }

    pub fn no_such_overload() -> Error {
        Error::new("no such overload")
    }
}
