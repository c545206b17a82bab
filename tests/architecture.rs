//! The rules of the house, as tests. ARCHITECTURE.md says why; a rule that is in the way is changed there first.

use crate::sources::{Source, root, sources};
use std::collections::{BTreeMap, BTreeSet};

/// This file names what it forbids.
const HERE: &str = "tests/architecture.rs";

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[track_caller]
fn assert_none(rule: &str, broken: Vec<String>) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// Who may stand on whom, complete.
const CRATE_EDGES: &[(&str, &str)] = &[
    ("hanse", "apiserver"),
    ("hanse", "storage"),
    ("hanse", "openapi"),
    ("hanse", "certs"),
    ("apiserver", "storage"),
    ("apiserver", "openapi"),
    ("apiserver", "expression"),
    ("bench", "apiserver"),
    ("bench", "storage"),
];

/// The crates of the workspace: name and manifest.
fn crates() -> BTreeMap<String, String> {
    let manifest = read("Cargo.toml");
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = [")).expect("members on one line");
    let members = members.split('"').filter(|part| part.chars().all(|c| c.is_alphanumeric()) && !part.is_empty());
    let mut crates: BTreeMap<String, String> =
        members.map(|member| (member.to_owned(), read(&format!("{member}/Cargo.toml")))).collect();
    crates.insert("hanse".to_owned(), manifest);
    crates
}

#[test]
fn crates_stand_on_each_other_as_designed() {
    let crates = crates();
    let mut found = BTreeSet::new();
    for (name, manifest) in &crates {
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line.trim_matches(['[', ']']);
            }
            let key = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if section.ends_with("dependencies")
                && section != "workspace.dependencies"
                && crates.contains_key(key)
                && key != name
            {
                found.insert((name.as_str(), key));
            }
        }
    }
    let designed: BTreeSet<_> = CRATE_EDGES.iter().copied().collect();
    let others: Vec<_> = found.difference(&designed).map(|(from, to)| format!("{from} -> {to}")).collect();
    assert_none("edges that are not in the design", others);
}

#[test]
fn every_crate_obeys_the_lints_of_the_workspace() {
    let crates = crates();
    assert!(crates["hanse"].contains("\nunsafe_code = \"forbid\"\n"));
    // Measurements print, and give up by panicking.
    let lax = |(name, manifest): &(&String, &String)| {
        !manifest.contains("\n[lints]\nworkspace = true\n") && name.as_str() != "bench"
    };
    assert_none("crates with lints of their own", crates.iter().filter(lax).map(|(name, _)| name.clone()).collect());
    let bench = crates.get("bench").is_none_or(|manifest| manifest.contains("\nunsafe_code = \"forbid\"\n"));
    assert!(bench, "measurements are no excuse for unsafe code");
}

/// Words that belong to the rooms above `storage/`.
const KUBERNETES_WORDS: &[&str] = &[
    "admission",
    "apiserver",
    "apiversion",
    "cell",
    "cells",
    "cluster",
    "clusters",
    "configmap",
    "crd",
    "deployment",
    "federation",
    "finalizer",
    "karmada",
    "kcp",
    "kube",
    "kubeconfig",
    "kubectl",
    "kubernetes",
    "namespace",
    "namespaces",
    "pod",
    "pods",
    "resource",
    "resources",
    "workspace",
];
const FEDERATION_WORDS: &[&str] =
    &["cell", "cells", "federation", "fleet", "karmada", "kubestellar", "placement", "syncer"];

/// `NamespaceName`, `namespace_name` and "namespace name" are the same two words.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in line.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
        before = letter;
    }
    words
}

#[test]
fn words_are_told_apart() {
    let found: Vec<_> =
        words("fn pods_of(NamespaceName): a cell").into_iter().filter(|word| !word.is_empty()).collect();
    assert_eq!(found, ["fn", "pods", "of", "namespace", "name", "a", "cell"]);
}

fn foreign_words(room: &str, forbidden: &[&str]) -> Vec<String> {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| source.path.starts_with(room)) {
        for (number, line) in (1..).zip(source.text.lines()) {
            // A cluster is what etcd calls its members together; there is no other word for it.
            let of_etcd = source.path.contains("etcd") || line.contains("etcd");
            // Rows of a table have cells: that is what the API calls them.
            let of_tables = source.path.contains("/print/") || source.path.contains("/render/");
            let of_tables = of_tables || source.path.starts_with("apiserver/tests/");
            // Rust has cells of its own.
            let of_rust = ["std::cell", "Cell<", "Cell::"].iter().any(|sign| line.contains(sign));
            let allowed = |word: &str| {
                (of_etcd && word.starts_with("cluster"))
                    || (of_tables && word == "cells")
                    || (of_rust && word == "cell")
            };
            let foreign = words(line).into_iter().find(|word| forbidden.contains(&word.as_str()) && !allowed(word));
            broken.extend(foreign.map(|word| format!("{}:{number}: {word}", source.path)));
        }
    }
    broken
}

