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

#[test]
fn a_rotated_key_signs_while_former_ones_are_kept_until_they_are_retired() {
    let dir = tempfile::tempdir().unwrap();
    let at = |secs: u64| std::time::UNIX_EPOCH + std::time::Duration::from_secs(secs);
    let first = SigningKey::open_or_create(dir.path()).unwrap().public_pem();
    SigningKey::rotate(dir.path(), at(100)).unwrap();
    SigningKey::rotate(dir.path(), at(200)).unwrap();
    let now = SigningKey::open_or_create(dir.path()).unwrap().public_pem();
    let former: Vec<String> = SigningKey::former(dir.path()).unwrap().iter().map(SigningKey::public_pem).collect();
    assert_eq!((former.len(), &former[0]), (2, &first));
    assert!(!former.contains(&now));
    let refused = SigningKey::rotate(dir.path(), at(200)).unwrap_err();
    assert!(refused.to_string().contains("service-account.200.key"), "nothing is overwritten: {refused}");
    assert_eq!(SigningKey::retire(dir.path()).unwrap(), 2);
    assert!(SigningKey::former(dir.path()).unwrap().is_empty());
    assert_eq!(SigningKey::open_or_create(dir.path()).unwrap().public_pem(), now);
}

#[test]
fn keys_of_others_are_read_in_both_halves() {
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::open_or_create(dir.path()).unwrap();
    let public = dir.path().join("public.pem");
    std::fs::write(&public, [key.public_pem(), key.public_pem()].concat()).unwrap();
    assert_eq!(certs::public_keys(&public).unwrap(), [key.public_pem(), key.public_pem()]);
    let private = dir.path().join("service-account.key");
    assert_eq!(certs::public_keys(&private).unwrap(), [key.public_pem()]);
    std::fs::write(&public, "nothing").unwrap();
    assert!(certs::public_keys(&public).unwrap_err().to_string().contains("public.pem"));
}
