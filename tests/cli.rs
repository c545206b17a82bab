//! The real binary, as a person or a script meets it.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use storage::{Engine, Options, Place, Store, Txn};
use tempfile::TempDir;

/// No answer for so long is a failure, not a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn command<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hanse"));
    command.args(args).env_remove("HANSE_LOG").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a finished process said.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Said {
    #[track_caller]
    fn fine(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }

    /// The one line that says why not.
    #[track_caller]
    fn refused(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(1), ""), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        assert!(self.err.starts_with("hanse: "), "{}", self.err);
        self.err
    }
}

#[track_caller]
fn ended(child: Child) -> Said {
    let id = child.id();
    let (done, ending) = mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output()));
    match ending.recv_timeout(PATIENCE) {
        Ok(output) => output.unwrap().into(),
        Err(_) => {
            signal(id, "KILL");
            panic!("it did not end in {PATIENCE:?}");
        }
    }
}

#[track_caller]
fn hanse<'a>(args: impl IntoIterator<Item = &'a str>) -> Said {
    ended(command(args).spawn().unwrap())
}

fn signal(id: u32, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {id}")]).status().unwrap();
    assert!(sent.success(), "kill -{name} {id}");
}

/// `hanse serve` on its way; killed when dropped.
struct Serving {
    child: Option<Child>,
    ready: String,
}

impl Serving {
    #[track_caller]
    fn start<'a>(args: impl IntoIterator<Item = &'a str>) -> Self {
        Self::run("serve", args)
    }

    #[track_caller]
    fn run<'a>(how: &'a str, args: impl IntoIterator<Item = &'a str>) -> Self {
        let mut child = command([how, "--listen", "127.0.0.1:0"].into_iter().chain(args)).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut serving = Self { child: Some(child), ready: String::new() };
        let (done, line) = mpsc::channel();
        std::thread::spawn(move || done.send(first_line(stdout)));
        let (ready, stdout) = line.recv_timeout(PATIENCE).expect("it did not get ready");
        serving.ready = ready;
        serving.child.as_mut().unwrap().stdout = Some(stdout);
        if serving.ready.is_empty() {
            panic!("it ended instead of getting ready: {:?}", ended(serving.child.take().unwrap()));
        }
        serving
    }

    /// The port that its ready line names.
    fn port(&self) -> u16 {
        let (_, after) = self.ready.split_once("https://127.0.0.1:").unwrap();
        after.split(',').next().unwrap().parse().unwrap()
    }

    #[track_caller]
    fn stop(mut self, name: &str) -> Said {
        let child = self.child.take().unwrap();
        signal(child.id(), name);
        ended(child)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn first_line(stdout: ChildStdout) -> (String, ChildStdout) {
    let mut reader = BufReader::with_capacity(1, stdout);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    (line, reader.into_inner())
}

/// A directory for one test, and names in it.
struct Room {
    temp: TempDir,
}

impl Room {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A stopped store: keys that were changed, deleted, made of odd bytes, and one large value.
    fn store(&self, name: &str, engine: Engine) -> String {
        let place = Place::Dir { dir: self.path(name), engine };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = Store::open(&place, Options::default()).unwrap();
            let commit = async |txn| store.commit(txn).await.unwrap();
            for number in 0..30 {
                commit(Txn::new().put(format!("fruit/{number:02}"), format!("apple {number}"))).await;
            }
            commit(Txn::new().put("fruit/03", "pear").put("fruit/04", "plum").delete("fruit/05")).await;
            commit(Txn::new().put([0, 0xff, b'/', 7], vec![0xfe; 3])).await;
            commit(Txn::new().put("large/one", vec![b'x'; 300_000])).await;
            store.close().await;
        });
        self.name(name)
    }
}

#[track_caller]
fn inspected(path: &str) -> Value {
    let said = hanse(["storage", "inspect", path, "--output", "json", "--values", "--limit", "1000"]);
    serde_json::from_str(&said.fine()).unwrap()
}

