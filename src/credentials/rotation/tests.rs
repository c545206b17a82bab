//! Certificates that end while connections are open, and keys that change while tokens are about.

use super::super::{Authorities, Credentials};
use super::*;
use apiserver::auth::{Claims, TokenIssuer};
use openapi::scalar::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::client::TlsStream as Client;
use tokio_rustls::rustls::pki_types::{ServerName, UnixTime};
use tokio_rustls::rustls::time_provider::TimeProvider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream as Server;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const BEGIN: u64 = 1_800_000_000;
const DAY: u64 = 24 * 3600;

fn at(secs: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(secs)
}

fn ambient(secs: u64) -> Ambient {
    Ambient::new(move || Instant { seconds: i64::try_from(secs).unwrap(), nanos: 0 }, || 1)
}

#[derive(Debug)]
struct Time(u64);

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0)))
    }
}

/// A connection of a client that trusts the authority, at a time.
async fn connect(
    tls: &Arc<ServerConfig>,
    ca_pem: &str,
    secs: u64,
) -> std::io::Result<(Client<DuplexStream>, Server<DuplexStream>)> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_details(Arc::new(default_provider()), Arc::new(Time(secs)));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let name = ServerName::try_from("localhost").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let acceptor = TlsAcceptor::from(tls.clone());
    let (client, server) = tokio::join!(connector.connect(name, ours), acceptor.accept(theirs));
    Ok((client?, server?))
}

fn shown(client: &Client<DuplexStream>) -> Vec<u8> {
    client.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

#[tokio::test]
async fn a_certificate_is_renewed_before_it_ends_and_open_connections_do_not_notice() {
    let dir = tempfile::tempdir().unwrap();
    let credentials = Credentials::open(dir.path(), &[], Authorities::default(), &ambient(BEGIN)).unwrap();
    let address = "127.0.0.1:6443".parse().unwrap();
    let kubeconfig = credentials.write_kubeconfig(address).unwrap();
    let before = std::fs::read_to_string(&kubeconfig).unwrap();
    let (mut client, mut server) = connect(&credentials.tls, &credentials.ca_pem, BEGIN).await.unwrap();
    assert!(!credentials.renewal.renew(address, at(BEGIN + 200 * DAY)).unwrap(), "there is time");
    assert!(connect(&credentials.tls, &credentials.ca_pem, BEGIN + 400 * DAY).await.is_err(), "it has ended by then");
    assert!(credentials.renewal.renew(address, at(BEGIN + 250 * DAY)).unwrap());
    let (later, _server) = connect(&credentials.tls, &credentials.ca_pem, BEGIN + 400 * DAY).await.unwrap();
    assert_ne!(shown(&client), shown(&later), "the same configuration shows another certificate");
    assert_ne!(std::fs::read_to_string(&kubeconfig).unwrap(), before, "the administrator has a new one, too");
    client.write_all(b"still").await.unwrap();
    client.flush().await.unwrap();
    let mut heard = [0; 5];
    server.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"still");
    assert!(!credentials.renewal.renew(address, at(BEGIN + 251 * DAY)).unwrap(), "once is enough");
}

fn claims() -> Claims {
    Claims {
        id: "1".to_owned(),
        workspace: "w".to_owned(),
        namespace: "n".to_owned(),
        name: "a".to_owned(),
        uid: "u".to_owned(),
        audiences: vec!["i".to_owned()],
        issued: 0,
        expires: 100,
        bound: None,
    }
}

#[test]
fn tokens_of_former_keys_are_good_until_those_are_retired() {
    let dir = tempfile::tempdir().unwrap();
    let flags = |signing: Option<PathBuf>, accepted: &[PathBuf]| TokenKeys {
        dir: dir.path().join("certs"),
        signing,
        accepted: accepted.to_vec(),
    };
    std::fs::create_dir(dir.path().join("certs")).unwrap();
    let plain = flags(None, &[]);
    let issuer = TokenIssuer::with("i", plain.read().unwrap());
    let old = issuer.sign(&claims()).unwrap();
    let stamp = plain.stamp();
    rotate_token_key(dir.path(), &ambient(BEGIN)).unwrap();
    assert_ne!(plain.stamp(), stamp, "it is noticed");
    issuer.use_keys(plain.read().unwrap());
    let new = issuer.sign(&claims()).unwrap();
    assert_eq!(issuer.public()["keys"].as_array().unwrap().len(), 2);
    assert!(issuer.verify(&old, 1).is_some() && issuer.verify(&new, 1).is_some());
    assert_eq!(retire_token_keys(dir.path()).unwrap(), 1);
    issuer.use_keys(plain.read().unwrap());
    assert!(issuer.verify(&old, 1).is_none() && issuer.verify(&new, 1).is_some());
    // A key of somebody's choice signs, and another one's tokens are good.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = SigningKey::open_or_create(elsewhere.path()).unwrap();
    let path = elsewhere.path().join("service-account.key");
    issuer.use_keys(flags(Some(path.clone()), &[]).read().unwrap());
    let theirs = issuer.sign(&claims()).unwrap();
    issuer.use_keys(plain.read().unwrap());
    assert!(issuer.verify(&theirs, 1).is_none());
    std::fs::write(&path, other.public_pem()).unwrap();
    issuer.use_keys(flags(None, &[path]).read().unwrap());
    assert!(issuer.verify(&theirs, 1).is_some() && issuer.verify(&new, 1).is_some());
}
