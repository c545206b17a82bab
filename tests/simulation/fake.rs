//! A cell in memory that loses requests and answers, is cut off, and whose objects others change.

use futures_util::stream::{self, StreamExt};
use hanse::fleet::api::{Applied, CellApi, CellError, CellEvent, CellEvents, CellPlace, CellResource, Later, Listed};
use hanse::fleet::kube::FIELD_MANAGER;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// Group, resource, namespace, name.
pub(crate) type Place = [String; 4];

/// Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FakeCell {
    state: Arc<Mutex<State>>,
    tick: watch::Sender<u64>,
    /// Applies are not answered until they are let go.
    held: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    objects: BTreeMap<Place, Value>,
    log: Vec<(Place, CellEvent)>,
    made: u64,
    dice: u64,
    /// Of a hundred requests, so many get lost, and as many answers.
    losses: u64,
    cut_off: bool,
    /// What is applied is, and nobody hears of it.
    mute: bool,
    requests: u64,
    /// How often it was asked whether it is there.
    probes: u64,
}

enum Fate {
    Fine,
    RequestLost,
    AnswerLost,
}

fn lost() -> CellError {
    CellError::Unreachable("simulated".to_owned())
}

fn refused(code: u16, reason: &str) -> CellError {
    CellError::Refused { code, reason: reason.to_owned(), message: reason.to_owned() }
}

fn place(at: &CellPlace) -> Place {
    let CellPlace { resource, namespace, name } = at;
    [resource.group.clone(), resource.plural.clone(), namespace.clone().unwrap_or_default(), name.clone()]
}

impl State {
    fn roll(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice
    }

    fn fate(&mut self) -> Fate {
        self.requests += 1;
        if self.cut_off {
            return Fate::RequestLost;
        }
        match self.roll() % 100 {
            roll if roll < self.losses => Fate::RequestLost,
            roll if roll < 2 * self.losses => Fate::AnswerLost,
            _ => Fate::Fine,
        }
    }

    fn put(&mut self, at: &Place, object: &Value) -> Applied {
        let before = self.objects.get(at).cloned();
        let mut now = object.clone();
        let fields = json!({ "f": object.to_string().len(), "of": object["data"] });
        now["metadata"]["managedFields"] =
            json!([{ "manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields }]);
        match &before {
            Some(before) => {
                now["metadata"]["uid"] = before["metadata"]["uid"].clone();
                if let Some(status) = before.get("status") {
                    now["status"] = status.clone();
                }
            }
            None => {
                self.made += 1;
                now["metadata"]["uid"] = json!(format!("uid-{}", self.made));
            }
        }
        Applied { object: self.set(at, now), created: before.is_none() }
    }

    /// An object as of what happens next.
    fn versioned(&self, mut object: Value) -> Value {
        object["metadata"]["resourceVersion"] = json!((self.log.len() + 1).to_string());
        object
    }

    fn set(&mut self, at: &Place, object: Value) -> Value {
        let object = self.versioned(object);
        self.log.push((at.clone(), CellEvent::Changed(object.clone())));
        self.objects.insert(at.clone(), object.clone());
        object
    }

    fn remove(&mut self, at: &Place) {
        if let Some(object) = self.objects.remove(at) {
            let object = self.versioned(object);
            self.log.push((at.clone(), CellEvent::Deleted(object)));
        }
        if at[1] == "namespaces" {
            let inside: Vec<Place> = self.objects.keys().filter(|place| place[2] == at[3]).cloned().collect();
            inside.iter().for_each(|place| self.remove(place));
        }
    }
}

impl FakeCell {
    pub(crate) fn new(seed: u64) -> Self {
        let state = State {
            objects: BTreeMap::new(),
            log: Vec::new(),
            made: 0,
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            losses: 0,
            cut_off: false,
            mute: false,
            requests: 0,
            probes: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), tick: watch::Sender::new(0), held: watch::Sender::new(false) }
    }

    pub(crate) fn lose(&self, of_a_hundred: u64) {
        self.state.lock().losses = of_a_hundred;
    }

    /// Nothing gets through any more, or again; watches end.
    pub(crate) fn cut(&self, off: bool) {
        self.state.lock().cut_off = off;
        self.tick.send_modify(|tick| *tick += 1);
    }

    /// Answers to applies get lost, all of them, or none.
    pub(crate) fn mute(&self, mute: bool) {
        self.state.lock().mute = mute;
    }

    /// Applies take until they are let go.
    pub(crate) fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// How often it was asked anything.
    pub(crate) fn requests(&self) -> u64 {
        self.state.lock().requests
    }

    /// How often it was asked whether it is there.
    pub(crate) fn probes(&self) -> u64 {
        self.state.lock().probes
    }

    pub(crate) fn objects(&self) -> BTreeMap<Place, Value> {
        self.state.lock().objects.clone()
    }

    /// Everything that objects of this name ever were.
    pub(crate) fn history(&self, name: &str) -> Vec<Value> {
        let state = self.state.lock();
        let told = state.log.iter().filter(|(place, _)| place[3] == name);
        let changed = told.filter_map(|(_, event)| match event {
            CellEvent::Changed(object) => Some(object.clone()),
            _ => None,
        });
        changed.collect()
    }

    /// Somebody in the cell does something to it.
    pub(crate) fn meddle(&self, change: impl FnOnce(&mut BTreeMap<Place, Value>) -> Option<(Place, Option<Value>)>) {
        let mut state = self.state.lock();
        match change(&mut state.objects) {
            Some((at, Some(object))) => drop(state.set(&at, object)),
            Some((at, None)) => state.remove(&at),
            None => {}
        }
        drop(state);
        self.tick.send_modify(|tick| *tick += 1);
    }

    fn answer<T>(&self, work: impl FnOnce(&mut State) -> Result<T, CellError>) -> Result<T, CellError> {
        let mut state = self.state.lock();
        let answer = match state.fate() {
            Fate::RequestLost => Err(lost()),
            Fate::AnswerLost => work(&mut state).and(Err(lost())),
            Fate::Fine => work(&mut state),
        };
        drop(state);
        self.tick.send_modify(|tick| *tick += 1);
        answer
    }

    /// The next event from `at` on that concerns the resource, and where it stands.
    fn event(&self, of: &CellResource, at: usize) -> Option<Result<(CellEvent, usize), CellError>> {
        let state = self.state.lock();
        if state.cut_off {
            return Some(Err(lost()));
        }
        let later = state.log.iter().enumerate().skip(at);
        let mut ours = later.filter(|(_, (place, _))| place[0] == of.group && place[1] == of.plural);
        ours.next().map(|(at, (_, event))| Ok((event.clone(), at + 1)))
    }
}

fn served(group: &str, plural: &str, kind: &str, namespaced: bool) -> CellResource {
    let own = |text: &str| text.to_owned();
    CellResource { group: own(group), version: own("v1"), plural: own(plural), kind: own(kind), namespaced }
}

impl CellApi for FakeCell {
    fn ready(&self) -> Later<'_, Result<(), CellError>> {
        Box::pin(async {
            let mut state = self.state.lock();
            state.probes += 1;
            if state.cut_off { Err(lost()) } else { Ok(()) }
        })
    }

    fn version(&self) -> Later<'_, Result<String, CellError>> {
        Box::pin(async { Ok("fake".to_owned()) })
    }