fn entries_by_name(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_store_tells_the_same_running_stopped_and_as_a_backup() {
    for engine in [Engine::Log, Engine::Fjall, Engine::Sled] {
        let place = Room::new();
        let dir = place.store("data", engine);
        let names = entries_by_name(&place.path("data"));
        let stopped = inspected(&dir);
        assert_eq!(entries_by_name(&place.path("data")), names, "looking leaves nothing behind");
        assert_eq!((&stopped["state"], &stopped["engine"]), (&"stopped".into(), &engine.name().into()));
        assert_eq!((&stopped["revision"], &stopped["oldest"], &stopped["keys"]), (&33.into(), &0.into(), &31.into()));

        // Held by this process rather than by a server, which would write to it.
        let held = Store::open(&Place::Dir { dir: dir.clone().into(), engine }, Options::default()).unwrap();
        let running = inspected(&dir);
        assert_eq!(running["state"], "running");
        hanse(["storage", "backup", &dir, "--to", &place.name("running.backup")]).fine();
        let verified = hanse(["storage", "verify", &dir]).fine();
        assert!(
            verified.contains(": sound\n") && verified.contains("store, running, revision 33, 31 keys"),
            "{verified}"
        );
        drop(held);

        let verified = hanse(["storage", "verify", &dir]).fine();
        let expected = format!("{dir}: sound\n{} store, readable from revision 0, revision 33, 31 keys", engine.name());
        assert!(verified.starts_with(&expected), "{verified}");
        hanse(["storage", "backup", &dir, "--to", &place.name("stopped.backup")]).fine();
        let backups = ["running.backup", "stopped.backup"].map(|name| std::fs::read(place.path(name)).unwrap());
        assert!(backups[0] == backups[1], "a copy is a copy");
        let copied = inspected(&place.name("stopped.backup"));
        assert_eq!(copied["state"], "backup");
        for part in ["revision", "keys", "bytes", "matching", "groups", "largest", "entries"] {
            assert_eq!(running[part], stopped[part], "{part}");
            assert_eq!(copied[part], stopped[part], "{part}");
        }
    }
}

#[test]
fn inspect_sums_up_narrows_down_and_shows_any_byte() {
    let place = Room::new();
    let dir = place.store("data", Engine::Log);
    let table = hanse(["storage", "inspect", &dir, "--limit", "2", "--values"]).fine();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], format!("{dir}: log store, stopped"));
    assert_eq!(lines[1..4], ["revision  33", "oldest    0", "keys      31"]);
    assert!(lines.contains(&"large/        1  300,009"), "{table}");
    assert!(lines.contains(&r"\x00\xff/\x07       32        32            3  \xfe\xfe\xfe"), "{table}");
    assert_eq!(lines.last(), Some(&"... and 29 more"));

    let narrow = hanse(["storage", "inspect", &dir, "--prefix", r"\x00\xff", "--output", "json"]).fine();
    let narrow: Value = serde_json::from_str(&narrow).unwrap();
    assert_eq!((&narrow["keys"], &narrow["matching"]["keys"]), (&31.into(), &1.into()));
    assert_eq!(narrow["entries"][0]["key"], r"\x00\xff/\x07");
    assert_eq!(narrow["entries"][0].get("value"), None, "values only when asked for");
    let nothing = hanse(["storage", "inspect", &dir, "--prefix", "nowhere"]).fine();
    assert!(nothing.ends_with("of these  0 keys, 0 bytes under nowhere\n"), "{nothing}");
}

#[test]
fn a_backup_is_restored_with_another_engine_and_later_revisions() {
    for (from, to) in [(Engine::Log, Engine::Sled), (Engine::Sled, Engine::Fjall), (Engine::Fjall, Engine::Log)] {
        let place = Room::new();
        let dir = place.store("data", from);
        let (backup, copy) = (place.name("backup"), place.name("copy"));
        hanse(["storage", "backup", &dir, "--to", &backup]).fine();
        let arguments = ["storage", "restore", &copy, "--from", &backup, "--storage", to.name(), "--bump", "1000"];
        let said = hanse(arguments).fine();
        assert!(said.ends_with("new revisions start after 1033\n"), "{said}");
        hanse(["storage", "verify", &copy]).fine();
        let (original, restored) = (inspected(&dir), inspected(&copy));
        assert_eq!(restored["engine"], to.name());
        assert_eq!((&restored["revision"], &restored["oldest"]), (&1033.into(), &1033.into()));
        for part in ["keys", "bytes", "groups", "largest", "entries"] {
            assert_eq!(restored[part], original[part], "{part}");
        }
    }
}

