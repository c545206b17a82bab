//! What a label's key and value may look like, and the words for one that does not.

const PART_BYTES_MAX: usize = 63;
const SUBDOMAIN_BYTES_MAX: usize = 253;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
    character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
    start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation \
    is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
    must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with a label's key; nothing when the list is empty.
pub(super) fn key_faults(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let (prefix, name) = match key.split_once('/') {
        None => (None, key),
        Some((_, rest)) if rest.contains('/') => {
            let suffix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {NAME} {suffix}")];
        }
        Some((prefix, name)) => (Some(prefix), name),
    };
    match prefix {
        None => {}
        Some("") => faults.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            if prefix.len() > SUBDOMAIN_BYTES_MAX {
                faults.push(format!("prefix part must be no more than {SUBDOMAIN_BYTES_MAX} bytes"));
            }
            if !is_subdomain(prefix) {
                faults.push(format!("prefix part {SUBDOMAIN}"));
            }
        }
    }
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > PART_BYTES_MAX {
        faults.push(format!("name part must be no more than {PART_BYTES_MAX} bytes"));
    }
    if !is_name(name) {
        faults.push(format!("name part {NAME}"));
    }
    faults
}

/// What is wrong with a label's value; nothing when the list is empty.
pub(super) fn value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > PART_BYTES_MAX {
        faults.push(format!("must be no more than {PART_BYTES_MAX} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        faults.push(VALUE.to_owned());
    }
    faults
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

fn is_subdomain(text: &str) -> bool {
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.split('.').map(str::as_bytes).all(|label| {
        [label.first(), label.last()].iter().all(|end| end.is_some_and(plain))
            && label.iter().all(|b| plain(b) || *b == b'-')
    })
}
