//! What is used of every quota, kept up to date change by change.
//!
//! An account is opened when somebody first asks for it, by counting what is there at one revision; changes after that
//! revision are added to it and taken from it. Namespaces without quotas cost a lookup.

use super::super::key::NamespaceKey;
use super::{QUOTAS, QuotaKey};
use apiserver::admission::{Tally, WIDE_IN, is_wide};
use apiserver::catalog::ResourceDef;
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace::{self, Parts};
use apiserver::object::Object;
use apiserver::place::{Collection, Workspace};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use storage::{Revision, Version};

#[derive(Debug)]
struct Account {
    tally: Tally,
    /// Everything up to here was counted when the account was opened.
    opened: Revision,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: HashMap<NamespaceKey, BTreeMap<String, Account>>,
    /// Everything up to here is known; `None` until everything there was has been told.
    reached: Option<Revision>,
}

impl Ledger {
    /// Learns of a change. Answers with the quotas that need a look because of it. `find` knows what a workspace keeps
    /// under a group and a plural.
    pub(super) fn learn(
        &mut self,
        find: impl Fn(&Workspace, (&str, &str)) -> Option<Arc<ResourceDef>>,
        seen: &Seen,
    ) -> Vec<QuotaKey> {
        let Some(Parts { group, resource: plural, workspace, .. }) = keyspace::parse(&seen.key) else {
            return Vec::new();
        };
        let own = NamespaceKey::containing(seen);
        let mut keys = Vec::new();
        if (group, plural) == (QUOTAS.0, QUOTAS.2) {
            keys.extend(own.as_ref().and_then(|namespace| self.learn_of_quota(namespace, seen)));
        }
        if self.accounts.is_empty() {
            return keys;
        }
        // What is for the whole workspace counts what is in any namespace, and in none.
        let wide = Some(NamespaceKey { workspace: Workspace::new(workspace), name: WIDE_IN.to_owned() });
        let wide = wide.filter(|wide| own.as_ref() != Some(wide));
        for (namespace, is_own) in own.map(|own| (own, true)).into_iter().chain(wide.map(|wide| (wide, false))) {
            let Some(accounts) = self.accounts.get_mut(&namespace) else { continue };
            let Some(resource) = find(&namespace.workspace, (group, plural)) else { return keys };
            let concerned = accounts.iter_mut().filter(|(_, account)| is_own || is_wide(account.tally.quota()));
            for (name, account) in concerned {
                if account.learn(&resource, seen) {
                    keys.push(QuotaKey { namespace: namespace.clone(), name: name.clone() });
                }
            }
        }
        keys
    }

    /// An account of other limits, or of a quota that is gone, is closed.
    fn learn_of_quota(&mut self, namespace: &NamespaceKey, seen: &Seen) -> Option<QuotaKey> {
        let name = keyspace::parse(&seen.key)?.name.to_owned();
        let quota = seen.now.as_ref().and_then(read);
        if let Some(accounts) = self.accounts.get_mut(namespace) {
            let is_same = |account: &Account| quota.as_ref().is_some_and(|quota| account.tally.is_of(quota));
            if !accounts.get(&name).is_some_and(is_same) {
                accounts.remove(&name);
            }
            if accounts.is_empty() {
                self.accounts.remove(namespace);
            }
        }
        quota.map(|_| QuotaKey { namespace: namespace.clone(), name })
    }

    /// Everything there was has been told, as of this revision.
    pub(super) fn reach(&mut self, revision: Revision) {
        self.reached = self.reached.max(Some(revision));
    }

    /// A change of this revision has been told. It says nothing of the whole before the whole was told.
    pub(super) fn advance(&mut self, revision: Revision) {
        if self.reached.is_some() {
            self.reach(revision);
        }
    }

    /// What is used of a quota, counted now if it never was. `None` while less is known than the quota shows.
    pub(super) fn count(
        &mut self,
        client: &Client,
        key: &QuotaKey,
        quota: &Object,
    ) -> Result<Option<&Tally>, ApiError> {
        let Ledger { accounts, reached } = self;
        let accounts = accounts.entry(key.namespace.clone()).or_default();
        if !accounts.get(&key.name).is_some_and(|account| account.tally.is_of(quota)) {
            accounts.insert(key.name.clone(), Account::open(client, key, quota)?);
        }
        let shown = quota.resource_version().parse().ok().map(Revision);
        let known = |account: &&Account| Some(account.opened).max(*reached) >= shown;
        Ok(accounts.get(&key.name).filter(known).map(|account| &account.tally))
    }
}

impl Account {
    fn open(client: &Client, key: &QuotaKey, quota: &Object) -> Result<Self, ApiError> {
        let catalog = client.catalog(&key.namespace.workspace)?;
        let mut tally = Tally::new(quota, catalog.stored().map(|resource| &**resource), client.ambient().now());
        let counted: Vec<&Arc<ResourceDef>> = catalog.stored().filter(|resource| tally.concerns(resource)).collect();
        let NamespaceKey { workspace, name } = &key.namespace;
        let place = |resource: &&Arc<ResourceDef>| Collection {
            resource: (*resource).clone(),
            workspace: workspace.clone(),
            namespace: Some(name.clone()).filter(|_| !is_wide(quota)),
        };
        let places: Vec<Collection> = counted.iter().map(place).collect();
        let (scans, opened) = client.scan_together(&places)?;
        for (resource, mut scan) in counted.into_iter().zip(scans) {
            if tally.counts_only(resource) {
                tally.add_number(resource, scan.try_fold(0, |number, entry| entry.map(|_| number + 1))?);
                continue;
            }
            for entry in scan {
                read(&entry?.version).iter().for_each(|object| tally.add(resource, object));
            }
        }
        Ok(Self { tally, opened })
    }

