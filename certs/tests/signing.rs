//! The key of service account tokens: kept, secret, and what openssl takes it for.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use certs::SigningKey;
use tempfile::tempdir;

use crate::{chain, openssl};

#[test]
fn a_restart_keeps_the_key() {
    let dir = tempdir().unwrap();
    let first = SigningKey::open_or_create(dir.path()).unwrap();
    let second = SigningKey::open_or_create(dir.path()).unwrap();
    assert_eq!(first.private_der(), second.private_der());
    let path = dir.path().join("service-account.key");
    assert_eq!(fs::read_to_string(&path).unwrap(), first.private_pem());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn openssl_reads_both_halves() {
    let dir = tempdir().unwrap();
    let key = SigningKey::open_or_create(dir.path()).unwrap();
    let public = openssl(dir.path(), &["pkey", "-in", "service-account.key", "-pubout"]);
    assert_eq!(key.public_pem(), public);
    fs::write(dir.path().join("public.der"), key.public_der()).unwrap();
    let text = openssl(dir.path(), &["pkey", "-pubin", "-inform", "DER", "-in", "public.der", "-noout", "-text"]);
    assert!(text.contains("NIST CURVE: P-256"), "{text}");
}

#[test]
fn a_damaged_key_is_named_and_left_alone() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("service-account.key");
    for content in
        ["", "-----BEGIN PRIVATE KEY-----\nMIGH", "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n"]
    {
        fs::write(&path, content).unwrap();
        let error = SigningKey::open_or_create(dir.path()).unwrap_err();
        assert!(chain(&error).starts_with(&format!("{} is damaged: it", path.display())), "{}", chain(&error));
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn secrets_are_not_shown() {
    let dir = tempdir().unwrap();
    let key = SigningKey::open_or_create(dir.path()).unwrap();
    assert_eq!(format!("{key:?}"), "SigningKey(..)");
}
