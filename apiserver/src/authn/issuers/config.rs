//! `AuthenticationConfiguration`: which issuers are trusted, and what of their claims makes a user.

use super::super::Anonymous;
use serde::Deserialize;
use std::collections::BTreeSet;

const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
/// Kubernetes' own bound.
const ISSUERS_MAX: usize = 64;

/// The file as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthenticationConfiguration {
    api_version: String,
    kind: String,
    #[serde(default)]
    pub(super) jwt: Vec<JwtAuthenticator>,
    anonymous: Option<AnonymousConfig>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AnonymousConfig {
    enabled: bool,
    #[serde(default)]
    conditions: Vec<AnonymousCondition>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnonymousCondition {
    path: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct JwtAuthenticator {
    pub(super) issuer: Issuer,
    #[serde(default)]
    pub(super) claim_validation_rules: Vec<ClaimRule>,
    pub(super) claim_mappings: Mappings,
    #[serde(default)]
    pub(super) user_validation_rules: Vec<UserRule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Issuer {
    pub(super) url: String,
    #[serde(rename = "discoveryURL")]
    pub(super) discovery_url: Option<String>,
    /// PEM.
    pub(super) certificate_authority: Option<String>,
    pub(super) audiences: Vec<String>,
    audience_match_policy: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClaimRule {
    pub(super) claim: Option<String>,
    pub(super) required_value: Option<String>,
    pub(super) expression: Option<String>,
    pub(super) message: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserRule {
    pub(super) expression: String,
    pub(super) message: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mappings {
    pub(super) username: Prefixed,
    pub(super) groups: Option<Prefixed>,
    pub(super) uid: Option<Prefixed>,
    #[serde(default)]
    pub(super) extra: Vec<Extra>,
}

/// A claim, with something before it; or an expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prefixed {
    pub(super) claim: Option<String>,
    pub(super) prefix: Option<String>,
    pub(super) expression: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Extra {
    pub(super) key: String,
    pub(super) value_expression: String,
}

impl AuthenticationConfiguration {
    /// Reads a file, and says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let group = read.api_version.split_once('/');
        if group.is_none_or(|(group, version)| group != "apiserver.config.k8s.io" || !VERSIONS.contains(&version)) {
            return Err(format!("apiVersion {:?} is not apiserver.config.k8s.io/v1", read.api_version));
        }
        if read.kind != "AuthenticationConfiguration" {
            return Err(format!("kind {:?} is not AuthenticationConfiguration", read.kind));
        }
        read.check()?;
        Ok(read)
    }

    /// Where nobody has to say who they are; `None` if the file does not say.
    pub fn anonymous(&self) -> Option<Anonymous> {
        let config = self.anonymous.as_ref()?;
        let paths: Vec<String> = config.conditions.iter().map(|condition| condition.path.clone()).collect();
        Some(match (config.enabled, paths.is_empty()) {
            (false, _) => Anonymous::Nowhere,
            (true, true) => Anonymous::Everywhere,
            (true, false) => Anonymous::At(paths),
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.jwt.len() > ISSUERS_MAX {
            return Err(format!("jwt: {} issuers are more than {ISSUERS_MAX}", self.jwt.len()));
        }
        if self.anonymous.as_ref().is_some_and(|config| !config.enabled && !config.conditions.is_empty()) {
            return Err("anonymous.conditions: must be empty if anonymous is not enabled".to_owned());
        }
        let mut urls = BTreeSet::new();
        for (at, jwt) in self.jwt.iter().enumerate() {
            jwt.check().map_err(|why| format!("jwt[{at}].{why}"))?;
            for url in [Some(&jwt.issuer.url), jwt.issuer.discovery_url.as_ref()].into_iter().flatten() {
                if !urls.insert(url.trim_end_matches('/')) {
                    return Err(format!("jwt[{at}].issuer: {url:?} is there twice"));
                }
            }
        }
        Ok(())
    }
}

impl JwtAuthenticator {
    fn check(&self) -> Result<(), String> {
        let Issuer { url, discovery_url, audiences, audience_match_policy, .. } = &self.issuer;
        for (field, url) in [("url", Some(url)), ("discoveryURL", discovery_url.as_ref())] {
            if url.is_some_and(|url| !url.starts_with("https://") || url.contains(['?', '#', '@'])) {
                return Err(format!("issuer.{field}: has to be an https URL without user, query and fragment"));
            }
        }
        if audiences.is_empty() || audiences.iter().any(String::is_empty) {
            return Err("issuer.audiences: at least one is needed, and none may be empty".to_owned());
        }
        match audience_match_policy.as_deref() {
            Some("MatchAny") => {}
            None | Some("") if audiences.len() == 1 => {}
            _ => return Err("issuer.audienceMatchPolicy: has to be MatchAny for several audiences".to_owned()),
        }
        for (at, rule) in self.claim_validation_rules.iter().enumerate() {
            if rule.claim.is_some() == rule.expression.is_some() {
                return Err(format!("claimValidationRules[{at}]: either claim or expression is needed"));
            }
        }
        self.claim_mappings.check()
    }
}

impl Mappings {
    fn check(&self) -> Result<(), String> {
        self.username.check().map_err(|why| format!("claimMappings.username: {why}"))?;
        if let Some(groups) = &self.groups {
            groups.check().map_err(|why| format!("claimMappings.groups: {why}"))?;
        }
        if let Some(uid) = &self.uid
            && (uid.prefix.is_some() || uid.claim.is_some() == uid.expression.is_some())
        {
            return Err("claimMappings.uid: either claim or expression is needed".to_owned());
        }
        let mut keys = BTreeSet::new();
        for (at, Extra { key, .. }) in self.extra.iter().enumerate() {
            let fits = key.contains('/') && *key == key.to_lowercase() && !key.contains("kubernetes.io/");
            if !fits || !keys.insert(key) {
                return Err(format!(
                    "claimMappings.extra[{at}].key: has to be domain/path in lower case, and only once"
                ));
            }
        }
        Ok(())
    }
}

impl Prefixed {
    fn check(&self) -> Result<(), String> {
        match (&self.claim, &self.prefix, &self.expression) {
            (Some(claim), Some(_), None) if !claim.is_empty() => Ok(()),
            (None, None, Some(_)) => Ok(()),
            (Some(_), None, None) => Err("prefix is needed with claim; it may be empty".to_owned()),
            _ => Err("either claim and prefix or expression are needed".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: { enabled: true, conditions: [{ path: /livez }] }
jwt:
  - issuer: { url: "https://issuer", audiences: [hanse] }
    claimValidationRules: [{ expression: "claims.hd == 'x'", message: m }, { claim: hd, requiredValue: x }]
    claimMappings:
      username: { claim: sub, prefix: "oidc:" }
      groups: { expression: claims.roles }
      uid: { claim: sub }
      extra: [{ key: example.com/tenant, valueExpression: claims.tenant }]
    userValidationRules: [{ expression: "!user.username.startsWith('system:')" }]
"#;

    #[test]
    fn a_whole_file_is_read() {
        let read = AuthenticationConfiguration::parse(WHOLE).unwrap();
        assert_eq!(read.anonymous(), Some(Anonymous::At(vec!["/livez".to_owned()])));
        assert_eq!(read.jwt.len(), 1);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let check = |from: &str, to: &str, expected: &str| {
            assert!(WHOLE.contains(from));
            let error = AuthenticationConfiguration::parse(&WHOLE.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(expected), "{to}: {error}");
        };
        check("apiserver.config.k8s.io/v1", "v1", "apiVersion");
        check("kind: Auth", "kind: X", "kind");
        check("https://issuer", "http://issuer", "https");
        check("[hanse]", "[]", "audiences");
        check("[hanse]", "[a, b]", "audienceMatchPolicy");
        check(", prefix: \"oidc:\"", "", "prefix is needed");
        check("claim: sub, prefix", "claim: sub, expression: claims.sub, prefix", "either claim");
        check("example.com/tenant", "Tenant", "extra[0].key");
        check("{ claim: hd, requiredValue: x }", "{ message: x }", "claimValidationRules[1]");
        check("userValidationRules", "rules", "unknown field");
        check("enabled: true", "enabled: false", "conditions");
    }
}
