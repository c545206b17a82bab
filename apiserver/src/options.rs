//! What the query of a request says, beside its path.

use crate::error::ApiError;
use crate::selector::{FieldSelector, LabelSelector};
use crate::view::Seeing;
use openapi::FieldError;
use serde_json::{Value, json};

/// When nobody waits for an answer any more.
pub type Deadline = tokio::time::Instant;

/// The parameters of a query, in their order.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn parse(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).map(|(key, value)| (key.into(), value.into())).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// As Kubernetes reads a flag: there at all means yes, unless it says no.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    fn number(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        let read = text
            .parse()
            .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")));
        read.map(Some)
    }
}

/// Which objects of a collection are meant.
#[derive(Clone, Debug)]
pub struct Selection {
    pub labels: LabelSelector,
    pub fields: FieldSelector,
    /// What of it somebody gets to see.
    pub view: Seeing,
}

impl Default for Selection {
    fn default() -> Self {
        Self::parse(&Query::default()).unwrap_or_else(|_| unreachable!("an empty selector can be read"))
    }
}

impl Selection {
    pub fn parse(query: &Query) -> Result<Self, ApiError> {
        let labels = query.get("labelSelector").unwrap_or_default();
        let fields = query.get("fieldSelector").unwrap_or_default();
        Ok(Self {
            labels: LabelSelector::parse(labels).map_err(|error| ApiError::bad_request(error.to_string()))?,
            fields: FieldSelector::parse(fields).map_err(|error| ApiError::bad_request(error.to_string()))?,
            view: None,
        })
    }

    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything() && self.view.is_none()
    }
}

/// How exactly a `resourceVersion` is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Exact,
    NotOlderThan,
}

/// Which state of a collection is asked for.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    pub selection: Selection,
    pub limit: usize,
    pub token: Option<String>,
    /// `None` where it was not given or empty; `Some(0)` is anything.
    pub revision: Option<u64>,
    pub matching: Option<Match>,
    pub watch: WatchOptions,
}

#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    pub bookmarks: bool,
    pub initial_events: Option<bool>,
    pub timeout_secs: Option<u64>,
}

impl ListOptions {
    pub fn parse(query: &Query, watching: bool) -> Result<Self, ApiError> {
        let revision = query.get("resourceVersion").filter(|text| !text.is_empty()).map(revision).transpose()?;
        let matching = query.get("resourceVersionMatch").filter(|text| !text.is_empty());
        let options = Self {
            selection: Selection::parse(query)?,
            limit: query.number("limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(0),
            token: query.get("continue").filter(|token| !token.is_empty()).map(str::to_owned),
            revision,
            matching: match matching {
                Some("Exact") => Some(Match::Exact),
                Some("NotOlderThan") => Some(Match::NotOlderThan),
                _ => None,
            },
            watch: WatchOptions {
                bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
                initial_events: query.flag("sendInitialEvents"),
                timeout_secs: query.number("timeoutSeconds")?.and_then(|secs| u64::try_from(secs).ok()),
            },
        };
        let errors = if watching { options.watch_errors(matching) } else { options.list_errors(matching) };
        if errors.is_empty() { Ok(options) } else { Err(ApiError::invalid_options("ListOptions", &errors)) }
    }

    fn list_errors(&self, matching: Option<&str>) -> Vec<FieldError> {
        let field = "resourceVersionMatch";
        let mut errors = Vec::new();
        if let Some(word) = matching {
            if self.revision.is_none() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(FieldError::forbidden(field, why));
            }
            if self.token.is_some() {
                let why = "resourceVersionMatch is forbidden when continue is provided";
                errors.push(FieldError::forbidden(field, why));
            }
            if self.matching.is_none() {
                errors.push(FieldError::not_supported(field, word, &["Exact", "NotOlderThan", ""]));
            }
            if self.matching == Some(Match::Exact) && self.revision == Some(0) {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(FieldError::forbidden(field, why));
            }
        }
        if self.watch.initial_events.is_some() {
            errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        errors
    }

    fn watch_errors(&self, matching: Option<&str>) -> Vec<FieldError> {
        let field = "resourceVersionMatch";
        let mut errors = Vec::new();
        if self.watch.initial_events.is_some() && self.matching != Some(Match::NotOlderThan) {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(FieldError::forbidden(field, why));
        }
        if self.watch.initial_events.is_none() && matching.is_some() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(field, why));
        }
        if let (Some(word), true) = (matching, self.matching != Some(Match::NotOlderThan)) {
            errors.push(FieldError::not_supported(field, word, &["NotOlderThan"]));
        }
        errors
    }
}

