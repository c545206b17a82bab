//! How much a workspace may hold. It is counted along with every commit, so looking costs nothing; what is under way
//! when the limit is reached may still go over it.

use super::Resources;
use crate::attend::Allowance;
use crate::auth::User;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::Object;
use crate::place::{Collection, Workspace};
use serde_json::Value;
use storage::Size;

/// What one workspace may hold; `None`: anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    pub objects_max: Option<u64>,
    /// Of the objects and what they are called.
    pub bytes_max: Option<u64>,
}

impl Room {
    /// Whether anything is limited at all.
    pub fn is_limited(&self) -> bool {
        self.objects_max.is_some() || self.bytes_max.is_some()
    }

    /// Why no more can be made, if so.
    fn for_another(&self, used: Size) -> Option<String> {
        let objects = self.objects_max.filter(|max| used.keys >= *max);
        let objects = objects.map(|max| format!("the workspace holds {} objects, and may hold {max}", used.keys));
        objects.or_else(|| self.for_growth(used))
    }

    /// Why nothing may grow, if so.
    fn for_growth(&self, used: Size) -> Option<String> {
        let bytes = self.bytes_max.filter(|max| used.bytes >= *max);
        bytes.map(|max| format!("the workspace holds {} bytes of objects, and may hold {max}", used.bytes))
    }
}

impl Resources {
    /// From now on workspaces hold no more than that. The store must have been opened to count by workspace.
    pub fn limit_workspaces(&self, room: Room) {
        // Whoever was first has said it.
        let _ = self.inner.room.set(room);
    }

    /// Refuses what would be one object more in a workspace that is full. Not asked of what the server itself keeps there.
    pub(super) fn room_for_another(&self, at: &Collection, name: &str, allowance: Allowance) -> Result<(), ApiError> {
        let all = self.inner.room.get().copied().unwrap_or_default();
        if !all.is_limited() && !matches!(allowance, Allowance::Objects(_)) {
            return Ok(());
        }
        let used = self.inner.store.share(at.workspace.as_str().as_bytes());
        let why = match allowance {
            Allowance::AsOthers => all.for_another(used),
            Allowance::AnyNumber => all.for_growth(used),
            Allowance::Objects(max) => match self.beyond(max, used, at)? {
                Some(why) => Some(why),
                None => all.for_growth(used),
            },
        };
        why.map_or(Ok(()), |why| Err(ApiError::forbidden(&at.resource, name, &why)))
    }

    /// Why a workspace holds no more than it is allowed to, if so.
    fn beyond(&self, max: u64, used: Size, at: &Collection) -> Result<Option<String>, ApiError> {
        if used.keys < max || is_event(&at.resource) {
            return Ok(None);
        }
        // They are counted only here, where it matters.
        let objects = used.keys.saturating_sub(self.events_in(&at.workspace)?);
        let reached = "it has reached its total object count limit";
        Ok((objects >= max).then(|| format!("the workspace holds {objects} objects, and may hold {max}: {reached}")))
    }

    fn events_in(&self, workspace: &Workspace) -> Result<u64, ApiError> {
        let Some(events) = self.builtin().stored_as("", "events") else { return Ok(0) };
        let place = Collection { resource: events.clone(), workspace: workspace.clone(), namespace: None };
        let all = self.inner.store.recent().scan(keyspace::range(&place)?);
        all.map(|entry| entry.map(|_| 1).map_err(ApiError::from)).sum()
    }

    /// Refuses what makes an object larger in a workspace that is full.
    pub(super) fn room_to_grow(
        &self,
        at: &Collection,
        (old, new): (&Object, &Object),
        user: &User,
    ) -> Result<(), ApiError> {
        let Some(room) = self.limited(user) else { return Ok(()) };
        let used = self.inner.store.share(at.workspace.as_str().as_bytes());
        let Some(why) = room.for_growth(used) else { return Ok(()) };
        let bytes = |object: &Object| Value::from(object.clone()).to_string().len();
        if bytes(new) <= bytes(old) {
            return Ok(());
        }
        Err(ApiError::forbidden(&at.resource, new.name(), &why))
    }

    /// What the server itself keeps in a workspace is not held up: it cleans up, among other things.
    fn limited(&self, user: &User) -> Option<&Room> {
        let exempt = user.is_part_of_the_server() && user.is_master();
        self.inner.room.get().filter(|room| room.is_limited() && !exempt)
    }
}

/// Of either group: they are stored as one.
fn is_event(resource: &ResourceDef) -> bool {
    (&*resource.stored.group, &*resource.stored.plural, &resource.stored.identity) == ("", "events", &None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_workspace_says_what_it_holds_and_what_it_may() {
        let room = Room { objects_max: Some(10), bytes_max: Some(1000) };
        let check = |keys, bytes, another: Option<&str>, growth: Option<&str>| {
            let used = Size { keys, bytes };
            assert_eq!(room.for_another(used).as_deref(), another, "{used:?}");
            assert_eq!(room.for_growth(used).as_deref(), growth, "{used:?}");
        };
        check(9, 999, None, None);
        check(10, 5, Some("the workspace holds 10 objects, and may hold 10"), None);
        let bytes = Some("the workspace holds 1200 bytes of objects, and may hold 1000");
        check(9, 1200, bytes, bytes);
        assert_eq!(Room::default().for_another(Size { keys: u64::MAX, bytes: u64::MAX }), None);
        assert!(!Room::default().is_limited() && room.is_limited());
    }
}
