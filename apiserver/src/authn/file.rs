//! Tokens that are written down: one a line, `token,user,uid,"group,group"`.

use crate::auth::User;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Everybody who is in the file.
#[derive(Clone, Debug, Default)]
pub struct TokenFile {
    /// By the hash of the token: how long a look takes tells nothing about any.
    users: HashMap<[u8; 32], User>,
}

/// A line that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the token file: {why}")]
pub struct Misfit {
    line: usize,
    why: &'static str,
}

impl TokenFile {
    pub fn parse(text: &str) -> Result<Self, Misfit> {
        let mut users = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let (line, misfit) = (line.trim(), |why| Misfit { line: number + 1, why });
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields = fields(line).ok_or(misfit("a quote is not closed"))?;
            let [token, name, uid, rest @ ..] = &*fields else {
                return Err(misfit("it has to have at least a token, a user name and a uid"));
            };
            if token.is_empty() || name.is_empty() {
                return Err(misfit("token and user name may not be empty"));
            }
            let groups = rest.first().map(String::as_str).unwrap_or_default().split(',');
            let groups = groups.map(str::trim).filter(|group| !group.is_empty()).map(str::to_owned).collect();
            let user = User { uid: uid.clone(), ..User::authenticated(name, groups) };
            if users.insert(hash(token), user).is_some() {
                return Err(misfit("the token is there twice"));
            }
        }
        Ok(Self { users })
    }

    pub fn find(&self, token: &str) -> Option<&User> {
        if self.users.is_empty() { None } else { self.users.get(&hash(token)) }
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Fields between commas. One that begins with a quote ends with the next that is not doubled.
fn fields(line: &str) -> Option<Vec<String>> {
    let (mut fields, mut rest) = (Vec::new(), line);
    loop {
        rest = rest.trim_start();
        let Some(quoted) = rest.strip_prefix('"') else {
            match rest.split_once(',') {
                Some((field, after)) => {
                    fields.push(field.trim().to_owned());
                    rest = after;
                    continue;
                }
                None => {
                    fields.push(rest.trim().to_owned());
                    return Some(fields);
                }
            }
        };
        let mut end = quoted.find('"')?;
        while quoted[end + 1..].starts_with('"') {
            end += 2 + quoted[end + 2..].find('"')?;
        }
        fields.push(quoted[..end].replace("\"\"", "\""));
        match quoted[end + 1..].trim_start().strip_prefix(',') {
            Some(after) => rest = after,
            None => return Some(fields),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_names_its_user() {
        let file = "# users\nt1,ada,1,\"dev,ops\"\n\nt2,\"b \"\"x\"\"\",2\nt3,c,3,team\n";
        let file = TokenFile::parse(file).unwrap();
        let ada = file.find("t1").unwrap();
        assert_eq!((&*ada.name, &*ada.uid), ("ada", "1"));
        assert_eq!(ada.groups, ["dev", "ops", "system:authenticated"]);
        assert_eq!(file.find("t2").unwrap().name, "b \"x\"");
        assert_eq!(file.find("t3").unwrap().groups[0], "team");
        assert!(file.find("t4").is_none() && file.find("").is_none());
    }

    #[test]
    fn a_line_that_says_nothing_is_named() {
        let check = |text: &str, line: usize| assert_eq!(TokenFile::parse(text).unwrap_err().line, line, "{text}");
        check("a,b", 1);
        check("t,u,1\n,u,1", 2);
        check("t,u,1\nt,v,2", 2);
        check("t,u,\"1", 1);
    }

    proptest! {
        #[test]
        fn no_file_is_too_strange(text in "[a-z,\"\n ]{0,60}") {
            let _ = TokenFile::parse(&text);
        }
    }
}
