//! Addresses of people: `a@b`, `"a b"@c`, `Name <a@b>`. Groups and comments are not read.

pub(super) fn is_address(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    if is_plain(text) {
        return true;
    }
    let Some((name, rest)) = text.split_once('<') else { return false };
    rest.strip_suffix('>').is_some_and(is_plain) && is_phrase(name.trim_matches([' ', '\t']))
}

fn is_plain(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    (is_quoted(local) || is_dotted(local)) && (is_dotted(domain) || is_literal(domain))
}

/// `[127.0.0.1]`
fn is_literal(domain: &str) -> bool {
    let inner = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| inner.parse::<std::net::IpAddr>().is_ok())
}

fn is_letter(c: char) -> bool {
    (!c.is_ascii() || c.is_ascii_graphic()) && !"()<>[]:;@\\,\".".contains(c)
}

fn is_dotted(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.chars().all(is_letter))
}

fn is_quoted(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let shown = |c: char| !c.is_ascii_control() || c == '\t';
        let fine = match c {
            '\\' => chars.next().is_some_and(shown),
            '"' => false,
            c => shown(c),
        };
        if !fine {
            return false;
        }
    }
    true
}

fn is_phrase(text: &str) -> bool {
    text.is_empty()
        || is_quoted(text)
        || text.split([' ', '\t']).all(|word| word.chars().all(|c| is_letter(c) || c == '.'))
}

#[cfg(test)]
mod tests {
    use super::is_address;

    #[test]
    fn addresses_are_read() {
        for right in ["a@b", "a.b@c.d", "Name <a@b>", "\"a b\"@c", "<a@b>", "ü@x.de", "\"N. N.\" <a@b>"] {
            assert!(is_address(right), "{right}");
        }
        for wrong in ["", "a", "a@", "@b", "a..b@c", "a@b@c", "a b@c", "Name a@b", "a@b.", "<a@b"] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }
}