    /// Whether the change matters.
    fn learn(&mut self, resource: &ResourceDef, seen: &Seen) -> bool {
        let changed = seen.before.is_some() && seen.now.is_some();
        let is_nothing = !self.tally.concerns(resource) || (changed && self.tally.counts_only(resource));
        if seen.revision <= self.opened || is_nothing {
            return false;
        }
        let (before, now) = (seen.before.as_ref().and_then(read), seen.now.as_ref().and_then(read));
        self.tally.replace(resource, before.as_ref(), now.as_ref())
    }
}

/// Stored bytes are our own; others count for nothing.
fn read(version: &Version) -> Option<Object> {
    Object::parse(&version.value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiserver::catalog::Catalog;
    use openapi::scalar::time::Instant;
    use serde_json::{Value, json};

    fn version(tree: &Value) -> Version {
        Version { created: Revision(1), modified: Revision(1), value: tree.to_string().into() }
    }

    fn quota(hard: Value) -> Value {
        json!({ "metadata": { "name": "q", "uid": "u" }, "spec": { "hard": hard } })
    }

    /// A ledger with an account that was opened at revision 5, with nothing in it.
    struct Book {
        ledger: Ledger,
        catalog: Catalog,
        quota: Object,
    }

    impl Book {
        fn new(hard: Value) -> Self {
            let (catalog, quota) = (Catalog::builtin(), Object::try_from(quota(hard)).unwrap());
            let now = Instant { seconds: 1_800_000_000, nanos: 0 };
            let tally = Tally::new(&quota, catalog.stored().map(|resource| &**resource), now);
            let account = Account { tally, opened: Revision(5) };
            let accounts = HashMap::from([(namespace(), BTreeMap::from([("q".to_owned(), account)]))]);
            Self { ledger: Ledger { accounts, reached: None }, catalog, quota }
        }

        /// Tells of a change; answers whether the quota needs a look.
        fn tell(&mut self, revision: u64, key: &str, before: Option<Value>, now: Option<Value>) -> bool {
            let (before, now) = (before.as_ref().map(version), now.as_ref().map(version));
            let seen = Seen { key: key.into(), before, now, revision: Revision(revision) };
            let find = |_: &Workspace, (group, plural): (&str, &str)| self.catalog.stored_as(group, plural).cloned();
            let keys = self.ledger.learn(find, &seen);
            assert!(keys.iter().all(|key| *key == QuotaKey { namespace: namespace(), name: "q".to_owned() }));
            !keys.is_empty()
        }

        fn used(&self) -> Value {
            let tally = &self.ledger.accounts[&namespace()]["q"].tally;
            tally.correct(&self.quota).unwrap().pointer(&["status", "used"]).unwrap().clone()
        }
    }

    fn namespace() -> NamespaceKey {
        NamespaceKey { workspace: Workspace::new("w"), name: "n".to_owned() }
    }

    #[test]
    fn only_what_happens_after_the_count_in_the_namespace_is_counted_on() {
        let mut book = Book::new(json!({ "secrets": "9" }));
        let some = || Some(json!({}));
        assert!(!book.tell(5, "core/secrets/-/w/n/counted", None, some()));
        assert!(book.tell(6, "core/secrets/-/w/n/a", None, some()));
        assert!(book.tell(7, "core/secrets/-/w/n/b", None, some()));
        assert!(!book.tell(8, "core/secrets/-/w/n/b", some(), some()), "it counts the same");
        assert!(!book.tell(9, "core/secrets/-/w/m/b", None, some()), "another namespace");
        assert!(!book.tell(9, "core/secrets/-/v/n/b", None, some()), "another workspace");
        assert!(!book.tell(9, "core/configmaps/-/w/n/b", None, some()), "no limit is about it");
        assert_eq!(book.used(), json!({ "secrets": "2" }));
        assert!(book.tell(10, "core/secrets/-/w/n/a", some(), None));
        assert_eq!(book.used(), json!({ "secrets": "1" }));
    }

    #[test]
    fn an_account_is_closed_when_its_quota_has_other_limits_or_is_gone() {
        let key = "core/resourcequotas/-/w/n/q";
        let hard = || json!({ "secrets": "9" });
        let mut book = Book::new(hard());
        assert!(book.tell(6, key, Some(quota(hard())), Some(quota(hard()))), "its status may have been changed");
        assert!(!book.ledger.accounts.is_empty());
        assert!(book.tell(7, key, Some(quota(hard())), Some(quota(json!({ "secrets": "8" })))));
        assert!(book.ledger.accounts.is_empty());
        let mut book = Book::new(hard());
        assert!(!book.tell(7, key, Some(quota(hard())), None));
        assert!(book.ledger.accounts.is_empty());
    }
}
