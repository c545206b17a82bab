//! One machine for one call: what a script may use, and how much of it.

use super::convert::{self, Reader};
use super::{Clock, kube};
use mlua::{ChunkMode, Error, Function, Lua, LuaOptions, MultiValue, StdLib, Table, VmState};
use openapi::scalar::time::Instant;
use serde_json::Value;
use std::cell::Cell;
use std::rc::Rc;

/// Turns of loops, calls and steps of patterns: some milliseconds, and a hundred times what scripts need.
const STEPS_MAX: u64 = 200_000;

/// One step can be about megabytes of text: as in Karmada, a second is enough for everybody.
const MILLIS_MAX: i64 = 1000;

/// After so many steps it is looked what time it is.
const STEPS_BETWEEN: u64 = 16;

/// Objects are a megabyte or two at most; a script has room for several and for its own affairs.
const MEMORY_MAX: usize = 32 << 20;

/// More of what went wrong helps nobody.
const TOLD_MAX: usize = 400;

/// What Karmada takes away from scripts: nothing that reads objects needs it.
const FORBIDDEN: [&str; 14] = [
    "collectgarbage",
    "dofile",
    "getfenv",
    "getmetatable",
    "load",
    "loadfile",
    "loadstring",
    "module",
    "newproxy",
    "rawequal",
    "rawget",
    "rawset",
    "setfenv",
    "setmetatable",
];

/// Why a call came to nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It took more than it may.
    Exhausted(String),
    /// It did something wrong.
    Script(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::MemoryError(_) => Self::Exhausted(format!("it needs more than {} MiB", MEMORY_MAX >> 20)),
            Error::CallbackError { cause, .. } => Self::from((*cause).clone()),
            error => Self::Script(told(&error)),
        }
    }
}

/// The first line, which says what and where; the rest is about the machine.
pub(super) fn told(error: &Error) -> String {
    let text = match error {
        Error::SyntaxError { message, .. } => message.clone(),
        Error::RuntimeError(message) => message.clone(),
        Error::CallbackError { cause, .. } => return told(cause),
        other => other.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(TOLD_MAX).collect()
}

pub(super) struct Machine {
    lua: Lua,
    steps: Rc<Cell<u64>>,
}

fn millis(from: Instant, to: Instant) -> i64 {
    (to.seconds - from.seconds) * 1000 + (i64::from(to.nanos) - i64::from(from.nanos)) / 1_000_000
}

impl Machine {
    pub(super) fn new(clock: &Clock) -> Result<Self, Failure> {
        let (clock, began) = (clock.clone(), clock());
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::OS;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        lua.set_memory_limit(MEMORY_MAX)?;
        furnish(&lua, began.seconds)?;
        let steps = Rc::new(Cell::new(0_u64));
        let counted = steps.clone();
        // Asked at every step once there are too many, so that no script catches the end and goes on.
        lua.set_interrupt(move |_| {
            counted.set(counted.get() + 1);
            if counted.get().is_multiple_of(STEPS_BETWEEN) && millis(began, clock()) > MILLIS_MAX {
                counted.set(STEPS_MAX + 1);
            }
            if counted.get() > STEPS_MAX { Err(Error::runtime("it takes too long")) } else { Ok(VmState::Continue) }
        });
        Ok(Self { lua, steps })
    }

    pub(super) fn call(self, code: &[u8], function: &str, arguments: &[Value]) -> Result<Vec<Value>, Failure> {
        let called = self.run(code, function, arguments);
        if self.steps.get() > STEPS_MAX {
            return Err(Failure::Exhausted(format!("it takes too long: more than {STEPS_MAX} steps, or a second")));
        }
        called
    }

    fn run(&self, code: &[u8], function: &str, arguments: &[Value]) -> Result<Vec<Value>, Failure> {
        self.lua.load(code).set_name("=script").set_mode(ChunkMode::Binary).exec()?;
        let found = self.lua.globals().get(function)?;
        let mlua::Value::Function(found) = found else {
            return Err(Failure::Script(format!("there is no function {function}")));
        };
        let arguments = arguments.iter().map(|argument| convert::to_lua(&self.lua, argument));
        let arguments = arguments.collect::<mlua::Result<MultiValue>>()?;
        let returned: MultiValue = found.call(arguments)?;
        let mut reader = Reader::new(&self.lua);
        returned.iter().map(|value| reader.read(value).map_err(Failure::Script)).collect()
    }
}

/// What a script finds around itself.
fn furnish(lua: &Lua, now: i64) -> mlua::Result<()> {
    let globals = lua.globals();
    for name in FORBIDDEN {
        let refuse = move |_: &Lua, _: MultiValue| -> mlua::Result<()> {
            Err(Error::runtime(format!("{name} is not there for interpreters")))
        };
        globals.set(name, lua.create_function(refuse)?)?;
    }
    globals.set("print", lua.create_function(|_, _: MultiValue| Ok(()))?)?;
    let library = kube::library(lua)?;
    let require = move |_: &Lua, name: String| {
        if name == "kube" { Ok(library.clone()) } else { Err(Error::runtime(format!("there is no module {name:?}"))) }
    };
    globals.set("require", lua.create_function(require)?)?;
    let string: Table = globals.get("string")?;
    string.set("gfind", string.get::<Function>("gmatch")?)?;
    let math: Table = globals.get("math")?;
    math.set("mod", math.get::<Function>("fmod")?)?;
    tell_time(lua, &globals.get("os")?, now)
}

/// What time it is, is handed in.
fn tell_time(lua: &Lua, os: &Table, now: i64) -> mlua::Result<()> {
    let (date, time): (Function, Function) = (os.get("date")?, os.get("time")?);
    let tell_date =
        move |_: &Lua, (form, at): (Option<String>, Option<i64>)| date.call::<mlua::Value>((form, at.unwrap_or(now)));
    os.set("date", lua.create_function(tell_date)?)?;
    let tell = move |_: &Lua, at: Option<Table>| match at {
        Some(at) => time.call::<mlua::Value>(at),
        None => Ok(mlua::Value::Number(now as f64)),
    };
    os.set("time", lua.create_function(tell)?)
}
