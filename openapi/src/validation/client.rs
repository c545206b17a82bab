//! How a webhook is reached: by a URL, or as a service.

use super::names;
use super::tree::{Errors, Node};
use crate::check::quote;

const URL_FORM: &str = "; desired format: https://host[/path]";

pub(super) fn url(errors: &mut Errors, at: &Node) {
    let url = match Url::parse(at.text()) {
        Ok(url) => url,
        Err(why) => {
            let why = format!("url must be a valid URL: parse {}: {why}{URL_FORM}", quote(at.text()));
            return errors.required(at, &why);
        }
    };
    if url.scheme != "https" {
        errors.invalid_value(at, &*url.scheme, format!("'https' is the only allowed URL scheme{URL_FORM}"));
    }
    if url.host.is_empty() {
        errors.invalid_value(at, url.host, format!("host must be specified{URL_FORM}"));
    }
    if let Some(user) = url.user {
        errors.invalid_value(at, user, "user information is not permitted in the URL");
    }
    if !url.fragment.is_empty() {
        errors.invalid_value(at, url.fragment, "fragments are not permitted in the URL");
    }
    if !url.query.is_empty() {
        errors.invalid_value(at, url.query, "query parameters are not permitted in the URL");
    }
}

/// A URL, cut where Go cuts it.
struct Url<'a> {
    scheme: String,
    user: Option<&'a str>,
    host: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> Url<'a> {
    /// What is wrong is said in Go's words.
    fn parse(text: &'a str) -> Result<Self, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        if before.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (scheme, rest) = split_scheme(before)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self { scheme: scheme.to_ascii_lowercase(), user: None, host: "", query, fragment };
        if !scheme.is_empty() && !rest.starts_with('/') {
            return Ok(url);
        }
        if scheme.is_empty() && rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
        let authority = rest.strip_prefix("//").filter(|_| !scheme.is_empty() || !rest.starts_with("///"));
        let path = match authority {
            None => rest,
            Some(authority) => {
                let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
                (url.user, url.host) = split_user(authority);
                check_host(url.host)?;
                path
            }
        };
        check_escapes(path)?;
        check_escapes(fragment)?;
        Ok(url)
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn split_user(authority: &str) -> (Option<&str>, &str) {
    authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host))
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match host.rfind('[') {
        Some(0) => &host[host.rfind(']').ok_or("missing ']' in host")? + 1..],
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => &host[host.find(':').unwrap_or(host.len())..],
    };
    let is_port = port.is_empty() || port[1..].bytes().all(|byte| byte.is_ascii_digit()) && port.starts_with(':');
    if !is_port {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let known = |character: &char| {
        !character.is_ascii() || character.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(*character)
    };
    match host.chars().find(|character| !known(character)) {
        Some(odd) => Err(format!("invalid character {} in host name", quote(&odd.to_string()))),
        None => check_escapes(host),
    }
}

/// Every percent sign stands before two hexadecimal digits.
fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let escape: String = text[at..].chars().take(3).collect();
        if escape.len() < 3 || !escape[1..].bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("invalid URL escape {}", quote(&escape)));
        }
    }
    Ok(())
}

pub(super) fn service(errors: &mut Errors, at: &Node) {
    // Kubernetes takes the one for the other here.
    for (name, shown) in [("namespace", "name"), ("name", "namespace")] {
        if at.at(name).is_empty() {
            errors.required(&at.at(shown), "");
        }
    }
    service_port(errors, &at.at("port"));
    let path = at.at("path");
    match path.text() {
        "" | "/" => return,
        "//" => return errors.invalid(&path, "segment[0] may not be empty"),
        text if !text.starts_with('/') => errors.invalid(&path, "must start with a '/'"),
        _ => {}
    }
    let text = path.text().get(1..).unwrap_or_default();
    for (at, step) in text.strip_suffix('/').unwrap_or(text).split('/').enumerate() {
        if step.is_empty() {
            errors.invalid(&path, format!("segment[{at}] may not be empty"));
            continue;
        }
        for message in names::dns1123_subdomain(step) {
            errors.invalid(&path, format!("segment[{at}]: {message}"));
        }
    }
}

pub(super) fn service_port(errors: &mut Errors, at: &Node) {
    let wrong = names::port_number(at.int());
    if !wrong.is_empty() {
        errors.invalid_value(at, at.int(), format!("port is not valid: {}", wrong.join(", ")));
    }
}