#[test]
fn standard_output_and_input_will_do() {
    let place = Room::new();
    let dir = place.store("data", Engine::Log);
    let written = command(["storage", "backup", &dir, "--to", "-"]).output().unwrap();
    let report = Said::from(written.clone());
    assert_eq!(report.code, Some(0));
    assert!(report.err.starts_with("standard output: backup of revision 33, 31 keys"), "{}", report.err);
    std::fs::write(place.path("backup"), written.stdout).unwrap();
    hanse(["storage", "verify", &place.name("backup")]).fine();
    let from = std::fs::File::open(place.path("backup")).unwrap();
    let copy = place.name("copy");
    let restoring = command(["storage", "restore", &copy, "--from", "-"]).stdin(from).spawn().unwrap();
    ended(restoring).fine();
    assert_eq!(inspected(&copy)["entries"], inspected(&dir)["entries"]);
}

#[test]
fn a_killed_server_leaves_a_sound_store() {
    for engine in [Engine::Log, Engine::Fjall, Engine::Sled] {
        let place = Room::new();
        let dir = place.store("data", engine);
        let before = inspected(&dir);
        let serving = Serving::start(["--storage", engine.name(), "--data-dir", &dir]);
        assert_eq!(serving.stop("KILL").code, None);
        assert!(place.path("data").join("control.sock").exists(), "nobody was left to remove it");
        hanse(["storage", "verify", &dir]).fine();
        let after = inspected(&dir);
        let after = after["entries"].as_array().unwrap();
        let lost = before["entries"].as_array().unwrap().iter().filter(|entry| !after.contains(entry));
        assert_eq!(lost.count(), 0);
        let again = Serving::start(["--storage", engine.name(), "--data-dir", &dir]);
        assert_eq!(inspected(&dir)["state"], "running");
        assert_eq!(again.stop("INT").code, Some(0));
    }
}

#[test]
fn a_server_that_is_told_to_stop_says_nothing_is_wrong() {
    let place = Room::new();
    let dir = place.name("made/by/serve");
    let serving = Serving::start(["--data-dir", &dir]);
    let port = serving.port();
    let expected = format!("ready: https://127.0.0.1:{port}, kubeconfig {dir}/admin.kubeconfig; log store in {dir}, ");
    assert!(serving.ready.starts_with(&expected), "{}", serving.ready);
    let kubeconfig = std::fs::read_to_string(place.path("made/by/serve/admin.kubeconfig")).unwrap();
    assert!(kubeconfig.contains(&format!("https://127.0.0.1:{port}")));
    let said = serving.stop("TERM");
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""));
    assert!(!said.err.contains("WARN") && !said.err.contains("ERROR"), "{}", said.err);

    let serving = Serving::start(["--storage", "memory", "--data-dir", &place.name("memory")]);
    assert!(serving.ready.contains("; a store in memory, "), "{}", serving.ready);
    assert_eq!(serving.stop("TERM").code, Some(0));
}

#[test]
fn a_store_has_one_server_and_one_engine() {
    let place = Room::new();
    let dir = place.store("data", Engine::Log);
    let serving = Serving::start(["--data-dir", &dir]);
    let second = hanse(["serve", "--listen", "127.0.0.1:0", "--data-dir", &dir]).refused();
    let in_use = "is in use by another process; stop it, or choose another directory";
    assert_eq!(second, format!("hanse: cannot start the server with this --data-dir: {dir} {in_use}\n"));
    let (address, elsewhere) = (format!("127.0.0.1:{}", serving.port()), place.name("elsewhere"));
    let busy = hanse(["serve", "--listen", &address, "--data-dir", &elsewhere]).refused();
    let refused =
        format!("hanse: cannot listen on {address}: Address already in use (os error 98); is another server running?");
    assert!(busy.starts_with(&refused) && busy.contains("`--listen 127.0.0.1:0`"), "{busy}");
    assert_eq!(serving.stop("TERM").code, Some(0));
    let other = hanse(["serve", "--listen", "127.0.0.1:0", "--data-dir", &dir, "--storage", "sled"]).refused();
    assert!(other.contains("holds a log store, not sled; open it as log"), "{other}");
    assert!(other.contains("without --storage log"), "{other}");
}

