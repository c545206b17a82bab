//! What a request says in its path and in its query.
//!
//! Query parameters are the fields of the options type of a verb, as a Kubernetes API server reads them: every field
//! that one word can say, lists by one item at a time.

use std::borrow::Cow;

use crate::builtin::{Element, Type, kind_in};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    Path,
    Query,
}

/// Ordered as documents list them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: Place,
    /// In the words of JSON schema.
    pub(super) word: &'static str,
    pub(super) description: Cow<'static, str>,
}

impl Parameter {
    pub(super) fn in_path(name: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Parameter { name, place: Place::Path, word: "string", description: description.into() }
    }

    fn in_query(name: &'static str, word: &'static str) -> Self {
        Parameter { name, place: Place::Query, word, description: description(name).into() }
    }
}

pub(super) fn namespace() -> Parameter {
    Parameter::in_path("namespace", "name of the namespace that the object is in")
}

pub(super) fn pretty() -> Parameter {
    Parameter::in_query("pretty", "string")
}

/// The query parameters that fill an options type, `CreateOptions` say.
pub(super) fn named(options: &str) -> Vec<Parameter> {
    kind_in("v1", options).map(of).unwrap_or_default()
}

pub(super) fn of(options: &'static Type) -> Vec<Parameter> {
    let fields = options.json_fields().filter(|field| !matches!(field.name, "apiVersion" | "kind"));
    fields.filter_map(|field| Some(Parameter::in_query(field.name, word(field.element)?))).collect()
}

fn word(element: Element) -> Option<&'static str> {
    match element {
        Element::String => Some("string"),
        Element::Bool => Some("boolean"),
        Element::Int32 | Element::Int64 => Some("integer"),
        _ => None,
    }
}

/// Deleting many: how to delete and what, but nothing about watching.
pub(super) fn deletecollection() -> Vec<Parameter> {
    let mut all = named("ListOptions");
    all.retain(|parameter| !matches!(parameter.name, "allowWatchBookmarks" | "watch"));
    all.extend(named("DeleteOptions"));
    all
}

fn description(name: &str) -> &'static str {
    match name {
        "allowWatchBookmarks" => "ask for BOOKMARK events, which tell how far a watch has come",
        "command" => "the command to run, one parameter for each of its words",
        "container" => "the container of the pod; needed where it has more than one",
        "continue" => "the token of an earlier answer, to go on where that one ended",
        "dryRun" => "All: do everything but store the result",
        "fieldManager" => "who is to own the fields that this request sets",
        "fieldSelector" => "take only objects whose fields have these values",
        "fieldValidation" => "what to do about unknown and duplicate fields: Ignore, Warn or Strict",
        "follow" => "keep sending what is logged from now on",
        "force" => "apply: take fields away from those who own them",
        "gracePeriodSeconds" => "how long the object may take to end; 0 is at once",
        "ignoreStoreReadErrorWithClusterBreakingPotential" => "delete even what can no longer be read",
        "insecureSkipTLSVerifyBackend" => "do not verify the certificate of the node",
        "labelSelector" => "take only objects whose labels match",
        "limit" => "how many objects one answer may hold",
        "limitBytes" => "how many bytes of the log to send at most",
        "orphanDependents" => "deprecated: use propagationPolicy",
        "path" => "the path of the proxied request",
        "ports" => "the ports to forward",
        "pretty" => "true: indent the answer",
        "previous" => "the log of the container that ran before this one",
        "propagationPolicy" => "what becomes of dependents: Orphan, Background or Foreground",
        "resourceVersion" => "how recent the answer must be",
        "resourceVersionMatch" => "how resourceVersion is meant: Exact or NotOlderThan",
        "sendInitialEvents" => "begin a watch with all objects as they are",
        "shardSelector" => "take only objects of this shard",
        "sinceSeconds" => "what was logged within so many seconds",
        "stderr" => "attach the error stream",
        "stdin" => "attach the input stream",
        "stdout" => "attach the output stream",
        "stream" => "which stream of the log to send: All, Stdout or Stderr",
        "tailLines" => "how many of the last lines to send",
        "timeoutSeconds" => "how long the call may take",
        "timestamps" => "begin every line with its time",
        "tty" => "attach a terminal",
        "watch" => "send changes as they happen",
        _ => "",
    }
}
