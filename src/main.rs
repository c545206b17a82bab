//! The `hanse` binary.
fn main() {}
