//! Keys and certificates: an authority of one's own, what it issues, and the files that carry them.
//!
//! It knows files, keys, certificates and kubeconfig, and nothing of HTTP. Time is handed in. Start at
//! [`Authority::open_or_create`]; what a server keeps over restarts is an [`Identity`].

mod authority;
mod certificate;
mod error;
mod file;
mod identity;
pub mod kubeconfig;
mod pem;
mod request;
mod signing;
mod subject;

pub use authority::expires;
pub use authority::{Authority, KeyPair, Validity};
pub use error::{Error, Flaw, RequestFlaw};
pub use file::write_private;
pub use identity::{Identity, Origin, Reason};
pub use request::{Grant, Purpose, Request};
pub use signing::{SigningKey, public_keys};
pub use subject::{Subject, SubjectName};
