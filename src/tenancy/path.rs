//! `root:team:app`: how workspaces are found. The first part is an id, the others are names of workspaces in each other.

use super::words::USERS;
use sha2::{Digest, Sha224};
use std::borrow::Cow;

/// Longer paths are nobody's: each part is a look at the store.
const PARTS_MAX: usize = 32;

/// A name can be this long.
const NAME_MAX: usize = 63;

/// What there is, as far as paths are concerned.
pub trait Tree {
    /// Whether there is a logical cluster with this id.
    fn is_there(&self, id: &str) -> bool;

    /// The id of the workspace with this name in another one.
    fn child(&self, parent: &str, name: &str) -> Option<String>;
}

/// The id of the workspace at a path.
pub fn resolve(path: &str, tree: &impl Tree) -> Option<String> {
    let mut parts = path.split(':');
    let mut first = parts.next().filter(|first| is_name(first))?.to_owned();
    if path.split(':').count() > PARTS_MAX {
        return None;
    }
    if first == USERS
        && let Some(user) = parts.next()
    {
        first = home(user);
    }
    if !tree.is_there(&first) {
        return None;
    }
    parts.try_fold(first, |parent, name| if is_name(name) { tree.child(&parent, name) } else { None })
}

/// The id of somebody's home: the first eight bytes of a SHA-224 of their name, as a number to the base of 36.
pub fn home(user: &str) -> String {
    let hash = Sha224::digest(user);
    let mut number = hash.iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let mut digits = Vec::new();
    while number > 0 {
        digits.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
    }
    digits.iter().rev().collect()
}

/// The paths of a workspace and of those around it, the innermost first.
pub fn upwards(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once(':').map(|(parent, _)| parent))
}

/// What a part of a URL says, where it may say `*` for all workspaces: clients in Go write that as `%2A`.
pub fn onto(part: &str) -> &str {
    if part.eq_ignore_ascii_case("%2A") { "*" } else { part }
}

/// A path as it is written in a URL: some clients write colons as `%3A`, and nothing else in a path needs that.
pub fn in_url(path: &str) -> Cow<'_, str> {
    if path.contains('%') { path.replace("%3A", ":").replace("%3a", ":").into() } else { path.into() }
}

/// A DNS label: what workspaces are called, and what ids look like.
pub fn is_name(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
    let bytes = text.as_bytes();
    bytes.len() <= NAME_MAX && bytes.iter().all(inner) && edge(bytes.first()) && edge(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known(&'static [(&'static str, &'static str, &'static str)]);

    impl Tree for Known {
        fn is_there(&self, id: &str) -> bool {
            id == "root" || self.0.iter().any(|(_, _, known)| *known == id)
        }

        fn child(&self, parent: &str, name: &str) -> Option<String> {
            let found = self.0.iter().find(|(above, known, _)| (*above, *known) == (parent, name));
            found.map(|(_, _, id)| (*id).to_owned())
        }
    }

    #[test]
    fn colons_may_be_escaped_and_nothing_else() {
        for (written, meant) in
            [("root%3Aa%3ab", "root:a:b"), ("root:a", "root:a"), ("r%6Fot", "r%6Fot"), ("%253A", "%253A")]
        {
            assert_eq!(in_url(written), meant);
        }
    }

    #[test]
    fn a_workspace_is_found_from_the_top_and_by_the_id_of_any_around_it() {
        let tree = Known(&[("root", "a", "id1"), ("id1", "b", "id2")]);
        let check =
            |path: &str, expected: Option<&str>| assert_eq!(resolve(path, &tree).as_deref(), expected, "{path}");
        check("root", Some("root"));
        check("root:a", Some("id1"));
        check("root:a:b", Some("id2"));
        check("id1:b", Some("id2"));
        check("id2", Some("id2"));
        check("root:b", None);
        check("a", None);
        for odd in ["", ":", "root:", ":root", "root::a", "root:A", "root:a/b", "root:-a", "*", "root:a:b:c"] {
            check(odd, None);
        }
        check(&format!("root{}", ":a".repeat(PARTS_MAX)), None);
    }

    #[test]
    fn all_workspaces_are_meant_however_a_client_writes_the_star() {
        assert_eq!(["*", "%2A", "%2a", "root:a"].map(onto), ["*", "*", "*", "root:a"]);
    }

    #[test]
    fn a_home_has_the_id_that_kcp_gives_it() {
        assert_eq!((&*home("alice"), &*home("bob")), ("v1u4alow0iv9", "2okdry95y5lkv"));
        let tree = Known(&[("user", "x", "v1u4alow0iv9"), ("v1u4alow0iv9", "b", "id2")]);
        let check =
            |path: &str, expected: Option<&str>| assert_eq!(resolve(path, &tree).as_deref(), expected, "{path}");
        check("user:alice", Some("v1u4alow0iv9"));
        check("user:alice:b", Some("id2"));
        check("v1u4alow0iv9:b", Some("id2"));
        check("user:bob", None);
    }

    #[test]
    fn a_path_leads_upwards_to_the_root() {
        assert_eq!(upwards("root:a:b").collect::<Vec<_>>(), ["root:a:b", "root:a", "root"]);
    }
}
