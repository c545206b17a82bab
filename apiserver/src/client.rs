//! The API from inside: for parts of the server that do what any client does, under a name of their own.

use crate::attend::Around;
use crate::auth::{Access, Attributes, Authorized, User};
use crate::backends::Backends;
use crate::body::Body;
use crate::catalog::{Catalog, Defined, ResourceDef};
use crate::custom::Elsewhere;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::Object;
use crate::options::{DeleteOptions, FieldValidation, ListOptions, WriteOptions};
use crate::place::{Collection, ObjectRef, Workspace};
use crate::resources::{Create, Deleted, PatchBody, PatchKind, Resources};
use crate::strategy::Part;
use crate::target::Verb;
use bytes::Bytes;
use serde_json::Value;
use std::iter::Peekable;
use std::sync::Arc;
use storage::{Change, CommitError, Entry, Expect, KeyRange, ReadError, Revision, Scan, Txn, Watcher};

/// Acts as one part of the server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    resources: Resources,
    user: Arc<User>,
    /// Who owns what it writes.
    owner: Arc<str>,
    /// It is kept who owns what it writes.
    owns: bool,
}

impl Client {
    pub fn as_system(resources: Resources, name: &str) -> Self {
        Self { resources, user: User::system(name), owner: format!("hanse-{name}").into(), owns: true }
    }

    /// Acts for somebody, who may do what they may do anyway.
    pub fn as_user(resources: Resources, user: Arc<User>) -> Self {
        Self { resources, owner: user.name.as_str().into(), owns: true, user }
    }

    /// The same for records that nobody else writes, and of which there are many: who owns which of their fields is not
    /// kept, and would be half of them.
    #[must_use]
    pub fn unowned(&self) -> Self {
        Self { owns: false, ..self.clone() }
    }

    /// Whoever acts from inside has no user agent to be known by.
    fn options(&self) -> WriteOptions {
        let (field_manager, unowned) = (self.owner.to_string(), !self.owns);
        WriteOptions { validation: FieldValidation::Ignore, field_manager, unowned, ..WriteOptions::default() }
    }

    /// What every workspace serves.
    pub fn builtin(&self) -> &Arc<Catalog> {
        self.resources.builtin()
    }

    /// What a workspace serves.
    pub fn catalog(&self, workspace: &Workspace) -> Result<Arc<Catalog>, ApiError> {
        self.resources.catalog(workspace)
    }

    /// What others serve who have what a workspace defines, and add nothing to it.
    pub fn lent_catalog(&self, by: &Workspace) -> Result<Arc<Catalog>, ApiError> {
        self.resources.lent_catalog(by)
    }

    /// The workspace whose definitions a workspace serves like its own, if there is one.
    pub fn lender(&self, workspace: &Workspace) -> Result<Option<Workspace>, ApiError> {
        self.resources.lender(workspace)
    }

    /// The resources of a definition that is not the workspace's own.
    pub fn described(&self, from: &Elsewhere, definition: &Object) -> Defined {
        self.resources.described(from, definition)
    }

    /// As of which revision a workspace serves what it does.
    pub fn served_since(&self, workspace: &Workspace) -> Result<Revision, ApiError> {
        self.resources.served_since(workspace)
    }

    /// The newest revision that is known here.
    pub fn revision(&self) -> Revision {
        self.resources.store().recent().revision()
    }

    /// The resource that a workspace keeps under this group and plural.
    pub fn stored_as(&self, workspace: &Workspace, resource: (&str, &str)) -> Option<Arc<ResourceDef>> {
        self.resources.stored_as(workspace, resource)
    }

    /// Who else serves something in a workspace; `None` where nobody does.
    pub fn backends(&self, workspace: &Workspace) -> Result<Option<Arc<Backends>>, ApiError> {
        self.resources.backends(workspace)
    }

