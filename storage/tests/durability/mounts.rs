//! File systems of our own: mounted where nobody else sees them, gone with the process that made them.
//!
//! Needs `unshare`, `setpriv` and `mount` (util-linux), and either root or unprivileged user namespaces; images of ext4 also need
//! root, loop devices and `mkfs.ext4` (e2fsprogs).

use crate::child;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the test `name` once more as `role`, in a mount namespace of its own and without root's right to ignore
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

/// Runs a tool to its end. An error says what it said.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("cannot run {tool}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{tool} failed: {status}")) }
}

/// Runs a tool whose complaints belong in the error.
pub(crate) fn tool<const N: usize>(name: &str, arguments: [&str; N]) -> Result<(), String> {
    let output = Command::new(name).args(arguments).output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(format!("{name} {}: {said}", arguments.join(" ")))
}

/// A mounted file system. Unmounted when dropped.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) at: PathBuf,
}

impl Mount {
    pub(crate) fn image(image: &Path, at: &Path) -> Result<Self, String> {
        fs::create_dir_all(at).unwrap();
        // Blocks that are freed leave the image: it stays as small as what is in it.
        tool("mount", ["-t", "ext4", "-o", "loop,discard", &image.to_string_lossy(), &at.to_string_lossy()])?;
        Ok(Self { at: at.to_owned() })
    }

    pub(crate) fn memory(at: &Path, size: &str) -> Result<Self, String> {
        fs::create_dir_all(at).unwrap();
        let options = format!("size={size},mode=0700");
        tool("mount", ["-t", "tmpfs", "-o", &options, "tmpfs", &at.to_string_lossy()])?;
        Ok(Self { at: at.to_owned() })
    }

    /// The device behind an image, by its short name.
    pub(crate) fn device(&self) -> String {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let at = self.at.to_string_lossy();
        let device = mounts.lines().find_map(|line| {
            let (device, rest) = line.split_once(' ')?;
            rest.starts_with(&*format!("{at} ")).then(|| device.to_owned())
        });
        device.unwrap().trim_start_matches("/dev/").to_owned()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(what) = tool("umount", [&self.at.to_string_lossy()]) {
            println!("{what}");
        }
    }
}

/// Makes an empty ext4 file system in a file.
pub(crate) fn format(image: &Path, megabytes: u64) -> Result<(), String> {
    File::create(image).and_then(|file| file.set_len(megabytes << 20)).map_err(|error| error.to_string())?;
    tool("mkfs.ext4", ["-q", "-F", &image.to_string_lossy()])
}
