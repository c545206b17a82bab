//! Workspaces that rest: in one that is marked inactive nobody does anything, one that is unavailable does not answer,
//! and in one that is suspended nothing is made or changed. What a workspace says of itself can always be seen, and an
//! administrator can always wake it. How many objects a workspace may hold is said in the same place.

use super::words::{
    HOME, INACTIVE, INACTIVE_BEFORE, ITSELF, LOGICAL_CLUSTERS, MAX_TOTAL_OBJECTS, ROOT, SUSPENDED, collection,
};
use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::api::Api;
use apiserver::attend::{Allowance, Around, Attending};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek};
use apiserver::place::Workspace;
use apiserver::target::Target;
use serde_json::Value;

/// Why a request cannot be answered in a workspace, if it cannot.
pub(super) fn check(workspace: &Workspace, target: &Target, around: &dyn Around) -> Result<(), ApiError> {
    if [ROOT, HOME].contains(&workspace.as_str()) || is_always_answered(target) {
        return Ok(());
    }
    let at = collection(around, LOGICAL_CLUSTERS, workspace)?.object(ITSELF);
    let Some(itself) = around.bytes(&at)? else { return Ok(()) };
    let itself = Peek::of(&itself);
    if is_inactive(|name| itself.text(&["metadata", "annotations", name]).map(|value| value.into_owned())) {
        let why = "logical cluster is marked inactive";
        return Err(ApiError::forbidden_request(LOGICAL_CLUSTERS.0, LOGICAL_CLUSTERS.2, workspace.as_str(), why));
    }
    if itself.text(&["status", "phase"]).as_deref() == Some("Unavailable") {
        return Err(ApiError::unavailable("the workspace is unavailable"));
    }
    Ok(())
}

fn is_always_answered(target: &Target) -> bool {
    let itself = target
        .resource()
        .is_some_and(|resource| (&*resource.group, &*resource.plural) == (LOGICAL_CLUSTERS.0, LOGICAL_CLUSTERS.2));
    itself || matches!(target, Target::OpenApi(..) | Target::Content(_)) || target.is_server_wide()
}

fn is_inactive(annotation: impl Fn(&str) -> Option<String>) -> bool {
    [INACTIVE, INACTIVE_BEFORE].iter().any(|name| annotation(name).as_deref() == Some("true"))
}

/// Moves a workspace that is put to rest, or woken, into the phase that says so.
pub(super) fn attend(object: &mut Object, old: &Object, write: &Attending<'_>) -> Result<(), ApiError> {
    let inactive = |object: &Object| is_inactive(|name| object.annotation(name).map(str::to_owned));
    let phase = object.text(&["status", "phase"]).to_owned();
    let next = match (inactive(old), inactive(object)) {
        (false, true) if phase != "Ready" => {
            let why =
                format!("LogicalCluster can only be marked inactive in phase \"Ready\", but is in phase {phase:?}");
            return Err(ApiError::forbidden(&write.at.resource, object.name(), &why));
        }
        (_, true) if phase == "Ready" => "Inactive",
        (_, false) if phase == "Inactive" => "Ready",
        _ => return Ok(()),
    };
    if let Some(Value::Object(status)) = object.map_mut().get_mut("status") {
        status.insert("phase".to_owned(), next.into());
    }
    Ok(())
}

/// Refuses to make or change anything in a workspace that is suspended, and says how much it may hold. What is going may
/// go.
pub(super) fn keep(name: &str, write: &Attending<'_>) -> Result<Allowance, ApiError> {
    let workspace = &write.at.workspace;
    let exempt = write.user.is_part_of_the_server() || write.old.is_some_and(Object::is_deleting);
    // The first workspaces are never suspended.
    if exempt || write.old.is_some() && [ROOT, HOME].contains(&workspace.as_str()) {
        return Ok(Allowance::AsOthers);
    }
    let at = collection(write.around, LOGICAL_CLUSTERS, workspace)?.object(ITSELF);
    let Some(bytes) = write.around.bytes(&at)? else { return Ok(Allowance::AsOthers) };
    let itself = Peek::of(&bytes);
    let Some(annotations) = itself.raw(&["metadata", "annotations"]).map(Peek::of) else {
        return Ok(Allowance::AsOthers);
    };
    if let Some(reasons) = annotations.text(&[SUSPENDED]).filter(|_| !write.user.is_master()) {
        let project = itself.text(&["spec", "owner", "name"]).unwrap_or_default();
        let why = format!("project {project:?} is suspended ({reasons}) and cannot accept new updates while suspended");
        return Err(ApiError::forbidden_because(&write.at.resource, name, &why, "ProjectSuspended"));
    }
    let Some(max) = annotations.text(&[MAX_TOTAL_OBJECTS]) else { return Ok(Allowance::AsOthers) };
    // Whoever makes a workspace ready is not held up.
    let is_ready = itself.text(&["status", "phase"]).as_deref() == Some("Ready");
    Ok(if is_ready { allowance(&max) } else { Allowance::AsOthers })
}

/// What is no number says nothing; none above zero means any.
fn allowance(said: &str) -> Allowance {
    match said.parse::<i64>() {
        Err(_) => Allowance::AsOthers,
        Ok(max) => u64::try_from(max).ok().filter(|max| *max > 0).map_or(Allowance::AnyNumber, Allowance::Objects),
    }
}

/// Ends the watches of workspaces that are put to rest, and those of all workspaces at once.
#[derive(Debug)]
pub struct Resting {
    api: Api,
}

pub fn controller(client: &Client, api: &Api) -> Controller<Resting> {
    Controller::new(Resting { api: api.clone() }).source(changes_of(client, LOGICAL_CLUSTERS, put_to_rest))
}

/// The workspace, if it is this change that puts it to rest.
fn put_to_rest(seen: &Seen) -> Option<Workspace> {
    let inactive = |version: &storage::Version| {
        let itself = Peek::new(version);
        is_inactive(|name| itself.text(&["metadata", "annotations", name]).map(|value| value.into_owned()))
    };
    let now = seen.now.as_ref().is_some_and(inactive) && !seen.before.as_ref().is_some_and(inactive);
    keyspace::workspace(&seen.key).filter(|_| now)
}

impl Reconciler for Resting {
    type Key = Workspace;

    fn name(&self) -> &'static str {
        "resting"
    }

    async fn reconcile(&self, workspace: &Workspace) -> Result<Action, ApiError> {
        self.api.end_watches(workspace);
        self.api.end_watches(&Workspace::everywhere());
        Ok(Action::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_true_means_inactive_by_either_name() {
        let check = |name: &str, value: &str, expected: bool| {
            assert_eq!(is_inactive(|asked| (asked == name).then(|| value.to_owned())), expected, "{name}={value}");
        };
        check(INACTIVE, "true", true);
        check(INACTIVE_BEFORE, "true", true);
        for (name, value) in [(INACTIVE, "false"), (INACTIVE, ""), (INACTIVE, "True"), ("core.kcp.io/other", "true")] {
            check(name, value, false);
        }
    }

    #[test]
    fn a_limit_is_a_number_above_zero() {
        let check = |said: &str, expected: Allowance| assert_eq!(allowance(said), expected, "{said}");
        check("40", Allowance::Objects(40));
        for none in ["0", "-1", "-9000000000000000000"] {
            check(none, Allowance::AnyNumber);
        }
        for odd in ["", "many", "1.5", "4 0", "99999999999999999999"] {
            check(odd, Allowance::AsOthers);
        }
    }
}
