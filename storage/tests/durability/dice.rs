//! Chance that can be had again: everything random in these tests follows from one printed seed.

/// A small generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// From `DURABILITY_SEED`, or a new one every time. Says which.
    pub(crate) fn thrown(what: &str) -> Self {
        let seed = std::env::var("DURABILITY_SEED").ok().map(|seed| seed.parse().expect("DURABILITY_SEED is a number"));
        let seed = seed.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            scramble(now.as_nanos() as u64 ^ u64::from(std::process::id()))
        });
        println!("{what}: DURABILITY_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.0)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

pub(crate) fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A count from the environment, for longer runs.
pub(crate) fn count(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |count| count.parse().unwrap_or_else(|_| panic!("{variable}={count}")))
}
