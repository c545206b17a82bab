//! What went wrong between us and etcd, and what that means for a request.

use crate::error::BackendError;
use etcd_client::Error;
use std::error::Error as _;
use std::path::PathBuf;
use tonic::{Code, ConnectError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It did nothing and the same request may be sent again: no connection, or nobody who would take it.
    NotSent,
    /// It did nothing, and will not do anything for now.
    Refused,
    /// etcd takes no such request, however often it is asked.
    Invalid,
    /// The revision it asked for is no longer there.
    Compacted,
    /// The answer is larger than we take at once.
    LargeAnswer,
    /// Nobody knows what it did.
    Lost,
    /// etcd is not the one it was.
    Changed,
    /// What is in etcd is sealed with a key that was not given.
    Locked,
}

#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) endpoint: String,
    pub(super) what: String,
}

impl Fault {
    pub(super) fn new(kind: Kind, endpoint: &str, what: impl Into<String>) -> Self {
        Self { kind, endpoint: endpoint.to_owned(), what: what.into() }
    }

    pub(super) fn of(endpoint: &str, error: &Error) -> Self {
        let kind = match error {
            Error::GRpcStatus(status) if never_connected(status) => Kind::NotSent,
            Error::GRpcStatus(status) => kind_of(status.code(), status.message()),
            Error::InvalidArgs(_) | Error::InvalidUri(_) => Kind::Invalid,
            _ => Kind::Lost,
        };
        Self::new(kind, endpoint, describe(error))
    }

    /// Whether it will be the same however often it is tried.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.kind, Kind::Invalid | Kind::Refused | Kind::Changed | Kind::Locked)
    }

    pub(super) fn into_error(self) -> BackendError {
        match self.kind {
            Kind::Changed => BackendError::Damaged { path: PathBuf::from(self.endpoint), what: self.what },
            Kind::Locked => BackendError::Locked { what: self.what },
            _ => BackendError::Unreachable { endpoint: self.endpoint, what: self.what },
        }
    }
}

/// What etcd says when it will not take a request at the moment, and nothing of it was done.
const REFUSALS: [&str; 2] = ["etcdserver: mvcc: database space exceeded", "etcdserver: too many requests"];

/// etcd has few codes for many reasons; the message is part of its interface (`rpctypes`). Only what etcd itself says
/// of a request is sure: the same code may come from a connection that broke.
fn kind_of(code: Code, message: &str) -> Kind {
    let said_by_etcd = message.starts_with("etcdserver: ");
    match code {
        Code::Unavailable if message == "etcdserver: no leader" => Kind::NotSent,
        Code::Unknown if message == "raft proposal dropped" => Kind::NotSent,
        Code::OutOfRange if said_by_etcd && message.contains("has been compacted") => Kind::Compacted,
        Code::OutOfRange if message.contains("decoded message length too large") => Kind::LargeAnswer,
        Code::InvalidArgument if said_by_etcd => Kind::Invalid,
        _ if message.starts_with("grpc: received message larger than max") => Kind::Invalid,
        Code::PermissionDenied | Code::Unauthenticated if said_by_etcd => Kind::Refused,
        _ if REFUSALS.contains(&message) => Kind::Refused,
        _ => Kind::Lost,
    }
}

/// A request that failed while its connection was being made has not left this process.
fn never_connected(status: &tonic::Status) -> bool {
    let mut source = status.source();
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

fn describe(error: &Error) -> String {
    let Error::GRpcStatus(status) = error else { return error.to_string() };
    let mut said = status.message().to_owned();
    let mut source = status.source();
    while let Some(error) = source {
        let reason = error.to_string();
        if !said.contains(&reason) {
            said = format!("{said}: {reason}");
        }
        source = error.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_etcd_says_is_taken_for_what_it_means() {
        let check = |code, message, kind| assert_eq!(kind_of(code, message), kind, "{message}");
        check(Code::Unavailable, "etcdserver: no leader", Kind::NotSent);
        check(Code::Unavailable, "etcdserver: request timed out", Kind::Lost);
        check(Code::Unavailable, "etcdserver: leader changed", Kind::Lost);
        check(Code::Unknown, "transport error", Kind::Lost);
        check(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted", Kind::Compacted);
        check(Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision", Kind::Lost);
        check(Code::InvalidArgument, "etcdserver: request is too large", Kind::Invalid);
        check(Code::PermissionDenied, "etcdserver: permission denied", Kind::Refused);
        check(Code::PermissionDenied, "h2 protocol error: inadequate security", Kind::Lost);
        // gRPC's word for what ran out.
        let exhausted = Code::from(8);
        check(exhausted, "etcdserver: mvcc: database space exceeded", Kind::Refused);
        check(exhausted, "etcdserver: too many requests", Kind::Refused);
        check(exhausted, "h2 protocol error: too many pings", Kind::Lost);
        check(exhausted, "grpc: received message larger than max (9 vs. 8)", Kind::Invalid);
    }
}
