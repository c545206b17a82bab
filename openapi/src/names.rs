//! What names may look like, and what a Kubernetes API server says to those that do not.

use crate::builtin::Type;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const UNDERSCORED: &str = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;
/// A CronJob's jobs add eleven characters to its name.
const CRON_JOB_MAX: usize = 52;

/// How the objects of a kind may be named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameRule {
    /// DNS-1123 subdomain, up to 253 characters.
    Subdomain,
    /// DNS-1123 label, up to 63 characters.
    Label,
    /// Anything that can be one segment of a path.
    PathSegment,
    /// Subdomain of up to 52 characters.
    CronJob,
    /// An IP address in canonical form.
    Address,
    /// `<version>.<group>`, as the object's spec has them.
    ApiService,
    /// Subdomain, after the name of a signer if the object has one: `<domain>:<name>:`.
    TrustBundle,
    /// Subdomain, told after everything else.
    Declared,
}

/// How the objects of this kind may be named.
pub fn name_rule(ty: &Type) -> NameRule {
    match (ty.package.api_version, ty.name) {
        ("v1", "Namespace" | "Service") | ("apps/v1", "StatefulSet") => NameRule::Label,
        ("batch/v1", "CronJob") => NameRule::CronJob,
        (at, "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding")
            if at.starts_with("rbac.authorization.k8s.io/") =>
        {
            NameRule::PathSegment
        }
        ("networking.k8s.io/v1", "IPAddress") => NameRule::Address,
        ("apiregistration.k8s.io/v1", "APIService") => NameRule::ApiService,
        ("certificates.k8s.io/v1", "ClusterTrustBundle") => NameRule::TrustBundle,
        ("v1", "ReplicationController") => NameRule::Declared,
        ("certificates.k8s.io/v1", "CertificateSigningRequest")
        | ("policy/v1", "PodDisruptionBudget")
        | ("v1", "Event") => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

impl NameRule {
    /// What is wrong with a name; with a prefix that a generated name will begin with, if `prefix`.
    pub fn check(self, name: &str, prefix: bool) -> Vec<String> {
        let masked = masked(name, prefix);
        match self {
            Self::Subdomain | Self::CronJob => dns1123_subdomain(&masked),
            Self::TrustBundle => dns1123_subdomain(masked.rsplit_once(':').map_or(masked.as_str(), |(_, own)| own)),
            Self::Declared => Vec::new(),
            Self::Label => dns1123_label(&masked),
            Self::PathSegment | Self::ApiService if prefix => path_segment_prefix(name),
            Self::PathSegment | Self::ApiService => path_segment(name),
            Self::Address => crate::address::canonical_address(name),
        }
    }

    /// What is wrong with a name that is longer than its kind allows, though its form is right.
    pub(super) fn excess(self, name: &str) -> Option<&'static str> {
        (self == Self::CronJob && name.len() > CRON_JOB_MAX).then_some("must be no more than 52 characters")
    }
}

/// A prefix may end in a dash: something will follow. Kubernetes forgives the letter before it too.
fn masked(name: &str, prefix: bool) -> String {
    let mut start = name.chars();
    match (start.next_back(), start.next_back()) {
        (Some('-'), Some(_)) if prefix => format!("{}a", start.as_str()),
        _ => name.to_owned(),
    }
}

fn regex_text(text: &str, form: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{text} (regex used for validation is '{form}')");
    }
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{text} (e.g. {}regex used for validation is '{form}')", examples.join(" or "))
}

