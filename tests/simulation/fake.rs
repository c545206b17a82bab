//! A cell in memory that loses requests and answers, is slow, is cut off, and whose objects others change.

use super::machine::pause;
use futures_util::stream::{self, StreamExt};
use hanse::fleet::api::{
    Applied, CellApi, CellError, CellEvent, CellEvents, CellPlace, CellResource, Later, Listed, Over,
};
use hanse::fleet::kube::FIELD_MANAGER;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Group, resource, namespace, name.
pub(crate) type Place = [String; 4];

/// After this long nobody waits for an answer any more.
const SILENCE: Duration = Duration::from_secs(15);

/// Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FakeCell {
    state: Arc<Mutex<State>>,
    tick: watch::Sender<u64>,
    /// Applies are not answered until they are let go.
    held: watch::Sender<bool>,
}

/// How bad the way to a cell is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    /// Of a hundred requests, so many get lost, and as many answers; and as many watches end with each event.
    pub(crate) losses: u64,
    /// Milliseconds that a request takes at most, and its answer.
    pub(crate) slowness: u64,
    /// What is deleted is there until somebody else has let it go.
    pub(crate) lingering: bool,
}

/// What gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    /// Nobody is there.
    Closed,
    /// Whatever is sent disappears.
    Silent,
}

#[derive(Debug)]
struct State {
    objects: BTreeMap<Place, Value>,
    log: Vec<(Place, CellEvent)>,
    /// Deleted, and held by somebody.
    doomed: BTreeSet<Place>,
    /// What happened before is not remembered.
    floor: usize,
    made: u64,
    dice: u64,
    weather: Weather,
    way: Way,
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

fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

impl State {
    fn roll(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice
    }

    fn fate(&mut self) -> Fate {
        let losses = self.weather.losses;
        match self.roll() % 100 {
            roll if roll < losses => Fate::RequestLost,
            roll if roll < 2 * losses => Fate::AnswerLost,
            _ => Fate::Fine,
        }
    }

