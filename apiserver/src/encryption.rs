//! `EncryptionConfiguration`: which objects are kept sealed, and with which keys.
//!
//! The first entry that names a resource decides about it, and the first provider of that entry is what is written
//! with. Every key of the file opens, whatever it was listed for.

use crate::keyspace;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use storage::{Key, Ring, SealKey};

/// What Kubernetes takes for the secret of AES.
const SECRET_BYTES: [usize; 3] = [16, 24, 32];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    api_version: String,
    kind: String,
    #[serde(default)]
    resources: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    providers: Vec<Provider>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Provider {
    identity: Option<Value>,
    aesgcm: Option<Keys>,
    aescbc: Option<Value>,
    secretbox: Option<Value>,
    kms: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    #[serde(default)]
    keys: Vec<NamedKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedKey {
    name: String,
    secret: String,
}

impl std::fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NamedKey").field(&self.name).finish()
    }
}

/// What one entry says of the resources it names.
#[derive(Debug, PartialEq, Eq)]
struct Rule {
    of: Vec<Pattern>,
    /// The place among all keys of the one that seals; `None`: what is written is not sealed.
    seals: Option<usize>,
}

/// `secrets`, `pandas.bears.example`, `*.apps`, `*.`, `*.*`
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// `None`: any.
    resource: Option<String>,
    group: Option<String>,
}

/// What a file says, checked.
#[derive(Debug)]
pub struct EncryptionConfiguration {
    rules: Vec<Rule>,
    keys: Vec<SealKey>,
}

impl EncryptionConfiguration {
    /// Reads a file, and says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        if file.api_version != "apiserver.config.k8s.io/v1" {
            return Err(format!("apiVersion {:?} is not apiserver.config.k8s.io/v1", file.api_version));
        }
        if file.kind != "EncryptionConfiguration" {
            return Err(format!("kind {:?} is not EncryptionConfiguration", file.kind));
        }
        if file.resources.is_empty() {
            return Err("resources: at least one is needed".to_owned());
        }
        let mut read = Self { rules: Vec::new(), keys: Vec::new() };
        for (nth, entry) in file.resources.iter().enumerate() {
            let rule = read.rule(entry).map_err(|why| format!("resources[{nth}].{why}"))?;
            read.rules.push(rule);
        }
        Ok(read)
    }

    fn rule(&mut self, entry: &Entry) -> Result<Rule, String> {
        let of = patterns(&entry.resources)?;
        let mut first = None;
        for (nth, provider) in entry.providers.iter().enumerate() {
            let seals = self.provider(provider).map_err(|why| format!("providers[{nth}]{why}"))?;
            first.get_or_insert(seals);
        }
        Ok(Rule { of, seals: first.ok_or("providers: at least one is needed")? })
    }

    /// Which key it writes with.
    fn provider(&mut self, provider: &Provider) -> Result<Option<usize>, String> {
        let Provider { identity, aesgcm, aescbc, secretbox, kms } = provider;
        let others = [("aescbc", aescbc), ("secretbox", secretbox), ("kms", kms)];
        if let Some((name, _)) = others.iter().find(|(_, said)| said.is_some()) {
            return Err(format!(".{name} is not served: use aesgcm, or identity for what is not to be sealed"));
        }
        match (identity, aesgcm) {
            (Some(_), None) => Ok(None),
            (None, Some(Keys { keys })) => self.add(keys).map(Some).map_err(|why| format!(".aesgcm.keys{why}")),
            (Some(_), Some(_)) => Err(": more than one provider; each has an entry of its own".to_owned()),
            (None, None) => Err(": no provider: say aesgcm or identity".to_owned()),
        }
    }

    /// Adds the keys of one provider; its first one seals.
    fn add(&mut self, keys: &[NamedKey]) -> Result<usize, String> {
        if keys.is_empty() {
            return Err(": at least one is needed".to_owned());
        }
        let first = self.keys.len();
        for (nth, key) in keys.iter().enumerate() {
            if keys[..nth].iter().any(|earlier| earlier.name == key.name) {
                return Err(format!("[{nth}].name: there are two keys {:?}", key.name));
            }
            // Why it is wrong could repeat what is in it.
            let secret = STANDARD.decode(&key.secret).map_err(|_| format!("[{nth}].secret: it is not base64"))?;
            if !SECRET_BYTES.contains(&secret.len()) {
                return Err(format!("[{nth}].secret: it has {} bytes, not 16, 24 or 32", secret.len()));
            }
            let key = SealKey::new(&key.name, &secret).map_err(|why| format!("[{nth}]: {why}"))?;
            self.keys.push(key);
        }
        Ok(first)
    }

    /// The keys, and which of them seals what.
    pub fn ring(self) -> Ring {
        let Self { rules, keys } = self;
        Ring::new(keys, move |key| seals(&rules, key))
    }
}

fn seals(rules: &[Rule], key: &Key) -> Option<usize> {
    let parts = keyspace::parse(key)?;
    let names = |pattern: &Pattern| {
        pattern.resource.as_ref().is_none_or(|resource| resource == parts.resource)
            && pattern.group.as_ref().is_none_or(|group| group == parts.group)
    };
    rules.iter().find(|rule| rule.of.iter().any(names))?.seals
}

fn patterns(names: &[String]) -> Result<Vec<Pattern>, String> {
    if names.is_empty() {
        return Err("resources: at least one is needed".to_owned());
    }
    let mut patterns: Vec<Pattern> = Vec::with_capacity(names.len());
    for (nth, name) in names.iter().enumerate() {
        let pattern = Pattern::read(name).map_err(|why| format!("resources[{nth}]: {name:?} {why}"))?;
        if let Some(earlier) = patterns.iter().position(|earlier| earlier.overlaps(&pattern)) {
            return Err(format!("resources: {:?} and {name:?} overlap", names[earlier]));
        }
        patterns.push(pattern);
    }
    Ok(patterns)
}

