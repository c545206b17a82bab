//! What each of Kubernetes' signers puts its name to: subject, names and usages, as a pure function.

use certs::{Grant, Purpose, Request};
use std::time::Duration;

/// The groups and names of nodes.
const NODES: &str = "system:nodes";
const NODE_PREFIX: &str = "system:node:";

/// Nothing shorter is issued.
const LASTS_MIN: Duration = Duration::from_mins(10);

/// Those who sign in the name of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signer {
    /// Anybody, to this server.
    Client,
    /// A node, to this server.
    NodeClient,
    /// A node, to its clients.
    NodeServer,
}

impl Signer {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "kubernetes.io/kube-apiserver-client" => Self::Client,
            "kubernetes.io/kube-apiserver-client-kubelet" => Self::NodeClient,
            "kubernetes.io/kubelet-serving" => Self::NodeServer,
            _ => return None,
        })
    }

    /// What is granted to the author of a request, or why it is not. `uri` is put into certificates of clients: it says
    /// where they are somebody.
    pub(super) fn judge(self, request: &Request, usages: &[&str], uri: &str) -> Result<Grant, String> {
        match self {
            Self::Client => check_client_usages(usages)?,
            Self::NodeClient => check_node_client(request, usages)?,
            Self::NodeServer => check_node_server(request, usages)?,
        }
        let purpose = if self == Self::NodeServer { Purpose::Server } else { Purpose::Client };
        let uri = (purpose == Purpose::Client).then(|| uri.to_owned());
        Ok(Grant { purpose, key_encipherment: usages.contains(&"key encipherment"), uri })
    }
}

/// For how long: what was asked for, but not longer than `most`.
pub(super) fn lasts(asked_secs: Option<i64>, most: Duration) -> Duration {
    match asked_secs.and_then(|secs| u64::try_from(secs).ok()).map(Duration::from_secs) {
        None => most,
        Some(asked) if asked > most => most,
        Some(asked) => asked.max(LASTS_MIN),
    }
}

fn check_client_usages(usages: &[&str]) -> Result<(), String> {
    for usage in usages {
        if !matches!(*usage, "digital signature" | "key encipherment" | "client auth") {
            return Err(format!("invalid usage for client certificate: {usage}"));
        }
    }
    match usages.contains(&"client auth") {
        true => Ok(()),
        false => Err("missing required usage for client certificate: client auth".to_owned()),
    }
}

/// The first of these that is so.
fn refuse_if(reasons: &[(bool, &str)]) -> Result<(), String> {
    match reasons.iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err((*why).to_owned()),
        None => Ok(()),
    }
}

const OTHER_GROUP: &str = "subject organization is not system:nodes";
const OTHER_NAME: &str = "subject common name does not begin with system:node:";
const EMAIL: &str = "Email subjectAltNames are not allowed";
const URI: &str = "URI subjectAltNames are not allowed";

fn check_node_client(request: &Request, usages: &[&str]) -> Result<(), String> {
    refuse_if(&[
        (request.organizations != [NODES], OTHER_GROUP),
        (!request.dns_names.is_empty(), "DNS subjectAltNames are not allowed"),
        (!request.emails.is_empty(), EMAIL),
        (!request.addresses.is_empty(), "IP subjectAltNames are not allowed"),
        (!request.uris.is_empty(), URI),
    ])?;
    check_usages(usages, "client auth")?;
    refuse_if(&[(!request.common_name.starts_with(NODE_PREFIX), OTHER_NAME)])
}

fn check_node_server(request: &Request, usages: &[&str]) -> Result<(), String> {
    let unnamed = request.dns_names.is_empty() && request.addresses.is_empty();
    refuse_if(&[
        (request.organizations != [NODES], OTHER_GROUP),
        (unnamed, "DNS or IP subjectAltName is required"),
        (!request.emails.is_empty(), EMAIL),
        (!request.uris.is_empty(), URI),
    ])?;
    check_usages(usages, "server auth")?;
    refuse_if(&[(!request.common_name.starts_with(NODE_PREFIX), OTHER_NAME)])
}

