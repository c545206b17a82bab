//! What those who took a kind may do with it at most: what its exporter permits them, under names that say that they are
//! somebody elsewhere.

use super::words::EXPORTS;
use crate::tenancy::identity;
use crate::tenancy::words::collection;
use apiserver::attend::Around;
use apiserver::auth::User;
use apiserver::custom::Elsewhere;
use apiserver::error::ApiError;
use apiserver::object::Peek;
use apiserver::place::Workspace;

/// What the names of those begin with in roles of the exporter.
const PREFIX: &str = "apis.kcp.io:binding:";

/// Who somebody is to the exporter of a kind, and where that is; nothing if it sets no limit.
pub(in crate::tenancy) fn ceiling(
    user: &User,
    from: &Elsewhere,
    around: &dyn Around,
) -> Result<Option<(User, Workspace)>, ApiError> {
    let home = Workspace::new(&from.home);
    let export = around.bytes(&collection(around, EXPORTS, &home)?.object(&from.by))?;
    let sets_limit = |export: &[u8]| {
        let export = Peek::of(export);
        export.text(&["status", "identityHash"]).as_deref() == Some(&*from.identity)
            && export.raw(&["spec", "maximalPermissionPolicy", "local"]).is_some()
    };
    // One that is gone sets none.
    Ok(export.filter(|export| sets_limit(export)).map(|_| (renamed(user, &home), home)))
}

fn renamed(user: &User, home: &Workspace) -> User {
    // Accounts are known elsewhere by where they are from.
    let user = identity::arrived(user, home).unwrap_or_else(|| user.clone());
    let groups = user.groups.iter().map(|group| format!("{PREFIX}{group}")).collect();
    User { name: format!("{PREFIX}{}", user.name), groups, within: None, ..User::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_themselves_to_an_exporter() {
        let ada = User::authenticated("ada", vec!["system:masters".to_owned()]);
        let there = renamed(&ada, &Workspace::new("w"));
        assert_eq!(there.name, "apis.kcp.io:binding:ada");
        assert_eq!(there.groups, ["apis.kcp.io:binding:system:masters", "apis.kcp.io:binding:system:authenticated"]);
        assert!(!there.is_master());
    }
}