impl Pattern {
    fn read(name: &str) -> Result<Self, &'static str> {
        if name.chars().any(char::is_uppercase) {
            return Err("has capital letters; name the resource, not the kind");
        }
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        match (resource, group) {
            ("", _) => Err("names nothing"),
            ("*", "") if !name.ends_with('.') => Err("is not a resource; all of them are *.*"),
            ("*", "*") => Ok(Self { resource: None, group: None }),
            ("*", group) => Ok(Self { resource: None, group: Some(group.to_owned()) }),
            (_, "*") => Err("names a resource of all groups; name its group"),
            (_, "events.k8s.io") => Err("is kept as events; name those"),
            (resource, group) => Ok(Self { resource: Some(resource.to_owned()), group: Some(group.to_owned()) }),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let meet = |one: &Option<String>, other: &Option<String>| one.is_none() || other.is_none() || one == other;
        meet(&self.resource, &other.resource) && meet(&self.group, &other.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 bytes.
    const ONE: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    const TWO: &str = "YWJjZGVmZ2hpamFiY2RlZmdoaWphYmNkZWZnaGlqYWI=";

    fn file(resources: &str) -> String {
        let text =
            format!("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n{resources}");
        text.replace("ONE", ONE).replace("TWO", TWO)
    }

    fn written(resources: &str, key: &str) -> String {
        let read = EncryptionConfiguration::parse(&file(resources)).unwrap();
        seals(&read.rules, &Key::new(key)).map_or("plain".to_owned(), |nth| read.keys[nth].name().to_owned())
    }

    #[test]
    fn the_first_entry_and_its_first_provider_decide() {
        let text = "\
- resources: [secrets, pandas.bears.example]
  providers: [{ aesgcm: { keys: [{ name: new, secret: TWO }, { name: old, secret: ONE }] } }, { identity: {} }]
- resources: ['*.apps']
  providers: [{ identity: {} }, { aesgcm: { keys: [{ name: old, secret: ONE }] } }]
- resources: ['*.']
  providers: [{ aesgcm: { keys: [{ name: core, secret: ONE }] } }]
- resources: ['*.*']
  providers: [{ aesgcm: { keys: [{ name: rest, secret: ONE }] } }]
";
        let check = |key: &str, expected: &str| assert_eq!(written(text, key), expected, "{key}");
        check("core/secrets/-/root/ns/a", "new");
        check("bears.example/pandas/-/root/ns/a", "new");
        check("apps/deployments/-/root/ns/a", "plain");
        check("core/configmaps/-/root/ns/a", "core");
        check("batch/jobs/-/root/ns/a", "rest");
        check("not one of ours", "plain");
        let secrets = "- resources: [secrets]\n  providers: [{ aesgcm: { keys: [{ name: k, secret: ONE }] } }]";
        assert_eq!(written(secrets, "core/configmaps/-/root/ns/a"), "plain");
        assert_eq!(written(secrets, "example/secrets/-/root/ns/a"), "plain");
    }

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        let check = |resources: &str, expected: &str| {
            let why = EncryptionConfiguration::parse(&file(resources)).unwrap_err();
            assert!(why.contains(expected), "{why}");
            assert!(!why.contains(ONE) && !why.contains(TWO), "{why}");
        };
        let provider = |text: &str| format!("- resources: [secrets]\n  providers: [{text}]");
        check("", "");
        check("- resources: []\n  providers: [{ identity: {} }]", "resources[0].resources: at least one");
        check("- resources: [secrets]\n  providers: []", "resources[0].providers: at least one");
        check(&provider("{}"), "providers[0]: no provider");
        check(&provider("{ identity: {}, aesgcm: { keys: [{ name: k, secret: ONE }] } }"), "more than one provider");
        check(&provider("{ aescbc: { keys: [] } }"), "providers[0].aescbc is not served: use aesgcm");
        check(&provider("{ secretbox: { keys: [] } }"), "secretbox is not served");
        check(&provider("{ kms: { name: k } }"), "kms is not served");
        check(&provider("{ aesgcm: { keys: [] } }"), "aesgcm.keys: at least one");
        check(&provider("{ aesgcm: { keys: [{ name: k, secret: '!' }] } }"), "keys[0].secret: it is not base64");
        check(&provider("{ aesgcm: { keys: [{ name: k, secret: AAAA }] } }"), "it has 3 bytes, not 16, 24 or 32");
        check(&provider("{ aesgcm: { keys: [{ name: '', secret: ONE }] } }"), "the name of a key");
        let twice = "{ aesgcm: { keys: [{ name: k, secret: ONE }, { name: k, secret: TWO }] } }";
        check(&provider(twice), "keys[1].name: there are two keys \"k\"");
        let named = |names: &str| format!("- resources: [{names}]\n  providers: [{{ identity: {{}} }}]");
        check(&named("Secrets"), "capital letters");
        check(&named("'*'"), "all of them are *.*");
        check(&named("'secrets.*'"), "all groups");
        check(&named("events.events.k8s.io"), "kept as events");
        check(&named("secrets, '*.'"), "\"secrets\" and \"*.\" overlap");
        check(&named("secrets, secrets"), "overlap");
        let other = EncryptionConfiguration::parse("apiVersion: v1\nkind: List\n").unwrap_err();
        assert!(other.contains("apiserver.config.k8s.io/v1"), "{other}");
    }
}
