//! Hanse as a library.
