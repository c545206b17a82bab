//! What Go makes of the same input. The texts beside this file are written by `make generate`; for a longer run write more
//! of them into a directory and name it in `APISERVER_VECTORS`.

mod admission;
mod applies;
mod patches;
mod selectors;

/// The lines of one of the texts, taken apart at tabs.
fn lines<const N: usize>(name: &str) -> Vec<[String; N]> {
    let beside = || format!("{}/tests/go", env!("CARGO_MANIFEST_DIR"));
    let path = format!("{}/{name}", std::env::var("APISERVER_VECTORS").unwrap_or_else(|_| beside()));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let parts = |line: &str| {
        line.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().expect("as many parts as asked for")
    };
    text.lines().map(parts).collect()
}
