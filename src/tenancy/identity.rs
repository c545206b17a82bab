//! As whom somebody counts in a workspace: accounts of other workspaces are foreigners, whoever is bound to some
//! workspaces is a stranger in others, and a warrant lends what somebody else may do. Pure.

use super::words::{CLUSTER_OF_ACCOUNT, HOME, SCOPES, WARRANTS};
use apiserver::auth::impersonation::{Wanted, account};
use apiserver::auth::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User};
use apiserver::place::Workspace;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Warrants may be inside of each other this deep. kcp knows no bound; nobody has been seen to need two.
const DEPTH_MAX: usize = 4;
/// Warrants of one user, all taken together: each is asked about with every request.
const WARRANTS_MAX: usize = 16;

/// Groups that only masters make anybody a member of who is not: what they mean is not one workspace's to give.
const SPECIAL: [&str; 6] = [
    MASTERS,
    AUTHENTICATED,
    "system:kcp:admin",
    "system:kcp:tenancy:workspace-bootstrapper",
    "system:kcp:logical-cluster-admin",
    "system:kcp:external-logical-cluster-admin",
];

/// Somebody whose permissions are lent, as it is written down.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Warrant {
    user: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Who somebody is in a workspace, if that is somebody else than elsewhere.
pub(super) fn arrived(user: &User, workspace: &Workspace) -> Option<User> {
    if user.foreign {
        return None;
    }
    match home(user) {
        Home::None => {}
        Home::In(home) if home == workspace.as_str() => {}
        Home::In(home) => return Some(foreigner(user, home)),
        Home::Unclear => return Some(stranger(user, &BTreeSet::new())),
    }
    let scopes = scopes(user)?;
    (!scopes.contains(workspace.as_str())).then(|| stranger(user, &scopes))
}

/// Everybody as whom a user counts in a workspace, themselves first.
pub(super) fn standing<'a>(user: &'a User, workspace: &Workspace) -> Vec<Cow<'a, User>> {
    let mut all = Vec::with_capacity(2);
    match arrived(user, workspace) {
        Some(other) => all.push(Cow::Owned(other)),
        None if user.is_somebody_in(workspace) => {
            all.push(Cow::Borrowed(user));
            // Accounts are known by their name in the whole world at home, too.
            if let (Home::In(home), false) = (home(user), user.foreign) {
                all.push(Cow::Owned(foreigner(user, home)));
            }
        }
        None => {}
    }
    // Those who vouch for users of another server do not know what a warrant is.
    if user.extra.contains_key(WARRANTS) && !user.foreign {
        lend(user, workspace, DEPTH_MAX, &mut all);
    }
    all
}

fn lend(user: &User, workspace: &Workspace, depth: usize, all: &mut Vec<Cow<'_, User>>) {
    for text in user.extra.get(WARRANTS).into_iter().flatten() {
        // One that cannot be read lends nothing.
        let Ok(Warrant { user, uid, groups, extra }) = serde_json::from_str(text) else { continue };
        let lender = User { name: user, uid, groups, extra, ..User::default() };
        if depth == 0 || all.len() > WARRANTS_MAX {
            return;
        }
        // An account that does not say where it is from could be anybody's.
        if account(&lender.name).is_some() && !lender.extra.contains_key(CLUSTER_OF_ACCOUNT) {
            continue;
        }
        lend(&lender, workspace, depth - 1, all);
        let lender = arrived(&lender, workspace).unwrap_or(lender);
        all.push(Cow::Owned(lender));
    }
}

/// Why somebody who is no master may not act as somebody.
pub(super) fn unmasked(by: &User, wanted: &Wanted, workspace: &Workspace) -> Option<String> {
    if by.is_master() {
        return None;
    }
    let reserved = wanted.extra.keys().any(|key| key.to_lowercase().contains("kcp.io"));
    // The workspace of those who name none is like any Kubernetes: whoever becomes a master in it is one in it alone.
    let special = |group: &String| SPECIAL.contains(&group.as_str()) && !by.is_in(group);
    let special = workspace.as_str() != HOME && wanted.groups.iter().any(special);
    (reserved || special).then(|| "impersonation is not allowed for the requestor".to_owned())
}

