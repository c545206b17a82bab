//! A front proxy that has found out who asks, and says so in headers. It has to prove that it is one; from everybody else
//! such headers are taken off.

use crate::auth::User;
use http::{HeaderMap, HeaderName};
use std::collections::BTreeMap;

/// Which headers say what, and which proxies are believed.
#[derive(Clone, Debug)]
pub struct FrontProxy {
    pub user: Vec<HeaderName>,
    pub uid: Vec<HeaderName>,
    pub groups: Vec<HeaderName>,
    /// What is after the prefix is the name of something else that is known of the user.
    pub extra_prefixes: Vec<String>,
    /// Common names; any, if there is none.
    pub allowed: Vec<String>,
}

impl Default for FrontProxy {
    fn default() -> Self {
        Self {
            user: vec![HeaderName::from_static("x-remote-user")],
            uid: vec![HeaderName::from_static("x-remote-uid")],
            groups: vec![HeaderName::from_static("x-remote-group")],
            extra_prefixes: vec!["x-remote-extra-".to_owned()],
            allowed: Vec::new(),
        }
    }
}

impl FrontProxy {
    /// Whether a certificate of the proxies' authority is of one that is believed.
    pub fn believes(&self, common_name: &str) -> bool {
        self.allowed.is_empty() || self.allowed.iter().any(|name| name == common_name)
    }

    /// Who a proxy says that asks.
    pub fn user(&self, headers: &HeaderMap) -> Option<User> {
        let first = |names: &[HeaderName]| {
            let values = names.iter().filter_map(|name| headers.get(name)?.to_str().ok());
            values.map(str::trim).find(|value| !value.is_empty()).map(str::to_owned)
        };
        let groups = self.groups.iter().flat_map(|name| headers.get_all(name)).filter_map(|value| value.to_str().ok());
        let groups = groups.filter(|group| !group.is_empty()).map(str::to_owned).collect();
        let user = User::authenticated(&first(&self.user)?, groups);
        Some(User { uid: first(&self.uid).unwrap_or_default(), extra: self.extra(headers), ..user })
    }

    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            let key = self.extra_prefixes.iter().find_map(|prefix| name.as_str().strip_prefix(prefix.as_str()));
            let (Some(key), Ok(value)) = (key, value.to_str()) else { continue };
            let key = percent_encoding::percent_decode_str(key).decode_utf8_lossy().to_lowercase();
            extra.entry(key).or_default().push(value.to_owned());
        }
        extra
    }

    /// Takes off what only a proxy may say.
    pub fn strip(&self, headers: &mut HeaderMap) {
        let named = [&self.user, &self.uid, &self.groups].into_iter().flatten();
        let mut doomed: Vec<HeaderName> = named.filter(|name| headers.contains_key(*name)).cloned().collect();
        let is_extra = |name: &&HeaderName| self.extra_prefixes.iter().any(|prefix| name.as_str().starts_with(prefix));
        doomed.extend(headers.keys().filter(is_extra).cloned());
        for name in doomed {
            headers.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_proxy_says_who_asks_and_what_is_known_of_them() {
        let mut told = headers(&[
            ("x-remote-user", "ada"),
            ("x-remote-uid", "u1"),
            ("x-remote-extra-example.com%2fscope", "a"),
            ("accept", "x"),
        ]);
        for group in ["dev", "ops"] {
            told.append("x-remote-group", HeaderValue::from_static(group));
        }
        let proxy = FrontProxy::default();
        let user = proxy.user(&told).unwrap();
        assert_eq!((&*user.name, &*user.uid), ("ada", "u1"));
        assert_eq!(user.groups, ["dev", "ops", "system:authenticated"]);
        assert_eq!(user.extra["example.com/scope"], ["a"]);
        proxy.strip(&mut told);
        assert_eq!(told.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
        assert_eq!(proxy.user(&told), None);
    }

    #[test]
    fn only_named_proxies_are_believed() {
        let some = FrontProxy { allowed: vec!["front".to_owned()], ..FrontProxy::default() };
        assert!(some.believes("front") && !some.believes("back") && FrontProxy::default().believes("back"));
    }
}