const SEALED: &str = "apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ['*.*']
  providers: [{ aesgcm: { keys: [{ name: winter, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= }] } }]
";

#[test]
fn a_sealed_store_is_looked_after_without_its_key_and_served_with_it() {
    let place = Room::new();
    let (dir, file) = (place.name("data"), place.name("encryption.yaml"));
    std::fs::write(&file, SEALED).unwrap();
    let keys = ["--encryption-provider-config", &file];
    let serving = Serving::start(["--data-dir", &dir].into_iter().chain(keys));
    let running = hanse(["storage", "inspect", &dir, "--values", "--prefix", "core/namespaces/"]).fine();
    assert!(running.contains("(sealed with the key \"winter\")"), "{running}");
    assert_eq!(serving.stop("TERM").code, Some(0));
    assert!(hanse(["storage", "verify", &dir]).fine().contains(": sound\n"));
    let stopped = hanse(["storage", "inspect", &dir, "--values", "--prefix", "core/namespaces/"]).fine();
    assert!(stopped.contains("(sealed with the key \"winter\")") && !stopped.contains("\"kind\""), "{stopped}");
    let (backup, copy) = (place.name("backup"), place.name("copy"));
    hanse(["storage", "backup", &dir, "--to", &backup]).fine();
    hanse(["storage", "restore", &copy, "--from", &backup]).fine();
    for data in [&dir, &copy] {
        let locked = hanse(["serve", "--listen", "127.0.0.1:0", "--data-dir", data]).refused();
        assert!(locked.contains("is sealed with the key \"winter\", which is not among those given"), "{locked}");
        let serving = Serving::start(["--data-dir", data].into_iter().chain(keys));
        assert_eq!(serving.stop("TERM").code, Some(0));
    }
    std::fs::write(&file, SEALED.replace("aesgcm", "aescbc")).unwrap();
    let odd = hanse(["serve", "--listen", "127.0.0.1:0", "--data-dir", &dir].into_iter().chain(keys)).refused();
    assert!(odd.contains("providers[0].aescbc is not served: use aesgcm"), "{odd}");
}

#[test]
fn a_damaged_backup_is_refused_and_nothing_comes_of_it() {
    let place = Room::new();
    let dir = place.store("data", Engine::Log);
    let (backup, copy) = (place.name("backup"), place.name("copy"));
    hanse(["storage", "backup", &dir, "--to", &backup]).fine();
    let sound = std::fs::read(&backup).unwrap();
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 1;
    let wrong = [
        (flipped, "the backup is damaged: it does not match its checksum"),
        (sound[..sound.len() - 1].to_vec(), "the backup ends before its end"),
        (b"something else entirely".to_vec(), "this is not a backup, or one of another version"),
    ];
    for (bytes, why) in wrong {
        std::fs::write(&backup, bytes).unwrap();
        let refused = hanse(["storage", "restore", &copy, "--from", &backup]).refused();
        assert_eq!(refused, format!("hanse: cannot restore {copy} from {backup}: the backup cannot be read: {why}\n"));
        assert_eq!(hanse(["storage", "verify", &backup]).refused(), format!("hanse: cannot read {backup}: {why}\n"));
        assert_eq!(entries_by_name(place.temp.path()), ["backup", "data"], "nothing is left behind");
    }
    std::fs::write(&backup, [sound, b"more".to_vec()].concat()).unwrap();
    let refused = hanse(["storage", "verify", &backup]).refused();
    assert_eq!(refused, format!("hanse: {backup} has data after the end of the backup\n"));
}

