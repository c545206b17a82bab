//! What kcp calls things: resources, annotations and finalizers that its clients know by name.

use apiserver::attend::Around;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::with_annotation;
use apiserver::place::{Collection, ObjectRef, Workspace};
use bytes::Bytes;
use storage::Key;

/// Where everything begins. Its id is its path.
pub const ROOT: &str = "root";
/// The workspace below root that is meant by a path without one. Its id is its name.
pub const HOME: &str = "default";

/// In which homes are. Nobody enters it; `user:<name>` is the home of somebody.
pub(super) const USERS: &str = "user";

pub(super) const WORKSPACES: (&str, &str, &str) = ("tenancy.kcp.io", "v1alpha1", "workspaces");
pub(super) const TYPES: (&str, &str, &str) = ("tenancy.kcp.io", "v1alpha1", "workspacetypes");
pub(super) const LOGICAL_CLUSTERS: (&str, &str, &str) = ("core.kcp.io", "v1alpha1", "logicalclusters");
/// What a logical cluster is called by itself.
pub(super) const ITSELF: &str = "cluster";

/// The path of the workspace that an object is in, on objects that others refer to by it.
pub(super) const PATH: &str = "kcp.io/path";
/// The id of the workspace that an object is in.
pub(super) const CLUSTER: &str = "kcp.io/cluster";
/// `root:universal`: of what type the workspace is.
pub(super) const TYPE: &str = "internal.tenancy.kcp.io/type";
/// Who made the workspace.
pub(super) const OWNER: &str = "experimental.tenancy.kcp.io/owner";
pub(super) const SHARD: &str = "core.kcp.io/shard";
pub(super) const PHASE_LABEL: &str = "tenancy.kcp.io/phase";

/// `a,b;c`: whom a workspace is open to at most.
pub(super) const REQUIRED_GROUPS: &str = "authorization.kcp.io/required-groups";

/// What is known of a user: the workspace that an account is from, those that somebody is bound to, and whose permissions
/// are lent to them.
pub(super) const CLUSTER_OF_ACCOUNT: &str = "authentication.kcp.io/cluster-name";
pub(super) const SCOPES: &str = "authentication.kcp.io/scopes";
pub(super) const WARRANTS: &str = "authorization.kcp.io/warrant";

/// `true`: nobody does anything in the workspace. By its present name, and by the one before.
pub(super) const INACTIVE: &str = "core.kcp.io/inactive";
pub(super) const INACTIVE_BEFORE: &str = "internal.kcp.io/inactive";
/// Why nothing may change in the workspace of a project.
pub(super) const SUSPENDED: &str = "internal.tenancy.kcp.io/suspended";

/// How many objects a workspace may hold, whatever others may.
pub(super) const MAX_TOTAL_OBJECTS: &str = "core.kcp.io/max-total-objects";

/// Holds a workspace until its logical cluster is gone.
pub(super) const HELD_BY_CLUSTER: &str = "core.kcp.io/logicalcluster";
/// Holds a logical cluster until nothing is in it.
pub(super) const HELD_BY_CONTENT: &str = "core.kcp.io/logicalcluster-deletion";

/// An object as it is seen from outside of its workspace: it says whose it is.
pub(super) fn branded(key: &Key, value: &Bytes) -> Bytes {
    match keyspace::workspace(key) {
        Some(workspace) => with_annotation(value, CLUSTER, workspace.as_str()),
        None => value.clone(),
    }
}

/// A collection in a workspace, as those have it who look around.
pub(super) fn collection(
    around: &dyn Around,
    resource: (&str, &str, &str),
    workspace: &Workspace,
) -> Result<Collection, ApiError> {
    let (group, _, plural) = resource;
    let resource = around.resource(group, plural).ok_or_else(ApiError::no_such_path)?;
    Ok(Collection { resource, workspace: workspace.clone(), namespace: None })
}

/// What a workspace says of itself.
pub(super) fn itself(client: &Client, workspace: &Workspace) -> Result<ObjectRef, ApiError> {
    Ok(client.at(LOGICAL_CLUSTERS, workspace, None)?.object(ITSELF))
}
