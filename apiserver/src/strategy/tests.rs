//! Strategies against data.