/// A revision as clients write it.
pub fn revision(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| {
        ApiError::bad_request(format!("invalid resource version: strconv.ParseUint: parsing {text:?}: invalid syntax"))
    })
}

/// What happens to fields that nobody knows, or that are said twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// How a write is to be done.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    pub dry_run: bool,
    pub validation: FieldValidation,
    pub field_manager: String,
    /// It is not kept who owns what: for what nobody but this server writes.
    pub unowned: bool,
    pub force: Option<bool>,
    /// When nobody waits for the answer any more.
    pub deadline: Option<Deadline>,
    /// What somebody gets to see, and so may write.
    pub view: Seeing,
}

/// Kubernetes' bound on the name of whoever owns a field.
const FIELD_MANAGER_CHARS_MAX: usize = 128;

impl WriteOptions {
    pub fn until(self, deadline: Option<Deadline>) -> Self {
        Self { deadline, ..self }
    }

    pub fn seeing(self, view: Seeing) -> Self {
        Self { view, ..self }
    }

    /// `kind`: `CreateOptions` or `UpdateOptions`.
    pub fn parse(query: &Query, kind: &str, user_agent: &str) -> Result<Self, ApiError> {
        Self::parse_after(Vec::new(), query, kind, user_agent)
    }

    /// The options as an object, for those who are asked about a write. `kind` is what they are called.
    pub fn told(&self, kind: &str) -> Value {
        let mut told = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
        if self.dry_run {
            told["dryRun"] = json!(["All"]);
        }
        if !self.field_manager.is_empty() {
            told["fieldManager"] = self.field_manager.as_str().into();
        }
        if let Some(force) = self.force {
            told["force"] = force.into();
        }
        told["fieldValidation"] = match self.validation {
            FieldValidation::Ignore => "Ignore",
            FieldValidation::Warn => "Warn",
            FieldValidation::Strict => "Strict",
        }
        .into();
        told
    }

    /// Whoever applies has to say who they are, and nobody else may use force.
    pub fn parse_patch(query: &Query, applies: bool, user_agent: &str) -> Result<Self, ApiError> {
        let mut errors = Vec::new();
        if applies && query.get("fieldManager").unwrap_or_default().is_empty() {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        }
        if !applies && query.get("force").is_some() {
            errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
        }
        Self::parse_after(errors, query, "PatchOptions", user_agent)
    }

    fn parse_after(mut errors: Vec<FieldError>, query: &Query, kind: &str, user_agent: &str) -> Result<Self, ApiError> {
        let asked: Vec<&str> = query.all("dryRun").filter(|word| !word.is_empty()).collect();
        errors.extend(dry_run_error(&asked));
        let word = query.get("fieldValidation").unwrap_or_default();
        let validation = match word {
            "Ignore" => FieldValidation::Ignore,
            "Warn" | "" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let known = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported("fieldValidation", other, &known));
                FieldValidation::Warn
            }
        };
        let given = query.get("fieldManager").filter(|name| !name.is_empty());
        errors.extend(given.and_then(manager_error));
        if !errors.is_empty() {
            return Err(ApiError::invalid_options(kind, &errors));
        }
        let agent = user_agent.split('/').next().unwrap_or_default();
        let agent: String = agent.chars().take(FIELD_MANAGER_CHARS_MAX).collect();
        Ok(Self {
            dry_run: query.get("dryRun").is_some(),
            validation,
            field_manager: given.map_or(agent, str::to_owned),
            unowned: false,
            force: query.flag("force"),
            deadline: None,
            view: None,
        })
    }
}

