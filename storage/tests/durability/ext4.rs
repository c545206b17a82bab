//! The same on a file system that delays what it can and turns read-only when it fails. Skipped like the power cuts.

use crate::disk::{Told, Writing, fill_again_and_again};
use crate::mounts::{self, Mount, on_images};
use std::path::Path;
use storage::{BackendError, Engine};

const IMAGE_MEGABYTES: u64 = 256;

fn on_ext4(name: &str, body: impl AsyncFn(Engine, &Path, &Path)) {
    on_images(name, || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        for engine in [Engine::Log, Engine::Fjall, Engine::Sled] {
            let dir = tempfile::tempdir().unwrap();
            let image = dir.path().join("image");
            mounts::format(&image, IMAGE_MEGABYTES).unwrap();
            runtime.block_on(body(engine, &image, &dir.path().join("disk")));
        }
    });
}

#[test]
fn a_full_ext4_is_named_and_survived() {
    on_ext4("ext4::a_full_ext4_is_named_and_survived", async |engine, image, at| {
        let disk = Mount::image(image, at).unwrap();
        fill_again_and_again(engine, &disk, &[12 << 20, 0]).await;
    });
}

#[test]
fn an_ext4_that_turned_read_only_is_named_and_survived() {
    on_ext4("ext4::an_ext4_that_turned_read_only_is_named_and_survived", async |engine, image, at| {
        let disk = Mount::image(image, at).unwrap();
        let writing = Writing::open(engine, disk.at.join("store"));
        let mut told = Told::default();
        writing.some(&mut told, 40).await;
        // What the kernel does when it finds the file system in disorder.
        mounts::tool("mount", ["-o", "remount,abort", &at.to_string_lossy()]).unwrap();
        let failure = writing.until_it_fails(&mut told).await;
        assert!(matches!(failure, BackendError::Denied { .. }), "{engine:?}: {failure:?}");
        writing.stays_down(&mut told, 10, &failure).await;
        writing.check(&told);
        let place = writing.close().await;
        drop(disk);
        // It answers 1 for what it has repaired.
        let _ = mounts::tool("e2fsck", ["-fy", &image.to_string_lossy()]);
        let _disk = Mount::image(image, at).unwrap();
        let writing = Writing::at(place);
        writing.check(&told);
        writing.some(&mut told, 20).await;
        writing.check(&told);
        writing.close().await;
    });
}