    fn put(&mut self, at: &Place, object: &Value) -> Applied {
        let before = self.objects.get(at).cloned();
        let mut now = object.clone();
        let fields = json!({ "f": object.to_string().len(), "of": object["data"], "spec": object["spec"] });
        now["metadata"]["managedFields"] =
            json!([{ "manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields }]);
        match &before {
            Some(before) => {
                now["metadata"]["uid"] = before["metadata"]["uid"].clone();
                for (part, key) in [("/status", "status"), ("/metadata/deletionTimestamp", "deletionTimestamp")] {
                    let holder = if key == "status" { &mut now } else { &mut now["metadata"] };
                    if let Some(kept) = before.pointer(part) {
                        holder[key] = kept.clone();
                    }
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
        self.doomed.remove(at);
        if let Some(object) = self.objects.remove(at) {
            let object = self.versioned(object);
            self.log.push((at.clone(), CellEvent::Deleted(object)));
        }
        if at[1] == "namespaces" {
            let inside: Vec<Place> = self.objects.keys().filter(|place| place[2] == at[3]).cloned().collect();
            inside.iter().for_each(|place| self.remove(place));
        }
    }

    /// Deletes what is there; answers with what is still there then.
    fn delete(&mut self, at: &Place) -> Option<Value> {
        let there = self.objects.get(at).cloned()?;
        if is_going(&there) {
            return Some(there);
        }
        if !self.weather.lingering || !self.roll().is_multiple_of(3) {
            self.remove(at);
            return None;
        }
        let mut going = there;
        going["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
        self.doomed.insert(at.clone());
        Some(self.set(at, going))
    }

    /// Why nothing can be put into a namespace.
    fn refusal(&self, at: &CellPlace) -> Option<CellError> {
        let name = at.namespace.as_ref()?;
        match self.objects.get(&["", "namespaces", "", name].map(str::to_owned)) {
            None => {
                let message = format!("namespaces \"{name}\" not found");
                Some(CellError::Refused { code: 404, reason: "NotFound".to_owned(), message })
            }
            Some(namespace) if is_going(namespace) && !self.objects.contains_key(&place(at)) => {
                Some(refused(403, "NamespaceTerminating"))
            }
            Some(_) => None,
        }
    }
}

impl FakeCell {
    pub(crate) fn new(seed: u64) -> Self {
        let state = State {
            objects: BTreeMap::new(),
            log: Vec::new(),
            doomed: BTreeSet::new(),
            floor: 0,
            made: 0,
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            weather: Weather::default(),
            way: Way::Open,
            mute: false,
            requests: 0,
            probes: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), tick: watch::Sender::new(0), held: watch::Sender::new(false) }
    }

    fn ticked(&self) {
        self.tick.send_modify(|tick| *tick += 1);
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        self.state.lock().weather = weather;
    }

    /// Nothing gets through any more, or again; watches end if they notice.
    pub(crate) fn set_way(&self, way: Way) {
        self.state.lock().way = way;
        self.ticked();
    }

    pub(crate) fn cut(&self, off: bool) {
        self.set_way(if off { Way::Closed } else { Way::Open });
    }

    /// Answers to applies get lost, all of them, or none.
    pub(crate) fn mute(&self, mute: bool) {
        self.state.lock().mute = mute;
    }

    /// Applies take until they are let go.
    pub(crate) fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// Whoever held on to what was deleted lets it go.
    pub(crate) fn let_go(&self) {
        let mut state = self.state.lock();
        let doomed = std::mem::take(&mut state.doomed);
        doomed.iter().for_each(|place| state.remove(place));
        drop(state);
        if !doomed.is_empty() {
            self.ticked();
        }
    }

    /// What happened up to now cannot be watched any more.
    pub(crate) fn forget_history(&self) {
        let mut state = self.state.lock();
        state.floor = state.log.len();
        drop(state);
        self.ticked();
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

    /// Looks at what is there.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&BTreeMap<Place, Value>) -> T) -> T {
        at(&self.state.lock().objects)
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
        self.ticked();
    }

    /// A controller of the cell says how many replicas of each deployment are ready.
    pub(crate) fn report(&self, ready: u64) {
        let mut state = self.state.lock();
        let deployments = state.objects.iter().filter(|(place, _)| place[1] == "deployments");
        let deployments: Vec<_> = deployments.map(|(place, object)| (place.clone(), object.clone())).collect();
        for (place, mut deployment) in deployments {
            if deployment["status"]["readyReplicas"] != ready {
                deployment["status"] = json!({ "replicas": ready, "readyReplicas": ready });
                state.set(&place, deployment);
            }
        }
        drop(state);
        self.ticked();
    }

    /// One way of a request or its answer.
    async fn travel(&self) -> Result<(), CellError> {
        let (way, delay) = {
            let mut state = self.state.lock();
            let slowness = state.weather.slowness;
            (state.way, if slowness == 0 { 0 } else { state.roll() % slowness })
        };
        match way {
            Way::Silent => {
                pause(SILENCE).await;
                return Err(lost());
            }
            Way::Open if delay > 0 => pause(Duration::from_millis(delay)).await,
            Way::Open => return Ok(()),
            Way::Closed => return Err(lost()),
        }
        if self.state.lock().way == Way::Open { Ok(()) } else { Err(lost()) }
    }

    /// The cell is asked for something: that may get lost before or after it was done.
    async fn answer<T>(&self, work: impl FnOnce(&mut State) -> Result<T, CellError>) -> Result<T, CellError> {
        self.state.lock().requests += 1;
        self.exchange(work).await
    }

    async fn exchange<T>(&self, work: impl FnOnce(&mut State) -> Result<T, CellError>) -> Result<T, CellError> {
        self.travel().await?;
        let (before, answer) = {
            let mut state = self.state.lock();
            let before = state.log.len();
            let answer = match state.fate() {
                Fate::RequestLost => Err(lost()),
                Fate::AnswerLost => work(&mut state).and(Err(lost())),
                Fate::Fine => work(&mut state),
            };
            (before, answer)
        };
        if self.state.lock().log.len() > before {
            self.ticked();
        }
        self.travel().await?;
        answer
    }

    /// The next event from `at` on that concerns the resource, if there is one; and from where on to look then.
    fn event(&self, of: &CellResource, at: usize) -> (Option<Result<CellEvent, CellError>>, usize) {
        let mut state = self.state.lock();
        match state.way {
            Way::Closed => return (Some(Err(lost())), at),
            Way::Silent => return (None, at),
            Way::Open if at < state.floor => return (Some(Err(refused(410, "Expired"))), at),
            Way::Open => {}
        }
        let later = state.log.iter().enumerate().skip(at);
        let mut ours = later.filter(|(_, (place, _))| place[0] == of.group && place[1] == of.plural);
        let Some((found, event)) = ours.next().map(|(at, (_, event))| (at, event.clone())) else {
            return (None, state.log.len());
        };
        let ends = state.roll() % 100 < state.weather.losses;
        (Some(if ends { Err(lost()) } else { Ok(event) }), found + 1)
    }
}

fn served(group: &str, plural: &str, kind: &str, namespaced: bool) -> CellResource {
    let own = |text: &str| text.to_owned();
    CellResource { group: own(group), version: own("v1"), plural: own(plural), kind: own(kind), namespaced }
}

impl CellApi for FakeCell {
    fn ready(&self) -> Later<'_, Result<(), CellError>> {
        self.state.lock().probes += 1;
        Box::pin(self.travel())
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
        Box::pin(self.answer(|state| Ok(state.objects.get(&place(at)).cloned())))
    }

    fn apply<'a>(&'a self, at: &'a CellPlace, object: &'a Value, over: Over) -> Later<'a, Result<Applied, CellError>> {
        Box::pin(async move {
            let _ = self.held.subscribe().wait_for(|held| !held).await;
            let applied = self.answer(|state| {
                if let Some(refusal) = state.refusal(at) {
                    return Err(refusal);
                }
                if over == Over::Nothing && state.objects.contains_key(&place(at)) {
                    return Err(refused(409, "Conflict"));
                }
                let applied = state.put(&place(at), object);
                if state.mute { Err(lost()) } else { Ok(applied) }
            });
            applied.await
        })
    }

    fn apply_status<'a>(&'a self, at: &'a CellPlace, object: &'a Value) -> Later<'a, Result<Value, CellError>> {
        Box::pin(self.answer(|state| {
            let at = place(at);
            let mut there = state.objects.get(&at).cloned().ok_or(refused(404, "NotFound"))?;
            there["status"] = object["status"].clone();
            Ok(state.set(&at, there))
        }))
    }

    fn merge<'a>(&'a self, at: &'a CellPlace, _: &'a Value) -> Later<'a, Result<Value, CellError>> {
        Box::pin(self.answer(|state| state.objects.get(&place(at)).cloned().ok_or(refused(404, "NotFound"))))
    }

