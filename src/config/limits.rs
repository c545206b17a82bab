//! How much anybody may have of the server: the flags.

use apiserver::pipeline::Limits;
use apiserver::resources::Room;
use apiserver::serve::Patience;
use clap::Args;

/// Connections of one address: informers share one, and behind one address may be many clients.
const CONNECTIONS: usize = 10_000;

/// Watches of one user of one workspace.
const WATCHES: usize = 10_000;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitFlags {
    /// The most objects a workspace may hold [default: no limit]
    #[arg(long, value_name = "NUMBER")]
    pub workspace_objects_max: Option<u64>,
    /// The most bytes the objects of a workspace may take [default: no limit]
    #[arg(long, value_name = "BYTES")]
    pub workspace_bytes_max: Option<u64>,
    /// The most requests to a workspace in a second, not counting system:masters [default: no limit]
    #[arg(long, value_name = "NUMBER")]
    pub workspace_requests_per_second_max: Option<u32>,
    /// The most connections from one address
    #[arg(long, value_name = "NUMBER", default_value_t = CONNECTIONS)]
    pub connections_per_address_max: usize,
    /// The most watches one user may hold in one workspace
    #[arg(long, value_name = "NUMBER", default_value_t = WATCHES)]
    pub watches_per_user_max: usize,
}

impl Default for LimitFlags {
    fn default() -> Self {
        Self {
            workspace_objects_max: None,
            workspace_bytes_max: None,
            workspace_requests_per_second_max: None,
            connections_per_address_max: CONNECTIONS,
            watches_per_user_max: WATCHES,
        }
    }
}

impl LimitFlags {
    pub fn room(&self) -> Room {
        Room { objects_max: self.workspace_objects_max, bytes_max: self.workspace_bytes_max }
    }

    pub fn requests(&self) -> Limits {
        let per_second = self.workspace_requests_per_second_max;
        Limits { watches: self.watches_per_user_max, per_second, ..Limits::default() }
    }

    pub fn patience(&self) -> Patience {
        Patience { connections_of_one: self.connections_per_address_max, ..Patience::default() }
    }
}