#[test]
fn what_is_there_is_never_written_over() {
    let place = Room::new();
    let dir = place.store("data", Engine::Log);
    let backup = place.name("backup");
    hanse(["storage", "backup", &dir, "--to", &backup]).fine();
    let refused = hanse(["storage", "restore", &dir, "--from", &backup]).refused();
    assert!(refused.ends_with(&format!("{dir} is not empty; restore into a new directory\n")), "{refused}");
    let refused = hanse(["storage", "backup", &dir, "--to", &backup]).refused();
    assert_eq!(refused, format!("hanse: {backup} already exists; choose another name\n"));
    hanse(["storage", "verify", &dir]).fine();
    hanse(["storage", "verify", &backup]).fine();
    let nowhere = place.name("nowhere/backup");
    let refused = hanse(["storage", "backup", &dir, "--to", &nowhere]).refused();
    assert_eq!(refused, format!("hanse: cannot write {nowhere}: No such file or directory (os error 2)\n"));
    assert_eq!(entries_by_name(place.temp.path()), ["backup", "data"]);
}

#[test]
fn a_store_that_lost_something_does_not_verify() {
    for engine in [Engine::Log, Engine::Fjall, Engine::Sled] {
        let place = Room::new();
        let dir = place.store("data", engine);
        std::fs::remove_dir_all(place.path("data").join(engine.name())).unwrap();
        let refused = hanse(["storage", "verify", &dir]).refused();
        assert!(refused.contains("is damaged: it is missing; restore a backup into a new directory"), "{refused}");
    }
}

#[test]
fn where_there_is_no_store_none_is_made() {
    let place = Room::new();
    let (missing, empty) = (place.name("missing"), place.name("empty"));
    std::fs::create_dir(&empty).unwrap();
    for (tool, more) in [("inspect", None), ("verify", None), ("backup", Some(["--to", "/dev/null/x"]))] {
        let arguments = |dir| ["storage", tool, dir].into_iter().chain(more.into_iter().flatten());
        let refused = hanse(arguments(&missing)).refused();
        assert_eq!(refused, format!("hanse: cannot open {missing}: No such file or directory (os error 2)\n"));
        let refused = hanse(arguments(&empty)).refused();
        assert_eq!(refused, format!("hanse: no store in {empty}\n"));
    }
    let refused = hanse(["storage", "restore", &place.name("new"), "--from", &missing]).refused();
    assert_eq!(refused, format!("hanse: cannot open {missing}: No such file or directory (os error 2)\n"));
    assert_eq!(entries_by_name(place.temp.path()), ["empty"]);
    assert_eq!(entries_by_name(&place.path("empty")), [""; 0]);
}

#[test]
fn who_asks_wrongly_is_told_so_with_exit_code_2() {
    let wrong: [(&[&str], &str); 6] = [
        (&[], "Usage: hanse <COMMAND>"),
        (&["serve"], "--data-dir <DIR>"),
        (&["serve", "--data-dir", "d", "--listen", "here"], "invalid value 'here'"),
        (&["serve", "--data-dir", "d", "--storage", "paper"], "invalid value 'paper'"),
        (&["storage", "inspect", "d", "--prefix", r"\q"], "--prefix: unknown escape"),
        (&["storage", "restore", "d", "--from", "f", "--storage", "memory"], "invalid value 'memory'"),
    ];
    for (arguments, why) in wrong {
        let said = hanse(arguments.iter().copied());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(said.err.contains(why), "{arguments:?}: {}", said.err);
    }
    let said = ended(command(["serve", "--data-dir", "d"]).env("HANSE_LOG", "=?=").spawn().unwrap());
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("HANSE_LOG: "), "{}", said.err);
}

#[test]
fn a_reader_that_has_seen_enough_is_not_an_error() {
    let place = Room::new();
    let dir = place.store("data", Engine::Log);
    let mut child = command(["storage", "inspect", &dir, "--values"]).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 1]).unwrap();
    assert_eq!(ended(child).code, Some(0));
}

/// What `hanse status` says of the cells, once all of them are ready.
#[track_caller]
fn cells_of(kubeconfig: &str) -> Vec<String> {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let told = hanse(["status", "-o", "json", "--kubeconfig", kubeconfig]).fine();
        let picture: Value = serde_json::from_str(&told).unwrap();
        let cells = picture["cells"].as_array().unwrap();
        if !cells.is_empty() && cells.iter().all(|cell| cell["ready"] == "True") {
            return cells.iter().map(|cell| cell["name"].as_str().unwrap().to_owned()).collect();
        }
        assert!(std::time::Instant::now() < deadline, "{told}");
    }
}

