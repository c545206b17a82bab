//! Servers that die, stop, and come back, under load.

use crate::servers::Servers;
use crate::traffic::Traffic;
use crate::{in_time, open};
use storage::Store;

/// Acknowledged commits of each writer that show that a replica works.
const WORKS: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_to_servers_no_commit_is_lost_torn_or_repeated() {
    let mut servers = Servers::start(3).await;
    let mut endpoints = servers.endpoints();
    let first = open(&endpoints, "faults");
    endpoints.rotate_left(1);
    let second = open(&endpoints, "faults");
    let traffic = Traffic::start(&[first, second]);
    traffic.goes_on("with all servers", WORKS).await;

    // The replicas are on the first two servers; one of these is not the leader.
    let leader = servers.leader().await;
    let follower = usize::from(leader == 0);
    servers.stop(follower);
    traffic.goes_on("with one server stopped", WORKS).await;
    servers.resume(follower);
    traffic.goes_on("with the stopped server continued", WORKS).await;

    let leader = servers.leader().await;
    servers.kill(leader);
    traffic.goes_on("with the leader killed", WORKS).await;
    servers.restart(leader);
    in_time("the killed leader is back", servers.answers(leader)).await.expect("it runs");
    traffic.goes_on("with the leader back", WORKS).await;

    for nth in 0..3 {
        servers.restart(nth);
        in_time("a restarted server is back", servers.answers(nth)).await.expect("it runs");
    }
    traffic.goes_on("after each server was restarted", WORKS).await;

    (0..3).for_each(|nth| servers.kill(nth));
    (0..3).for_each(|nth| servers.restart(nth));
    traffic.goes_on("after all servers were killed at once", WORKS).await;

    let newcomer: Store = open(&servers.endpoints(), "faults");
    traffic.verify(&newcomer).await;
}
