//! URLs as Go's `net/url` reads and writes them, with its words for what is wrong.

use super::{address, quote};

/// A URL, its parts unescaped. Bytes that are no text after that are replaced.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Url {
    pub(super) scheme: String,
    /// What follows the scheme if that is not a path: the address in `mailto:a@b`.
    opaque: String,
    /// Name and password, escaped.
    user: Option<String>,
    pub(super) host: String,
    path: Vec<u8>,
    /// As it was written, if that is not how the path would be escaped.
    raw_path: String,
    /// Whether there is no `//` after the scheme.
    without_host: bool,
    /// A `?` with nothing after it.
    bare_query: bool,
    query: String,
    fragment: Vec<u8>,
    raw_fragment: String,
}

/// The most parameters of a query: Go reads none of a query that has more.
const MOST_PARAMETERS: usize = 10_000;

/// Which characters need not be escaped depends on where they stand.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Path,
    User,
    Host,
    Zone,
    Query,
    Fragment,
}

/// Reads what may be the target of a request: an absolute URL or an absolute path. A `#` is nothing special in it.
pub(super) fn parse_request(text: &str) -> Result<Url, String> {
    parse_part(text, true).map_err(|why| refuse(text, &why))
}

/// Reads any reference.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut url = parse_part(before, false).map_err(|why| refuse(before, &why))?;
    url.fragment = unescape(fragment, Place::Fragment).map_err(|why| refuse(text, &why))?;
    if escape(&url.fragment, Place::Fragment) != fragment {
        fragment.clone_into(&mut url.raw_fragment);
    }
    Ok(url)
}

fn refuse(text: &str, why: &str) -> String {
    format!("parse {}: {why}", quote::go(text))
}

fn parse_part(text: &str, is_request: bool) -> Result<Url, String> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && is_request {
        return Err("empty url".to_owned());
    }
    if text == "*" {
        return Ok(Url { path: b"*".to_vec(), ..Url::default() });
    }
    let (scheme, rest) = split_scheme(text)?;
    let mut url = Url { scheme: scheme.to_lowercase(), ..Url::default() };
    let (mut rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.bare_query = query.is_empty() && text.ends_with('?');
    query.clone_into(&mut url.query);
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        if is_request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let may_have_host = !url.scheme.is_empty() || !is_request && !rest.starts_with("///");
    if let Some(after) = rest.strip_prefix("//").filter(|_| may_have_host) {
        let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
        rest = path;
        url.set_authority(authority)?;
    } else if !url.scheme.is_empty() && rest.starts_with('/') {
        url.without_host = true;
    }
    url.path = unescape(rest, Place::Path)?;
    if escape(&url.path, Place::Path) != rest {
        rest.clone_into(&mut url.raw_path);
    }
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_host(scheme: &str, host: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => return parse_bracketed(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(first) = host.find(':') {
        let is_web = scheme == "http" || scheme == "https";
        let port = if is_web { &host[first..] } else { &host[host.rfind(':').unwrap_or(first)..] };
        check_port(port)?;
    }
    text(unescape(host, Place::Host)?)
}

/// `[::1]:80`
fn parse_bracketed(host: &str) -> Result<String, String> {
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let (name, port) = (&host[1..end], &host[end + 1..]);
    check_port(port)?;
    let name = match name.find("%25") {
        Some(at) => {
            let (address, zone) = name.split_at(at);
            text(unescape(address, Place::Host)?)? + &text(unescape(zone, Place::Zone)?)?
        }
        None => text(unescape(name, Place::Host)?)?,
    };
    let (parsed, _) = address::parse(&name).map_err(|why| format!("invalid host: {why}"))?;
    if parsed.is_ipv4() {
        return Err("invalid IP-literal".to_owned());
    }
    Ok(format!("[{name}]{port}"))
}

fn check_port(port: &str) -> Result<(), String> {
    if is_port(port) { Ok(()) } else { Err(format!("invalid port {} after host", quote::go(port))) }
}

/// Nothing, or a colon and digits, which may be missing.
fn is_port(port: &str) -> bool {
    port.strip_prefix(':').map_or(port.is_empty(), |digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Url {
    fn set_authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        self.host = parse_host(&self.scheme, host)?;
        let Some(user) = user else { return Ok(()) };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
        if !user.bytes().all(is_allowed) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        let written = |part: &str| Ok::<_, String>(escape(&unescape(part, Place::User)?, Place::User));
        self.user = Some(match user.split_once(':') {
            Some((name, password)) => format!("{}:{}", written(name)?, written(password)?),
            None => written(user)?,
        });
        Ok(())
    }

    pub(super) fn host_and_port(&self) -> (&str, &str) {
        let (host, port) = match self.host.rfind(':') {
            Some(at) if is_port(&self.host[at..]) => (&self.host[..at], &self.host[at + 1..]),
            _ => (&*self.host, ""),
        };
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (inner.unwrap_or(host), port)
    }

    pub(super) fn escaped_path(&self) -> String {
        if self.path == b"*" {
            return "*".to_owned();
        }
        as_written(&self.path, &self.raw_path, Place::Path)
    }

    /// Keys with their values, in order; what cannot be read is left out.
    pub(super) fn parameters(&self) -> Vec<(String, Vec<String>)> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        if self.query.bytes().filter(|byte| *byte == b'&').count() >= MOST_PARAMETERS {
            return found;
        }
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        for (key, value) in pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
            let read = |part| unescape(part, Place::Query).and_then(text);
            if let (Ok(key), Ok(value)) = (read(key), read(value)) {
                match found.iter_mut().find(|(other, _)| *other == key) {
                    Some((_, values)) => values.push(value),
                    None => found.push((key, vec![value])),
                }
            }
        }
        found
    }
}

/// The whole, as Go writes it.
impl std::fmt::Display for Url {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.scheme.is_empty() {
            write!(out, "{}:", self.scheme)?;
        }
        let path = self.escaped_path();
        if self.opaque.is_empty() {
            let has_authority = !self.host.is_empty() || self.user.is_some();
            if has_authority || !self.scheme.is_empty() && !self.without_host && !path.is_empty() {
                out.write_str("//")?;
            }
            if let Some(user) = &self.user {
                write!(out, "{user}@")?;
            }
            write!(out, "{}{path}", escape(self.host.as_bytes(), Place::Host))?;
        } else {
            out.write_str(&self.opaque)?;
        }
        if self.bare_query || !self.query.is_empty() {
            write!(out, "?{}", self.query)?;
        }
        if !self.fragment.is_empty() {
            write!(out, "#{}", as_written(&self.fragment, &self.raw_fragment, Place::Fragment))?;
        }
        Ok(())
    }
}