    fn resources(&self) -> Later<'_, Result<Vec<CellResource>, CellError>> {
        let all = vec![
            served("", "configmaps", "ConfigMap", true),
            served("", "namespaces", "Namespace", false),
            served("apps", "deployments", "Deployment", true),
        ];
        Box::pin(async { Ok(all) })
    }

    fn get<'a>(&'a self, at: &'a CellPlace) -> Later<'a, Result<Option<Value>, CellError>> {
        Box::pin(async { self.answer(|state| Ok(state.objects.get(&place(at)).cloned())) })
    }

    fn apply<'a>(&'a self, at: &'a CellPlace, object: &'a Value, _: bool) -> Later<'a, Result<Applied, CellError>> {
        Box::pin(async move {
            let _ = self.held.subscribe().wait_for(|held| !held).await;
            self.answer(|state| {
                let namespace = at.namespace.as_ref().map(|name| ["", "namespaces", "", name].map(str::to_owned));
                if let Some([.., name]) = namespace.filter(|namespace| !state.objects.contains_key(namespace)) {
                    let message = format!("namespaces \"{name}\" not found");
                    return Err(CellError::Refused { code: 404, reason: "NotFound".to_owned(), message });
                }
                let applied = state.put(&place(at), object);
                if state.mute { Err(lost()) } else { Ok(applied) }
            })
        })
    }

    fn apply_status<'a>(&'a self, at: &'a CellPlace, object: &'a Value) -> Later<'a, Result<Value, CellError>> {
        Box::pin(async move {
            self.answer(|state| {
                let at = place(at);
                let mut there = state.objects.get(&at).cloned().ok_or(refused(404, "NotFound"))?;
                there["status"] = object["status"].clone();
                Ok(state.set(&at, there))
            })
        })
    }

    fn merge<'a>(&'a self, at: &'a CellPlace, _: &'a Value) -> Later<'a, Result<Value, CellError>> {
        Box::pin(async { self.answer(|state| state.objects.get(&place(at)).cloned().ok_or(refused(404, "NotFound"))) })
    }

    fn delete<'a>(&'a self, at: &'a CellPlace, uid: &'a str) -> Later<'a, Result<Option<Value>, CellError>> {
        Box::pin(async move {
            self.answer(|state| {
                let at = place(at);
                match state.objects.get(&at) {
                    Some(object) if object["metadata"]["uid"] != uid => return Err(refused(409, "Conflict")),
                    _ => state.remove(&at),
                }
                Ok(None)
            })
        })
    }

    fn list<'a>(&'a self, of: &'a CellResource, _: &'a str) -> Later<'a, Result<Listed, CellError>> {
        Box::pin(async move {
            self.answer(|state| {
                let ours = state.objects.iter().filter(|(place, _)| place[0] == of.group && place[1] == of.plural);
                let items = ours.map(|(_, object)| object.clone()).collect();
                Ok(Listed { items, resource_version: state.log.len().to_string() })
            })
        })
    }

    fn watch<'a>(
        &'a self,
        of: &'a CellResource,
        _: &'a str,
        after: &'a str,
    ) -> Later<'a, Result<CellEvents, CellError>> {
        let at: usize = after.parse().unwrap_or_default();
        let start = (self.clone(), of.clone(), at, self.tick.subscribe());
        let events = stream::unfold(start, |(cell, of, at, mut tick)| async move {
            loop {
                tick.borrow_and_update();
                match cell.event(&of, at) {
                    Some(Ok((event, at))) => return Some((Ok(event), (cell, of, at, tick))),
                    Some(Err(error)) => return Some((Err(error), (cell, of, at, tick))),
                    None => tick.changed().await.ok()?,
                }
            }
        });
        Box::pin(async move { Ok(events.boxed()) })
    }
}
