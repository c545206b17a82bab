//! Plugins against data.