/// Mistakes that people make in their first minutes, and the words that help them on.
#[track_caller]
fn teaches(kubeconfig: &str) {
    let check = |args: &[&str], words: &[&str]| {
        let told = hanse(args.iter().copied().chain(["--kubeconfig", kubeconfig])).refused();
        assert!(words.iter().all(|word| told.contains(word)), "{args:?}: {told}");
    };
    check(&["status", "--context", "dwf"], &["no context \"dwf\"", "dfw"]);
    check(&["status", "--workspace", "root:nope"], &["no such workspace", "kubectl --context root get workspaces"]);
    check(&["explain", "web"], &["KIND/NAME"]);
    check(&["explain", "deploy/x"], &["no Deployment \"x\"", "kubectl get deployments -A"]);
    check(&["explain", "all/x"], &["no object \"x\"", "kubectl get all -A"]);
    check(&["explain", "wrokload/x"], &["\"wrokload\"", "kubectl api-resources"]);
    check(&["explain", "deplyment/x"], &["\"deplyment\"", "Did you mean \"deployment\"?"]);
    check(&["explain", "deploy", "x"], &["no Deployment \"x\""]);
    check(&["cell", "join", "x", "--cell-workspace", "root:cells:ams"], &["already cell ams", "hanse cell leave ams"]);
    check(&["cell", "join", "ams", "--cell-workspace", "root:x"], &["already another cluster", "hanse cell leave ams"]);
    check(&["cell", "leave", "nowhere"], &["no cell \"nowhere\"", "hanse cell list"]);
    check(&["cell", "join", "x", "--cell-workspace", "root:x", "--wait", "0"], &["hanse cell leave x --force"]);
    hanse(["cell", "leave", "x", "--force", "--kubeconfig", kubeconfig]).fine();
    let nowhere = hanse(["status", "--kubeconfig", "nowhere.kubeconfig"]).refused();
    assert!(nowhere.contains("nowhere.kubeconfig: no such file") && nowhere.contains("hanse dev"), "{nowhere}");
}

#[test]
fn a_federation_to_try_is_there_again_after_a_restart() {
    let room = Room::new();
    let data = room.path("data").display().to_string();
    let kubeconfig = room.path("data/dev.kubeconfig").display().to_string();
    for _ in 0..2 {
        let dev = Serving::run("dev", ["--data-dir", &data, "--cells", "4", "--projects", "2"]);
        assert!(dev.ready.ends_with("with cells dfw, ams, nrt, gru.\n"), "{}", dev.ready);
        assert_eq!(cells_of(&kubeconfig), ["ams", "dfw", "gru", "nrt"]);
        let nowhere = hanse(["explain", "configmap/kube-root-ca.crt", "--kubeconfig", &kubeconfig]).fine();
        assert!(nowhere.contains("no rule or policy selects it"), "{nowhere}");
        let missing = hanse(["explain", "deployment/x", "--kubeconfig", &kubeconfig]).refused();
        assert!(missing.contains("no Deployment \"x\""), "{missing}");
        teaches(&kubeconfig);
        assert_eq!(dev.stop("INT").code, Some(0));
    }
}

