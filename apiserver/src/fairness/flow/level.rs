//! A priority level: how much of a workspace's seats it has, and what becomes of those who find none.

use serde::Deserialize;

/// Lines that tell flows apart well enough. More would be memory that nobody needs.
const QUEUES_MAX: u32 = 4096;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LevelSpec {
    limited: Option<Limited>,
    exempt: Option<Limited>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Limited {
    nominal_concurrency_shares: u32,
    lendable_percent: u32,
    borrowing_limit_percent: Option<u32>,
    limit_response: Response,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Response {
    queuing: Option<Queuing>,
}

/// How those wait who wait.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Queuing {
    pub(crate) queues: u32,
    pub(crate) hand_size: u32,
    pub(crate) queue_length_limit: u32,
}

/// A level as the lines know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) exempt: bool,
    pub(crate) shares: u32,
    lendable_percent: u32,
    borrowing_limit_percent: Option<u32>,
    /// `None`: whoever finds no seat is sent away.
    pub(crate) queuing: Option<Queuing>,
}

/// Seats of a level when its workspace has so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) nominal: usize,
    /// What is left of them when all that others may borrow is borrowed.
    pub(crate) kept: usize,
    /// With all that it may borrow.
    pub(crate) max: usize,
}

impl LevelSpec {
    pub(super) fn share(self) -> Share {
        let exempt = self.limited.is_none();
        let spec = self.limited.or(self.exempt).unwrap_or_default();
        let queuing = spec.limit_response.queuing.map(|queuing| {
            let queues = queuing.queues.clamp(1, QUEUES_MAX);
            Queuing { queues, hand_size: queuing.hand_size.clamp(1, queues), ..queuing }
        });
        Share {
            exempt,
            shares: spec.nominal_concurrency_shares,
            lendable_percent: spec.lendable_percent.min(100),
            borrowing_limit_percent: spec.borrowing_limit_percent,
            queuing,
        }
    }
}

impl Share {
    /// What this comes to of `seats` that are divided into `all` shares.
    pub(crate) fn limits(&self, seats: usize, all: u32) -> Limits {
        let part = |of: usize, percent: u32| of.saturating_mul(percent as usize).saturating_add(50) / 100;
        let nominal = (seats * self.shares as usize).div_ceil(all.max(1) as usize);
        if self.exempt {
            return Limits { nominal, kept: 0, max: seats };
        }
        let max = self.borrowing_limit_percent.map_or(seats, |percent| nominal.saturating_add(part(nominal, percent)));
        Limits { nominal, kept: nominal - part(nominal, self.lendable_percent).min(nominal), max: max.min(seats) }
    }
}
