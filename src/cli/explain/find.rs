//! Which resources somebody means who says a word, as kubectl understands it.

use crate::fleet::api::{CellResource, Names};

/// Those that are meant: one by its kind, its plural, its singular or a short name, with or without a group; or all of
/// a category. None if there is no such thing.
pub(super) fn find<'a>(served: &'a [(CellResource, Names)], word: &str) -> Vec<&'a CellResource> {
    let (name, rest) = word.split_once('.').map_or((word, None), |(name, rest)| (name, Some(rest)));
    let same = |other: &String| other.eq_ignore_ascii_case(name);
    let here = |resource: &CellResource| rest.is_none_or(|rest| is_group(resource, rest));
    let known = || served.iter().filter(|(resource, _)| here(resource));
    let full = |(resource, names): &&(CellResource, Names)| {
        same(&resource.kind) || same(&resource.plural) || same(&names.singular)
    };
    // A full name counts before a short one of something else.
    let one = known().find(full).or_else(|| known().find(|(_, names)| names.short.iter().any(same)));
    match one {
        Some((resource, _)) => vec![resource],
        None => all_of(known().filter(|(_, names)| names.categories.iter().any(same))),
    }
}

/// A kind that somebody may have meant who has mistyped it: the nearest one that is near enough.
pub(super) fn near<'a>(served: &'a [(CellResource, Names)], word: &str) -> Option<&'a str> {
    let word = word.to_lowercase();
    let names = served.iter().flat_map(|(resource, names)| [names.singular.as_str(), resource.plural.as_str()]);
    let far = |name: &str| strsim::damerau_levenshtein(name, &word);
    let nearest = names.filter(|name| !name.is_empty()).min_by_key(|name| far(name))?;
    (far(nearest) <= 1 + word.len() / 4).then_some(nearest)
}

/// `apps`, or `v1.apps`.
fn is_group(resource: &CellResource, rest: &str) -> bool {
    let versioned = rest.strip_prefix(resource.version.as_str()).and_then(|rest| rest.strip_prefix('.'));
    resource.group == rest || versioned == Some(resource.group.as_str())
}

/// Each in the version that comes first.
fn all_of<'a>(found: impl Iterator<Item = &'a (CellResource, Names)>) -> Vec<&'a CellResource> {
    let mut all: Vec<&CellResource> = Vec::new();
    for (resource, _) in found {
        if !all.iter().any(|other| other.group == resource.group && other.plural == resource.plural) {
            all.push(resource);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::cell::hub;

    fn served() -> Vec<(CellResource, Names)> {
        let names = |singular: &str, short: &[&str], categories: &[&str]| {
            let own = |words: &[&str]| words.iter().map(ToString::to_string).collect();
            Names { singular: singular.to_owned(), short: own(short), categories: own(categories) }
        };
        vec![
            (hub::resource("", "v1", "configmaps", "ConfigMap"), names("configmap", &["cm"], &[])),
            (hub::resource("", "v1", "events", "Event"), names("event", &["ev"], &[])),
            (hub::resource("", "v1", "services", "Service"), names("service", &["svc"], &["all"])),
            (hub::resource("apps", "v1", "deployments", "Deployment"), names("deployment", &["deploy"], &["all"])),
            (hub::resource("apps", "v1beta1", "deployments", "Deployment"), names("deployment", &["deploy"], &["all"])),
            (hub::resource("events.k8s.io", "v1", "events", "Event"), names("event", &["ev"], &[])),
            (hub::resource("example.com", "v1", "cm", "Cm"), names("cm", &["deploy"], &[])),
        ]
    }

    #[test]
    fn a_word_means_what_it_means_to_kubectl() {
        let check = |word: &str, expected: &[&str]| {
            let served = served();
            let found: Vec<String> =
                find(&served, word).iter().map(|found| format!("{} {}", found.api_version(), found.plural)).collect();
            assert_eq!(found, expected, "{word}");
        };
        for word in ["deployment", "Deployments", "deploy", "deployment.apps", "deploy.apps", "deployments.v1.apps"] {
            check(word, &["apps/v1 deployments"]);
        }
        check("deployments.v1beta1.apps", &["apps/v1beta1 deployments"]);
        check("ev", &["v1 events"]);
        check("ev.events.k8s.io", &["events.k8s.io/v1 events"]);
        check("cm", &["example.com/v1 cm"]);
        check("all", &["v1 services", "apps/v1 deployments"]);
        check("event.apps", &[]);
        check("nothing", &[]);
    }

    #[test]
    fn a_word_that_is_nearly_a_kind_is_told_from_one_that_is_none() {
        let served = served();
        let check = |word: &str, expected: Option<&str>| assert_eq!(near(&served, word), expected, "{word}");
        check("deplyment", Some("deployment"));
        check("Delpoyments", Some("deployments"));
        check("servcie", Some("service"));
        check("workload", None);
    }
}
