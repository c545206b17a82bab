//! `DefaultIngressClass`: an ingress that names no class gets the one that is everybody's.

use super::Attempt;
use super::storage_class::newest;
use crate::error::ApiError;
use crate::object::Object;

const ASKED: &str = "kubernetes.io/ingress.class";
const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";

pub(super) fn choose(ingress: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let asked = ingress.annotation(ASKED).is_some() || ingress.pointer(&["spec", "ingressClassName"]).is_some();
    if !attempt.makes("networking.k8s.io", "ingresses") || asked {
        return Ok(());
    }
    let classes = attempt.look.all(("networking.k8s.io", "ingressclasses"), "")?;
    if let Some(class) = newest(&classes, &[DEFAULT]) {
        ingress.spec_mut().insert("ingressClassName".to_owned(), class.name().into());
    }
    Ok(())
}
