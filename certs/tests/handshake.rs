//! Two ends of a TLS connection in memory: both trust the authority, and the server learns who the client is.

use std::sync::Arc;

use certs::{Authority, KeyPair, Validity};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use tempfile::tempdir;
use x509_parser::parse_x509_certificate;

use crate::{HOUR, hours, new_year, subject_name};

#[derive(Debug)]
struct At(UnixTime);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

fn at(hours_later: u32) -> Arc<At> {
    let since = (new_year() + HOUR * hours_later).duration_since(std::time::UNIX_EPOCH).unwrap();
    Arc::new(At(UnixTime::since_unix_epoch(since)))
}

fn roots(authority: &Authority) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.cert_pem().as_bytes()).unwrap()).unwrap();
    Arc::new(roots)
}

fn parts(pair: &KeyPair) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = CertificateDer::pem_slice_iter(pair.cert_chain_pem.as_bytes()).collect::<Result<_, _>>().unwrap();
    (chain, PrivateKeyDer::from_pem_slice(pair.key_pem.as_bytes()).unwrap())
}

fn server(authority: &Authority, pair: &KeyPair, later: u32) -> ServerConnection {
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(authority), provider.clone()).build().unwrap();
    let (chain, key) = parts(pair);
    let builder =
        ServerConfig::builder_with_details(provider, at(later)).with_safe_default_protocol_versions().unwrap();
    let config = builder.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn client(authority: &Authority, pair: &KeyPair, name: &'static str, later: u32) -> ClientConnection {
    let (chain, key) = parts(pair);
    let builder = ClientConfig::builder_with_details(Arc::new(default_provider()), at(later));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots(authority));
    let config = builder.with_client_auth_cert(chain, key).unwrap();
    ClientConnection::new(Arc::new(config), name.try_into().unwrap()).unwrap()
}

fn shake(client: &mut ClientConnection, server: &mut ServerConnection) -> Result<(), rustls::Error> {
    while client.wants_write() || server.wants_write() {
        let mut flight = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut flight).unwrap();
        }
        let mut rest = flight.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets()?;
        }
        flight.clear();
        while server.wants_write() {
            server.write_tls(&mut flight).unwrap();
        }
        let mut rest = flight.as_slice();
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets()?;
        }
    }
    Ok(())
}

/// Who the server sees, as `user: group group`, or why there is no connection.
fn check(dial: &'static str, later: u32, swapped: bool, expect: Result<&str, &str>) {
    let dir = tempdir().unwrap();
    let authority = Authority::open_or_create(dir.path(), new_year()).unwrap();
    let validity: Validity = hours(24);
    let names = ["localhost", "*.example.org", "127.0.0.1", "::1"].map(subject_name);
    let mut of_server = authority.issue_server(&names, validity).unwrap();
    let mut of_client = authority.issue_client("jörg", &["system:masters", "ops"], validity).unwrap();
    if swapped {
        std::mem::swap(&mut of_server, &mut of_client);
    }
    let mut server = server(&authority, &of_server, later);
    let mut client = client(&authority, &of_client, dial, later);
    let found = shake(&mut client, &mut server).map(|()| seen(&server)).map_err(|error| error.to_string());
    match expect {
        Ok(expect) => assert_eq!(found.as_deref(), Ok(expect), "{dial}"),
        Err(expect) => assert!(found.as_ref().is_err_and(|found| found.contains(expect)), "{dial}: {found:?}"),
    }
}

fn seen(server: &ServerConnection) -> String {
    let (_, certificate) = parse_x509_certificate(&server.peer_certificates().unwrap()[0]).unwrap();
    let subject = certificate.subject();
    let user = subject.iter_common_name().next().unwrap().as_str().unwrap();
    let groups: Vec<_> = subject.iter_organization().map(|group| group.as_str().unwrap()).collect();
    format!("{user}: {}", groups.join(" "))
}

#[test]
fn the_server_sees_the_user_and_all_groups() {
    for dial in ["localhost", "any.example.org", "127.0.0.1", "::1"] {
        check(dial, 0, false, Ok("jörg: system:masters ops"));
        check(dial, 23, false, Ok("jörg: system:masters ops"));
    }
}

#[test]
fn the_client_refuses_a_server_of_another_name() {
    for dial in ["example.org", "a.b.example.org", "127.0.0.2"] {
        check(dial, 0, false, Err("not valid for name"));
    }
}

#[test]
fn expired_certificates_are_refused() {
    check("localhost", 25, false, Err("certificate expired"));
}

#[test]
fn a_client_certificate_does_not_make_a_server() {
    check("localhost", 0, true, Err("certificate"));
}