#[test]
fn each_room_speaks_its_own_language() {
    assert_none("storage/ knows bytes, keys and revisions only", foreign_words("storage/", KUBERNETES_WORDS));
    assert_none("apiserver/ does not know of federation", foreign_words("apiserver/", FEDERATION_WORDS));
}

#[test]
fn modules_are_named_after_an_idea() {
    let empty = ["util", "utils", "helper", "helpers", "manager", "common", "misc"];
    let sources = sources();
    let named = |source: &&Source| source.path.split(['/', '.', '_']).any(|part| empty.contains(&part));
    assert_none("names without an idea", sources.iter().filter(named).map(|source| source.path.clone()).collect());
}

#[test]
fn every_file_says_what_it_is_for() {
    let sources = sources();
    let mute = sources.iter().filter(|source| !source.text.starts_with("//! "));
    assert_none("files that do not begin with //!", mute.map(|source| source.path.clone()).collect());
}

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;

/// Also what `make measure` prints.
#[test]
fn sizes() {
    let sources = sources();
    let mut files: Vec<_> = sources.iter().map(|source| (source.production().lines().count(), &source.path)).collect();
    files.retain(|(lines, _)| *lines > 0);
    files.sort_unstable();
    let functions = sources.iter().flat_map(|source| source.functions().into_iter().map(|found| (found, &source.path)));
    let mut functions: Vec<_> = functions.map(|((name, lines), path)| (lines, format!("{name} in {path}"))).collect();
    functions.sort_unstable();
    let production: usize = files.iter().map(|(lines, _)| lines).sum();
    let tests: usize = sources.iter().map(|source| source.tests().lines().count()).sum();
    let place = |length: usize, percent: usize| (length - 1) * percent / 100;
    println!("             number  median  95 %  largest");
    let (half, most) = (place(files.len(), 50), place(files.len(), 95));
    let (largest, path) = files[files.len() - 1];
    println!("files        {:6}  {:6}  {:4}  {largest:7}  {path}", files.len(), files[half].0, files[most].0);
    let (half, most) = (place(functions.len(), 50), place(functions.len(), 95));
    let (longest, name) = &functions[functions.len() - 1];
    println!(
        "functions    {:6}  {:6}  {:4}  {longest:7}  {name}",
        functions.len(),
        functions[half].0,
        functions[most].0
    );
    println!("lines        {production} in production, {tests} in tests: {:.2}", tests as f64 / production as f64);
    assert!(largest <= FILE_LINES_MAX, "{path} has {largest} lines");
    assert!(*longest <= FUNCTION_LINES_MAX, "{name} has {longest} lines");
}

/// Something that belongs in few places: what it looks like, where it is looked for, and where it may be, with why.
struct OnePlace {
    what: &'static str,
    patterns: &'static [&'static str],
    text: fn(&Source) -> &str,
    only: &'static [(&'static str, &'static str)],
}

fn everything(source: &Source) -> &str {
    &source.text
}

/// The root crate's own code: other crates have no subsystems to construct.
fn root_crate(source: &Source) -> &str {
    if source.path.starts_with("src/") { source.production() } else { "" }
}

const ONE_PLACE: [OnePlace; 8] = [
    OnePlace { what: "unsafe code", patterns: &["unsafe ", "unsafe_code"], text: everything, only: &[] },
    OnePlace {
        what: "time is handed in",
        patterns: &["Instant::now", "SystemTime::now"],
        text: Source::production,
        only: &[
            ("storage/src/shared.rs", "the clock that is handed in unless a test brings its own"),
            ("apiserver/src/ambient.rs", "the same for the time of day"),
            ("apiserver/src/pipeline/trace.rs", "the runtime's own clock, which tests can stop"),
            ("apiserver/src/serve/turns.rs", "the runtime's own clock, which tests can stop"),
            ("apiserver/src/verbs/watch.rs", "the runtime's own clock, which tests can stop"),
        ],
    },
    OnePlace {
        what: "the environment is configuration",
        patterns: &["env::var", "env::args"],
        text: Source::production,
        only: &[("src/config.rs", "the one place that reads configuration")],
    },
    OnePlace {
        what: "every queue has a bound",
        patterns: &["unbounded_channel", "unbounded()", "mpsc::channel()"],
        text: Source::production,
        only: &[],
    },
    OnePlace {
        what: "tests wait for conditions, not for time",
        patterns: &["thread::sleep", "time::sleep", "sleep_until"],
        text: Source::tests,
        only: &[],
    },
    OnePlace { what: "every test runs", patterns: &["#[ignore"], text: everything, only: &[] },
    OnePlace {
        what: "long functions are divided, not excused",
        patterns: &["clippy::too_many_lines"],
        text: everything,
        only: &[],
    },
    OnePlace {
        what: "subsystems are constructed in the hallway",
        patterns: &["Store::open", "Store::on("],
        text: root_crate,
        only: &[
            ("src/server.rs", "the hallway"),
            ("src/cli/storage/source.rs", "a tool that looks at a store which no server holds"),
        ],
    },
];

