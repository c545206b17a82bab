//! Scripts of users, in Lua, as Karmada's `ResourceInterpreterCustomization` has them.
//!
//! Karmada runs Lua 5.1. Here it is Luau, which has the numbers, the words and the library of 5.1 (but no `goto`), and
//! was made for scripts of strangers: loops, calls and the matching of patterns can all be ended from outside, where a
//! pattern in plain Lua runs for as long as it likes. Every call has a machine of its own, so that nothing of one
//! workspace is ever seen by the script of another, and none leaves anything behind.

mod convert;
mod kube;
mod machine;

use crate::apis::fnv;
use crate::apis::interpret::Script;
use machine::{Failure, Machine};
use openapi::scalar::time::Instant;
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// A script that ran out of its bounds so many times in a row is not run any more until it is changed: with every object
/// of its kind it would cost as much again.
const EXHAUSTED_MAX: u32 = 3;

/// The time of day.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Every script there is, compiled once, in however many workspaces it is installed.
pub struct Scripts {
    clock: Clock,
    /// By the hash of their text. Guards nothing but itself; compiling is done outside of it.
    compiled: Mutex<HashMap<[u8; 32], Weak<Compiled>>>,
}

struct Compiled {
    code: Vec<u8>,
    fingerprint: u64,
}

impl Scripts {
    pub fn new(clock: Clock) -> Self {
        Self { clock, compiled: Mutex::default() }
    }

    /// What cannot be compiled says why, with the line.
    pub fn compile(&self, text: &str) -> Result<Arc<dyn Script>, String> {
        let key: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let known = self.compiled.lock().get(&key).and_then(Weak::upgrade);
        let compiled = match known {
            Some(known) => known,
            None => self.keep(key, Compiled { code: compile(text)?, fingerprint: fnv::hash_64(text.as_bytes()) }),
        };
        Ok(Arc::new(Installed { compiled, clock: self.clock.clone(), exhausted: AtomicU32::new(0) }))
    }

    fn keep(&self, key: [u8; 32], compiled: Compiled) -> Arc<Compiled> {
        let compiled = Arc::new(compiled);
        let mut all = self.compiled.lock();
        // What nobody has any more goes when something new comes: there are never more than were in use at once.
        all.retain(|_, script| script.strong_count() > 0);
        all.insert(key, Arc::downgrade(&compiled));
        compiled
    }

    #[cfg(test)]
    fn number(&self) -> usize {
        self.compiled.lock().values().filter(|script| script.strong_count() > 0).count()
    }
}

/// Where nobody asks what time it is.
impl Default for Scripts {
    fn default() -> Self {
        Self::new(Arc::new(|| Instant { seconds: 0, nanos: 0 }))
    }
}

impl fmt::Debug for Scripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripts")
    }
}

/// Whether a script can be compiled; otherwise why not, with the line.
pub fn check(text: &str) -> Result<(), String> {
    compile(text).map(drop)
}

fn compile(text: &str) -> Result<Vec<u8>, String> {
    mlua::Compiler::new().compile(text).map_err(|error| format!("line {}", machine::told(&error)))
}

/// A script as one workspace has it.
struct Installed {
    compiled: Arc<Compiled>,
    clock: Clock,
    /// How often in a row it ran out of its bounds.
    exhausted: AtomicU32,
}

impl fmt::Debug for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Installed").field("fingerprint", &self.compiled.fingerprint).finish_non_exhaustive()
    }
}

impl Script for Installed {
    fn call(&self, function: &str, arguments: &[Value]) -> Result<Vec<Value>, String> {
        if self.exhausted.load(Ordering::Relaxed) >= EXHAUSTED_MAX {
            return Err(format!("it ran out of its bounds {EXHAUSTED_MAX} times and is not run until it is changed"));
        }
        let called = Machine::new(&self.clock)
            .and_then(|machine| machine.call(&self.compiled.code, function, arguments))
            .inspect(|_| self.exhausted.store(0, Ordering::Relaxed));
        called.map_err(|failure| match failure {
            Failure::Exhausted(why) => {
                self.exhausted.fetch_add(1, Ordering::Relaxed);
                why
            }
            Failure::Script(why) => why,
        })
    }

    fn fingerprint(&self) -> u64 {
        self.compiled.fingerprint
    }
}

#[cfg(test)]
mod tests;
