//! Home workspaces: everybody who may have one has one, made when they first ask for `workspaces/~` in the root. It is
//! found below `user:<name>`, or by its id, which follows from the name.

use super::path;
use super::words::{ITSELF, LOGICAL_CLUSTERS, OWNER, ROOT, USERS, WORKSPACES};
use apiserver::auth::{Attributes, Objects, User};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{ObjectRef, Workspace};
use bytes::Bytes;
use serde_json::{Value, json};

/// What everybody calls their own.
const OWN: &str = "~";

/// Whether somebody asks for their own home.
pub(super) fn is_asked_for(at: &ObjectRef) -> bool {
    let resource = at.resource();
    at.name == OWN
        && at.workspace().as_str() == ROOT
        && (&*resource.group, &*resource.plural) == (WORKSPACES.0, WORKSPACES.2)
}

/// The home of somebody, who gets one if they may and there is none yet.
pub(super) async fn of(client: &Client, user: &User) -> Result<Bytes, ApiError> {
    let id = path::home(&user.name);
    let homes = client.at(WORKSPACES, &Workspace::new(USERS), None)?;
    let found = match client.get(&homes.object(&id)).await? {
        Some(found) => found,
        None => {
            may_have_one(client, user)?;
            let spec = json!({ "type": { "name": "home", "path": ROOT }, "cluster": id });
            let metadata = json!({ "name": id, "annotations": { OWNER: owner(user).to_string() } });
            match client.create(&homes, json!({ "metadata": metadata, "spec": spec })).await {
                Err(error) if error.reason() == "AlreadyExists" => {
                    client.get(&homes.object(&id)).await?.ok_or_else(ApiError::too_many_requests)?
                }
                made => made?,
            }
        }
    };
    answer(client, &id, found)
}

/// What is answered: not before it can be used.
fn answer(client: &Client, id: &str, home: Object) -> Result<Bytes, ApiError> {
    let itself = client.at(LOGICAL_CLUSTERS, &Workspace::new(id), None)?.object(ITSELF);
    if home.text(&["status", "phase"]) == "Initializing" || client.glance(&itself)?.is_none() {
        return Err(ApiError::too_many_requests());
    }
    Ok(Value::from(home).to_string().into())
}

fn may_have_one(client: &Client, user: &User) -> Result<(), ApiError> {
    let (group, _, resource) = WORKSPACES;
    let wanted = Attributes::objects("create", Objects { group, resource, name: OWN, ..Objects::default() });
    if client.allows(user, &Workspace::new(ROOT), &wanted)? {
        return Ok(());
    }
    let why = format!("User {:?} cannot create resource \"workspaces\" named \"~\" in the root", user.name);
    Err(ApiError::forbidden_request(group, resource, OWN, &why))
}

fn owner(user: &User) -> Value {
    json!({ "username": user.name, "uid": user.uid, "groups": user.groups })
}

/// Whose home a workspace is to be, as the server says when it makes one.
pub(super) fn meant(home: &Object) -> Option<User> {
    let said: Value = serde_json::from_str(home.annotation(OWNER)?).ok()?;
    let word = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
    let groups = said["groups"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Some(User { name: word("username"), uid: word("uid"), groups: groups.collect(), ..User::default() })
}

/// Where the home of somebody is: below their name, if it can be part of a path.
pub(super) fn path_of(user: &str) -> String {
    if path::is_name(user) { format!("{USERS}:{user}") } else { path::home(user) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_found_below_the_name_if_that_can_be_part_of_a_path() {
        assert_eq!(path_of("alice"), "user:alice");
        assert_eq!(path_of("alice@example.com"), path::home("alice@example.com"));
        let object = json!({ "metadata": { "annotations": { OWNER: r#"{"username":"ada","groups":["dev"]}"# } } });
        let ada = meant(&Object::try_from(object).unwrap()).unwrap();
        assert_eq!((ada.name, ada.groups), ("ada".to_owned(), vec!["dev".to_owned()]));
    }
}
