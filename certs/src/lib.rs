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
mod signing;
mod subject;

pub use authority::{Authority, KeyPair, Validity};
pub use error::{Error, Flaw};
pub use file::write_private;
pub use identity::{Identity, Origin, Reason};
pub use signing::SigningKey;
pub use subject::{Subject, SubjectName};