fn manager_error(name: &str) -> Option<FieldError> {
    if name.chars().count() > FIELD_MANAGER_CHARS_MAX {
        return Some(FieldError::too_long("fieldManager", FIELD_MANAGER_CHARS_MAX));
    }
    let odd = name.chars().find(|letter| letter.is_control())?;
    Some(FieldError::invalid("fieldManager", name, format!("should only contain printable characters: {odd:?}")))
}

fn dry_run_error(asked: &[&str]) -> Option<FieldError> {
    let unknown = asked.iter().any(|word| *word != "All");
    unknown.then(|| FieldError::not_supported("dryRun", asked.to_vec(), &["All"]))
}

/// How an object is to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    pub dry_run: bool,
    pub grace_secs: Option<i64>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub propagation: Option<Propagation>,
    /// The old way to say it: it changes the code of the answer.
    pub orphan_dependents: Option<bool>,
    /// When nobody waits for the answer any more.
    pub deadline: Option<Deadline>,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Orphan,
    Background,
    Foreground,
}

impl Propagation {
    fn word(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

/// Whoever sends another kind meant something else than to delete.
fn is_delete_options(body: &Value) -> Result<&Value, ApiError> {
    match body.get("kind").and_then(Value::as_str) {
        None | Some("" | "DeleteOptions") => Ok(body),
        Some(kind) => {
            let why = format!("the kind in the data ({kind}) does not match the expected kind (DeleteOptions)");
            Err(ApiError::bad_request(why))
        }
    }
}

impl DeleteOptions {
    pub fn until(self, deadline: Option<Deadline>) -> Self {
        Self { deadline, ..self }
    }

    /// The options as an object, for those who are asked about a deletion.
    pub fn told(&self) -> Value {
        let mut told = json!({ "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1" });
        if self.dry_run {
            told["dryRun"] = json!(["All"]);
        }
        if let Some(secs) = self.grace_secs {
            told["gracePeriodSeconds"] = secs.into();
        }
        if let Some(propagation) = self.propagation {
            told["propagationPolicy"] = format!("{propagation:?}").into();
        }
        if let Some(orphan) = self.orphan_dependents {
            told["orphanDependents"] = orphan.into();
        }
        for (field, value) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(value) = value {
                told["preconditions"][field] = value.as_str().into();
            }
        }
        told
    }

    /// The body says it if there is one, the query otherwise.
    pub fn read(query: &Query, body: Option<&Value>) -> Result<Self, ApiError> {
        let asked: Vec<&str> = query.all("dryRun").filter(|word| !word.is_empty()).collect();
        let mut errors: Vec<FieldError> = dry_run_error(&asked).into_iter().collect();
        let mut options = match body {
            Some(body) => Self::from_body(is_delete_options(body)?, &mut errors),
            None => Self::from_query(query, &mut errors)?,
        };
        options.dry_run |= query.get("dryRun").is_some();
        if let (Some(policy), Some(_)) = (options.propagation, options.orphan_dependents) {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid("propagationPolicy", policy.word(), why));
        }
        if errors.is_empty() { Ok(options) } else { Err(ApiError::invalid_options("DeleteOptions", &errors)) }
    }

    fn from_body(body: &Value, errors: &mut Vec<FieldError>) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let preconditions = body.get("preconditions");
        let dry_run: Vec<&str> =
            body.get("dryRun").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        errors.extend(dry_run_error(&dry_run));
        Self {
            dry_run: !dry_run.is_empty(),
            grace_secs: body.get("gracePeriodSeconds").and_then(Value::as_i64),
            uid: text(preconditions.and_then(|all| all.get("uid"))),
            resource_version: text(preconditions.and_then(|all| all.get("resourceVersion"))),
            propagation: body.get("propagationPolicy").and_then(Value::as_str).and_then(|w| propagation(w, errors)),
            orphan_dependents: body.get("orphanDependents").and_then(Value::as_bool),
            deadline: None,
        }
    }

    fn from_query(query: &Query, errors: &mut Vec<FieldError>) -> Result<Self, ApiError> {
        Ok(Self {
            dry_run: false,
            grace_secs: query.number("gracePeriodSeconds")?,
            uid: None,
            resource_version: None,
            propagation: query.get("propagationPolicy").and_then(|word| propagation(word, errors)),
            orphan_dependents: query.flag("orphanDependents"),
            deadline: None,
        })
    }
}

