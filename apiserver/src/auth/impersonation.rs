//! Acting as somebody else: who is meant, what has to be permitted for it, and who one is then.
//!
//! There are several ways in which it can be permitted. The old one, `impersonate`, is all or nothing; the constrained
//! ones say besides what may be done in somebody's place, and for whom. They are tried in order, and any will do.

use super::attributes::{Attributes, Objects};
use super::authorize::refusal;
use super::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User};
use crate::error::ApiError;
use http::HeaderMap;
use openapi::names;
use std::collections::BTreeMap;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUPS: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE: &str = "system:node:";
const NODES: &str = "system:nodes";
/// Where the token of an account says on which node it is used.
const NODE_OF_ACCOUNT: &str = "authentication.kubernetes.io/node-name";

/// From so many on, whoever may impersonate all of something is asked for that first.
const MANY: usize = 4;

/// Who somebody wants to be, as the headers say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What the headers ask for cannot be: everything but a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("requested {0} without impersonating a user name")]
pub struct Nameless(String);

impl Wanted {
    /// `None`: nobody else.
    pub fn read(headers: &HeaderMap) -> Result<Option<Self>, Nameless> {
        let first = |name| headers.get(name).map(text).unwrap_or_default();
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            if let Some(key) = name.as_str().strip_prefix(EXTRA) {
                extra.entry(unescaped(key)).or_default().push(text(value));
            }
        }
        let groups: Vec<String> = headers.get_all(GROUPS).iter().map(text).collect();
        let wanted = Self { name: first(USER), uid: first(UID), groups, extra };
        if wanted.name.is_empty() && wanted != Self::default() {
            return Err(Nameless(wanted.as_go_shows_it()));
        }
        Ok(Some(wanted).filter(|wanted| !wanted.name.is_empty()))
    }

    fn as_go_shows_it(&self) -> String {
        let list = |words: &[String]| {
            let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            format!("[]string{{{}}}", words.join(", "))
        };
        let groups = if self.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&self.groups) };
        let extra = if self.extra.is_empty() {
            "map[string][]string(nil)".to_owned()
        } else {
            let all: Vec<String> = self.extra.iter().map(|(key, all)| format!("{key:?}:{}", list(all))).collect();
            format!("map[string][]string{{{}}}", all.join(", "))
        };
        let Self { name, uid, .. } = self;
        format!("&user.DefaultInfo{{Name:{name:?}, UID:{uid:?}, Groups:{groups}, Extra:{extra}}}")
    }

    fn is_only_a_name(&self) -> bool {
        self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty()
    }
}

fn text(value: &http::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

fn unescaped(key: &str) -> String {
    percent_encoding::percent_decode_str(key).decode_utf8().map_or_else(|_| key.to_owned(), Into::into)
}

/// A way to be permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

const MODES: [Mode; 5] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn is_constrained(self) -> bool {
        self != Self::Legacy
    }

    /// Whether this is a way to become such a user at all.
    fn fits(self, by: &User, wanted: &Wanted) -> bool {
        let node = node(&wanted.name);
        let account = account(&wanted.name).is_some();
        match self {
            Self::AssociatedNode => {
                let own = by.extra.get(NODE_OF_ACCOUNT).and_then(|values| values.first().filter(|_| values.len() == 1));
                let is_own = node.is_some() && own.map(String::as_str) == node;
                wanted.is_only_a_name() && is_own && self::account(&by.name).is_some()
            }
            Self::ArbitraryNode => wanted.is_only_a_name() && node.is_some(),
            Self::ServiceAccount => wanted.is_only_a_name() && account,
            Self::UserInfo => node.is_none() && !account,
            Self::Legacy => true,
        }
    }
}

fn node(name: &str) -> Option<&str> {
    name.strip_prefix(NODE).filter(|name| names::dns1123_subdomain(name).is_empty())
}

/// Namespace and name of a service account, by the name of its user.
pub fn account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let valid = names::dns1123_label(namespace).is_empty() && names::dns1123_subdomain(name).is_empty();
    (valid && !name.contains(':')).then_some((namespace, name))
}

/// Refuses what is not permitted.
pub type Ask<'a> = &'a dyn Fn(&Attributes<'_>) -> Result<(), ApiError>;

/// Who `by` becomes to do what `request` says, if that is permitted.
pub fn become_other(by: &User, wanted: &Wanted, request: &Attributes<'_>, ask: Ask<'_>) -> Result<User, ApiError> {
    let mut first = None;
    for mode in MODES.into_iter().filter(|mode| mode.fits(by, wanted)) {
        match (Attempt { mode, by, wanted, ask }).run(request) {
            Ok(user) => return Ok(user),
            Err(refused) => first = first.or(Some(refused)),
        }
    }
    Err(first.unwrap_or_else(|| refusal(by, request, "")))
}

struct Attempt<'a> {
    mode: Mode,
    by: &'a User,
    wanted: &'a Wanted,
    ask: Ask<'a>,
}