#[test]
fn workspaces_are_taken_to_another_server_in_a_file() {
    let room = Room::new();
    let (here, there) = (room.path("here").display().to_string(), room.path("there").display().to_string());
    let file = room.path("all.workspaces");
    let name = file.display().to_string();
    let first = Serving::run("dev", ["--data-dir", &here, "--cells", "2", "--projects", "2"]);
    let from = room.path("here/admin.kubeconfig").display().to_string();
    let told =
        hanse(["workspace", "export", "root:default", "--children", "--to", &name, "--kubeconfig", &from]).fine();
    assert!(told.contains(": 1 workspace, "), "{told}");
    let refused = hanse(["workspace", "export", "root:default", "--to", &name, "--kubeconfig", &from]).refused();
    assert!(refused.contains("already exists; choose another name"), "{refused}");
    assert_eq!(first.stop("INT").code, Some(0));

    let second = Serving::start(["--data-dir", &there]);
    let onto = room.path("there/admin.kubeconfig").display().to_string();
    let import = |path: &str, file: &str| hanse(["workspace", "import", path, "--from", file, "--kubeconfig", &onto]);
    let good = std::fs::read(&file).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    let damaged = room.path("damaged").display().to_string();
    for bytes in [&bad[..], &good[..good.len() - 7], b""] {
        std::fs::write(&damaged, bytes).unwrap();
        import("root:copy", &damaged).refused();
    }
    // Of one that was killed nothing is used, and what is left of it is in nobody's way.
    let flags = ["workspace", "import", "root:killed", "--from", &name, "--kubeconfig", &onto];
    let mut killed = command(flags).spawn().unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    for path in ["root:copy", "root:copy:inner"] {
        let told = import(path, &name).fine();
        assert!(told.starts_with(&format!("{path}: 1 workspace, ")), "{told}");
    }
    let refused = import("root:copy", &name).refused();
    assert!(refused.contains("already exists"), "{refused}");
    let again = room.path("again").display().to_string();
    let told = hanse(["workspace", "export", "root:copy", "--children", "--to", &again, "--kubeconfig", &onto]).fine();
    assert!(told.contains(": 2 workspaces, "), "{told}");
    let told = import("root:third", &again).fine();
    assert!(told.starts_with("root:third: 2 workspaces, "), "{told}");
    // Under the ids that they had where these are free, and nowhere else.
    let same = |path: &str, onto: &str| {
        hanse(["workspace", "import", path, "--from", &again, "--same-identity", "--kubeconfig", onto])
    };
    let refused = same("root:fourth", &onto).refused();
    assert!(refused.contains("another workspace already"), "{refused}");
    assert_eq!(second.stop("INT").code, Some(0));

    let elsewhere = room.path("elsewhere").display().to_string();
    let third = Serving::start(["--data-dir", &elsewhere]);
    let onto = room.path("elsewhere/admin.kubeconfig").display().to_string();
    let told = same("root:fourth", &onto).fine();
    assert!(told.starts_with("root:fourth: 2 workspaces, "), "{told}");
    let refused = same("root:fifth", &onto).refused();
    assert!(refused.contains("another workspace already"), "{refused}");
    assert_eq!(third.stop("INT").code, Some(0));
}

#[test]
fn shells_complete_commands_and_flags() {
    for shell in ["zsh", "fish"] {
        assert!(hanse(["completion", shell]).fine().contains("explain"), "{shell}");
    }
    let script = hanse(["completion", "bash"]).fine();
    let complete = |words: &[&str]| {
        let (last, number) = (words.last().unwrap(), words.len() - 1);
        let (all, before) = (words.join(" "), words[number - 1]);
        let asked = format!("COMP_WORDS=({all}); COMP_CWORD={number}; _hanse hanse '{last}' '{before}'");
        let told = Command::new("bash").args(["-c", &format!("{script}\n{asked}; echo ${{COMPREPLY[@]}}")]).output();
        Said::from(told.unwrap()).fine().trim().to_owned()
    };
    assert_eq!(complete(&["hanse", "expl"]), "explain");
    assert_eq!(complete(&["hanse", "cell", "jo"]), "join");
    assert_eq!(complete(&["hanse", "cell", "join", "--cell-k"]), "--cell-kubeconfig");
    assert_eq!(complete(&["hanse", "status", "--output", "j"]), "json");
}

#[test]
fn the_manual_page_has_every_command() {
    let page = hanse(["man"]).fine();
    for section in ["NAME", "HANSE DEV", "HANSE CELL JOIN", "HANSE STORAGE RESTORE", "EXIT STATUS", "ENVIRONMENT"] {
        assert!(page.contains(&format!("\n.SH {section}\n")), "{section}");
    }
    assert_eq!(page.matches("\n.SH SYNOPSIS\n").count(), 1, "one page, not many after each other");
}

