//! Tokens of service accounts: made on request, and checked against what they are bound to.

use super::Resources;
use crate::auth::{Audience, Authorized, Claims, TokenIssuer, User};
use crate::authn::Bearer;
use crate::authn::bootstrap::{self, BootstrapToken};
use crate::body::Body;
use crate::error::ApiError;
use crate::object::{Object, timestamp};
use crate::options::FieldValidation;
use crate::place::{Collection, ObjectRef, Workspace};
use openapi::FieldError;
use openapi::builtin;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};

const API_VERSION: &str = "authentication.k8s.io/v1";
const KIND: &str = "TokenRequest";

/// What Kubernetes bounds the life of a token by, in seconds.
const LIFE_MIN: i64 = 600;
const LIFE_MAX: i64 = 1 << 32;

impl Resources {
    /// A token for the service account at `at`.
    pub async fn token(
        &self,
        at: &Authorized<ObjectRef>,
        body: &Body,
        issuer: &TokenIssuer,
    ) -> Result<Value, ApiError> {
        let target = at.get();
        let ty = builtin::kind_in(API_VERSION, KIND).ok_or_else(|| ApiError::internal("there is no TokenRequest"))?;
        let request = body.decode_as(API_VERSION, KIND, ty, FieldValidation::Ignore)?.object;
        let account = self.find(target)?.ok_or_else(|| ApiError::not_found(target.resource(), &target.name))?.object;
        let secs = request.pointer(&["spec", "expirationSeconds"]).and_then(Value::as_i64).unwrap_or(3600);
        check_life(secs)?;
        let audiences = audiences(&request, issuer);
        let now = self.inner.ambient.now();
        let expires = Instant { seconds: now.seconds + secs, nanos: 0 };
        let claims = Claims {
            id: self.inner.ambient.uid(),
            workspace: target.workspace().as_str().to_owned(),
            namespace: account.namespace().to_owned(),
            name: account.name().to_owned(),
            uid: account.uid().to_owned(),
            audiences: audiences.clone(),
            issued: now.seconds,
            expires: expires.seconds,
            bound: self.bound_object(target, &request)?,
        };
        let token = issuer.sign(&claims).map_err(|error| ApiError::internal(error.to_string()))?;
        let mut told = answer(&request, audiences, secs, &token, expires);
        told["metadata"] = json!({
            "name": account.name(), "namespace": account.namespace(), "uid": self.inner.ambient.uid(),
            "creationTimestamp": timestamp(now),
        });
        Ok(told)
    }

    /// Who a token of this server belongs to, if it is still good: one of a service account, or of somebody who joins the
    /// workspace in which it is shown.
    pub fn bearer(&self, token: &str, issuer: &TokenIssuer, workspace: &Workspace) -> Option<Bearer> {
        if let Some(joining) = BootstrapToken::parse(token) {
            let secret = self.lookup("secrets", workspace, bootstrap::NAMESPACE, &joining.kept_in())?;
            let user = joining.user(&secret, self.inner.ambient.now())?;
            return Some(Bearer { user: User { within: Some(workspace.clone()), ..user }, audiences: None });
        }
        let claims = issuer.verify(token, self.inner.ambient.now().seconds)?;
        let home = Workspace::new(&claims.workspace);
        let account = self.lookup("serviceaccounts", &home, &claims.namespace, &claims.name)?;
        if account.uid() != claims.uid || account.is_deleting() {
            return None;
        }
        if let Some(bound) = &claims.bound {
            let plural = format!("{}s", bound.kind.to_lowercase());
            let namespace = if plural == "nodes" { "" } else { &claims.namespace };
            let object = self.lookup(&plural, &home, namespace, &bound.name)?;
            if object.uid() != bound.uid {
                return None;
            }
        }
        Some(Bearer { user: User { within: Some(home), ..claims.user() }, audiences: Some(claims.audiences) })
    }

    fn lookup(&self, plural: &str, workspace: &Workspace, namespace: &str, name: &str) -> Option<Object> {
        let resource = self.builtin().find("", "v1", plural)?.clone();
        let namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        let place = Collection { resource, workspace: workspace.clone(), namespace };
        self.find(&place.object(name)).ok().flatten().map(|found| found.object)
    }

    /// What the token should not outlive.
    fn bound_object(&self, at: &ObjectRef, request: &Object) -> Result<Option<crate::auth::Bound>, ApiError> {
        let Some(reference) = request.pointer(&["spec", "boundObjectRef"]).filter(|value| value.is_object()) else {
            return Ok(None);
        };
        let word = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, name, uid) = (word("kind"), word("name"), word("uid"));
        let plural = match &*kind {
            "Pod" => "pods",
            "Secret" => "secrets",
            "Node" => "nodes",
            _ => {
                let api_version = word("apiVersion");
                let slash = if api_version.contains('/') { "" } else { "/" };
                let message = format!("cannot bind token to object of type {slash}{api_version}, Kind={kind}");
                return Err(ApiError::bad_request(message));
            }
        };
        let namespace = if kind == "Node" { "" } else { at.namespace().unwrap_or_default() };
        let missing = || match self.builtin().find("", "v1", plural) {
            Some(resource) => ApiError::not_found(resource, &name),
            None => ApiError::no_such_path(),
        };
        let object = self.lookup(plural, at.workspace(), namespace, &name).ok_or_else(missing)?;
        if !uid.is_empty() && uid != object.uid() {
            let why = format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
            );
            return Err(ApiError::conflict(at.resource(), &name, &why));
        }
        Ok(Some(crate::auth::Bound { kind, name, uid: object.uid().to_owned() }))
    }
}

fn check_life(secs: i64) -> Result<(), ApiError> {
    let why = match secs {
        ..LIFE_MIN => "may not specify a duration less than 10 minutes",
        LIFE_MIN..=LIFE_MAX => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let error = FieldError::invalid("spec.expirationSeconds", secs, why);
    Err(ApiError::invalid("authentication.k8s.io", KIND, "", &[error]))
}

fn audiences(request: &Object, issuer: &TokenIssuer) -> Vec<Audience> {
    let asked = request.pointer(&["spec", "audiences"]).and_then(Value::as_array);
    let asked: Vec<String> = asked.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    if asked.is_empty() { issuer.audiences().to_vec() } else { asked }
}

fn answer(request: &Object, audiences: Vec<Audience>, secs: i64, token: &str, expires: Instant) -> Value {
    let bound = request.pointer(&["spec", "boundObjectRef"]).cloned().unwrap_or(Value::Null);
    json!({
        "kind": KIND, "apiVersion": API_VERSION,
        "spec": { "audiences": audiences, "expirationSeconds": secs, "boundObjectRef": bound },
        "status": { "token": token, "expirationTimestamp": timestamp(expires) },
    })
}
