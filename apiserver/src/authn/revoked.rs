//! Who is not recognised any more, though what they show is good: one a line, `user NAME`, `group NAME`, `uid UID` or
//! `credential ID`, which is one certificate (`X509SHA256=...`) or one token (`JTI=...`).

use crate::auth::User;
use std::collections::HashSet;

/// Where the id of what somebody has shown is among what is known of them.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// Everybody who is in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revoked {
    users: HashSet<String>,
    groups: HashSet<String>,
    uids: HashSet<String>,
    credentials: HashSet<String>,
}

/// A line that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: it has to be `user NAME`, `group NAME`, `uid UID` or `credential ID`")]
pub struct Misfit {
    line: usize,
}

impl Revoked {
    pub fn parse(text: &str) -> Result<Self, Misfit> {
        let mut revoked = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let misfit = Misfit { line: number + 1 };
            let (kind, name) = line.split_once(char::is_whitespace).ok_or(misfit.clone())?;
            let list = match kind {
                "user" => &mut revoked.users,
                "group" => &mut revoked.groups,
                "uid" => &mut revoked.uids,
                "credential" => &mut revoked.credentials,
                _ => return Err(misfit),
            };
            list.insert(name.trim().to_owned());
        }
        Ok(revoked)
    }

    pub fn contains(&self, user: &User) -> bool {
        if self == &Self::default() {
            return false;
        }
        let mut credentials = user.extra.get(CREDENTIAL).into_iter().flatten();
        self.users.contains(&user.name)
            || self.uids.contains(&user.uid)
            || user.groups.iter().any(|group| self.groups.contains(group))
            || credentials.any(|id| self.credentials.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whoever_is_named_is_nobody() {
        let revoked = Revoked::parse("# gone\nuser ada\n\ngroup  old team \nuid u1\ncredential JTI=7\n").unwrap();
        let check = |user: User, is_revoked: bool| assert_eq!(revoked.contains(&user), is_revoked, "{user:?}");
        let user = |name: &str, group: &str| User::authenticated(name, vec![group.to_owned()]);
        check(user("ada", "dev"), true);
        check(user("bob", "old team"), true);
        check(user("bob", "dev"), false);
        check(User { uid: "u1".to_owned(), ..user("bob", "dev") }, true);
        let extra = |id: &str| [(CREDENTIAL.to_owned(), vec![id.to_owned()])].into();
        check(User { extra: extra("JTI=7"), ..user("bob", "dev") }, true);
        check(User { extra: extra("JTI=8"), ..user("bob", "dev") }, false);
        assert!(!Revoked::default().contains(&user("ada", "dev")));
    }

    #[test]
    fn a_line_that_says_nothing_is_named() {
        for (text, line) in [("ada", 1), ("user a\nrole b", 2), ("user", 1)] {
            assert_eq!(Revoked::parse(text), Err(Misfit { line }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_file_is_too_strange(text in "[a-z \n#]{0,60}") {
            let _ = Revoked::parse(&text);
        }
    }
}
