//! The record as a file of lines that is put aside when it is large enough. Nobody waits for it: who writes hands lines
//! over, and what cannot be handed over because the disk is too slow is counted and lost.

use super::writer::Writer;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Lines that wait for the disk: some megabytes.
const WAITING_MAX: usize = 10_000;

/// Where the record is, how large a file may be, and how many older ones are kept.
#[derive(Clone, Debug)]
pub struct Journal {
    pub path: PathBuf,
    pub bytes_max: u64,
    pub backups: usize,
}

impl Journal {
    /// Opens the file; lines are added to what is there.
    pub fn open(self) -> io::Result<Writer> {
        let file = open(&self.path)?;
        let (lines, waiting) = sync_channel(WAITING_MAX);
        thread::Builder::new().name("audit".to_owned()).spawn(move || keep(file, &self, &waiting))?;
        Ok(writer(lines))
    }
}

fn writer(lines: SyncSender<String>) -> Writer {
    Writer::new(move |line| lines.try_send(line).is_ok(), Arc::default())
}

fn open(path: &Path) -> io::Result<Kept> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let bytes = file.metadata()?.len();
    Ok(Kept { file: BufWriter::new(file), bytes })
}

struct Kept {
    file: BufWriter<File>,
    bytes: u64,
}

/// Writes until nobody is left who could say anything.
fn keep(mut kept: Kept, journal: &Journal, waiting: &Receiver<String>) {
    while let Ok(line) = waiting.recv() {
        let mut next = Some(line);
        // Whatever waits is written together.
        while let Some(line) = next {
            if let Err(error) = add(&mut kept, journal, &line) {
                tracing::error!(%error, path = %journal.path.display(), "the audit log cannot be written");
            }
            next = waiting.try_recv().ok();
        }
        if let Err(error) = kept.file.flush() {
            tracing::error!(%error, path = %journal.path.display(), "the audit log cannot be written");
        }
    }
}

fn add(kept: &mut Kept, journal: &Journal, line: &str) -> io::Result<()> {
    let bytes = line.len() as u64 + 1;
    if kept.bytes > 0 && kept.bytes + bytes > journal.bytes_max {
        kept.file.flush()?;
        put_aside(journal)?;
        *kept = open(&journal.path)?;
    }
    kept.file.write_all(line.as_bytes())?;
    kept.file.write_all(b"\n")?;
    kept.bytes += bytes;
    Ok(())
}

/// `audit.log.1` is the newest of those that were put aside.
fn put_aside(journal: &Journal) -> io::Result<()> {
    let numbered = |number: usize| PathBuf::from(format!("{}.{number}", journal.path.display()));
    for number in (1..journal.backups).rev() {
        if numbered(number).exists() {
            std::fs::rename(numbered(number), numbered(number + 1))?;
        }
    }
    match journal.backups {
        0 => std::fs::remove_file(&journal.path),
        _ => std::fs::rename(&journal.path, numbered(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_full_is_put_aside_and_the_oldest_goes() {
        let dir = std::env::temp_dir().join(format!("hanse-audit-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let journal = Journal { path: dir.join("audit.log"), bytes_max: 20, backups: 2 };
        let mut kept = open(&journal.path).unwrap();
        for number in 0..8 {
            add(&mut kept, &journal, &format!("line {number}")).unwrap();
        }
        kept.file.flush().unwrap();
        let text = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        assert_eq!(text("audit.log"), "line 6\nline 7\n");
        assert_eq!(text("audit.log.1"), "line 4\nline 5\n");
        assert_eq!(text("audit.log.2"), "line 2\nline 3\n");
        assert!(!dir.join("audit.log.3").exists());
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn nobody_waits_for_a_disk_that_is_too_slow() {
        let (lines, waiting) = sync_channel(2);
        let writer = writer(lines);
        for _ in 0..5 {
            writer.write("line".to_owned());
        }
        assert_eq!(writer.lost(), 3);
        drop(waiting);
        writer.write("line".to_owned());
        assert_eq!(writer.lost(), 4);
    }
}
