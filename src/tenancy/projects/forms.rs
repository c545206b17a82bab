//! How Milo's clients say where they want to be: `/projects/<name>/control-plane/...` is the workspace of a project, and
//! `.../organizations/<name>/control-plane/...` is where everybody is who names none, with the projects of others left out.

use super::{GROUP, ORGANIZATION};
use crate::tenancy::path::is_name;
use crate::tenancy::words::HOME;
use apiserver::api::{Meant, Said};
use http::Uri;
use http::uri::PathAndQuery;

const GROUP_PATH: &str = "/apis/resourcemanager.miloapis.com/v1alpha1";
const IAM_GROUP: &str = "iam.miloapis.com";
const USERS_PATH: &str = "/apis/iam.miloapis.com/v1alpha1/users/";

/// What is meant, in the form that everything has.
pub fn rewritten(uri: &Uri) -> Option<Meant> {
    let (meant, said) = meant(uri.path(), uri.query())?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(meant).ok()?);
    Some(Meant { uri: Uri::from_parts(parts).ok()?, said })
}

fn meant(path: &str, query: Option<&str>) -> Option<(String, Said)> {
    let below = path.strip_prefix(GROUP_PATH).unwrap_or(path);
    if let Some((project, rest)) = below.strip_prefix("/projects/").and_then(control_plane) {
        let path = format!("/clusters/{HOME}:{project}{rest}");
        return Some((joined(&path, query), parent(GROUP, "Project", project)));
    }
    if let Some((user, rest)) = path.strip_prefix(USERS_PATH).and_then(control_plane) {
        return Some((joined(&format!("/clusters/{HOME}{rest}"), query), parent(IAM_GROUP, "User", user)));
    }
    let (organization, rest) =
        path.strip_prefix(GROUP_PATH)?.strip_prefix("/organizations/").and_then(control_plane)?;
    let chosen = (rest.strip_prefix(GROUP_PATH) == Some("/projects")).then(|| chosen(organization, query));
    let path = joined(&format!("/clusters/{HOME}{rest}"), chosen.as_deref().or(query));
    Some((path, parent(GROUP, "Organization", organization)))
}

/// What whoever decides is told of the way somebody came.
fn parent(group: &'static str, kind: &'static str, name: &str) -> Said {
    let extra = vec![
        ("iam.miloapis.com/parent-api-group", group.to_owned()),
        ("iam.miloapis.com/parent-type", kind.to_owned()),
        ("iam.miloapis.com/parent-name", name.to_owned()),
    ];
    Said { extra, context: Some(kind) }
}

/// `<name>/control-plane<rest>`
fn control_plane(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.split_once('/')?;
    let rest = after.strip_prefix("control-plane").filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    is_name(name).then_some((name, rest))
}

fn joined(path: &str, query: Option<&str>) -> String {
    query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))
}

/// The query, with the projects of this organization chosen from what it chooses already.
fn chosen(organization: &str, query: Option<&str>) -> String {
    let ours = format!("{}%3D{organization}", ORGANIZATION.replace('/', "%2F"));
    let mut found = false;
    let mut parts: Vec<String> = Vec::new();
    for part in query.into_iter().flat_map(|query| query.split('&')).filter(|part| !part.is_empty()) {
        match part.strip_prefix("labelSelector=") {
            Some("") => {}
            // The first counts; whoever says two does not choose more by that.
            Some(_) if found => {}
            Some(theirs) => {
                found = true;
                parts.push(format!("labelSelector={theirs}%2C{ours}"));
            }
            None => parts.push(part.to_owned()),
        }
    }
    if !found {
        parts.push(format!("labelSelector={ours}"));
    }
    parts.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_the_workspace_of_its_name_however_it_is_said() {
        let check = |said: &str, expected: Option<&str>| {
            let uri: Uri = format!("https://h:1{said}").parse().unwrap();
            let meant = rewritten(&uri).map(|meant| meant.uri.to_string());
            assert_eq!(meant.as_deref(), expected.map(|path| format!("https://h:1{path}")).as_deref(), "{said}");
        };
        let long = "/apis/resourcemanager.miloapis.com/v1alpha1";
        check("/projects/a/control-plane/api/v1/pods?watch=1", Some("/clusters/default:a/api/v1/pods?watch=1"));
        check(&format!("{long}/projects/a/control-plane/apis"), Some("/clusters/default:a/apis"));
        check(&format!("{long}/projects/a/control-plane"), Some("/clusters/default:a"));
        check(&format!("{long}/organizations/o/control-plane/api"), Some("/clusters/default/api"));
        let projects = format!("{long}/projects");
        let in_organization = format!("{long}/organizations/o/control-plane{projects}");
        let label = "resourcemanager.miloapis.com%2Forganization-name%3Do";
        check(&in_organization, Some(&format!("/clusters/default{projects}?labelSelector={label}")));
        check(
            &format!("{in_organization}?limit=5&labelSelector=a%3Db&labelSelector=c"),
            Some(&format!("/clusters/default{projects}?limit=5&labelSelector=a%3Db%2C{label}")),
        );
        check(&format!("{in_organization}/a"), Some(&format!("/clusters/default{projects}/a")));
        for odd in [
            "/api/v1/pods",
            "/projects/a",
            "/projects/a/control-planes/api",
            "/projects//control-plane/api",
            "/projects/A/control-plane/api",
            "/projects/a:b/control-plane/api",
            "/projects/a%2Fb/control-plane/api",
            "/organizations/o/control-plane/api",
            "/clusters/root/projects/a/control-plane/api",
        ] {
            check(odd, None);
        }
        check(&projects, None);
        check(&format!("{projects}/a/status"), None);
    }

    #[test]
    fn whoever_decides_is_told_by_which_way_somebody_came() {
        let check = |said: &str, expected: [&str; 3]| {
            let said = rewritten(&said.parse().unwrap()).unwrap().said;
            let values: Vec<&str> = said.extra.iter().map(|(_, value)| value.as_str()).collect();
            assert_eq!((&values[..], said.context), (&expected[..], Some(expected[1])));
        };
        check("/projects/p/control-plane/api", [GROUP, "Project", "p"]);
        check(&format!("{GROUP_PATH}/organizations/o/control-plane/api"), [GROUP, "Organization", "o"]);
        check(&format!("{USERS_PATH}u/control-plane/api"), [IAM_GROUP, "User", "u"]);
    }
}
