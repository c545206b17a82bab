//! How many connections each address holds.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Counts the connections of every address that has any. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    max: usize,
    /// Leaf lock.
    held: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A connection, until this is dropped.
#[derive(Debug)]
pub(super) struct Present {
    address: IpAddr,
    crowd: Crowd,
}

impl Crowd {
    /// `max` for each address.
    pub(super) fn new(max: usize) -> Self {
        Self { max, held: Arc::default() }
    }

    /// One more; `None` if those are enough. Who comes by IPv4 has one address, however it is written.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Present> {
        let address = address.to_canonical();
        let mut held = self.held.lock();
        let count = held.entry(address).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        drop(held);
        Some(Present { address, crowd: self.clone() })
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let mut held = self.crowd.held.lock();
        if let Some(count) = held.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_its_number_and_is_forgotten_when_it_has_gone() {
        let crowd = Crowd::new(2);
        let (one, mapped, other) = ("10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2");
        let enter = |address: &str| crowd.enter(address.parse().unwrap());
        let held = [enter(one), enter(mapped)];
        assert!(held.iter().all(Option::is_some));
        assert!(enter(one).is_none() && enter(mapped).is_none() && enter(other).is_some());
        drop(held);
        assert!(enter(one).is_some());
        assert!(crowd.held.lock().is_empty());
    }
}
