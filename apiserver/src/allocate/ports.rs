//! Ports that every node listens on for a service: chosen, or asked for by number.

use super::{Givers, invalid};
use crate::error::ApiError;
use crate::object::Object;
use openapi::FieldError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

const RANGE: RangeInclusive<u16> = 30_000..=32_767;
/// Below it are ports for those who ask for one by number; they are chosen only when all others are taken.
const FIRST: u16 = 30_086;
/// Random choices before all ports are looked at in turn: enough until the range is nearly full.
const CHOICES: usize = 32;

/// Where a service's port is reached on every node; 0 for nowhere.
fn number(port: &Value) -> i64 {
    port["nodePort"].as_i64().unwrap_or(0)
}

fn is_open_on_nodes(service: &Object) -> bool {
    matches!(service.text(&["spec", "type"]), "NodePort" | "LoadBalancer")
}

/// Its balancer asks the nodes which of them have somebody to answer.
fn needs_health_check(service: &Object) -> bool {
    service.text(&["spec", "type"]) == "LoadBalancer" && service.text(&["spec", "externalTrafficPolicy"]) == "Local"
}

fn health_check(service: &Object) -> i64 {
    service.pointer(&["spec", "healthCheckNodePort"]).and_then(Value::as_i64).unwrap_or(0)
}

/// The ports that a service holds.
pub(super) fn of(service: &Object) -> BTreeSet<u16> {
    let mut numbers: Vec<i64> = Vec::new();
    if is_open_on_nodes(service) {
        numbers.extend(service.items(&["spec", "ports"]).map(number));
    }
    if needs_health_check(service) {
        numbers.push(health_check(service));
    }
    numbers.into_iter().filter_map(|number| u16::try_from(number).ok()).filter(|port| *port != 0).collect()
}

pub(super) fn fill_in(service: &mut Object, had: &BTreeSet<u16>, givers: &Givers<'_>) -> Result<(), ApiError> {
    let mut desk = Desk { had, taken: BTreeSet::new(), givers };
    if is_open_on_nodes(service) {
        let asked = service.text(&["spec", "type"]) == "NodePort"
            || service.pointer(&["spec", "allocateLoadBalancerNodePorts"]) != Some(&Value::Bool(false));
        let mut ports: Vec<Value> = service.items(&["spec", "ports"]).cloned().collect();
        desk.serve(service, &mut ports, asked)?;
        if !ports.is_empty() {
            service.spec_mut().insert("ports".to_owned(), Value::Array(ports));
        }
    }
    if needs_health_check(service) {
        let port = desk.for_health(health_check(service))?;
        service.spec_mut().insert("healthCheckNodePort".to_owned(), port.into());
    }
    Ok(())
}

/// Gives out ports to one service.
struct Desk<'a> {
    had: &'a BTreeSet<u16>,
    taken: BTreeSet<u16>,
    givers: &'a Givers<'a>,
}

/// Why a port cannot be had.
enum Refusal {
    No(String),
    Failed(ApiError),
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

impl Desk<'_> {
    /// Two ports of one number, for two protocols, are reached at the same place.
    fn serve(&mut self, service: &Object, ports: &mut [Value], asked: bool) -> Result<(), ApiError> {
        let mut by_port: BTreeMap<i64, i64> = BTreeMap::new();
        for at in 0..ports.len() {
            let (port, wanted) = (ports[at]["port"].as_i64().unwrap_or(0), number(&ports[at]));
            if wanted == 0 && !asked {
                continue;
            }
            let given = match by_port.get(&port) {
                Some(given) if wanted == 0 || wanted == *given => *given,
                None if wanted == 0 => match ports.iter().find(|other| other["port"] == port && number(other) != 0) {
                    Some(other) => self.take(service, at, number(other))?,
                    None => self.next()?.into(),
                },
                _ => self.take(service, at, wanted)?,
            };
            by_port.entry(port).or_insert(given);
            if let Value::Object(fields) = &mut ports[at] {
                fields.insert("nodePort".to_owned(), given.into());
            }
        }
        Ok(())
    }

    fn take(&mut self, service: &Object, at: usize, wanted: i64) -> Result<i64, ApiError> {
        match self.reserve(wanted) {
            Ok(()) => Ok(wanted),
            Err(Refusal::Failed(error)) => Err(error),
            Err(Refusal::No(why)) => {
                let field = format!("spec.ports[{at}].nodePort");
                Err(invalid(service, FieldError::invalid(field, wanted, why)))
            }
        }
    }

    fn reserve(&mut self, wanted: i64) -> Result<(), Refusal> {
        let port = u16::try_from(wanted).unwrap_or(0);
        if self.had.contains(&port) {
            return Ok(());
        }
        if !RANGE.contains(&port) {
            let (first, last) = (RANGE.start(), RANGE.end());
            let why = format!("provided port is not in the valid range. The range of valid ports is {first}-{last}");
            return Err(Refusal::No(why));
        }
        if !self.is_free(port)? {
            return Err(Refusal::No("provided port is already allocated".to_owned()));
        }
        self.taken.insert(port);
        Ok(())
    }

    fn is_free(&self, port: u16) -> Result<bool, ApiError> {
        Ok(!self.taken.contains(&port) && !self.had.contains(&port) && !self.givers.look.is_port_taken(port)?)
    }

    fn next(&mut self) -> Result<u16, ApiError> {
        let upper = u64::from(RANGE.end() - FIRST) + 1;
        let random = || FIRST + u16::try_from(self.givers.ambient.below(upper)).unwrap_or_default();
        let chosen: Vec<u16> = (0..CHOICES).map(|_| random()).collect();
        for port in chosen.into_iter().chain(FIRST..=*RANGE.end()).chain(*RANGE.start()..FIRST) {
            if self.is_free(port)? {
                self.taken.insert(port);
                return Ok(port);
            }
        }
        Err(ApiError::internal("failed to allocate a nodePort: range is full"))
    }

    fn for_health(&mut self, wanted: i64) -> Result<i64, ApiError> {
        if wanted == 0 {
            return Ok(self.next()?.into());
        }
        self.reserve(wanted).map(|()| wanted).map_err(|refusal| match refusal {
            Refusal::Failed(error) => error,
            Refusal::No(why) => {
                ApiError::internal(format!("failed to allocate requested HealthCheck NodePort {wanted}: {why}"))
            }
        })
    }
}
