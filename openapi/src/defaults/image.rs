//! Which tag an image reference asks for.

/// Longest repository path of a reference.
const PATH_BYTES_MAX: usize = 255;
const TAG_BYTES_MAX: usize = 128;
/// The registry that a reference means when it names none, and where single names stand for `library/…`.
const HUB: [&str; 3] = ["", "docker.io", "index.docker.io"];
const LIBRARY: &str = "library/";
/// The algorithms of digests, with the number of their hexadecimal digits.
const DIGESTS: [(&str, usize); 3] = [("sha256", 64), ("sha384", 96), ("sha512", 128)];

/// Whether the reference is one of the tag `latest`, said or not. A reference that makes no sense is of no tag.
pub(super) fn is_latest(image: &str) -> bool {
    !is_hex(image, 64) && tag(image) == Some("latest")
}

/// The tag; empty where there is only a digest, `None` where this is no reference.
fn tag(image: &str) -> Option<&str> {
    let (image, digest) = image.split_once('@').map_or((image, None), |(image, digest)| (image, Some(digest)));
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return None;
    }
    let (domain, path) = split_domain(image)?;
    let (path, tag) = path.split_once(':').map_or((path, None), |(path, tag)| (path, Some(tag)));
    let prefix = if HUB.contains(&domain) && !path.contains('/') { LIBRARY.len() } else { 0 };
    let is_path = path.split('/').all(is_component) && prefix + path.len() <= PATH_BYTES_MAX;
    if !is_path || tag.is_some_and(|tag| !is_tag(tag)) {
        return None;
    }
    Some(tag.unwrap_or(if digest.is_some() { "" } else { "latest" }))
}

/// The registry and the rest. A first component that looks like a domain is one; it may also just be a path.
fn split_domain(image: &str) -> Option<(&str, &str)> {
    let Some((first, rest)) = image.split_once('/') else { return Some(("", image)) };
    let is_meant = first == "localhost" || first.contains(['.', ':']) || first.bytes().any(|c| c.is_ascii_uppercase());
    match is_meant {
        true if is_domain(first) => Some((first, rest)),
        true if !is_component(first) => None,
        _ => Some(("", image)),
    }
}

fn is_domain(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_address = |text: &str| {
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        inner.is_some_and(|inner| !inner.is_empty() && inner.bytes().all(|c| c.is_ascii_hexdigit() || c == b':'))
    };
    let is_label = |label: &str| {
        let is_inside = label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
        is_inside && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit());
    (is_address(host) || host.split('.').all(is_label)) && port.is_none_or(is_port)
}

/// Lower case letters and digits, between them single dots, one or two underscores or any number of dashes.
fn is_component(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut separators = text.split(is_plain).filter(|separator| !separator.is_empty());
    text.starts_with(is_plain)
        && text.ends_with(is_plain)
        && separators.all(|text| matches!(text, "." | "_" | "__") || text.bytes().all(|c| c == b'-'))
}

fn is_tag(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(is_word) && text.len() <= TAG_BYTES_MAX && text.chars().all(|c| is_word(c) || c == '.' || c == '-')
}

fn is_digest(text: &str) -> bool {
    let (algorithm, digits) = text.split_once(':').unwrap_or((text, ""));
    DIGESTS.iter().any(|(name, length)| *name == algorithm && is_hex(digits, *length))
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}
