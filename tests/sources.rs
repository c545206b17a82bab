//! The repository as text: its Rust files, what of them is production code, and how long it all is.

use std::path::Path;

/// One Rust file.
pub(crate) struct Source {
    /// From the root of the repository, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Where the unit tests at its end begin.
    tests_at: usize,
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of the repository, in order of path.
pub(crate) fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    walk(root(), &mut found);
    assert!(found.len() > 20, "the repository was not found under {}", root().display());
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(dir: &Path, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                walk(&path, found);
            }
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            let tests_at = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
            found.push(Source { path, text, tests_at });
        }
    }
}

impl Source {
    /// Whether all of it is there for tests.
    fn is_test(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "conformance" | "fuzz"))
    }

    /// Whether it only measures: neither production nor a test.
    fn is_measurement(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "bench" | "benches"))
    }

    /// What runs in production.
    pub(crate) fn production(&self) -> &str {
        if self.is_test() || self.is_measurement() { "" } else { &self.text[..self.tests_at] }
    }

    /// What only tests run.
    pub(crate) fn tests(&self) -> &str {
        if self.is_measurement() {
            return "";
        }
        if self.is_test() { &self.text } else { &self.text[self.tests_at..] }
    }

    /// The functions and how many lines each has, signature and braces included.
    pub(crate) fn functions(&self) -> Vec<(&str, usize)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let at = |start: usize| Some((function_name(lines[start])?, function_lines(&lines[start..])?));
        (0..lines.len()).filter_map(at).collect()
    }
}

fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(scoped) = rest.strip_prefix("pub(") {
        rest = scoped.split_once(") ")?.1;
    }
    for word in ["pub ", "const ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest.strip_prefix("fn ")?.split(['(', '<']).next()
}

/// How many lines the function at the start of `lines` has; `None` for a declaration without a body.
fn function_lines(lines: &[&str]) -> Option<usize> {
    let indent = &lines[0][..lines[0].len() - lines[0].trim_start().len()];
    let end = format!("{indent}}}");
    let mut body = false;
    for (at, line) in lines.iter().enumerate() {
        if line.ends_with('}') && (at == 0 || line.starts_with(&end)) {
            return Some(at + 1);
        }
        body |= line.ends_with('{');
        if !body && line.ends_with(';') {
            return None;
        }
    }
    None
}

#[test]
fn functions_are_found_and_measured() {
    let text = "impl A {\n    pub(in crate::x) async fn a<T>(\n        t: T,\n    ) {\n        t;\n    }\n}\ntrait B {\n    fn b();\n}\nfn c() {}\n";
    let source = Source { path: "src/a.rs".into(), text: text.into(), tests_at: text.len() };
    assert_eq!(source.functions(), [("a", 5), ("c", 1)]);
}