#[test]
fn what_belongs_in_one_place_is_there() {
    let sources = sources();
    for rule in ONE_PLACE {
        let holds = |source: &&Source| {
            rule.patterns.iter().any(|pattern| (rule.text)(source).contains(pattern)) && source.path != HERE
        };
        let found: BTreeSet<_> = sources.iter().filter(holds).map(|source| source.path.as_str()).collect();
        let allowed: BTreeSet<_> = rule.only.iter().map(|(path, _)| *path).collect();
        let broken = found.symmetric_difference(&allowed).map(|path| (*path).to_owned()).collect();
        assert_none(&format!("{} (found where it may not be, or allowed where it is not)", rule.what), broken);
    }
}

/// Which module of the root crate may use which.
const ROOT_EDGES: &[(&str, &str)] = &[
    ("aggregation", "controller"),
    ("bootstrap", "credentials"),
    ("cli", "config"),
    ("cli", "credentials"),
    ("cli", "demonstration"),
    ("cli", "fleet"),
    ("cli", "server"),
    ("cli", "syncer"),
    ("demonstration", "apis"),
    ("demonstration", "controller"),
    ("demonstration", "tenancy"),
    ("dialects", "apis"),
    ("dialects", "controller"),
    ("dialects", "interpreter"),
    ("dialects", "scheduler"),
    ("dialects", "syncer"),
    ("fleet", "apis"),
    ("fleet", "controller"),
    ("interpreter", "apis"),
    ("scheduler", "apis"),
    ("scheduler", "controller"),
    ("server", "aggregation"),
    ("server", "apis"),
    ("server", "bootstrap"),
    ("server", "config"),
    ("server", "credentials"),
    ("server", "definitions"),
    ("server", "demonstration"),
    ("server", "dialects"),
    ("server", "fleet"),
    ("server", "host"),
    ("server", "interpreter"),
    ("server", "scheduler"),
    ("server", "syncer"),
    ("server", "tenancy"),
    ("server", "upkeep"),
    ("syncer", "apis"),
    ("syncer", "controller"),
    ("syncer", "fleet"),
    ("syncer", "scheduler"),
    ("tenancy", "controller"),
    ("tenancy", "definitions"),
    ("upkeep", "controller"),
];

/// Who mentions whom among the top-level modules of the crate under `src`.
fn module_edges(src: &str) -> BTreeSet<(String, String)> {
    let mut edges = BTreeSet::new();
    for source in sources() {
        let Some(inside) = source.path.strip_prefix(src) else { continue };
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        for after in source.production().split("crate::").skip(1) {
            assert!(!after.starts_with('{'), "{}: one `use` per module, so that the graph can be read", source.path);
            let used = after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            let is_module = used.starts_with(char::is_lowercase);
            if is_module && used != module && module != "lib" {
                edges.insert((module.to_owned(), used.to_owned()));
            }
        }
    }
    edges
}

/// The cycles, and what leads from one to another: what is left when modules that use nothing, or are used by nobody,
/// are taken away again and again.
fn knotted(mut edges: BTreeSet<(String, String)>) -> BTreeSet<(String, String)> {
    loop {
        let (using, used): (BTreeSet<String>, BTreeSet<String>) = edges.iter().cloned().unzip();
        let before = edges.len();
        edges.retain(|(from, to)| used.contains(from) && using.contains(to));
        if edges.len() == before {
            return edges;
        }
    }
}

#[test]
fn a_knot_is_found() {
    let edge = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let edges = BTreeSet::from([edge("a", "b"), edge("b", "c"), edge("c", "b"), edge("c", "d")]);
    assert_eq!(knotted(edges), BTreeSet::from([edge("b", "c"), edge("c", "b")]));
}

#[test]
fn modules_form_no_cycles() {
    for src in ["src/", "storage/src/", "apiserver/src/", "openapi/src/", "expression/src/", "certs/src/"] {
        let knot = knotted(module_edges(src)).into_iter().map(|(from, to)| format!("{from} -> {to}"));
        assert_none(&format!("{src}: modules that know each other"), knot.collect());
    }
    let allowed = ROOT_EDGES.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
    assert_eq!(module_edges("src/"), allowed.collect());
}

#[test]
fn the_map_is_short_and_shows_what_is_there() {
    let text = read("ARCHITECTURE.md");
    let lines = text.lines().count();
    assert!(lines <= 200, "ARCHITECTURE.md has {lines} lines");
    let map = text.split("\n## ").find(|section| section.starts_with("Code map")).expect("a section Code map");
    let paths: Vec<&str> = map.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains(['/', '.'])).collect();
    assert!(paths.len() > 10, "the code map names {} paths", paths.len());
    let missing = paths.iter().filter(|path| !root().join(path).exists());
    assert_none("in the code map, not in the repository", missing.map(|path| (*path).to_owned()).collect());
    for room in std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap()) {
        let name = room.file_name().into_string().unwrap();
        let shown = name.starts_with('.') || name == "target" || paths.contains(&format!("{name}/").as_str());
        assert!(shown || !room.path().is_dir(), "{name}/ is not in the code map");
    }
}