fn propagation(word: &str, errors: &mut Vec<FieldError>) -> Option<Propagation> {
    match word {
        "Orphan" => Some(Propagation::Orphan),
        "Background" => Some(Propagation::Background),
        "Foreground" => Some(Propagation::Foreground),
        "" => None,
        other => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported("propagationPolicy", other, &known));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list(query: &str, watching: bool) -> Result<ListOptions, String> {
        ListOptions::parse(&Query::parse(query), watching).map_err(|error| format!("{} {error}", error.code()))
    }

    #[test]
    fn options_that_do_not_go_together_are_refused() {
        let refused = |query, watching, code: &str| {
            let told = list(query, watching).unwrap_err();
            assert!(told.starts_with(code), "{query}: {told}");
        };
        refused("resourceVersionMatch=Exact", false, "422");
        refused("resourceVersionMatch=Exact&resourceVersion=0", false, "422");
        refused("resourceVersionMatch=Odd&resourceVersion=1", false, "422");
        refused("resourceVersionMatch=Exact&resourceVersion=1&continue=x", false, "422");
        refused("resourceVersion=abc", false, "400");
        refused("labelSelector=a%20b", false, "400");
        refused("sendInitialEvents=true", true, "422");
        refused("resourceVersionMatch=NotOlderThan&resourceVersion=1", true, "422");
        refused("sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1", true, "422");
        let told = list("sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1", true).unwrap_err();
        assert!(told.contains("Unsupported value: \"Exact\": supported values: \"NotOlderThan\""), "{told}");
        assert!(list("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", true).is_ok());
        assert_eq!(list("resourceVersion=0&limit=500", false).unwrap().revision, Some(0));
    }

    #[test]
    fn deleting_is_asked_for_in_the_body_or_the_query() {
        let body = json!({"propagationPolicy": "Orphan", "gracePeriodSeconds": 0, "preconditions": {"uid": "u"}});
        let read = DeleteOptions::read(&Query::default(), Some(&body)).unwrap();
        assert_eq!(
            (read.propagation, read.grace_secs, read.uid.as_deref()),
            (Some(Propagation::Orphan), Some(0), Some("u"))
        );
        let query = Query::parse("propagationPolicy=Foreground&dryRun=All");
        let read = DeleteOptions::read(&query, None).unwrap();
        assert_eq!((read.propagation, read.dry_run), (Some(Propagation::Foreground), true));
        assert!(DeleteOptions::read(&Query::parse("propagationPolicy=Odd"), None).is_err());
    }

    #[test]
    fn what_is_wrong_with_a_deletion_is_shown() {
        let refused = |query: &str, body: Option<&Value>, code: u16, expected: &str| {
            let error = DeleteOptions::read(&Query::parse(query), body).unwrap_err();
            assert!(error.code() == code && error.message().contains(expected), "{error}");
        };
        let both = "propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot";
        refused("propagationPolicy=Orphan&orphanDependents=true", None, 422, both);
        let odd = "dryRun: Unsupported value: [\"All\",\"Odd\"]: supported values: \"All\"";
        refused("dryRun=All&dryRun=Odd", None, 422, odd);
        refused("", Some(&json!({ "dryRun": ["All", "Odd"] })), 422, odd);
        refused("", Some(&json!({ "kind": "Pod", "apiVersion": "v1" })), 400, "(Pod) does not match");
        assert!(DeleteOptions::read(&Query::default(), Some(&json!({ "kind": "DeleteOptions" }))).is_ok());
    }
}
