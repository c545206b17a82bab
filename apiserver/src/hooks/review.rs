//! What a hook is sent: an `AdmissionReview`.

use super::Ask;
use super::view::View;
use super::webhook::Webhook;
use crate::auth::User;
use crate::object::Object;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    V1Beta1,
}

impl ReviewVersion {
    /// The first of those that a hook knows which is known here.
    fn choose(known: &[String]) -> Option<Self> {
        known.iter().find_map(|version| match version.as_str() {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        })
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}

/// A question, and what the answer to it has to carry.
#[derive(Debug)]
pub(super) struct Review {
    pub(super) version: ReviewVersion,
    pub(super) uid: String,
    pub(super) bytes: Bytes,
}

impl Review {
    pub(super) fn new(webhook: &Webhook, ask: &Ask<'_>, view: &View<'_>) -> Result<Self, String> {
        let version = ReviewVersion::choose(&webhook.review_versions)
            .ok_or("webhook does not accept known AdmissionReview versions (v1, v1beta1)")?;
        let uid = ask.ambient.uid();
        let request = Request {
            uid: Some(&uid),
            object: Some(view.object().map(Object::map)),
            old_object: Some(view.old().map(Object::map)),
            ..Request::about(ask, view)
        };
        let api_version = format!("admission.k8s.io/{}", version.word());
        let review = AdmissionReview { kind: "AdmissionReview", api_version, request };
        let bytes = serde_json::to_vec(&review).map_err(|error| error.to_string())?.into();
        Ok(Self { version, uid, bytes })
    }
}

/// The request as match conditions see it.
pub(crate) fn without_objects(ask: &Ask<'_>, view: &View<'_>) -> Value {
    serde_json::to_value(Request::about(ask, view)).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionReview<'a> {
    kind: &'a str,
    api_version: String,
    request: Request<'a>,
}

type Tree<'a> = Option<&'a Map<String, Value>>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'a str>,
    kind: GroupVersionKind<'a>,
    resource: GroupVersionResource<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    sub_resource: &'a str,
    request_kind: GroupVersionKind<'a>,
    request_resource: GroupVersionResource<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    request_sub_resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    operation: &'a str,
    user_info: UserInfo<'a>,
    /// Null where there is none; left out where nobody asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Tree<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_object: Option<Tree<'a>>,
    dry_run: bool,
    options: &'a Value,
}

impl<'a> Request<'a> {
    fn about(ask: &'a Ask<'a>, view: &'a View<'a>) -> Self {
        let (asked, seen) = (ask.resource, view.resource(ask));
        Self {
            uid: None,
            kind: GroupVersionKind::of(&view.kind().api_version, &view.kind().kind),
            resource: GroupVersionResource { group: &seen.group, version: &seen.version, resource: &seen.plural },
            sub_resource: ask.subresource,
            request_kind: GroupVersionKind::requested(ask),
            request_resource: GroupVersionResource {
                group: &asked.group,
                version: &asked.version,
                resource: &asked.plural,
            },
            request_sub_resource: ask.subresource,
            name: ask.name,
            namespace: ask.namespace(),
            operation: ask.operation.word(),
            user_info: UserInfo::of(ask.user),
            object: None,
            old_object: None,
            dry_run: ask.dry_run,
            options: ask.options,
        }
    }
}

#[derive(Serialize)]
struct GroupVersionKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl<'a> GroupVersionKind<'a> {
    fn of(api_version: &'a str, kind: &'a str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group, version, kind }
    }

    fn requested(ask: &'a Ask<'a>) -> Self {
        match ask.resource.subresource(ask.subresource).and_then(|part| part.kind.as_ref()) {
            Some((api_version, kind)) => Self::of(api_version, kind),
            None => Self { group: &ask.resource.group, version: &ask.resource.version, kind: &ask.resource.kind },
        }
    }
}

#[derive(Serialize)]
struct GroupVersionResource<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
}

#[derive(Serialize)]
struct UserInfo<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    username: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: &'a BTreeMap<String, Vec<String>>,
}

impl<'a> UserInfo<'a> {
    fn of(user: &'a User) -> Self {
        Self { username: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra }
    }
}
