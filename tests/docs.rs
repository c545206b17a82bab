//! The book: its pages are all there and lead to each other, and the reference is what the definitions say.
//!
//! `DOCS_REFERENCE=write cargo test --workspace --all-features --test all docs` writes the reference anew.

use crate::sources::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The pages of the reference, by their file: the commands, and a page for each group.
fn reference() -> BTreeMap<String, String> {
    let mut groups: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for definition in hanse::server::own_definitions().map(Value::from) {
        groups.entry(word(&definition["spec"]["group"]).to_owned()).or_default().push(definition);
    }
    let pages = groups.iter().map(|(group, kinds)| (format!("{group}.md"), page(group, kinds)));
    pages.chain([("commands.md".to_owned(), commands())]).collect()
}

/// What the commands say of themselves.
fn commands() -> String {
    let mut text = "# Commands\n\n".to_owned();
    text.push_str(
        "<!-- Written by a test (tests/docs.rs) from the help of the commands; not to be changed by hand. -->\n\n",
    );
    text.push_str(
        "Commands that talk to a server find it like kubectl does: `--kubeconfig`, `$KUBECONFIG`, or `~/.kube/config`. They exit\n\
         with 0 if they succeed, with 1 if they fail, and with 2 if they are used wrongly. If `hanse` is on your path as\n\
         `kubectl-hanse`, all of them work as `kubectl hanse ...`, too: `ln -s hanse kubectl-hanse`.\n",
    );
    describe(&mut text, &[]);
    text
}

fn describe(text: &mut String, path: &[&str]) {
    let help = help(path);
    let name = ["hanse"].iter().chain(path).copied().collect::<Vec<&str>>().join(" ");
    let _ = writeln!(text, "\n{} {name}\n\n```text\n{}\n```", "#".repeat(2 + path.len().min(1)), help.trim_end());
    let after = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    // A name begins after two blanks; what goes on from the line before is further to the right.
    let lines = after.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    for below in lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        describe(text, &[path, &[below]].concat());
    }
}

fn help(path: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hanse"));
    let told = command.args(path).arg("--help").env_remove("COLUMNS").stdin(Stdio::null()).output().unwrap();
    assert!(told.status.success(), "{path:?}");
    let lines: Vec<String> =
        String::from_utf8(told.stdout).unwrap().lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

fn page(group: &str, kinds: &[Value]) -> String {
    let mut text = format!("# {group}\n\n");
    text.push_str(
        "<!-- Written by a test (tests/docs.rs) from the definitions of the kinds; not to be changed by hand. -->\n",
    );
    for kind in kinds {
        let (names, spec) = (&kind["spec"]["names"], &kind["spec"]);
        let _ = writeln!(text, "\n## {}\n", word(&names["kind"]));
        let versions = list(&spec["versions"]);
        let schema = &versions[0]["schema"]["openAPIV3Schema"];
        if let Some(about) = schema["description"].as_str() {
            let _ = writeln!(text, "{about}\n");
        }
        let version: Vec<&str> = versions.iter().map(|version| word(&version["name"])).collect();
        let short: Vec<String> = list(&names["shortNames"]).iter().map(|name| format!("`{}`", word(name))).collect();
        let short = if short.is_empty() { String::new() } else { format!(", short {}", short.join(", ")) };
        let scope = if spec["scope"] == "Namespaced" { "namespaced" } else { "not namespaced" };
        let _ = writeln!(text, "`{}`{short}; {}; {scope}.\n", word(&names["plural"]), version.join(", "));
        text.push_str("| field | type | |\n|---|---|---|\n");
        rows(&mut text, schema, "");
    }
    text
}

fn rows(text: &mut String, schema: &Value, path: &str) {
    let required: BTreeSet<&str> = list(&schema["required"]).iter().map(word).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            continue;
        }
        let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let needed = if required.contains(name.as_str()) { ", required" } else { "" };
        let _ = writeln!(text, "| `{at}` | {}{needed} | {} |", sort(field), about(field));
        rows(text, field, &at);
        rows(text, &field["items"], &format!("{at}[]"));
        rows(text, &field["additionalProperties"], &format!("{at}{{}}"));
    }
}

