//! The authority: its files, and what openssl says of what it issues.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use certs::{Authority, Error, Subject, Validity};
use tempfile::{TempDir, tempdir};

use crate::{HOUR, chain, client, hours, new_year, openssl, server, subject_name};

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

fn created() -> (TempDir, Authority) {
    let dir = tempdir().unwrap();
    let authority = Authority::open_or_create(dir.path(), new_year()).unwrap();
    (dir, authority)
}

#[test]
fn a_restart_keeps_the_authority_and_what_it_issued() {
    let (dir, first) = created();
    let before = (fs::read(dir.path().join("ca.crt")).unwrap(), fs::read(dir.path().join("ca.key")).unwrap());
    fs::write(dir.path().join("leaf.crt"), first.issue_server(&[subject_name("a")], hours(24)).unwrap().cert_chain_pem)
        .unwrap();
    let second = Authority::open_or_create(dir.path(), new_year() + HOUR).unwrap();
    assert_eq!(second.cert_pem(), first.cert_pem());
    let after = (fs::read(dir.path().join("ca.crt")).unwrap(), fs::read(dir.path().join("ca.key")).unwrap());
    assert_eq!(before, after);
    fs::write(dir.path().join("later.crt"), second.issue_client("u", &[], hours(24)).unwrap().cert_chain_pem).unwrap();
    openssl(dir.path(), &["verify", "-attime", "1767225600", "-CAfile", "ca.crt", "leaf.crt", "later.crt"]);
}