impl Attempt<'_> {
    fn run(&self, request: &Attributes<'_>) -> Result<User, ApiError> {
        if self.mode.is_constrained() {
            let verb = format!("impersonate-on:{}:{}", self.mode.word(), request.verb);
            (self.ask)(&Attributes { verb: &verb, ..*request })?;
        }
        let groups = self.check_name()?;
        if !self.wanted.uid.is_empty() {
            self.check_thing(AUTHENTICATION, "uids", "", &self.wanted.uid)?;
        }
        self.check_groups()?;
        self.check_extra()?;
        let Wanted { name, uid, extra, .. } = self.wanted.clone();
        Ok(User { name, uid, groups: completed(&self.wanted.name, groups), extra, ..User::default() })
    }

    fn verb(&self) -> String {
        if self.mode.is_constrained() { format!("impersonate:{}", self.mode.word()) } else { "impersonate".to_owned() }
    }

    fn check_thing(&self, group: &str, resource: &str, subresource: &str, name: &str) -> Result<(), ApiError> {
        (self.ask)(&Attributes::objects(&self.verb(), Objects { group, resource, subresource, namespace: "", name }))
    }

    /// Names and groups are in the group of users since the old way is.
    fn group(&self) -> &'static str {
        if self.mode.is_constrained() { AUTHENTICATION } else { "" }
    }

    /// The groups that come with the name.
    fn check_name(&self) -> Result<Vec<String>, ApiError> {
        let (group, name) = (self.group(), &*self.wanted.name);
        let mut groups = self.wanted.groups.clone();
        let mut objects = Objects { group, resource: "users", name, ..Objects::default() };
        if let Some(node) = node(name).filter(|_| self.mode.is_constrained()) {
            // Rules about one's own node do not say which that is.
            let name = if self.mode == Mode::AssociatedNode { "*" } else { node };
            objects = Objects { resource: "nodes", name, ..objects };
            groups = vec![NODES.to_owned()];
        }
        if let Some((namespace, name)) = account(name) {
            objects = Objects { resource: "serviceaccounts", namespace, name, ..objects };
            if groups.is_empty() {
                groups = User::account_groups(namespace);
            }
        }
        (self.ask)(&Attributes::objects(&self.verb(), objects))?;
        Ok(groups)
    }

    fn check_groups(&self) -> Result<(), ApiError> {
        let (group, groups) = (self.group(), &self.wanted.groups);
        let refuse = |name: &str, why: &str| {
            let objects = Objects { group, resource: "groups", name, ..Objects::default() };
            Err(refusal(self.by, &Attributes::objects(&self.verb(), objects), why))
        };
        if self.mode.is_constrained() {
            if groups.iter().any(String::is_empty) {
                return refuse("", "impersonating the empty string group is not allowed");
            }
            if groups.iter().any(|group| group == MASTERS) {
                return refuse(MASTERS, "impersonating the system:masters group is not allowed");
            }
            if groups.len() >= MANY && self.check_thing(group, "groups", "", "*").is_ok() {
                return Ok(());
            }
        }
        groups.iter().try_for_each(|name| self.check_thing(group, "groups", "", name))
    }

    fn check_extra(&self) -> Result<(), ApiError> {
        let extra = &self.wanted.extra;
        if self.mode.is_constrained() && !extra.is_empty() {
            if let Some(why) = wrong_extra(extra) {
                let objects = Objects { group: AUTHENTICATION, resource: "userextras", ..Objects::default() };
                return Err(refusal(self.by, &Attributes::objects(&self.verb(), objects), &why));
            }
            let values: usize = extra.values().map(Vec::len).sum();
            let many = extra.len() >= MANY || values >= MANY;
            if many && self.check_thing(AUTHENTICATION, "userextras", "*", "*").is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            values.iter().try_for_each(|value| self.check_thing(AUTHENTICATION, "userextras", key, value))?;
        }
        Ok(())
    }
}

fn wrong_extra(extra: &BTreeMap<String, Vec<String>>) -> Option<String> {
    extra.iter().find_map(|(key, values)| {
        if key.is_empty() {
            return Some("impersonating the empty string key in extra is not allowed".to_owned());
        }
        if let Some((value, why)) = wrong_key(key) {
            let what = "impersonating an invalid key in extra is not allowed";
            return Some(format!("{what}: extra.key: Invalid value: {value:?}: {why}"));
        }
        if *key != key.to_lowercase() {
            return Some(format!("impersonating a non-lowercase key in extra is not allowed: {key:?}"));
        }
        let empty = values.iter().any(String::is_empty);
        empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
    })
}

/// Keys are paths below a domain: what is wrong with which part of one that is not.
fn wrong_key(key: &str) -> Option<(&str, String)> {
    match key.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty()) {
        None => Some((key, "must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned())),
        Some((domain, _)) => names::dns1123_subdomain(domain).into_iter().next().map(|why| (domain, why)),
    }
}

/// Everybody is known to the server or not, and in a group that says so.
fn completed(name: &str, mut groups: Vec<String>) -> Vec<String> {
    let has = |groups: &[String], word: &str| groups.iter().any(|group| group == word);
    let needed = if name == ANONYMOUS {
        UNAUTHENTICATED
    } else if has(&groups, UNAUTHENTICATED) {
        return groups;
    } else {
        AUTHENTICATED
    };
    if !has(&groups, needed) {
        groups.push(needed.to_owned());
    }
    groups
}
