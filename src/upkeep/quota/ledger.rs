//! What is used of every quota, kept up to date change by change.
//!
//! An account is opened when somebody first asks for it, by counting what is there at one revision; changes after that
//! revision are added to it and taken from it. Namespaces without quotas cost a lookup.

use super::super::key::NamespaceKey;
use super::{QUOTAS, QuotaKey};
use apiserver::admission::Tally;
use apiserver::catalog::ResourceDef;
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace::{self, Parts};
use apiserver::object::Object;
use apiserver::place::Collection;
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
    /// Learns of a change. Answers with the quotas that need a look because of it.
    pub(super) fn learn(&mut self, client: &Client, seen: &Seen) -> Vec<QuotaKey> {
        let Some(Parts { group, resource: plural, .. }) = keyspace::parse(&seen.key) else { return Vec::new() };
        let Some(namespace) = NamespaceKey::containing(seen) else { return Vec::new() };
        let mut keys = Vec::new();
        if (group, plural) == (QUOTAS.0, QUOTAS.2) {
            keys.extend(self.learn_of_quota(&namespace, seen));
        }
        let Some(accounts) = self.accounts.get_mut(&namespace) else { return keys };
        let Some(resource) = client.stored_as(&namespace.workspace, (group, plural)) else { return keys };
        for (name, account) in accounts {
            if account.learn(&resource, seen) {
                keys.push(QuotaKey { namespace: namespace.clone(), name: name.clone() });
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
            namespace: Some(name.clone()),
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
