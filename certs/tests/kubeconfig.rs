//! Kubeconfig files, read back by somebody else's YAML.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use certs::KeyPair;
use certs::kubeconfig::{Cluster, Context, Credential, Kubeconfig, User};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::tempdir;

/// Two users of one server, all of whose names are made of `text`.
fn sample(text: &str) -> Kubeconfig {
    let context = |name: &str, user: &str, namespace: Option<&str>| Context {
        name: format!("{text}{name}"),
        cluster: text.to_owned(),
        user: format!("{text}{user}"),
        namespace: namespace.map(str::to_owned),
    };
    let pair = KeyPair { cert_chain_pem: "the certificate".to_owned(), key_pem: "the key".to_owned() };
    Kubeconfig {
        current: format!("{text}-1"),
        contexts: vec![context("-1", "-admin", Some(text)), context("-2", "-robot", None)],
        clusters: vec![Cluster { name: text.to_owned(), server: text.to_owned(), ca_pem: "the authority".to_owned() }],
        users: vec![
            User { name: format!("{text}-admin"), credential: Credential::Certificate(pair) },
            User { name: format!("{text}-robot"), credential: Credential::Token(text.to_owned()) },
        ],
    }
}

fn expected(text: &str) -> Value {
    let data = |text: &str| STANDARD.encode(text);
    let (admin, robot) = (format!("{text}-admin"), format!("{text}-robot"));
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": format!("{text}-1"),
        "clusters": [
            {"name": text, "cluster": {"server": text, "certificate-authority-data": data("the authority")}},
        ],
        "contexts": [
            {"name": format!("{text}-1"), "context": {"cluster": text, "user": admin, "namespace": text}},
            {"name": format!("{text}-2"), "context": {"cluster": text, "user": robot}},
        ],
        "users": [
            {"name": admin, "user": {
                "client-certificate-data": data("the certificate"), "client-key-data": data("the key"),
            }},
            {"name": robot, "user": {"token": text}},
        ],
    })
}

fn check(text: &str) {
    let yaml = sample(text).to_yaml();
    let found: Value = serde_saphyr::from_str(&yaml).unwrap_or_else(|error| panic!("{error} in {yaml}"));
    assert_eq!(found, expected(text), "{yaml}");
}

#[test]
fn names_come_back_as_they_were() {
    for text in
        ["hanse", "https://127.0.0.1:6443/clusters/root:default", "no", "null", "007", "1e3", "~", "- a", "a: b"]
    {
        check(text);
    }
    for text in ["", " ", " a ", "#", "\"", "\\", "\\u0041", "'", "a\nb", "\r\n", "\t", "\0", "\u{7f}", "%TAG", "---"] {
        check(text);
    }
    for text in ["jörg", "東京", "🦀", "\u{85}", "\u{a0}", "\u{2028}", "\u{2029}", "\u{feff}", "\u{fffe}", "\u{ffff}"]
    {
        check(text);
    }
}

proptest! {
    #[test]
    fn any_name_comes_back_as_it_was(text in any::<String>()) {
        check(&text);
    }
}

#[test]
fn an_empty_one_is_still_one() {
    let found: Value = serde_saphyr::from_str(&Kubeconfig::default().to_yaml()).unwrap();
    let expect = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "", "clusters": [], "contexts": [], "users": [],
    });
    assert_eq!(found, expect);
}

#[test]
fn the_file_is_its_owners_and_replaces_the_old_one() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("new/kubeconfig");
    sample("a").write(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    sample("b").write(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), sample("b").to_yaml());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

fn check_dangling(spoil: impl Fn(&mut Kubeconfig), expect: &str) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("config");
    let mut config = sample("a");
    spoil(&mut config);
    let expect = format!("{} would not work: its {expect}, which it does not have", path.display());
    assert_eq!(config.write(&path).unwrap_err().to_string(), expect);
    assert!(!path.exists());
}

#[test]
fn what_would_not_work_is_not_written() {
    check_dangling(|config| config.current = "b".to_owned(), r#"current-context wants the context "b""#);
    check_dangling(|config| config.clusters.clear(), r#"context "a-1" wants the cluster "a""#);
    check_dangling(|config| drop(config.users.pop()), r#"context "a-2" wants the user "a-robot""#);
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?}", sample("a"));
    assert!(shown.contains("the certificate") && shown.contains("Token(..)"), "{shown}");
    assert!(!shown.contains("the key"), "{shown}");
}
