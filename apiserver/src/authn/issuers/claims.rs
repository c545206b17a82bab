//! From the claims of a token to a user, by what the configuration says of it.

use super::config::{JwtAuthenticator, Prefixed};
use crate::auth::User;
use expression::{Budget, Declared, Environment, Identity, Input, Program, Type, kubernetes};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What all expressions about one token may cost together: as much as those of a policy.
const COST_MAX: u64 = 10_000_000;

static PLAIN: LazyLock<Environment> =
    LazyLock::new(|| kubernetes::everywhere().into_iter().fold(Environment::new(), Environment::with));

/// What is asked of claims, and what is made of them; compiled.
#[derive(Debug)]
pub(super) struct Reader {
    rules: Vec<(ClaimCheck, String)>,
    name: Taken,
    groups: Option<Taken>,
    uid: Option<Taken>,
    extra: Vec<(String, Program)>,
    checks: Vec<(Program, String)>,
}

#[derive(Debug)]
enum ClaimCheck {
    Equals(String, String),
    Holds(Program),
}

/// Where something about a user is taken from.
#[derive(Debug)]
enum Taken {
    Claim { name: String, prefix: String },
    Computed(Program),
}

impl Reader {
    /// The error names the expression that cannot be used.
    pub(super) fn compile(jwt: &JwtAuthenticator) -> Result<Self, String> {
        let about_claims = PLAIN.clone().variable("claims", Declared::map(Declared::any()));
        let about_user = PLAIN.clone().variable("user", user_type());
        let compile = |environment: &Environment, text: &str, ty: &Type| {
            environment.compile(text, ty).map_err(|error| format!("{text:?}: {error}"))
        };
        let taken = |from: &Prefixed| match (&from.claim, &from.expression) {
            (Some(name), _) => Ok(Taken::Claim { name: name.clone(), prefix: from.prefix.clone().unwrap_or_default() }),
            (None, Some(text)) => compile(&about_claims, text, &Type::Dyn).map(Taken::Computed),
            (None, None) => Err("neither a claim nor an expression".to_owned()),
        };
        let mut rules = Vec::new();
        for rule in &jwt.claim_validation_rules {
            let check = match (&rule.claim, &rule.expression) {
                (Some(claim), _) => ClaimCheck::Equals(claim.clone(), rule.required_value.clone().unwrap_or_default()),
                (None, text) => {
                    ClaimCheck::Holds(compile(&about_claims, text.as_deref().unwrap_or_default(), &Type::Bool)?)
                }
            };
            rules.push((check, rule.message.clone().unwrap_or_default()));
        }
        let extra = jwt.claim_mappings.extra.iter();
        let extra = extra.map(|one| Ok((one.key.clone(), compile(&about_claims, &one.value_expression, &Type::Dyn)?)));
        let checks = jwt.user_validation_rules.iter();
        let checks = checks.map(|rule| {
            Ok((compile(&about_user, &rule.expression, &Type::Bool)?, rule.message.clone().unwrap_or_default()))
        });
        Ok(Self {
            rules,
            name: taken(&jwt.claim_mappings.username)?,
            groups: jwt.claim_mappings.groups.as_ref().map(taken).transpose()?,
            uid: jwt.claim_mappings.uid.as_ref().map(taken).transpose()?,
            extra: extra.collect::<Result<_, String>>()?,
            checks: checks.collect::<Result<_, String>>()?,
        })
    }

    /// Who the claims speak of; the error says what is wrong with them, and quotes none.
    pub(super) fn user(&self, claims: &Value) -> Result<User, String> {
        let mut budget = Budget::from(COST_MAX);
        for (check, message) in &self.rules {
            if !check.holds(claims, &mut budget) {
                return Err(format!("a claim does not hold: {message}"));
            }
        }
        let name = self.name.texts(claims, &mut budget)?;
        let [name] = &*name else { return Err("there is no user name".to_owned()) };
        if name.is_empty() {
            return Err("there is no user name".to_owned());
        }
        if matches!(&self.name, Taken::Claim { name, .. } if name == "email")
            && claims.get("email_verified").is_some_and(|verified| verified != true)
        {
            return Err("the address is not verified".to_owned());
        }
        let groups = self.groups.as_ref().map_or(Ok(Vec::new()), |groups| groups.texts(claims, &mut budget))?;
        let uid = self.uid.as_ref().map_or(Ok(Vec::new()), |uid| uid.texts(claims, &mut budget))?;
        let mut extra = BTreeMap::new();
        for (key, program) in &self.extra {
            let values = computed(program, claims, &mut budget)?;
            if !values.is_empty() {
                extra.insert(key.clone(), values);
            }
        }
        let groups = groups.into_iter().filter(|group| !group.is_empty()).collect();
        let uid = uid.into_iter().next().unwrap_or_default();
        let user = User { uid, extra, ..User::authenticated(name, groups) };
        self.check(&user, &mut budget)?;
        Ok(user)
    }

    fn check(&self, user: &User, budget: &mut Budget) -> Result<(), String> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let told = json!({ "username": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra });
        for (program, message) in &self.checks {
            if program.run(&[("user", Input::Json(&told))], budget).ok().and_then(|value| value.as_bool()) != Some(true)
            {
                return Err(format!("the user is refused: {message}"));
            }
        }
        Ok(())
    }
}

impl ClaimCheck {
    fn holds(&self, claims: &Value, budget: &mut Budget) -> bool {
        match self {
            Self::Equals(claim, wanted) => claims.get(claim).and_then(Value::as_str) == Some(wanted),
            Self::Holds(program) => {
                let inputs = [("claims", Input::Json(claims))];
                let value = program.run(&inputs, budget);
                value.ok().and_then(|value| value.as_bool()) == Some(true)
            }
        }
    }
}

impl Taken {
    fn texts(&self, claims: &Value, budget: &mut Budget) -> Result<Vec<String>, String> {
        match self {
            Self::Claim { name, prefix } => {
                let found = claims.get(name).filter(|found| !found.is_null());
                let all = found.map_or(Ok(Vec::new()), |found| listed(found).ok_or(format!("{name} is no text")))?;
                Ok(all.into_iter().map(|text| format!("{prefix}{text}")).collect())
            }
            Self::Computed(program) => computed(program, claims, budget),
        }
    }
}

fn computed(program: &Program, claims: &Value, budget: &mut Budget) -> Result<Vec<String>, String> {
    let inputs = [("claims", Input::Json(claims))];
    let value = program.run(&inputs, budget).map_err(|error| format!("an expression failed: {error}"))?;
    let tree = value.to_json().map_err(|error| format!("an expression failed: {error}"))?;
    if tree.is_null() {
        return Ok(Vec::new());
    }
    listed(&tree).ok_or_else(|| "an expression gave neither a text nor a list of them".to_owned())
}

/// A text, or several.
fn listed(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(all) => all.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn user_type() -> Declared {
    let texts = || Declared::list(Declared::string(), Identity::Order);
    let fields = [
        ("username", Declared::string()),
        ("uid", Declared::string()),
        ("groups", texts()),
        ("extra", Declared::map(texts())),
    ];
    Declared::object("kubernetes.UserInfo", fields.map(|(name, declared)| (name.to_owned(), declared)))
}
