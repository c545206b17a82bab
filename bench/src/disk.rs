//! What the disk and the system say: raw syncs, bytes on disk, resident memory.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Appends `value` and syncs, over and over: what no single writer can beat.
pub fn raw_syncs(scratch: &Path, seconds: f64, value: &[u8]) -> String {
    let path = scratch.join("raw");
    let mut file = File::create(&path).expect("a file");
    let (start, mut syncs) = (Instant::now(), 0_u32);
    while start.elapsed().as_secs_f64() < seconds {
        file.write_all(value).expect("written");
        file.sync_data().expect("synced");
        syncs += 1;
    }
    let _ = std::fs::remove_file(path);
    format!("{:.0} appends of one object with fdatasync per second", f64::from(syncs) / start.elapsed().as_secs_f64())
}

/// Blocks in use under `dir`, in bytes.
pub fn bytes_under(dir: &Path) -> f64 {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0.0;
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += if metadata.is_dir() { bytes_under(&entry.path()) } else { metadata.blocks() as f64 * 512.0 };
    }
    bytes
}

pub fn rss_bytes(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() * 1024.0
}

/// Processor time that a process has used so far, in seconds. Linux counts it in hundredths.
pub fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Names may contain anything; what comes after their last parenthesis may not.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let field = |at: usize| after.split_whitespace().nth(at).and_then(|ticks| ticks.parse::<f64>().ok());
    (field(11).unwrap_or_default() + field(12).unwrap_or_default()) / 100.0
}

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