/// Whether somebody is an account of the workspace that they are in.
pub(super) fn is_local_account(user: &User) -> bool {
    account(&user.name).is_some()
}

/// Where an account is from.
enum Home<'a> {
    /// It is none, or does not say: then it is from here.
    None,
    In(&'a str),
    Unclear,
}

fn home(user: &User) -> Home<'_> {
    if account(&user.name).is_none() {
        return Home::None;
    }
    match (&user.within, user.extra.get(CLUSTER_OF_ACCOUNT).map(Vec::as_slice)) {
        (Some(within), None) => Home::In(within.as_str()),
        (None, None | Some([])) => Home::None,
        (None, Some([one])) => Home::In(one),
        (Some(within), Some([one])) if within.as_str() == one => Home::In(one),
        _ => Home::Unclear,
    }
}

fn known(user: &User) -> Vec<String> {
    let group = if user.is_in(AUTHENTICATED) { AUTHENTICATED } else { UNAUTHENTICATED };
    vec![group.to_owned()]
}

fn of_cluster(id: &str) -> String {
    format!("system:cluster:{id}")
}

fn foreigner(user: &User, home: &str) -> User {
    let rest = user.name.strip_prefix("system:serviceaccount:").unwrap_or_default();
    let groups = known(user).into_iter().chain([of_cluster(home)]).collect();
    let name = format!("system:kcp:serviceaccount:{home}:{rest}");
    User { name, groups, within: None, ..user.clone() }
}

/// Somebody of whom nothing counts but that they are known, and where.
fn stranger(user: &User, scopes: &BTreeSet<&str>) -> User {
    let groups = known(user).into_iter().chain(scopes.iter().map(|id| of_cluster(id))).collect();
    User { name: ANONYMOUS.to_owned(), groups, extra: user.extra.clone(), ..User::default() }
}

