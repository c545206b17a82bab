//! What Karmada calls the things it makes.

use crate::apis::fnv;

const EXECUTION: &str = "karmada-es-";

/// Where the works of a cluster are.
pub fn execution_namespace(cluster: &str) -> String {
    format!("{EXECUTION}{cluster}")
}

/// Whose works are in a namespace.
pub fn cluster_of(namespace: &str) -> Option<&str> {
    namespace.strip_prefix(EXECUTION)
}

/// Names of roles may have colons, names of custom resources may not.
pub fn binding_name(kind: &str, name: &str) -> String {
    format!("{}-{kind}", name.replace(':', ".")).to_lowercase()
}

/// `namespace` is empty for what has none.
pub fn work_name(kind: &str, namespace: &str, name: &str) -> String {
    let name = name.replace(':', ".").to_lowercase();
    let dash = if namespace.is_empty() { "" } else { "-" };
    let whole = format!("{namespace}{dash}{name}-{kind}").to_lowercase();
    format!("{name}-{}", safe(&fnv::hash_32(whole.as_bytes()).to_string()))
}

/// Letters and digits that spell no word.
const SAFE: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

fn safe(text: &str) -> String {
    text.bytes().map(|byte| char::from(SAFE[usize::from(byte) % SAFE.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_karmada_gives() {
        assert_eq!(binding_name("Deployment", "nginx"), "nginx-deployment");
        assert_eq!(binding_name("ClusterRole", "System:Node"), "system.node-clusterrole");
        assert_eq!(work_name("Deployment", "default", "nginx"), "nginx-687f7fb96f");
        assert_eq!(execution_namespace("member1"), "karmada-es-member1");
        assert_eq!(cluster_of("karmada-es-member1"), Some("member1"));
        assert_eq!(cluster_of("default"), None);
    }
}
