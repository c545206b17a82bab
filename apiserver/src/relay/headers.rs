//! What is said to a backend, and passed on of what it says: everything but what is between two neighbours alone, and
//! nothing of who asks but what this server has found out.

use crate::auth::User;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const USER: HeaderName = HeaderName::from_static("x-remote-user");
const UID: HeaderName = HeaderName::from_static("x-remote-uid");
const GROUP: HeaderName = HeaderName::from_static("x-remote-group");
/// How the names of headers begin that nobody but this server fills in: a backend believes what they say.
const OURS_TO_SAY: [&str; 4] = ["x-remote-", "impersonate-", "x-forwarded-", "forwarded"];
const EXTRA: &str = "x-remote-extra-";
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A token that a browser has hidden among the protocols of a WebSocket.
const HIDDEN_TOKEN: &str = "base64url.bearer.authorization.k8s.io.";

/// What may stand in the name of a header, as it is; `%` is what the others become.
const KEY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'*')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Somebody whose name cannot be said in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the user cannot be named in a header")]
pub(super) struct Unspeakable;

/// From where a request came to this server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Origin<'a> {
    pub(super) client: Option<&'a str>,
    pub(super) host: Option<&'a str>,
}

/// The headers of a request on its way to a backend.
pub(super) fn outgoing(given: &HeaderMap, user: &User, from: Origin<'_>, via: &str) -> Result<HeaderMap, Unspeakable> {
    let mut headers = cleaned(given);
    name_user(&mut headers, user)?;
    let mut add = |name: HeaderName, value: Option<&str>| {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.append(name, value);
        }
    };
    add(FORWARDED_FOR, from.client);
    add(FORWARDED_HOST, from.host);
    add(FORWARDED_PROTO, Some("https"));
    add(header::VIA, Some(&format!("1.1 {via}")));
    Ok(headers)
}

/// What of the headers of a request is for whoever answers it in the end, and says nothing of who asks.
pub(crate) fn cleaned(given: &HeaderMap) -> HeaderMap {
    let mut headers = between_ends(given);
    drop_all(&mut headers, |name| OURS_TO_SAY.iter().any(|prefix| name.as_str().starts_with(prefix)));
    for name in [header::HOST, header::AUTHORIZATION, header::CONTENT_LENGTH] {
        headers.remove(name);
    }
    // The length is what tells a body from none; a wrong one is found out by whoever reads it.
    if let Some(length) = given.get(header::CONTENT_LENGTH) {
        headers.insert(header::CONTENT_LENGTH, length.clone());
    }
    without_hidden_token(&mut headers);
    headers
}

/// The headers of an answer on its way back.
pub(crate) fn incoming(given: &HeaderMap) -> HeaderMap {
    let mut headers = between_ends(given);
    // Who may read it in a browser is this server's to say.
    drop_all(&mut headers, |name| name.as_str().starts_with("access-control-"));
    headers
}

/// Whether a request has been here before.
pub(super) fn has_passed(headers: &HeaderMap, via: &str) -> bool {
    let all = headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|hop| hop.split_whitespace().nth(1) == Some(via))
}

/// What the client wants to speak instead of HTTP.
pub(super) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let wants = tokens(headers, &header::CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    if wants { headers.get(header::UPGRADE).cloned() } else { None }
}

fn name_user(headers: &mut HeaderMap, user: &User) -> Result<(), Unspeakable> {
    let value = |text: &str| HeaderValue::from_bytes(text.as_bytes()).map_err(|_| Unspeakable);
    headers.insert(USER, value(&user.name)?);
    if !user.uid.is_empty() {
        headers.insert(UID, value(&user.uid)?);
    }
    for group in &user.groups {
        headers.append(GROUP, value(group)?);
    }
    for (key, values) in &user.extra {
        let name = format!("{EXTRA}{}", utf8_percent_encode(&key.to_lowercase(), KEY));
        let name = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).map_err(|_| Unspeakable)?;
        for text in values {
            headers.append(name.clone(), value(text)?);
        }
    }
    Ok(())
}

/// Without what is only between two neighbours.
fn between_ends(given: &HeaderMap) -> HeaderMap {
    const NEIGHBOURS: [&str; 9] = [
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let listed: Vec<String> = tokens(given, &header::CONNECTION).map(str::to_ascii_lowercase).collect();
    let mut headers = given.clone();
    drop_all(&mut headers, |name| {
        NEIGHBOURS.contains(&name.as_str()) || listed.iter().any(|listed| listed == name.as_str())
    });
    headers
}

fn drop_all(headers: &mut HeaderMap, doomed: impl Fn(&HeaderName) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| doomed(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

fn without_hidden_token(headers: &mut HeaderMap) {
    let all: Vec<&str> = tokens(headers, &header::SEC_WEBSOCKET_PROTOCOL).collect();
    if !all.iter().any(|protocol| protocol.starts_with(HIDDEN_TOKEN)) {
        return;
    }
    let rest: Vec<&str> = all.into_iter().filter(|protocol| !protocol.starts_with(HIDDEN_TOKEN)).collect();
    let rest = HeaderValue::from_str(&rest.join(", ")).ok().filter(|value| !value.is_empty());
    headers.remove(header::SEC_WEBSOCKET_PROTOCOL);
    if let Some(rest) = rest {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, rest);
    }
}