fn sort(field: &Value) -> String {
    match word(&field["type"]) {
        "array" => format!("list of {}", sort(&field["items"])),
        "object" if field["additionalProperties"].is_object() => {
            format!("map of {}", sort(&field["additionalProperties"]))
        }
        "" if field["x-kubernetes-int-or-string"] == true => "integer or string".to_owned(),
        "" => "anything".to_owned(),
        other => other.to_owned(),
    }
}

fn about(field: &Value) -> String {
    let mut parts: Vec<String> = field["description"].as_str().map(one_line).into_iter().collect();
    let values: Vec<String> = list(&field["enum"]).iter().map(|value| format!("`{}`", word(value))).collect();
    if !values.is_empty() {
        parts.push(format!("One of {}.", values.join(", ")));
    }
    if !field["default"].is_null() {
        parts.push(format!("Default `{}`.", field["default"]).replace('"', ""));
    }
    parts.join(" ")
}

/// As it fits into a table.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn the_reference_is_what_the_definitions_say() {
    let dir = root().join("docs/src/reference");
    let pages = reference();
    if std::env::var("DOCS_REFERENCE").is_ok_and(|wish| wish == "write") {
        pages.iter().for_each(|(name, text)| std::fs::write(dir.join(name), text).unwrap());
    }
    for (name, text) in &pages {
        let written = std::fs::read_to_string(dir.join(name)).unwrap_or_default();
        assert_eq!(&written, text, "docs/src/reference/{name} is stale: `make docs-reference` writes it anew");
    }
    let there: BTreeSet<String> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let expected: BTreeSet<String> = pages.into_keys().chain(["README.md".to_owned()]).collect();
    assert_eq!(there, expected, "pages of the reference");
}

/// Every page below a folder.
fn pages(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect()
}

/// Where a page leads to, on this disk: a file, and the heading in it that is meant.
fn links(text: &str) -> Vec<(&str, &str)> {
    let targets = text.split("](").skip(1).filter_map(|after| after.split(')').next());
    let local = targets.filter(|target| !target.contains("://"));
    local.map(|target| target.split_once('#').unwrap_or((target, ""))).collect()
}

/// What the headings of a page are called in links.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    let name = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect::<String>()
    };
    headings.map(name).collect()
}

/// The links of a page that lead nowhere.
fn broken(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let leads = |(file, anchor): &(&str, &str)| {
        let target = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
        let is_there = target.exists();
        is_there && (anchor.is_empty() || anchors(&std::fs::read_to_string(target).unwrap()).contains(*anchor))
    };
    let wrong = links(&text).into_iter().filter(|link| !leads(link));
    wrong.map(|(file, anchor)| format!("{}: {file}#{anchor}", page.display())).collect()
}

/// In a sequence, a semicolon ends a statement: the rest of a sentence would be no picture.
#[test]
fn pictures_of_sequences_can_be_drawn() {
    for page in pages(&root().join("docs/src")) {
        let text = std::fs::read_to_string(&page).unwrap();
        for picture in text.split("```mermaid\nsequenceDiagram\n").skip(1) {
            let picture = picture.split("```").next().unwrap_or_default();
            assert!(!picture.contains(';'), "{}: {picture}", page.display());
        }
    }
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let src = root().join("docs/src");
    let others = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"].map(|name| root().join(name));
    let broken: Vec<String> = pages(&src).iter().chain(&others).flat_map(|page| broken(page)).collect();
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
    let summary = std::fs::read_to_string(src.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = links(&summary).into_iter().map(|(target, _)| src.join(target)).collect();
    let there: BTreeSet<PathBuf> = pages(&src).into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(there, listed, "pages, and those in SUMMARY.md");
}
