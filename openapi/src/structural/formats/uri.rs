//! URIs, as Go reads that of a request.

/// An absolute URI or an absolute path.
pub(crate) fn is_request_uri(text: &str) -> bool {
    parse(text).is_some()
}

/// The scheme and the host of an absolute URI; empty where there is none.
pub(crate) struct Uri<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) host: &'a str,
}

pub(crate) fn parse(text: &str) -> Option<Uri<'_>> {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return None;
    }
    if text == "*" {
        return Some(Uri { scheme: "", host: "" });
    }
    let (scheme, rest) = scheme(text)?;
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return (!scheme.is_empty()).then_some(Uri { scheme, host: "" });
    }
    let (host, path) = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        None => ("", rest),
        Some(authority) => {
            let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
            (host(scheme, authority)?, path)
        }
    };
    is_escaped(path).then_some(Uri { scheme, host })
}

/// None if a colon stands first.
fn scheme(text: &str) -> Option<(&str, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return None,
            b':' => return Some((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

/// Every percent sign stands before two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    let hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    let mut signs = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%');
    signs.all(|(at, _)| hex(bytes.get(at + 1)) && hex(bytes.get(at + 2)))
}

fn host<'a>(scheme: &str, authority: &'a str) -> Option<&'a str> {
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let is_user = |user: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
        user.bytes().all(known) && is_escaped(user)
    };
    if !user.is_none_or(is_user) {
        return None;
    }
    let valid = match host.rfind('[') {
        Some(0) => {
            let (inner, port) = host[1..].rsplit_once(']')?;
            let address = inner.split_once("%25").map_or(inner, |(address, _)| address);
            address.parse::<std::net::Ipv6Addr>().is_ok() && is_port(port)
        }
        Some(_) => false,
        None => {
            let strict = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https");
            let colon = if strict { host.find(':') } else { host.rfind(':') };
            colon.is_none_or(|colon| is_port(&host[colon..])) && is_host(host)
        }
    };
    valid.then_some(host)
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_host(text: &str) -> bool {
    let known =
        |byte: u8| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&byte);
    // Only what is beyond ASCII, and the percent sign itself, may be escaped.
    let escapes = text.split('%').skip(1);
    let far = |escape: &str| {
        escape.starts_with("25")
            || escape.starts_with(['8', '9', 'a', 'b', 'c', 'd', 'e', 'f'])
            || escape.starts_with(['A', 'B', 'C', 'D', 'E', 'F'])
    };
    text.bytes().all(known) && is_escaped(text) && escapes.into_iter().all(far)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read_as_go_reads_them() {
        for right in
            ["http://foo.bar/#com", "mailto:someone@example.com", "/abs", "xyz://a:1/b?c=%2", "http://[::1]:80/"]
        {
            assert!(is_request_uri(right), "{right}");
        }
        for wrong in ["", "foobar.com", "./rel", "http://a b/", "http://a:x/", "/%zz", ":a", "http://[1.2.3.4]/", "a\n"]
        {
            assert!(!is_request_uri(wrong), "{wrong}");
        }
    }
}
