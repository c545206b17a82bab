//! Whether somebody who has some rules has others, too.

use super::rule::{ALL, Rule, path_matches};
use std::collections::BTreeMap;

/// What `wanted` permit and `held` do not, in the smallest pieces that can be held on their own.
pub fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let pieces = wanted.iter().flat_map(pieces);
    pieces.filter(|piece| !held.iter().any(|rule| covers(rule, piece))).collect()
}

/// A rule as rules of one verb on one thing.
fn pieces(rule: &Rule) -> Vec<Rule> {
    let mut pieces = Vec::new();
    let one = |word: &String| vec![word.clone()];
    for group in &rule.groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let piece = Rule { verbs: one(verb), groups: one(group), resources: one(resource), ..Rule::default() };
                match &*rule.names {
                    [] => pieces.push(piece),
                    names => pieces.extend(names.iter().map(|name| Rule { names: one(name), ..piece.clone() })),
                }
            }
        }
    }
    for path in &rule.paths {
        pieces.extend(rule.verbs.iter().map(|verb| Rule { verbs: one(verb), paths: one(path), ..Rule::default() }));
    }
    pieces
}

/// `piece` is one verb on one thing.
fn covers(rule: &Rule, piece: &Rule) -> bool {
    let has = |held: &[String], word: &str| held.iter().any(|one| one == word);
    let all = |held: &[String], words: &[String]| has(held, ALL) || words.iter().all(|word| has(held, word));
    let names = rule.names.is_empty() || !piece.names.is_empty() && piece.names.iter().all(|n| has(&rule.names, n));
    let resources = has(&rule.resources, ALL) || piece.resources.iter().all(|resource| names_resource(rule, resource));
    let path = |path: &String| rule.paths.iter().any(|held| path_matches(held, path));
    all(&rule.verbs, &piece.verbs)
        && all(&rule.groups, &piece.groups)
        && resources
        && names
        && piece.paths.iter().all(path)
}

fn names_resource(rule: &Rule, resource: &str) -> bool {
    let of_all = resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
    rule.resources.iter().any(|held| held == resource || Some(held) == of_all.as_ref())
}

/// Groups, resources and names.
type Thing<'a> = (&'a [String], &'a [String], &'a [String]);

/// One line for each thing that is missing, with all verbs that are.
pub(super) fn described(missing: &[Rule]) -> Vec<String> {
    let mut by_thing: BTreeMap<Thing<'_>, Vec<String>> = BTreeMap::new();
    let mut lines: Vec<String> = Vec::new();
    for Rule { verbs, groups, resources, names, paths } in missing {
        if paths.is_empty() {
            by_thing.entry((groups, resources, names)).or_default().extend(verbs.iter().cloned());
        } else {
            lines.push(format!("{{NonResourceURLs:{}, Verbs:{}}}", quoted(paths), quoted(verbs)));
        }
    }
    for ((groups, resources, names), verbs) in by_thing {
        let names = if names.is_empty() { String::new() } else { format!(" ResourceNames:{},", quoted(names)) };
        let (groups, resources, verbs) = (quoted(groups), quoted(resources), quoted(&verbs));
        lines.push(format!("{{APIGroups:{groups}, Resources:{resources},{names} Verbs:{verbs}}}"));
    }
    lines.sort();
    lines.dedup();
    lines
}

/// As Go prints a list of texts.
pub(super) fn quoted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `verbs groups resources names`, each separated by commas; `-` is the group without a name.
    fn rule(text: &str) -> Rule {
        let mut words = text
            .split(' ')
            .map(|part| part.split(',').filter(|word| !word.is_empty()).map(|word| word.replace('-', "")).collect());
        let mut next = || words.next().unwrap_or_default();
        if let Some(rest) = text.strip_prefix("path ") {
            let (verbs, paths) = rest.split_once(' ').unwrap();
            return Rule { verbs: vec![verbs.to_owned()], paths: vec![paths.to_owned()], ..Rule::default() };
        }
        Rule { verbs: next(), groups: next(), resources: next(), names: next(), paths: Vec::new() }
    }

    #[track_caller]
    fn check(held: &[&str], wanted: &str, expected: &[&str]) {
        let held: Vec<Rule> = held.iter().map(|text| rule(text)).collect();
        assert_eq!(described(&missing(&held, &[rule(wanted)])), expected);
    }

    #[test]
    fn whoever_has_more_has_less() {
        check(&["* * *"], "get - pods", &[]);
        check(&["* * *"], "get - pods x", &[]);
        check(&["get,list - pods"], "get - pods", &[]);
        check(
            &["get - */scale"],
            "get apps deployments/scale",
            &["{APIGroups:[\"apps\"], Resources:[\"deployments/scale\"], Verbs:[\"get\"]}"],
        );
        check(&["get apps */scale"], "get apps deployments/scale", &[]);
        check(&["get - pods x,y"], "get - pods x", &[]);
        check(&["path get /api/*"], "path get /api/v1", &[]);
        check(&["path get *"], "path get /api/*", &[]);
    }

    #[test]
    fn whoever_has_less_has_not_more() {
        check(&["get - pods x"], "get - pods", &["{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}"]);
        check(&["get - pods"], "get,list - pods", &["{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}"]);
        check(&["get - pods"], "get - pods/log", &["{APIGroups:[\"\"], Resources:[\"pods/log\"], Verbs:[\"get\"]}"]);
        check(&["get - pods"], "* - pods", &["{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}"]);
        check(&["path get /api"], "path get /api/*", &["{NonResourceURLs:[\"/api/*\"], Verbs:[\"get\"]}"]);
        check(&["* * *"], "path get /x", &["{NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}"]);
    }

    #[test]
    fn verbs_on_the_same_thing_are_told_together() {
        let told = "{APIGroups:[\"\"], Resources:[\"pods\"], ResourceNames:[\"x\"], Verbs:[\"get\" \"list\"]}";
        check(&[], "get,list - pods x", &[told]);
        let told = [
            "{APIGroups:[\"\"], Resources:[\"a\"], Verbs:[\"get\"]}",
            "{APIGroups:[\"\"], Resources:[\"b\"], Verbs:[\"get\"]}",
        ];
        check(&[], "get - b,a", &told);
    }
}
