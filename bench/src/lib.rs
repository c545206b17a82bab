//! What every measurement shares: the clockwork, the values, the disk's and the system's figures, and the table. What
//! measures servers also shares the servers and their client.

pub mod client;
pub mod disk;
pub mod hammer;
pub mod kubeconfig;
pub mod peers;
pub mod processors;
pub mod table;
pub mod text;
