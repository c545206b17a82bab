//! A second witness of how far the store has come, outside its engine.
//!
//! An engine that finds the end of its journal damaged takes it for a write that was never finished, cuts it off and
//! goes on, which is right after a crash and loses acknowledged commits after a flipped bit. So every acknowledged
//! revision is also written to a small file of our own, after the engine's sync and without one: the file may be
//! behind the engine (a loss of power takes its last writes), never ahead of it. An engine that remembers less than
//! its witness has lost something.

use crate::error::OpenError;
use crate::txn::Revision;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Two copies, written in turn: one of them is whole even if the other was being written.
const COPIES: u64 = 2;
const COPY_BYTES: u64 = 16;

#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// `None` for a store that keeps nothing.
    file: Option<File>,
    turn: u64,
}

impl Witness {
    /// Opens the file and says the last revision it saw acknowledged.
    pub(crate) fn open(path: &Path) -> Result<(Self, Revision), OpenError> {
        let failed = |source| OpenError::Io { path: path.to_owned(), source };
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let mut bytes = [0; (COPIES * COPY_BYTES) as usize];
        let length = file.read_at(&mut bytes, 0).map_err(failed)?;
        if bytes[..length].iter().all(|byte| *byte == 0) {
            // New, or its making was interrupted. From here on it always has its full length on the disk.
            (0..COPIES).try_for_each(|turn| write(&file, turn, Revision::ZERO)).map_err(failed)?;
            file.sync_all().map_err(failed)?;
            return Ok((Self { file: Some(file), turn: 0 }, Revision::ZERO));
        }
        let copies = bytes[..length].chunks_exact(COPY_BYTES as usize).filter_map(decode);
        let seen = copies.max().ok_or_else(|| OpenError::Damaged {
            file: path.to_owned(),
            what: "no part of it can be read, so nobody can say whether the store beside it is whole; \
                   remove it to open the store all the same"
                .to_owned(),
        })?;
        Ok((Self { file: Some(file), turn: 0 }, seen))
    }

    /// The store was found whole up to `revision`. From now on that is known for good, even if power is lost.
    pub(crate) fn catch_up(&mut self, revision: Revision) {
        self.record(revision);
        self.sync();
    }

    fn sync(&self) {
        if let Some(Err(error)) = self.file.as_ref().map(File::sync_data) {
            tracing::warn!(%error, "the witness could not be synced");
        }
    }

    pub(crate) fn record(&mut self, revision: Revision) {
        let Some(file) = &self.file else { return };
        self.turn = (self.turn + 1) % COPIES;
        // The commit is durable with or without its witness.
        if let Err(error) = write(file, self.turn, revision) {
            tracing::warn!(%error, %revision, "the witness could not be written");
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.sync();
    }
}

fn write(file: &File, turn: u64, revision: Revision) -> io::Result<()> {
    let number = revision.0.to_le_bytes();
    let copy = [number, xxh3_64(&number).to_le_bytes()].concat();
    file.write_all_at(&copy, turn * COPY_BYTES)
}

fn decode(copy: &[u8]) -> Option<Revision> {
    let (number, rest) = copy.split_first_chunk()?;
    let (checksum, _) = rest.split_first_chunk()?;
    (u64::from_le_bytes(*checksum) == xxh3_64(number)).then_some(Revision(u64::from_le_bytes(*number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_remembers_the_last_revision_even_if_one_copy_is_torn() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        let (mut witness, seen) = Witness::open(&path).unwrap();
        assert_eq!(seen, Revision::ZERO);
        (1..=7).for_each(|revision| witness.record(Revision(revision)));
        assert_eq!(Witness::open(&path).unwrap().1, Revision(7));

        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[0xff], COPY_BYTES).unwrap();
        assert_eq!(Witness::open(&path).unwrap().1, Revision(6), "the other copy still counts");
        file.write_all_at(&[0xff], 0).unwrap();
        let refused = Witness::open(&path).unwrap_err().to_string();
        assert!(refused.contains("acknowledged is damaged: no part of it can be read"), "{refused}");
    }

    #[test]
    fn one_whose_making_was_interrupted_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        std::fs::write(&path, [0; 20]).unwrap();
        assert_eq!(Witness::open(&path).unwrap().1, Revision::ZERO);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), COPIES * COPY_BYTES);
    }

    fn seen(bytes: &[u8]) -> Result<Revision, OpenError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        std::fs::write(&path, bytes).unwrap();
        Witness::open(&path).map(|(_, seen)| seen)
    }

    fn bytes_after(revisions: &[u64]) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        let (mut witness, _) = Witness::open(&path).unwrap();
        revisions.iter().for_each(|revision| witness.record(Revision(*revision)));
        std::fs::read(&path).unwrap()
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_by_name(bytes in prop::collection::vec(any::<u8>(), 1..80)) {
            prop_assume!(bytes.iter().take(32).any(|byte| *byte != 0));
            let refused = seen(&bytes).unwrap_err();
            prop_assert!(matches!(refused, OpenError::Damaged { .. }), "{}", refused);
        }

        #[test]
        fn one_flipped_bit_makes_it_forget_at_most_the_last_and_never_invent(
            count in 1u64..6, at in 0usize..32, bit in 0..8,
        ) {
            let revisions: Vec<u64> = (1..=count).map(|nth| nth * 10).collect();
            let mut bytes = bytes_after(&revisions);
            prop_assert_eq!(seen(&bytes).unwrap(), Revision(count * 10));
            bytes[at] ^= 1u8 << bit;
            let seen = seen(&bytes).unwrap();
            prop_assert!(seen == Revision(count * 10) || seen == Revision((count - 1) * 10), "{}", seen);
        }

        #[test]
        fn one_cut_short_forgets_and_never_invents(count in 1u64..6, length in 0usize..32) {
            let revisions: Vec<u64> = (1..=count).collect();
            if let Ok(seen) = seen(&bytes_after(&revisions)[..length]) {
                prop_assert!(seen.0 <= count, "{}", seen);
            }
        }
    }

    #[test]
    fn it_goes_on_after_any_number_of_openings() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acknowledged");
        for revision in 1..40 {
            let (mut witness, seen) = Witness::open(&path).unwrap();
            assert_eq!(seen, Revision(revision - 1));
            (0..revision % 3 + 1).for_each(|_| witness.record(Revision(revision)));
        }
    }
}
