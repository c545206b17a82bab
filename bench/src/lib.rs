//! What every measurement shares: the clockwork, the values, the disk's and the system's figures, and the table.

pub mod disk;
pub mod hammer;
pub mod table;
pub mod text;
