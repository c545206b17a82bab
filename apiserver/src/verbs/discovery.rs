//! `GET` of what is served here: discovery, OpenAPI and the version.

use crate::api::Api;
use crate::auth::Authorized;
use crate::backends::{Backend, Backends};
use crate::call::Call;
use crate::catalog::Catalog;
use crate::discovery::{Document, Documents, Schemas, documents, legacy, remote};
use crate::error::ApiError;
use crate::media::{Clause, Encoding, Offer};
use crate::place::Workspace;
use crate::relay::Outgoing;
use crate::render;
use crate::target::{Discovery, OpenApi};
use axum::response::Response;
use http::header::{self, HeaderValue};
use http::{HeaderName, Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

/// The aggregated form of discovery: everything in two answers.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const SPEC_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

pub(super) fn answer(api: &Api, workspace: &Workspace, what: &Discovery, call: &Call) -> Result<Response, ApiError> {
    let documents = documents_for(api, workspace, call)?;
    let catalog = documents.catalog();
    let backends = backends_for(api, workspace, call)?;
    if wants_aggregated(call) {
        match what {
            Discovery::Core => return Ok(cached(call, AGGREGATED, documents.core())),
            Discovery::Groups => {
                let joined = backends.map(|backends| with_others(api, workspace, documents.groups(), &backends));
                return Ok(cached(call, AGGREGATED, joined.as_ref().unwrap_or(documents.groups())));
            }
            _ => {}
        }
    }
    let tree = match what {
        Discovery::Core => Some(legacy::core()),
        Discovery::Groups => {
            let local = legacy::groups(catalog);
            Some(backends.map_or_else(|| local.clone(), |backends| remote::legacy(local.clone(), &backends)))
        }
        Discovery::Group(name) => group(catalog, name, backends.as_deref()),
        Discovery::Version { group, version } => {
            catalog.version(group, version).map(|found| legacy::version(group, found))
        }
    };
    let tree = tree.ok_or_else(ApiError::no_such_path)?;
    let encoding = match call.form(Offer::PLAIN)?.encoding {
        // These kinds have a protobuf form that nobody insists on.
        Encoding::Protobuf => Encoding::Json,
        text => text,
    };
    Ok(call.answer(StatusCode::OK, encoding, render::tree(&tree, encoding)?))
}

/// A group, with what others serve of it.
fn group(catalog: &Catalog, name: &str, backends: Option<&Backends>) -> Option<Value> {
    let found = catalog.group(name).filter(|group| !group.name.is_empty());
    let Some(backends) = backends.filter(|all| all.iter().any(|backend| backend.group == name)) else {
        return found.map(|group| legacy::group(group));
    };
    let groups: Vec<Value> = found.map(|group| legacy::group(group)).into_iter().collect();
    let mut all = remote::legacy(json!({ "groups": groups }), backends);
    let mut told = all["groups"].as_array_mut()?.iter_mut().find(|group| group["name"] == name)?.take();
    (told["kind"], told["apiVersion"]) = ("APIGroup".into(), "v1".into());
    Some(told)
}

/// The groups with those that others serve. Made when somebody asks: few workspaces have any.
fn with_others(api: &Api, workspace: &Workspace, groups: &Document, backends: &Backends) -> Document {
    let list = serde_json::from_slice(&groups.bytes).unwrap_or_default();
    let known = |backend: &Backend| api.relay.known(workspace, &backend.group, &backend.version);
    Document::new(remote::aggregated(list, backends, &known).to_string())
}

/// The index with the documents that others have.
fn index_with_others(api: &Api, workspace: &Workspace, index: &Document, backends: &Backends) -> Document {
    let mut list: Value = serde_json::from_slice(&index.bytes).unwrap_or_default();
    for backend in backends.iter() {
        let Backend { group, version, .. } = &**backend;
        let known = api.relay.known(workspace, group, version);
        if let Some(hash) = known.and_then(|known| known.schema_hash.clone()) {
            let place = documents::address(group, version, &hash);
            list["paths"][format!("apis/{group}/{version}")] = json!({ "serverRelativeURL": place });
        }
    }
    Document::new(list.to_string())
}

/// The document of a group version that somebody else serves, as they have it.
async fn schema_of(
    api: &Api,
    at: &Authorized<Workspace>,
    backend: &Backend,
    call: &Call,
) -> Result<Response, ApiError> {
    let mut headers = call.headers.clone();
    headers.remove(header::CONTENT_LENGTH);
    let outgoing = Outgoing {
        method: Method::GET,
        path_and_query: format!("/openapi/v3{}", backend.root()),
        headers,
        body: axum::body::Body::empty(),
        upgrade: None,
        client: None,
        host: call.authority.clone(),
        until: call.deadline,
    };
    api.relay.forward(at.get(), backend, at.user(), outgoing).await
}

/// Nor of what others serve.
fn backends_for(api: &Api, workspace: &Workspace, call: &Call) -> Result<Option<Arc<Backends>>, ApiError> {
    if call.passed_on || call.window.is_some() { Ok(None) } else { api.resources.backends(workspace) }
}

/// Another API server that this one stands behind is told of nothing but what it is offered, and whoever looks through a
/// window of what can be seen.
fn documents_for(api: &Api, workspace: &Workspace, call: &Call) -> Result<Arc<Documents>, ApiError> {
    if let Some(window) = &call.window {
        return Ok(api.documents_seen(&window.catalog));
    }
    match call.context {
        _ if call.passed_on => api.offered(workspace),
        Some(context) => api.documents_within(workspace, context),
        None => api.documents(workspace),
    }
}

/// The first clause that this server knows decides.
fn wants_aggregated(call: &Call) -> bool {
    let clauses = call.accept().unwrap_or_default().split(',').map(Clause::parse);
    let known = clauses.filter(|clause| matches!(clause.name, "application/json" | "*/*")).find(|clause| {
        clause.parameter("as").is_none() || (clause.parameter("v") == Some("v2") && is_discovery(clause))
    });
    known.is_some_and(|clause| is_discovery(&clause))
}

fn is_discovery(clause: &Clause<'_>) -> bool {
    clause.parameter("g") == Some("apidiscovery.k8s.io") && clause.parameter("as") == Some("APIGroupDiscoveryList")
}

pub(super) fn version(api: &Api, call: &Call) -> Result<Response, ApiError> {
    Ok(call.answer(StatusCode::OK, Encoding::Json, render::tree(&api.version, Encoding::Json)?))
}

pub(super) async fn openapi(
    api: &Api,
    at: &Authorized<Workspace>,
    what: &OpenApi,
    call: &Call,
) -> Result<Response, ApiError> {
    let workspace = at.get();
    let backends = backends_for(api, workspace, call)?;
    let documents = documents_for(api, workspace, call)?;
    let schemas = Schemas { resources: &api.resources, workspace };
    match what {
        OpenApi::V2 if asks_for(call, "application/com.github.proto-openapi.spec.v2") => {
            Ok(cached(call, SPEC_V2, documents.v2_protobuf(&schemas)))
        }
        OpenApi::V2 => Ok(cached(call, "application/json", documents.v2(&schemas))),
        OpenApi::Index => {
            let index = documents.index(&schemas);
            let joined = backends.map(|backends| index_with_others(api, workspace, index, &backends));
            Ok(cached(call, "application/json", joined.as_ref().unwrap_or(index)))
        }
        OpenApi::V3 { group, version } => {
            if let Some(backend) = backends.as_ref().and_then(|all| all.find(group, version)) {
                return schema_of(api, at, backend, call).await;
            }
            let found = documents.v3(group, version, &schemas);
            let document = found.ok_or_else(ApiError::no_such_path)?;
            v3(call, group, version, &document)
        }
    }
}

fn asks_for(call: &Call, media_type: &str) -> bool {
    call.accept().is_some_and(|accept| accept.split(',').any(|clause| clause.trim().starts_with(media_type)))
}

/// A document under its hash never changes; under another hash it is somewhere else.
fn v3(call: &Call, group: &str, version: &str, document: &Document) -> Result<Response, ApiError> {
    call.form(Offer { protobuf: false, tables: false, metadata: false, yaml: false })?;
    let mut response = match call.query.get("hash") {
        None => return Ok(cached(call, "application/json", document)),
        Some(hash) if hash == document.hash => cached(call, "application/json", document),
        Some(_) => {
            let place = documents::address(group, version, &document.hash);
            let mut moved = Response::new(axum::body::Body::empty());
            *moved.status_mut() = StatusCode::MOVED_PERMANENTLY;
            set(&mut moved, header::LOCATION, &place);
            return Ok(moved);
        }
    };
    set(&mut response, header::CACHE_CONTROL, "public, immutable, max-age=31536000");
    Ok(response)
}

/// A document that the client may have already.
fn cached(call: &Call, content_type: &str, document: &Document) -> Response {
    let tag = format!("\"{}\"", document.hash);
    let mut response = if call.header(header::IF_NONE_MATCH) == Some(&tag) {
        let mut unchanged = Response::new(axum::body::Body::empty());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        call.send(StatusCode::OK, content_type, document.bytes.clone().into())
    };
    set(&mut response, header::ETAG, &tag);
    set(&mut response, header::VARY, "Accept");
    set(&mut response, header::CACHE_CONTROL, "public");
    response
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
