//! In which order discovery lists groups and versions.

use std::cmp::{Ordering, Reverse};

/// The groups that come first, as an aggregating API server orders its own.
const FIRST: [&str; 20] = [
    "apiregistration.k8s.io",
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
];

/// How much a group is preferred that is served here, where others want to be preferred to it: Kubernetes' own figures.
pub(crate) fn group_priority(name: &str) -> i64 {
    const OF_FIRST: [i64; FIRST.len()] = [
        20_001, 18_000, 17_800, 17_750, 17_700, 17_600, 17_500, 17_400, 17_300, 17_200, 17_100, 17_000, 16_800, 16_700,
        16_700, 16_600, 16_500, 16_300, 16_200, 15_900,
    ];
    const OTHERS: i64 = 15_000;
    const OF_USERS: i64 = 1_000;
    let foreign = name.contains('.') && !name.ends_with(".k8s.io");
    let place = FIRST.iter().position(|first| *first == name);
    place.map_or(if foreign { OF_USERS } else { OTHERS }, |place| OF_FIRST[place])
}

/// Other groups of Kubernetes come before those of its users, which come by name.
pub(super) fn groups(a: &str, b: &str) -> Ordering {
    let key = |name: &str| {
        let place = FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
        let foreign = name.contains('.') && !name.ends_with(".k8s.io");
        (place, foreign)
    };
    let by_name = if key(a).1 { a.cmp(b) } else { Ordering::Equal };
    key(a).cmp(&key(b)).then(by_name)
}

/// The most stable first, then the newest: `v2`, `v1`, `v1beta2`, `v1alpha1`, and then other names by the alphabet.
pub(crate) fn versions(a: &str, b: &str) -> Ordering {
    match (Rank::of(a), Rank::of(b)) {
        (Some(a), Some(b)) => Reverse(a).cmp(&Reverse(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// How much a version is to be preferred.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    stability: u8,
    major: u64,
    minor: u64,
}

impl Rank {
    /// `None` for a name of another form than `v1`, `v1beta2` and `v1alpha3`.
    fn of(version: &str) -> Option<Self> {
        let rest = version.strip_prefix('v')?;
        let at = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, label) = (number(&rest[..at])?, &rest[at..]);
        let (stability, minor) = if label.is_empty() {
            (2, 0)
        } else if let Some(minor) = label.strip_prefix("beta") {
            (1, number(minor)?)
        } else {
            (0, number(label.strip_prefix("alpha")?)?)
        };
        Some(Self { stability, major, minor })
    }
}

fn number(text: &str) -> Option<u64> {
    if text.starts_with('0') { None } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_and_new_versions_come_first() {
        let mut all = ["v1alpha1", "foo1", "v2beta1", "v10", "v2", "v1beta1", "v11alpha2", "foo10", "v3beta1", "v1"];
        all.sort_by(|a, b| versions(a, b));
        let expect = ["v10", "v2", "v1", "v3beta1", "v2beta1", "v1beta1", "v11alpha2", "v1alpha1", "foo1", "foo10"];
        assert_eq!(all, expect);
    }

    #[test]
    fn groups_of_users_come_last_and_by_name() {
        let mut all = ["b.example.com", "apps", "a.example.com", "resource.k8s.io", ""];
        all.sort_by(|a, b| groups(a, b));
        assert_eq!(all, ["", "apps", "resource.k8s.io", "a.example.com", "b.example.com"]);
    }
}
