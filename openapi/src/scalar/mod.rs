//! Scalars that are more than they look: instants, quantities, bytes as text. Each reads and prints as Go does.

pub mod base64;
pub mod quantity;
pub mod time;