/// As it was written, if that is a way to escape it.
fn as_written(plain: &[u8], raw: &str, place: Place) -> String {
    let is_valid = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || !must_escape(byte, place);
    if !raw.is_empty() && raw.bytes().all(is_valid) && unescape(raw, place).is_ok_and(|back| back == plain) {
        return raw.to_owned();
    }
    escape(plain, place)
}

fn escape(plain: &[u8], place: Place) -> String {
    let mut out = String::with_capacity(plain.len());
    for byte in plain {
        if must_escape(*byte, place) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(*byte));
        }
    }
    out
}

fn must_escape(byte: u8, place: Place) -> bool {
    let also: &[u8] = match place {
        Place::Path => b"$&+,/:;=@",
        Place::User => b"$&+,;=",
        Place::Host | Place::Zone => b"!$&'()*+,;=:[]<>\"",
        Place::Query => b"",
        Place::Fragment => b"$&+,/:;=?@!()*",
    };
    !byte.is_ascii_alphanumeric() && !b"-_.~".contains(&byte) && !also.contains(&byte)
}

fn unescape(escaped: &str, place: Place) -> Result<Vec<u8>, String> {
    let bytes = escaped.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'%' => {
                out.push(unescape_one(&bytes[at..], place)?);
                at += 2;
            }
            b'+' if place == Place::Query => out.push(b' '),
            byte if matches!(place, Place::Host | Place::Zone) && byte.is_ascii() && must_escape(*byte, place) => {
                let character = char::from(*byte).to_string();
                return Err(format!("invalid character {} in host name", quote::go(&character)));
            }
            byte => out.push(*byte),
        }
        at += 1;
    }
    Ok(out)
}

/// The byte that a `%` and two digits stand for. Hosts may not hide ASCII that way.
fn unescape_one(from: &[u8], place: Place) -> Result<u8, String> {
    let refuse = || format!("invalid URL escape {}", quote::go(&String::from_utf8_lossy(&from[..from.len().min(3)])));
    let digit = |at: usize| from.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (Some(high), Some(low)) = (digit(1), digit(2)) else { return Err(refuse()) };
    let byte = (high * 16 + low) as u8;
    let is_hidden = match place {
        Place::Host => byte.is_ascii() && byte != b'%',
        Place::Zone => byte != b'%' && byte != b' ' && must_escape(byte, Place::Host),
        _ => false,
    };
    if is_hidden { Err(refuse()) } else { Ok(byte) }
}
