//! What the disk and the system say: raw syncs, bytes on disk, resident memory.

use crate::Plan;
use crate::workload::value;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Appends one object and syncs, over and over: what no single writer can beat.
pub fn raw_syncs(plan: &Plan) -> String {
    let path = plan.scratch.join("raw");
    let mut file = File::create(&path).expect("a file");
    let (start, mut syncs) = (Instant::now(), 0);
    while start.elapsed().as_secs_f64() < plan.seconds {
        file.write_all(&value(syncs)).expect("written");
        file.sync_data().expect("synced");
        syncs += 1;
    }
    let _ = std::fs::remove_file(path);
    format!("{:.0} appends of one object with fdatasync per second", syncs as f64 / start.elapsed().as_secs_f64())
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