    fn delete<'a>(&'a self, at: &'a CellPlace, uid: &'a str) -> Later<'a, Result<Option<Value>, CellError>> {
        Box::pin(self.answer(move |state| {
            let at = place(at);
            match state.objects.get(&at) {
                Some(object) if object["metadata"]["uid"] != uid => Err(refused(409, "Conflict")),
                _ => Ok(state.delete(&at)),
            }
        }))
    }

    fn list<'a>(&'a self, of: &'a CellResource, _: &'a str) -> Later<'a, Result<Listed, CellError>> {
        Box::pin(self.answer(|state| {
            let ours = state.objects.iter().filter(|(place, _)| place[0] == of.group && place[1] == of.plural);
            let items = ours.map(|(_, object)| object.clone()).collect();
            Ok(Listed { items, resource_version: state.log.len().to_string() })
        }))
    }

    fn watch<'a>(
        &'a self,
        of: &'a CellResource,
        _: &'a str,
        after: &'a str,
    ) -> Later<'a, Result<CellEvents, CellError>> {
        let at: usize = after.parse().unwrap_or_default();
        let start = (self.clone(), of.clone(), at, self.tick.subscribe());
        let events = stream::unfold(start, |(cell, of, mut at, mut tick)| async move {
            loop {
                tick.borrow_and_update();
                let (event, next) = cell.event(&of, at);
                at = next;
                match event {
                    Some(Ok(event)) => {
                        // What happened is told a while later, and not at all if nothing gets through by then.
                        let told = cell.travel().await.map(|()| event);
                        return Some((told, (cell, of, at, tick)));
                    }
                    Some(Err(error)) => return Some((Err(error), (cell, of, at, tick))),
                    None => tick.changed().await.ok()?,
                }
            }
        });
        Box::pin(async move {
            self.exchange(|_| Ok(())).await?;
            Ok(events.boxed())
        })
    }
}