    /// Whether the rules of a workspace let somebody do something.
    pub fn allows(&self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<bool, ApiError> {
        self.resources.authorizer().allows(user, workspace, wanted)
    }

    pub fn ambient(&self) -> &crate::ambient::Ambient {
        self.resources.ambient()
    }

    /// A collection of a built-in resource, by its group, version and plural.
    pub fn at(
        &self,
        resource: (&str, &str, &str),
        workspace: &Workspace,
        namespace: Option<&str>,
    ) -> Result<Collection, ApiError> {
        let (group, version, plural) = resource;
        let resource = self.builtin().find(group, version, plural).ok_or_else(ApiError::no_such_path)?.clone();
        Ok(Collection { resource, workspace: workspace.clone(), namespace: namespace.map(str::to_owned) })
    }

    fn objects(&self, verb: Verb, at: &Collection) -> Result<Authorized<Collection>, ApiError> {
        let access = Access::Objects { verb, at: at.clone() };
        Ok(self.resources.authorizer().permit(&self.user, access)?.narrow(|_| at.clone()))
    }

    fn object(&self, verb: Verb, at: &ObjectRef) -> Result<Authorized<ObjectRef>, ApiError> {
        let access = Access::Object { verb, at: at.clone(), subresource: None };
        Ok(self.resources.authorizer().permit(&self.user, access)?.narrow(|_| at.clone()))
    }

    /// The object, or nothing where there is none.
    pub async fn get(&self, at: &ObjectRef) -> Result<Option<Object>, ApiError> {
        match self.resources.get(&self.object(Verb::Get, at)?, Some(0)).await {
            Ok(bytes) => parse(&bytes).map(Some),
            Err(error) if error.code() == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The object as it is known here, without waiting; nothing where there is none.
    pub fn glance(&self, at: &ObjectRef) -> Result<Option<Bytes>, ApiError> {
        let key = keyspace::key(self.object(Verb::Get, at)?.get())?;
        Ok(self.resources.store().recent().get(key.as_bytes())?.map(|version| version.value))
    }

    pub async fn list(&self, at: &Collection) -> Result<Vec<Object>, ApiError> {
        let page = self.resources.list(&self.objects(Verb::List, at)?, ListOptions::default()).await?;
        page.items.iter().map(|bytes| parse(bytes)).collect()
    }

    /// What is known here of a collection, as it is stored and one at a time: for those that look through much and keep
    /// little.
    pub fn scan(&self, at: &Collection) -> Result<Scan, ApiError> {
        let range = keyspace::range(self.objects(Verb::List, at)?.get())?;
        Ok(self.resources.store().recent().scan(range))
    }

    /// Several collections as they are at one revision, which comes with them.
    pub fn scan_together(&self, places: &[Collection]) -> Result<(Vec<Scan>, Revision), ApiError> {
        let snapshot = self.resources.store().recent();
        let scan = |at| Ok(snapshot.scan(keyspace::range(self.objects(Verb::List, at)?.get())?));
        Ok((places.iter().map(scan).collect::<Result<_, ApiError>>()?, snapshot.revision()))
    }

    /// What is known here of a resource in all workspaces.
    pub fn scan_everywhere(&self, resource: &ResourceDef) -> Scan {
        self.resources.store().recent().scan(keyspace::everywhere(resource))
    }

    /// The same from behind a key on, for those that look through it a part at a time.
    pub fn scan_everywhere_after(&self, resource: &ResourceDef, after: Option<&storage::Key>) -> Scan {
        let all = keyspace::everywhere(resource);
        let rest = after.map_or_else(|| all.clone(), |key| all.after(key));
        self.resources.store().recent().scan(rest)
    }

    /// All workspaces as they are now.
    pub fn around<'a>(&'a self, workspace: &'a Workspace) -> impl Around + 'a {
        self.resources.around(workspace)
    }

    /// The same by the name that resources have in common, for those that workspaces define by themselves.
    pub fn scan_named(&self, group: &str, plural: &str) -> Result<Scan, ApiError> {
        Ok(self.resources.store().recent().scan(keyspace::named(group, plural)?))
    }

    pub async fn create(&self, at: &Collection, object: Value) -> Result<Object, ApiError> {
        let request = Create { body: Body::Tree(object), options: self.options() };
        let written = self.resources.create(&self.objects(Verb::Create, at)?, &request).await?;
        parse(&written.bytes)
    }

    /// Makes the object unless there is one of that name already.
    pub async fn ensure(&self, at: &Collection, object: Value) -> Result<(), ApiError> {
        // What it would be refused for, if it were new, does not matter when it is there.
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() && self.get(&at.object(name)).await?.is_some() {
            return Ok(());
        }
        match self.create(at, object).await {
            Err(error) if error.reason() != "AlreadyExists" => Err(error),
            _ => Ok(()),
        }
    }

    pub async fn update(&self, at: &ObjectRef, part: Part, object: Object) -> Result<Object, ApiError> {
        let request = Create { body: Body::Tree(object.into()), options: self.options() };
        let written = self.resources.update(&self.object(Verb::Update, at)?, part, &request).await?;
        parse(&written.bytes)
    }

    /// Changes an object by a merge patch.
    pub async fn merge(&self, at: &ObjectRef, part: Part, patch: &Value) -> Result<Object, ApiError> {
        let body = PatchBody { kind: PatchKind::Merge, bytes: patch.to_string().into() };
        let written = self.resources.patch(&self.object(Verb::Patch, at)?, part, &body, &self.options()).await?;
        parse(&written.bytes)
    }

    /// Says what this part of the server wants of an object; others are made to give it up if need be.
    pub async fn apply(&self, at: &ObjectRef, part: Part, object: &Value) -> Result<Object, ApiError> {
        let body = PatchBody { kind: PatchKind::Apply, bytes: object.to_string().into() };
        let options = WriteOptions { force: Some(true), ..self.options() };
        let written = self.resources.patch(&self.object(Verb::Patch, at)?, part, &body, &options).await?;
        parse(&written.bytes)
    }

    pub async fn delete(&self, at: &ObjectRef, how: &DeleteOptions) -> Result<Deleted, ApiError> {
        self.resources.delete(&self.object(Verb::Delete, at)?, how).await.map(|deletion| deletion.left)
    }

    /// Takes an object away at once, as it was read, although it is held: for whoever holds it.
    pub async fn remove(&self, at: &ObjectRef, object: &Object) -> Result<(), ApiError> {
        let read = object.resource_version().parse().map(Revision).unwrap_or_default();
        let key = keyspace::key(at)?;
        self.replaced(at, Txn::remove(key, read)).await
    }

    /// Makes an object as it is and asks nobody: for records, which nobody else writes. `None` if there is one of that name.
    pub async fn enter(&self, at: &ObjectRef, record: Object) -> Result<Option<Object>, ApiError> {
        self.resources.enter(&self.object(Verb::Create, at)?, record).await
    }

    /// The same, and in one with it an object that is held from now on. `None` also if that is another by now.
    pub async fn enter_holding(
        &self,
        at: &ObjectRef,
        record: Object,
        (held_at, held): (&ObjectRef, Object),
    ) -> Result<Option<Object>, ApiError> {
        let held_at = self.object(Verb::Update, held_at)?;
        self.resources.enter_holding(&self.object(Verb::Create, at)?, record, (&held_at, held)).await
    }

    /// Whether objects of a resource can be held in one with a record: whether nothing depends on when they were written.
    pub fn is_plain(&self, resource: &ResourceDef) -> bool {
        Resources::is_plain(resource)
    }

    /// Writes an object in place of the one that it was read from, and asks nobody: for records, and for what no path leads
    /// to.
    pub async fn overwrite(&self, at: &ObjectRef, object: Object) -> Result<Object, ApiError> {
        self.resources.rewrite(&self.object(Verb::Update, at)?, object).await
    }

    /// Commits what depends on an object being as it was read.
    async fn replaced(&self, at: &ObjectRef, txn: Txn) -> Result<(), ApiError> {
        match self.resources.store().commit(txn).await {
            Err(CommitError::Conflict { .. }) => Err(ApiError::modified(at)),
            committed => committed.map(drop).map_err(ApiError::from),
        }
    }

    /// Takes entries away that nobody holds, as they are, all or none, and asks nobody: for those who let a whole
    /// workspace go.
    pub async fn erase(&self, entries: &[Entry]) -> Result<(), ApiError> {
        let mut txn = Txn::new();
        for Entry { key, version } in entries {
            txn = txn.expect(key.clone(), Expect::At(version.modified)).delete(key.clone());
        }
        self.resources.store().commit(txn).await.map(drop).map_err(ApiError::from)
    }

    /// What is kept of a workspace besides objects.
    pub fn scan_internals(&self, workspace: &Workspace) -> Result<Vec<Scan>, ApiError> {
        let snapshot = self.resources.store().recent();
        Ok(keyspace::internals(workspace)?.into_iter().map(|range| snapshot.scan(range)).collect())
    }

    /// What there is of a resource in all workspaces, and as of which revision.
    pub fn all_of(&self, resource: &ResourceDef) -> (Scan, Revision) {
        let snapshot = self.resources.store().recent();
        (snapshot.scan(keyspace::everywhere(resource)), snapshot.revision())
    }

    /// What has changed of a resource in all workspaces since a revision, in order, and up to which revision that is all.
    /// Nothing is waited for, and nothing is missing that anybody was told of before.
    pub fn changed_since(
        &self,
        resource: &ResourceDef,
        since: Revision,
    ) -> Result<(Vec<Arc<Change>>, Revision), ReadError> {
        let mut until = self.revision();
        if until == since {
            return Ok((Vec::new(), until));
        }
        let mut watcher = self.resources.store().watch(keyspace::everywhere(resource), since)?;
        let mut changes = Vec::new();
        while let Some(change) = watcher.try_next()? {
            until = until.max(change.revision);
            changes.push(change);
        }
        Ok((changes, until))
    }

    /// Every change of a resource in all workspaces, and what there is of it now.
    pub fn follow(&self, resource: &ResourceDef) -> Result<Follow, ReadError> {
        Follow::start(&self.resources, keyspace::everywhere(resource))
    }

    /// Every change of everything.
    pub fn follow_all(&self) -> Result<Follow, ReadError> {
        Follow::start(&self.resources, KeyRange::all())
    }

    /// Where the object of a key is, if its resource is served.
    pub fn place_of(&self, key: &storage::Key) -> Option<ObjectRef> {
        let parts = keyspace::parse(key)?;
        let workspace = Workspace::new(parts.workspace);
        let resource = self.resources.stored_as(&workspace, (parts.group, parts.resource))?;
        if resource.stored.identity.as_deref() != parts.identity {
            return None;
        }
        let place = Collection { resource, workspace, namespace: parts.namespace.map(str::to_owned) };
        Some(place.object(parts.name))
    }
}

/// What there is, and then what changes.
#[derive(Debug)]
pub struct Follow {
    /// What has not been told of what there was; `None` once all of it was.
    initial: Option<Peekable<Scan>>,
    since: Revision,
    watcher: Watcher,
}

/// What is known of one key.
#[derive(Clone, Debug)]
pub struct Seen {
    pub key: storage::Key,
    pub before: Option<storage::Version>,
    pub now: Option<storage::Version>,
    /// When it came to be so.
    pub revision: Revision,
}

impl From<Entry> for Seen {
    fn from(entry: Entry) -> Self {
        let revision = entry.version.modified;
        Self { key: entry.key, before: None, now: Some(entry.version), revision }
    }
}

impl Follow {
    fn start(resources: &Resources, range: KeyRange) -> Result<Self, ReadError> {
        let snapshot = resources.store().recent();
        let since = snapshot.revision();
        let watcher = resources.store().watch(range.clone(), since)?;
        let mut follow = Self { initial: Some(snapshot.scan(range).peekable()), since, watcher };
        follow.look_ahead();
        Ok(follow)
    }

    /// The next one; waits for it. After an error, follow anew: something was missed. Cancel safe.
    pub async fn next(&mut self) -> Result<Seen, ReadError> {
        // What there is comes without waiting; others want to run meanwhile.
        tokio::task::coop::consume_budget().await;
        if let Some(entry) = self.initial.as_mut().and_then(Iterator::next) {
            self.look_ahead();
            return entry.map(Seen::from);
        }
        let change = self.watcher.next().await?;
        let (before, now) = (change.previous.clone(), change.current.clone());
        Ok(Seen { key: change.key.clone(), before, now, revision: change.revision })
    }

    /// Whether everything there was has been told, so that only changes follow.
    pub fn is_caught_up(&self) -> bool {
        self.initial.is_none()
    }

    /// The revision of what there was: changes are those after it.
    pub fn since(&self) -> Revision {
        self.since
    }

    fn look_ahead(&mut self) {
        if self.initial.as_mut().is_some_and(|initial| initial.peek().is_none()) {
            self.initial = None;
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Object, ApiError> {
    Object::parse(bytes).map_err(|error| ApiError::internal(error.to_string()))
}
