//! File systems of our own: mounted where nobody else sees them, gone with the process that made them.
//!
//! Needs `unshare`, `setpriv`, `mount` and `losetup` (util-linux), and either root or a system where everybody may
//! `unshare --user`; images of ext4 also need root, loop devices and `mkfs.ext4` (e2fsprogs).

use crate::child;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the test `name` once more as `role`, with mounts of its own and without root's right to ignore
/// permissions.
pub(crate) fn with_own_mounts(name: &str, role: &str) -> Result<(), String> {
    let inner = child::command(name, role);
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare.args(["--mount", "--propagation", "private", "--"]);
    unshare.args(["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]);
    unshare.arg(inner.get_program()).args(inner.get_args());
    unshare.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(unshare)
}

/// Runs `body` where it can mount images. Where that is impossible, says that the test was skipped, and why.
pub(crate) fn on_images(name: &str, body: impl FnOnce()) {
    match child::role().as_deref() {
        Some("probe") => mount_something().unwrap(),
        Some(_) => body(),
        None if !rustix::process::geteuid().is_root() => {
            println!("{name}: skipped: mounting an image on a loop device needs root");
        }
        None => match with_own_mounts(name, "probe") {
            Ok(()) => with_own_mounts(name, "on images").unwrap(),
            Err(why) => println!("{name}: skipped: an ext4 image cannot be mounted here: {why}"),
        },
    }
}

fn mount_something() -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    format(&image, 64)?;
    Mount::image(&image, &dir.path().join("mounted")).map(drop)
}

/// Runs a tool to its end. An error says what it said.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("cannot run {tool}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{tool} failed: {status}")) }
}

/// What a tool says; its complaints if it fails.
pub(crate) fn tool<const N: usize>(name: &str, arguments: [&str; N]) -> Result<String, String> {
    let output = Command::new(name).args(arguments).output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(format!("{name} {}: {said}", arguments.join(" ")))
}

/// A mounted file system. Unmounted when dropped.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) at: PathBuf,
    /// The loop device behind it.
    device: Option<String>,
}

impl Mount {
    pub(crate) fn image(image: &Path, at: &Path) -> Result<Self, String> {
        fs::create_dir_all(at).unwrap();
        let device = tool("losetup", ["--find", "--show", &image.to_string_lossy()])?;
        // Blocks that are freed leave the image: it stays as small as what is in it.
        let mounted = tool("mount", ["-t", "ext4", "-o", "discard", &device, &at.to_string_lossy()]);
        let mount = Self { at: at.to_owned(), device: Some(device) };
        if let Err(what) = mounted {
            mount.detach();
            std::mem::forget(mount);
            return Err(what);
        }
        Ok(mount)
    }

    pub(crate) fn memory(at: &Path, size: &str) -> Result<Self, String> {
        fs::create_dir_all(at).unwrap();
        let options = format!("size={size},mode=0700");
        tool("mount", ["-t", "tmpfs", "-o", &options, "tmpfs", &at.to_string_lossy()])?;
        Ok(Self { at: at.to_owned(), device: None })
    }

    /// `dir` itself, once more, read-only.
    pub(crate) fn read_only(dir: &Path) -> Result<Self, String> {
        let at = dir.to_string_lossy();
        tool("mount", ["--bind", &at, &at])?;
        let mount = Self { at: dir.to_owned(), device: None };
        tool("mount", ["-o", "remount,bind,ro", &at]).map(|_| mount)
    }

    /// The device behind an image, by its short name.
    pub(crate) fn device(&self) -> &str {
        self.device.as_deref().unwrap_or_default().trim_start_matches("/dev/")
    }

    fn detach(&self) {
        if let Some(device) = &self.device {
            let _ = tool("losetup", ["--detach", device]);
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(what) = tool("umount", [&self.at.to_string_lossy()]) {
            println!("{what}");
        }
        self.detach();
    }
}

/// Makes an empty ext4 file system in a file.
pub(crate) fn format(image: &Path, megabytes: u64) -> Result<(), String> {
    File::create(image).and_then(|file| file.set_len(megabytes << 20)).map_err(|error| error.to_string())?;
    tool("mkfs.ext4", ["-q", "-F", &image.to_string_lossy()]).map(drop)
}