/// Exactly these; a key that only signs need not encipher others.
fn check_usages(usages: &[&str], purpose: &str) -> Result<(), String> {
    let mut asked = usages.to_vec();
    asked.sort_unstable();
    let mut all = ["digital signature", "key encipherment", purpose];
    all.sort_unstable();
    let without = all.iter().copied().filter(|usage| *usage != "key encipherment");
    if asked == all || asked.iter().copied().eq(without) {
        return Ok(());
    }
    Err(format!("usages did not match [{}]", all.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &[&str] = &["client auth", "digital signature"];
    const SERVER: &[&str] = &["server auth", "key encipherment", "digital signature"];

    fn with(mut request: Request, change: impl FnOnce(&mut Request)) -> Request {
        change(&mut request);
        request
    }

    fn node() -> Request {
        with(Request::default(), |request| {
            request.common_name = "system:node:a".to_owned();
            request.organizations = vec![NODES.to_owned()];
        })
    }

    fn serving() -> Request {
        with(node(), |request| request.dns_names = vec!["a.example".to_owned()])
    }

    #[track_caller]
    fn check(signer: Signer, request: Request, usages: &[&str], expected: Result<(), &str>) {
        let judged = signer.judge(&request, usages, "urn:w");
        assert_eq!(judged.as_ref().map(|_| ()).map_err(|why| why.as_str()), expected, "{request:?} {usages:?}");
        if let Ok(grant) = judged {
            let client = signer != Signer::NodeServer;
            assert_eq!(grant.uri.is_some(), client, "clients are bound to where they are somebody");
        }
    }

    #[test]
    fn anybody_may_be_a_client_and_nothing_else() {
        let ada = || with(Request::default(), |request| request.common_name = "ada".to_owned());
        check(Signer::Client, ada(), &["client auth"], Ok(()));
        check(Signer::Client, ada(), &["client auth", "key encipherment", "digital signature"], Ok(()));
        let why = "missing required usage for client certificate: client auth";
        check(Signer::Client, ada(), &["digital signature"], Err(why));
        let why = "invalid usage for client certificate: server auth";
        check(Signer::Client, ada(), &["client auth", "server auth"], Err(why));
    }

    #[test]
    fn nodes_are_clients_by_name_alone() {
        let signer = Signer::NodeClient;
        check(signer, node(), CLIENT, Ok(()));
        check(signer, node(), &["client auth", "key encipherment", "digital signature"], Ok(()));
        let why = "usages did not match [client auth digital signature key encipherment]";
        check(signer, node(), &["client auth"], Err(why));
        check(signer, node(), SERVER, Err(why));
        check(signer, with(node(), |request| request.common_name = "ada".to_owned()), CLIENT, Err(OTHER_NAME));
        check(signer, with(node(), |request| request.organizations = vec![]), CLIENT, Err(OTHER_GROUP));
        let both = vec![NODES.to_owned(), "system:masters".to_owned()];
        check(signer, with(node(), |request| request.organizations = both), CLIENT, Err(OTHER_GROUP));
        check(signer, serving(), CLIENT, Err("DNS subjectAltNames are not allowed"));
        let address = vec!["10.0.0.1".parse().unwrap()];
        check(
            signer,
            with(node(), |request| request.addresses = address),
            CLIENT,
            Err("IP subjectAltNames are not allowed"),
        );
        check(signer, with(node(), |request| request.uris = vec!["urn:x".to_owned()]), CLIENT, Err(URI));
        check(signer, with(node(), |request| request.emails = vec!["a@b".to_owned()]), CLIENT, Err(EMAIL));
    }

    #[test]
    fn nodes_serve_under_names_that_they_are_reached_by() {
        let signer = Signer::NodeServer;
        check(signer, serving(), SERVER, Ok(()));
        check(signer, serving(), &["digital signature", "server auth"], Ok(()));
        check(signer, node(), SERVER, Err("DNS or IP subjectAltName is required"));
        let why = "usages did not match [digital signature key encipherment server auth]";
        check(signer, serving(), CLIENT, Err(why));
        check(signer, with(serving(), |request| request.emails = vec!["a@b".to_owned()]), SERVER, Err(EMAIL));
        check(signer, with(serving(), |request| request.common_name = "a".to_owned()), SERVER, Err(OTHER_NAME));
    }

    #[test]
    fn nothing_lasts_longer_than_it_may() {
        let hour = Duration::from_hours(1);
        assert_eq!(lasts(None, hour), hour);
        assert_eq!(lasts(Some(1800), hour), Duration::from_mins(30));
        assert_eq!(lasts(Some(7200), hour), hour);
        assert_eq!(lasts(Some(1), hour), LASTS_MIN);
        assert_eq!(lasts(Some(-1), hour), hour);
    }
}
