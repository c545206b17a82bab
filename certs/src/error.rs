//! What can go wrong with keys and certificates, said so that the reader knows which file to look at.

use std::io;
use std::path::PathBuf;

use time::Date;
use x509_parser::error::X509Error;
use x509_parser::nom;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write {}", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "{} is missing beside {}: restore it, or move the other away to begin with a new authority",
        .path.display(), .beside.display()
    )]
    Missing { path: PathBuf, beside: PathBuf },
    #[error("{} is damaged", .path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        source: Flaw,
    },
    #[error("{} is not the key of {}: restore the pair from one backup", .key.display(), .certificate.display())]
    Mismatch { certificate: PathBuf, key: PathBuf },
    #[error(
        "the authority in {} expired on {on}: move ca.crt and ca.key away, start again to get a new one, \
         and hand its ca.crt to every client",
        .path.display()
    )]
    Expired { path: PathBuf, on: Date },
    #[error("the authority in {} is valid only from {from}: is the clock right?", .path.display())]
    NotYetValid { path: PathBuf, from: Date },
    #[error("{name:?} cannot be the name of a server")]
    ServerName { name: String },
    #[error("a certificate for a server needs a name to be found by")]
    NoServerName,
    #[error("a certificate for a client needs the name of a user")]
    NoUser,
    #[error("{name:?} cannot be the file name of an identity")]
    FileName { name: String },
    #[error("a certificate cannot carry this date")]
    Date,
    #[error("cannot make a key or sign with it")]
    Sign(#[source] rcgen::Error),
    #[error("cannot write the names into a certificate")]
    Encode(#[source] yasna::ASN1Error),
    #[error("{} would not work: its {from} wants the {kind} {name:?}, which it does not have", .path.display())]
    Dangling { path: PathBuf, from: String, kind: &'static str, name: String },
}

/// What is wrong with the content of a file.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    #[error("it does not hold the PEM section that belongs in it")]
    Pem(#[source] rustls_pki_types::pem::Error),
    #[error("its certificate cannot be read")]
    Certificate(#[source] nom::Err<X509Error>),
    #[error("its certificate goes on after its end")]
    Trailing,
    #[error("its certificate and the signature beside it do not fit together")]
    Frame,
    #[error("an extension of its certificate cannot be read")]
    Extension(#[source] X509Error),
    #[error("its key is not an ECDSA P-256 key in PKCS#8")]
    Key(#[source] rcgen::Error),
    #[error("its certificate is not that of an authority")]
    NotAnAuthority,
    #[error("its certificate is not signed by its own key")]
    Signature,
}

/// What is wrong with a request for a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFlaw {
    #[error("PEM block type must be CERTIFICATE REQUEST")]
    NotARequest,
    #[error("the certificate request cannot be read")]
    Unreadable,
    #[error("unable to verify certificate request signature")]
    Signature,
    #[error("a name in the certificate request cannot be read, or is there twice")]
    Name,
}
