//! What is kept, and when it is issued anew.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use certs::{Authority, Error, Identity, Origin, Reason, Subject, Validity};
use tempfile::tempdir;

use crate::{HOUR, client, new_year, server};

/// 30 hours, and 5 minutes more in the past: the last third begins 19 h 58 min 20 s after the start.
fn get(dir: &Path, subject: &Subject, now: SystemTime) -> Identity {
    let authority = Authority::open_or_create(dir, new_year()).unwrap();
    Identity::load_or_issue(&authority, dir, "me", subject, Validity { now, lasts: HOUR * 30 }).unwrap()
}

/// Gets it twice, with something done between, and says where the second came from.
fn check(then: (&Subject, SystemTime), between: impl Fn(&Path), expect: Origin) {
    let dir = tempdir().unwrap();
    let first = get(dir.path(), &server(&["a", "10.0.0.1"]), new_year());
    assert_eq!(first.origin, Origin::Issued(Reason::Absent));
    between(dir.path());
    let second = get(dir.path(), then.0, then.1);
    assert_eq!(second.origin, expect);
    assert_eq!(second.pair == first.pair, expect == Origin::Kept);
    let third = get(dir.path(), then.0, then.1);
    assert_eq!((third.origin, third.pair), (Origin::Kept, second.pair));
}

fn nothing(_: &Path) {}

#[test]
fn it_is_kept_while_it_is_good() {
    let names = server(&["10.0.0.1", "a", "a"]);
    check((&names, new_year()), nothing, Origin::Kept);
    check((&names, new_year() + HOUR * 19), nothing, Origin::Kept);
}

#[test]
fn it_is_replaced_in_the_last_third_of_its_life() {
    let names = server(&["a", "10.0.0.1"]);
    for late in [HOUR * 20, HOUR * 29, HOUR * 31] {
        check((&names, new_year() + late), nothing, Origin::Issued(Reason::OutOfDate));
    }
}

#[test]
fn it_says_when_that_is() {
    let dir = tempdir().unwrap();
    let names = server(&["a"]);
    let due = get(dir.path(), &names, new_year()).renew_at;
    let second = std::time::Duration::from_secs(1);
    assert_eq!(due, new_year() + HOUR * 20 - second * 99);
    assert_eq!(get(dir.path(), &names, due - second).origin, Origin::Kept);
    assert_eq!(get(dir.path(), &names, due).origin, Origin::Issued(Reason::OutOfDate));
}

#[test]
fn it_is_replaced_when_the_names_change() {
    for other in [server(&["a"]), server(&["a", "10.0.0.2"]), server(&["a", "b", "10.0.0.1"]), client("server", &[])] {
        check((&other, new_year()), nothing, Origin::Issued(Reason::Renamed));
    }
}

#[test]
fn groups_are_part_of_a_client() {
    let dir = tempdir().unwrap();
    let origin = |groups: &[&str]| get(dir.path(), &client("u", groups), new_year()).origin;
    assert_eq!(origin(&["a", "b"]), Origin::Issued(Reason::Absent));
    assert_eq!(origin(&["a", "b"]), Origin::Kept);
    assert_eq!(origin(&["a"]), Origin::Issued(Reason::Renamed));
}

#[test]
fn it_is_replaced_when_another_authority_signed_it() {
    let new_authority = |dir: &Path| {
        for name in ["ca.crt", "ca.key"] {
            fs::remove_file(dir.join(name)).unwrap();
        }
    };
    // The new authority even has the name of the old one: it is the signature that tells.
    check((&server(&["a", "10.0.0.1"]), new_year()), new_authority, Origin::Issued(Reason::Foreign));
}

#[test]
fn a_crash_between_its_files_heals() {
    let names = server(&["a", "10.0.0.1"]);
    let other_key = |dir: &Path| {
        let other = tempdir().unwrap();
        get(other.path(), &server(&["a"]), new_year());
        fs::copy(other.path().join("me.key"), dir.join("me.key")).unwrap();
    };
    check((&names, new_year()), other_key, Origin::Issued(Reason::Damaged));
    let cut = |dir: &Path| fs::write(dir.join("me.crt"), "-----BEGIN CERT").unwrap();
    check((&names, new_year()), cut, Origin::Issued(Reason::Damaged));
    let only_key = |dir: &Path| fs::remove_file(dir.join("me.crt")).unwrap();
    check((&names, new_year()), only_key, Origin::Issued(Reason::Absent));
}

#[test]
fn it_cannot_take_the_place_of_other_files() {
    let dir = tempdir().unwrap();
    let authority = Authority::open_or_create(dir.path(), new_year()).unwrap();
    let validity = Validity { now: new_year(), lasts: HOUR };
    for name in ["ca", "service-account", "", ".", "..", "a/b", "../a", "a/"] {
        let refused = Identity::load_or_issue(&authority, dir.path(), name, &server(&["a"]), validity);
        assert!(matches!(refused, Err(Error::FileName { .. })), "{name:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}
