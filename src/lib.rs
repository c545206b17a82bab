//! Hanse as a library: what the `hanse` binary is made of.
//!
//! Start with [`server`], which joins the parts, or with [`cli`], which is what a person meets.

pub mod aggregation;
pub mod apis;
pub mod bootstrap;
pub mod cli;
pub mod config;
pub mod controller;
pub mod credentials;
pub mod definitions;
pub mod demonstration;
pub mod dialects;
pub mod fleet;
pub mod host;
pub mod interpreter;
pub mod scheduler;
pub mod server;
pub mod syncer;
pub mod tenancy;
pub mod upkeep;