#[test]
fn only_the_owner_reads_the_key() {
    let (dir, _) = created();
    for (name, expect) in [("ca.key", 0o600), ("ca.crt", 0o644)] {
        let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expect, "{name}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

/// Issues for a subject, and compares what openssl reads with what was wanted.
fn check(subject: &Subject, purpose: &str, expect: &[&str]) {
    let (dir, authority) = created();
    let pair = authority.issue(subject, hours(24)).unwrap();
    fs::write(dir.path().join("leaf.crt"), &pair.cert_chain_pem).unwrap();
    fs::write(dir.path().join("leaf.key"), &pair.key_pem).unwrap();
    let verify = ["verify", "-x509_strict", "-attime", "1767225600", "-purpose", purpose, "-CAfile", "ca.crt"];
    openssl(dir.path(), &[&verify[..], &["leaf.crt"]].concat());
    let public = openssl(dir.path(), &["pkey", "-in", "leaf.key", "-pubout"]);
    assert_eq!(openssl(dir.path(), &["x509", "-in", "leaf.crt", "-noout", "-pubkey"]), public);
    let text =
        openssl(dir.path(), &["x509", "-in", "leaf.crt", "-noout", "-text", "-nameopt", "RFC2253,utf8,-esc_msb"]);
    for line in expect {
        assert!(text.lines().any(|found| found.trim() == *line), "no {line:?} in {text}");
    }
}

#[test]
fn openssl_trusts_a_server_under_its_names() {
    check(
        &server(&["localhost", "*.example.org", "127.0.0.1", "::1"]),
        "sslserver",
        &[
            "DNS:*.example.org, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1",
            "TLS Web Server Authentication",
            "Not Before: Dec 31 23:55:00 2025 GMT",
            "Not After : Jan  2 00:00:00 2026 GMT",
            "CA:FALSE",
        ],
    );
}

#[test]
fn openssl_trusts_a_client_with_all_its_groups() {
    check(
        &client("admin", &["system:masters", "ops", "on, call=yes"]),
        "sslclient",
        &[r"Subject: CN=admin,O=on\, call=yes,O=ops,O=system:masters", "TLS Web Client Authentication"],
    );
    check(&client("jörg", &[]), "sslclient", &["Subject: CN=jörg"]);
    let long = "system:serviceaccount:".to_owned() + &"n".repeat(300);
    check(&client(&long, &[&long]), "sslclient", &[&format!("Subject: CN={long},O={long}")]);
}

#[test]
fn the_authority_itself_is_sound() {
    let (dir, _) = created();
    let strict = ["verify", "-x509_strict", "-check_ss_sig", "-attime", "1767225600", "-CAfile", "ca.crt", "ca.crt"];
    openssl(dir.path(), &strict);
    let text = openssl(dir.path(), &["x509", "-in", "ca.crt", "-noout", "-text"]);
    for expect in ["CA:TRUE, pathlen:0", "Certificate Sign", "CN = hanse-ca@1767225600"] {
        assert!(text.contains(expect) || text.contains(&expect.replace(" = ", "=")), "no {expect:?} in {text}");
    }
}

#[test]
fn nothing_outlives_the_authority() {
    let (dir, authority) = created();
    let late = Validity { now: new_year() + YEAR * 9, lasts: YEAR * 5 };
    fs::write(dir.path().join("leaf.crt"), authority.issue_client("u", &[], late).unwrap().cert_chain_pem).unwrap();
    let end = |file| openssl(dir.path(), &["x509", "-in", file, "-noout", "-enddate"]);
    assert_eq!(end("leaf.crt"), end("ca.crt"));
}

#[test]
fn an_expired_authority_says_what_to_do() {
    let (dir, authority) = created();
    let crt = dir.path().join("ca.crt");
    let expired = Authority::open_or_create(dir.path(), new_year() + YEAR * 10).unwrap_err();
    let expect = format!(
        "the authority in {} expired on 2035-12-30: move ca.crt and ca.key away, start again to get a new one, \
         and hand its ca.crt to every client",
        crt.display()
    );
    assert_eq!(expired.to_string(), expect);
    let later = Validity { now: new_year() + YEAR * 11, lasts: HOUR };
    assert!(matches!(authority.issue_client("u", &[], later), Err(Error::Expired { .. })));
    let early = Authority::open_or_create(dir.path(), new_year() - HOUR).unwrap_err();
    let expect = format!("the authority in {} is valid only from 2025-12-31: is the clock right?", crt.display());
    assert_eq!(early.to_string(), expect);
}

#[test]
fn dates_beyond_a_certificate_are_refused() {
    let (_dir, authority) = created();
    for now in [UNIX_EPOCH, UNIX_EPOCH - HOUR, UNIX_EPOCH + YEAR * 20_000] {
        let refused = Authority::open_or_create(tempdir().unwrap().path(), now).unwrap_err();
        assert!(matches!(refused, Error::Date), "{refused}");
    }
    let forever = Validity { now: new_year(), lasts: Duration::MAX };
    assert!(matches!(authority.issue_client("u", &[], forever), Err(Error::Date)));
}

#[test]
fn what_has_no_name_is_not_issued() {
    let (_dir, authority) = created();
    assert!(matches!(authority.issue_client("", &["g"], hours(1)), Err(Error::NoUser)));
    assert!(matches!(authority.issue_server(&[], hours(1)), Err(Error::NoServerName)));
    let refused = authority.issue_server(&[subject_name("no such name")], hours(1)).unwrap_err();
    assert_eq!(refused.to_string(), r#""no such name" cannot be the name of a server"#);
}

/// Spoils the files of an authority and compares what the next start says; nothing may have been written.
fn check_spoilt(spoil: impl Fn(&Path), expect: &str) {
    let (dir, _) = created();
    spoil(dir.path());
    let files = || ["ca.crt", "ca.key"].map(|name| fs::read(dir.path().join(name)).ok());
    let before = files();
    let error = Authority::open_or_create(dir.path(), new_year()).unwrap_err();
    let found = chain(&error).replace(&format!("{}/", dir.path().display()), "");
    assert!(found.starts_with(expect), "{found}");
    assert_eq!(files(), before);
}

fn cut(name: &'static str, keep: usize) -> impl Fn(&Path) {
    move |dir| {
        let text = fs::read(dir.join(name)).unwrap();
        fs::write(dir.join(name), &text[..keep]).unwrap();
    }
}

#[test]
fn half_written_files_are_named() {
    for name in ["ca.crt", "ca.key"] {
        for keep in [0, 10, 100, 150] {
            let expect = format!("{name} is damaged: it does not hold the PEM section that belongs in it: ");
            check_spoilt(cut(name, keep), &expect);
        }
    }
}

#[test]
fn a_missing_half_is_named() {
    let advice = "restore it, or move the other away to begin with a new authority";
    for (name, beside) in [("ca.crt", "ca.key"), ("ca.key", "ca.crt")] {
        let expect = format!("{name} is missing beside {beside}: {advice}");
        check_spoilt(|dir| fs::remove_file(dir.join(name)).unwrap(), &expect);
    }
}

#[test]
fn files_of_two_authorities_do_not_mix() {
    let other = |name: &'static str| {
        move |dir: &Path| {
            let (other, _) = created();
            fs::copy(other.path().join(name), dir.join(name)).unwrap();
        }
    };
    check_spoilt(other("ca.key"), "ca.key is not the key of ca.crt: restore the pair from one backup");
    check_spoilt(other("ca.crt"), "ca.key is not the key of ca.crt: restore the pair from one backup");
}

#[test]
fn other_things_are_not_taken_for_an_authority() {
    let with_leaf = |dir: &Path| {
        let authority = Authority::open_or_create(dir, new_year()).unwrap();
        let pair = authority.issue_client("u", &[], hours(1)).unwrap();
        fs::write(dir.join("ca.crt"), pair.cert_chain_pem).unwrap();
        fs::write(dir.join("ca.key"), pair.key_pem).unwrap();
    };
    check_spoilt(with_leaf, "ca.crt is damaged: its certificate is not that of an authority");
    let with_rsa = |dir: &Path| {
        openssl(dir, &["genpkey", "-algorithm", "RSA", "-out", "ca.key"]);
    };
    check_spoilt(with_rsa, "ca.key is damaged: its key is not an ECDSA P-256 key in PKCS#8: ");
    let with_directory = |dir: &Path| {
        fs::remove_file(dir.join("ca.key")).unwrap();
        fs::create_dir(dir.join("ca.key")).unwrap();
    };
    check_spoilt(with_directory, "cannot read ca.key: ");
}

#[test]
fn a_changed_letter_is_noticed() {
    let (dir, _) = created();
    let path = dir.path().join("ca.crt");
    let good = fs::read(&path).unwrap();
    let letters = (28..good.len() - 30).filter(|at| good[*at].is_ascii_alphanumeric());
    for at in letters {
        let mut bad = good.clone();
        bad[at] = if bad[at] == b'A' { b'B' } else { b'A' };
        fs::write(&path, &bad).unwrap();
        let opened = Authority::open_or_create(dir.path(), new_year());
        assert!(matches!(opened, Err(Error::Damaged { .. } | Error::Mismatch { .. })), "at {at}: {opened:?}");
    }
}