fn characters_max(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn bytes_max(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// What is wrong, in words that are put together only then: nearly all names are right.
fn refuse(messages: &[(bool, &dyn Fn() -> String)]) -> Vec<String> {
    messages.iter().filter(|(wrong, _)| *wrong).map(|(_, text)| text()).collect()
}

/// Every byte is a letter or digit by `alphanumeric` or, inside, one of `inner`.
fn is_word(text: &str, alphanumeric: fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(|byte| alphanumeric(*byte)))
        && bytes.iter().all(|byte| alphanumeric(*byte) || inner.contains(byte))
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn any_case(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

pub(super) fn is_label(text: &str) -> bool {
    is_word(text, lower, b"-")
}

pub(super) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

pub fn dns1123_label(text: &str) -> Vec<String> {
    let form = || {
        if is_subdomain(text) {
            return "must not contain dots".to_owned();
        }
        let words = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
                     and must start and end with an alphanumeric character";
        regex_text(words, LABEL, &["my-name", "123-abc"])
    };
    refuse(&[(text.len() > LABEL_MAX, &|| characters_max(LABEL_MAX)), (!is_label(text), &form)])
}

/// A label by the words that fields declare of themselves, which count bytes.
pub(super) fn short_name(text: &str) -> Vec<String> {
    let counted = |wrong: String| if wrong == characters_max(LABEL_MAX) { bytes_max(LABEL_MAX) } else { wrong };
    dns1123_label(text).into_iter().map(counted).collect()
}

/// A subdomain by the words that fields declare of themselves, which count bytes.
pub(super) fn long_name(text: &str) -> Vec<String> {
    let counted = |wrong: String| if wrong == characters_max(SUBDOMAIN_MAX) { bytes_max(SUBDOMAIN_MAX) } else { wrong };
    dns1123_subdomain(text).into_iter().map(counted).collect()
}

/// A subdomain in any case, by the words that fields declare of themselves.
pub(super) fn long_name_caseless(text: &str) -> Vec<String> {
    let words = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with \
                 an alphanumeric character";
    let right = is_subdomain(&text.to_ascii_lowercase());
    let form = || regex_text(words, SUBDOMAIN, &["Example.com"]);
    refuse(&[(text.len() > SUBDOMAIN_MAX, &|| bytes_max(SUBDOMAIN_MAX)), (!right, &form)])
}

const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character";

pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    let form = || regex_text(SUBDOMAIN_WORDS, SUBDOMAIN, &["example.com"]);
    refuse(&[(text.len() > SUBDOMAIN_MAX, &|| characters_max(SUBDOMAIN_MAX)), (!is_subdomain(text), &form)])
}

/// As [`dns1123_subdomain`], with underscores too.
pub(super) fn dns1123_subdomain_underscored(text: &str) -> Vec<String> {
    let words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', \
                 and must start and end with an alphanumeric character";
    let right = text.split('.').all(|label| is_word(label.strip_prefix('_').unwrap_or(label), lower, b"-_"));
    let form = || regex_text(words, UNDERSCORED, &["example.com"]);
    refuse(&[(text.len() > SUBDOMAIN_MAX, &|| characters_max(SUBDOMAIN_MAX)), (!right, &form)])
}

pub(super) fn wildcard_subdomain(text: &str) -> Vec<String> {
    let words = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
                 consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
    let right = text.strip_prefix("*.").is_some_and(is_subdomain);
    let form = || regex_text(words, &format!("\\*\\.{SUBDOMAIN}"), &["*.example.com"]);
    refuse(&[(text.len() > SUBDOMAIN_MAX, &|| characters_max(SUBDOMAIN_MAX)), (!right, &form)])
}

pub fn dns1035_label(text: &str) -> Vec<String> {
    let words = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                 character, and end with an alphanumeric character";
    let right = is_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase());
    let form = || regex_text(words, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]);
    refuse(&[(text.len() > LABEL_MAX, &|| characters_max(LABEL_MAX)), (!right, &form)])
}

/// A name that can stand between two slashes of a path.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." { vec![format!("may not be '{text}'")] } else { path_segment_prefix(text) }
}

pub(super) fn path_segment_prefix(text: &str) -> Vec<String> {
    let refused = ["/", "%"].into_iter().filter(|part| text.contains(part));
    refused.map(|part| format!("may not contain '{part}'")).collect()
}

/// The key of a label or an annotation, the name of a finalizer or of a resource.
pub fn qualified_name(text: &str) -> Vec<String> {
    let words = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                 character";
    let form = || regex_text(words, QUALIFIED, &["MyName", "my.name", "123-abc"]);
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    if name.contains('/') {
        let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
        return vec![format!("a valid label key {} {optional}", form())];
    }
    let mut wrong = prefix.map_or_else(Vec::new, prefix_part);
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        wrong.push(format!("name part {}", bytes_max(LABEL_MAX)));
    }
    if !is_word(name, any_case, b"-_.") {
        wrong.push(format!("name part {}", form()));
    }
    wrong
}

fn prefix_part(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let form = || regex_text(SUBDOMAIN_WORDS, SUBDOMAIN, &["example.com"]);
    let wrong = refuse(&[(prefix.len() > SUBDOMAIN_MAX, &|| bytes_max(SUBDOMAIN_MAX)), (!is_subdomain(prefix), &form)]);
    wrong.into_iter().map(|text| format!("prefix part {text}")).collect()
}

/// The value of a label.
pub fn label_value(text: &str) -> Vec<String> {
    let words = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                 start and end with an alphanumeric character";
    let right = text.is_empty() || is_word(text, any_case, b"-_.");
    let form = || regex_text(words, &format!("({QUALIFIED})?"), &["MyValue", "my_value", "12345"]);
    refuse(&[(text.len() > LABEL_MAX, &|| bytes_max(LABEL_MAX)), (!right, &form)])
}

