//! What every test stands on: a client, a namespace of its own, and an end to waiting.

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

/// How long a condition may take to come about, on a machine that builds something else at the same time.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn client() -> Client {
    assert!(std::env::var_os("KUBECONFIG").is_some(), "KUBECONFIG names no server");
    Client::try_default().await.expect("a client of $KUBECONFIG")
}

/// A namespace that nobody else uses.
pub(crate) async fn namespace(client: &Client) -> String {
    let metadata = ObjectMeta { generate_name: Some("rust-".to_owned()), ..ObjectMeta::default() };
    let wanted = Namespace { metadata, ..Namespace::default() };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &wanted).await.expect("a namespace").name_any()
}

pub(crate) async fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), &namespace(client).await)
}

pub(crate) fn config_map(name: &str, data: &[(&str, &str)]) -> ConfigMap {
    let labels = BTreeMap::from([("app".to_owned(), "clients".to_owned())]);
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() };
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}

pub(crate) async fn make(maps: &Api<ConfigMap>, name: &str, data: &[(&str, &str)]) -> ConfigMap {
    maps.create(&PostParams::default(), &config_map(name, data)).await.expect("created")
}

pub(crate) async fn delete(maps: &Api<ConfigMap>, name: &str) {
    drop(maps.delete(name, &DeleteParams::default()).await.expect("deleted"));
}

/// The value of a key.
pub(crate) fn value<'a>(map: &'a ConfigMap, key: &str) -> Option<&'a str> {
    map.data.as_ref()?.get(key).map(String::as_str)
}

/// What comes, within reason.
pub(crate) async fn soon<T>(what: &str, coming: impl Future<Output = T>) -> T {
    let told = tokio::time::timeout(PATIENCE, coming).await;
    told.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

/// The next of a stream.
pub(crate) async fn next<T>(what: &str, stream: &mut Pin<Box<dyn Stream<Item = T> + Send>>) -> T {
    soon(what, stream.next()).await.unwrap_or_else(|| panic!("{what}: the stream has ended"))
}