/// The only workspaces in which somebody is who they are: those that every value names. `None`: all.
fn scopes(user: &User) -> Option<BTreeSet<&str>> {
    let one = |text: &'_ String| -> BTreeSet<String> {
        text.split(',').filter_map(|scope| scope.strip_prefix("cluster:")).map(str::to_owned).collect()
    };
    let mut values = user.extra.get(SCOPES)?.iter();
    let first = values.next()?;
    let others: Vec<BTreeSet<String>> = values.map(one).collect();
    let named = first.split(',').filter_map(|scope| scope.strip_prefix("cluster:"));
    Some(named.filter(|id| others.iter().all(|other| other.contains(*id))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, groups: &[&str], extra: &[(&str, &[&str])]) -> User {
        let list = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let extra = extra.iter().map(|(key, values)| ((*key).to_owned(), list(values))).collect();
        User { extra, ..User::authenticated(name, list(groups)) }
    }

    /// `name group group`, for each as whom the user counts in the workspace `here`.
    #[track_caller]
    fn check(user: &User, expected: &[&str]) {
        let all = standing(user, &Workspace::new("here"));
        let told: Vec<String> = all.iter().map(|one| format!("{} {}", one.name, one.groups.join(" "))).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn an_account_is_itself_at_home_and_a_foreigner_elsewhere() {
        let name = "system:serviceaccount:n:a";
        let at =
            |home: &str| User { within: Some(Workspace::new(home)), ..user(name, &["system:serviceaccounts"], &[]) };
        let own = "system:serviceaccount:n:a system:serviceaccounts system:authenticated";
        let of = |id: &str| format!("system:kcp:serviceaccount:{id}:n:a system:authenticated system:cluster:{id}");
        check(&at("here"), &[own, &of("here")]);
        check(&at("there"), &[&of("there")]);
        check(&user(name, &[], &[(CLUSTER_OF_ACCOUNT, &["there"])]), &[&of("there")]);
        check(
            &user(name, &[], &[(CLUSTER_OF_ACCOUNT, &["here", "there"])]),
            &["system:anonymous system:authenticated"],
        );
        check(&user(name, &[], &[]), &["system:serviceaccount:n:a system:authenticated"]);
    }

    #[test]
    fn whoever_is_bound_to_some_workspaces_is_a_stranger_in_others() {
        let bound = |scopes: &[&str]| user("ada", &["system:masters"], &[(SCOPES, scopes)]);
        check(&bound(&["cluster:here"]), &["ada system:masters system:authenticated"]);
        check(&bound(&["cluster:a,cluster:here", "cluster:here"]), &["ada system:masters system:authenticated"]);
        check(
            &bound(&["cluster:a,cluster:b"]),
            &["system:anonymous system:authenticated system:cluster:a system:cluster:b"],
        );
        check(
            &bound(&["cluster:a,cluster:here", "cluster:a"]),
            &["system:anonymous system:authenticated system:cluster:a"],
        );
        check(&bound(&["cluster:here", "cluster:a"]), &["system:anonymous system:authenticated"]);
        check(&bound(&["here"]), &["system:anonymous system:authenticated"]);
    }

    #[test]
    fn a_warrant_lends_within_its_own_bounds() {
        let with = |warrants: &[&str]| user("ada", &[], &[(WARRANTS, warrants)]);
        let ada = "ada system:authenticated";
        check(&with(&[r#"{"user":"bob","groups":["g"]}"#]), &[ada, "bob g"]);
        check(&with(&["nonsense", "{}", r#"{"user":7}"#]), &[ada, " "]);
        check(
            &with(&[r#"{"user":"bob","extra":{"authentication.kcp.io/scopes":["cluster:there"]}}"#]),
            &[ada, "system:anonymous system:unauthenticated system:cluster:there"],
        );
        check(&with(&[r#"{"user":"system:serviceaccount:n:a"}"#]), &[ada]);
        let nested = r#"{"user":"bob","extra":{"authorization.kcp.io/warrant":["{\"user\":\"cyd\"}"]}}"#;
        check(&with(&[nested]), &[ada, "cyd ", "bob "]);
    }

    #[test]
    fn warrants_in_warrants_and_many_of_them_have_an_end() {
        let mut text = r#"{"user":"last"}"#.to_owned();
        for _ in 0..8 {
            text = serde_json::json!({ "user": "u", "extra": { WARRANTS: [text] } }).to_string();
        }
        let deep = user("ada", &[], &[(WARRANTS, &[&text])]);
        let all = standing(&deep, &Workspace::new("here"));
        assert_eq!(all.len(), 1 + DEPTH_MAX);
        assert!(all.iter().all(|one| one.name != "last"));
        let many = vec![r#"{"user":"u"}"#; 1000];
        assert!(standing(&user("ada", &[], &[(WARRANTS, &many)]), &Workspace::new("here")).len() <= WARRANTS_MAX + 1);
    }

    #[test]
    fn only_masters_make_somebody_special_or_give_them_what_is_reserved() {
        let wanted = |groups: &[&str], key: Option<&str>| Wanted {
            name: "x".to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            extra: key.map(|key| (key.to_owned(), vec!["v".to_owned()])).into_iter().collect(),
            ..Wanted::default()
        };
        let (here, home) = (Workspace::new("here"), Workspace::new(HOME));
        let (ada, root) = (user("ada", &[], &[]), user("root", &[MASTERS], &[]));
        let masters = wanted(&[MASTERS], None);
        assert!(unmasked(&ada, &masters, &here).is_some() && unmasked(&ada, &masters, &home).is_none());
        assert!(unmasked(&ada, &wanted(&["dev", AUTHENTICATED], Some("scopes")), &here).is_none());
        for key in [WARRANTS, SCOPES, "Authorization.KCP.io/warrant"] {
            assert!(unmasked(&ada, &wanted(&[], Some(key)), &home).is_some(), "{key}");
            assert!(unmasked(&root, &wanted(&[], Some(key)), &home).is_none(), "{key}");
        }
        let within = User { within: Some(here.clone()), ..root };
        assert!(unmasked(&within, &wanted(&[], Some(WARRANTS)), &here).is_some());
    }
}