/// A key of a ConfigMap or a Secret.
pub(super) fn config_key(text: &str) -> Vec<String> {
    let words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    let right = !text.is_empty() && text.bytes().all(|byte| any_case(byte) || b"-_.".contains(&byte));
    let form = || regex_text(words, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]);
    let mut wrong = refuse(&[(text.len() > SUBDOMAIN_MAX, &|| characters_max(SUBDOMAIN_MAX)), (!right, &form)]);
    match text {
        "." => wrong.push("must not be '.'".to_owned()),
        ".." => wrong.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => wrong.push("must not start with '..'".to_owned()),
        _ => {}
    }
    wrong
}

pub(super) fn env_name(text: &str) -> Vec<String> {
    let words = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    let right = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    let empty = || "environment variable name must be non-empty".to_owned();
    refuse(&[(text.is_empty(), &empty), (!right, &|| words.to_owned())])
}

pub(super) fn header_name(text: &str) -> Vec<String> {
    let words = "a valid HTTP header must consist of alphanumeric characters or '-'";
    let right = !text.is_empty() && text.bytes().all(|byte| any_case(byte) || byte == b'-');
    refuse(&[(!right, &|| regex_text(words, "[-A-Za-z0-9]+", &["X-Header-Name"]))])
}

/// Why a condition is as it is, in one word.
pub(super) fn condition_reason(text: &str) -> Vec<String> {
    let words = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric \
                 characters or '_,:', and must end with an alphanumeric character or '_'";
    let end = |byte: &u8| any_case(*byte) || *byte == b'_';
    let bytes = text.as_bytes();
    let right = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(end)
        && bytes.iter().all(|byte| end(byte) || b",:".contains(byte));
    let examples = ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
    refuse(&[(!right, &|| regex_text(words, "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", &examples))])
}

/// The name of a port of a container.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let charset = !text.is_empty() && text.bytes().all(|byte| lower(byte) || byte == b'-');
    let ends = text.starts_with('-') || text.ends_with('-');
    refuse(&[
        (text.len() > 15, &|| characters_max(15)),
        (!charset, &|| "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned()),
        (!text.bytes().any(|byte| byte.is_ascii_lowercase()), &|| "must contain at least one letter (a-z)".to_owned()),
        (text.contains("--"), &|| "must not contain consecutive hyphens".to_owned()),
        (ends, &|| "must not begin or end with a hyphen".to_owned()),
    ])
}

pub(super) fn percent(text: &str) -> Vec<String> {
    let words = "a valid percent string must be a numeric string followed by an ending '%'";
    let digits = text.strip_suffix('%').unwrap_or_default();
    let right = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    refuse(&[(!right, &|| regex_text(words, "[0-9]+%", &["1%", "93%"]))])
}

pub(super) fn between(value: i64, min: i64, max: i64) -> Vec<String> {
    refuse(&[(value < min || value > max, &|| format!("must be between {min} and {max}, inclusive"))])
}

pub(super) fn port_number(value: i64) -> Vec<String> {
    between(value, 1, 65535)
}

/// The number of a user or a group.
pub(super) fn identity(value: i64) -> Vec<String> {
    between(value, 0, i64::from(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::kind;

    #[test]
    fn kinds_have_their_own_rules() {
        let rule = |group: &str, name: &str| name_rule(kind(group, "v1", name).unwrap());
        assert_eq!(rule("", "Namespace"), NameRule::Label);
        assert_eq!(rule("", "Service"), NameRule::Label);
        assert_eq!(rule("", "Pod"), NameRule::Subdomain);
        assert_eq!(rule("rbac.authorization.k8s.io", "ClusterRole"), NameRule::PathSegment);
        assert_eq!(rule("batch", "CronJob"), NameRule::CronJob);
    }

    #[test]
    fn names_are_judged_by_their_form() {
        let right = |wrong: Vec<String>| wrong.is_empty();
        assert!(right(dns1123_label("a-1")) && !right(dns1123_label("a.1")) && !right(dns1123_label("-a")));
        assert!(
            right(dns1123_subdomain("a.b-c.1")) && !right(dns1123_subdomain("a..b")) && !right(dns1123_subdomain("A"))
        );
        assert!(right(dns1035_label("a1")) && !right(dns1035_label("1a")));
        assert!(right(path_segment("system:x y")) && !right(path_segment("a/b")) && !right(path_segment("..")));
        assert!(right(qualified_name("a.b/C_d")) && !right(qualified_name("/a")) && !right(qualified_name("a/b/c")));
        assert!(right(label_value("")) && right(label_value("a_B.c")) && !right(label_value("a ")));
        assert!(right(NameRule::Subdomain.check("a-", true)) && !right(NameRule::Subdomain.check("a-", false)));
    }
}