/// Everything that answers with more than a word can answer programs.
#[test]
fn programs_are_answered_in_json_and_yaml() {
    let room = Room::new();
    let dir = room.store("data", Engine::Log);
    let json = |args: &[&str]| -> Value {
        let told = hanse(args.iter().copied().chain(["-o", "json"])).fine();
        serde_json::from_str(&told).unwrap_or_else(|error| panic!("{args:?}: {error}: {told}"))
    };
    assert_eq!(json(&["version"])["version"], env!("CARGO_PKG_VERSION"));
    assert!(hanse(["version", "-o", "yaml"]).fine().contains("kubernetes: "));
    assert_eq!(json(&["storage", "verify", &dir])["sound"], true);
    assert_eq!(json(&["storage", "inspect", &dir])["keys"], 31);
    assert!(hanse(["storage", "inspect", &dir, "-o", "yaml"]).fine().contains("\nkeys: 31\n"));
    let (backup, copy) = (room.name("backup"), room.name("copy"));
    assert_eq!(json(&["storage", "backup", &dir, "--to", &backup])["revision"], 33);
    let restored = json(&["storage", "restore", &copy, "--from", &backup, "--bump", "7"]);
    assert_eq!((&restored["revision"], &restored["engine"]), (&40.into(), &"log".into()));

    let data = room.name("dev");
    let dev = Serving::run("dev", ["--data-dir", &data, "--cells", "2"]);
    let kubeconfig = room.name("dev/dev.kubeconfig");
    assert_eq!(cells_of(&kubeconfig).len(), 2);
    let cells = json(&["cell", "list", "--workspace", "root:default", "--kubeconfig", &kubeconfig]);
    assert_eq!((&cells["cells"][0]["name"], &cells["cells"][0]["ready"]), (&"ams".into(), &"True".into()));
    assert_eq!(json(&["fsck", "--kubeconfig", &kubeconfig])["problems"], serde_json::json!([]));
    let file = room.name("export");
    let exported = json(&["workspace", "export", "root:default", "--to", &file, "--kubeconfig", &kubeconfig]);
    assert_eq!(exported["workspaces"], 1);
    let imported = json(&["workspace", "import", "root:copy", "--from", &file, "--kubeconfig", &kubeconfig]);
    assert_eq!((&imported["path"], &imported["missing"]), (&"root:copy".into(), &serde_json::json!([])));
    assert_eq!(dev.stop("INT").code, Some(0));
}

/// As kubectl does: several files are one, some may be missing, and the context says which namespace.
#[test]
fn a_server_is_found_as_kubectl_finds_it() {
    let room = Room::new();
    let dev = Serving::run("dev", ["--data-dir", &room.name("dev"), "--cells", "1"]);
    let kubeconfig = room.name("dev/dev.kubeconfig");
    assert_eq!(cells_of(&kubeconfig), ["dfw"]);
    let other =
        "current-context: mine\ncontexts: [{name: mine, context: {cluster: root, user: kcp-admin, namespace: shop}}]";
    std::fs::write(room.path("other"), other).unwrap();
    let asked = |args: &[&str], environment: &[(&str, &str)]| {
        let mut command = command(args.iter().copied());
        command.env_remove("KUBECONFIG").env("HOME", room.name("home")).envs(environment.iter().copied());
        ended(command.spawn().unwrap())
    };
    let all = [room.name("missing"), room.name("other"), kubeconfig.clone()].join(":");
    let missing = asked(&["explain", "configmap/x"], &[("KUBECONFIG", &all)]).refused();
    assert!(missing.contains("no ConfigMap \"x\" in namespace \"shop\""), "{missing}");
    let nowhere = asked(&["status"], &[]).refused();
    assert!(nowhere.contains("no kubeconfig: set KUBECONFIG"), "{nowhere}");
    std::fs::create_dir_all(room.path("home/.kube")).unwrap();
    std::fs::copy(&kubeconfig, room.path("home/.kube/config")).unwrap();
    assert!(asked(&["status"], &[]).fine().starts_with("1 of 1 cells ready"));
    let elsewhere = ["cell", "join", "x", "--cell-kubeconfig", &kubeconfig, "--cell-context", "nope"];
    let refused = asked(&elsewhere, &[]).refused();
    assert!(refused.contains("no context \"nope\""), "{refused}");
    assert_eq!(dev.stop("INT").code, Some(0));
}
