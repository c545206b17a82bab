//! Which workspaces there are. As yet they are two, and nobody can make another.

use apiserver::place::Workspace;

/// Where everything begins.
pub const ROOT: &str = "root";
/// What a path without a workspace means.
pub const HOME: &str = "root:default";

/// Every workspace there is.
pub fn all() -> [Workspace; 2] {
    [Workspace::new(ROOT), Workspace::new(HOME)]
}

/// The workspace that a path names; without one, the home workspace.
pub fn find(path: Option<&str>) -> Option<Workspace> {
    match path {
        None | Some(HOME | "default") => Some(Workspace::new(HOME)),
        Some(ROOT | "system:admin") => Some(Workspace::new(ROOT)),
        Some(_) => None,
    }
}
