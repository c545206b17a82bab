//! Keys and certificates as others see them: openssl, rustls, a reader of YAML, and the next start.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod authority;
mod handshake;
mod identity;
mod kubeconfig;
mod signing;

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use certs::{Subject, SubjectName, Validity};

const HOUR: Duration = Duration::from_secs(3600);

/// 2026-01-01: all tests are on this day, whatever day it is.
fn new_year() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_767_225_600)
}

fn hours(count: u32) -> Validity {
    Validity { now: new_year(), lasts: HOUR * count }
}

fn server(names: &[&str]) -> Subject {
    Subject::Server { names: names.iter().map(|name| subject_name(name)).collect() }
}

fn subject_name(name: &str) -> SubjectName {
    name.parse().map_or_else(|_| SubjectName::Dns(name.to_owned()), SubjectName::Ip)
}

fn client(user: &str, groups: &[&str]) -> Subject {
    Subject::Client { user: user.to_owned(), groups: groups.iter().map(|group| (*group).to_owned()).collect() }
}

/// What openssl prints; its complaint is the test's.
fn openssl(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("openssl").args(arguments).current_dir(dir).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// An error and all its reasons, as a log would show them.
fn chain(error: &(dyn Error + 'static)) -> String {
    let reasons = std::iter::successors(Some(error), |error| (*error).source());
    reasons.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
