//! kube-rs, and the runtime that controllers are written with in Rust, against the server of $KUBECONFIG.

#[cfg(test)]
mod controlling;
#[cfg(test)]
mod discovering;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod typed;
#[cfg(test)]
mod watching;
