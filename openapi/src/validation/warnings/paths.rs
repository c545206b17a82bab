//! Files of one volume that would lie on top of each other.

use super::Told;
use crate::validation::tree::Node;

/// Paths of a volume that are compared with each other, each with all before it. Nobody writes so many by hand.
const PATHS_MAX: usize = 512;

struct File<'a> {
    path: &'a str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        if self.source.is_empty() { format!("{:?}", self.path) } else { format!("{:?} ({})", self.path, self.source) }
    }

    fn overlaps(&self, other: &File<'_>) -> bool {
        let (one, other) = (format!("{}/", self.path), format!("{}/", other.path));
        one.starts_with(&other) || other.starts_with(&one)
    }
}

pub(super) fn volume(told: &mut Told, volume: &Node<'_>) {
    let name = volume.at("name").text();
    for (sort, kind, named) in [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")] {
        let source = volume.at(sort);
        let described = format!("{kind} {:?}", source.at(named).text());
        overlapping(told, name, &described, files(&source.at("items"), ""));
    }
    overlapping(told, name, "DownwardAPI", files(&volume.at("downwardAPI").at("items"), ""));
    let mut all = Vec::new();
    for source in volume.at("projected").at("sources").items() {
        if source.is_empty() {
            told.say(format!("volume {name:?} (Projected) has no sources provided"));
        }
        all.extend(projected(&source));
    }
    overlapping(told, name, "Projected", all);
}

fn files<'a>(items: &Node<'a>, source: &str) -> Vec<File<'a>> {
    items.items().map(|item| file(item.at("path").text(), source)).collect()
}

fn file<'a>(path: &'a str, source: &str) -> File<'a> {
    File { path: path.trim_end_matches('/'), source: source.to_owned() }
}

fn projected<'a>(source: &Node<'a>) -> Vec<File<'a>> {
    for (sort, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if source.at(sort).exists() {
            let described = format!("{kind} {:?}", source.at(sort).at("name").text());
            return files(&source.at(sort).at("items"), &described);
        }
    }
    if source.at("downwardAPI").exists() {
        return files(&source.at("downwardAPI").at("items"), "DownwardAPI");
    }
    let token = source.at("serviceAccountToken");
    if token.exists() {
        return vec![file(token.at("path").text(), "ServiceAccountToken")];
    }
    let bundle = source.at("clusterTrustBundle");
    if bundle.exists() {
        let named = if bundle.at("name").exists() { bundle.at("name") } else { bundle.at("signerName") };
        return vec![file(bundle.at("path").text(), &format!("ClusterTrustBundle {:?}", named.text()))];
    }
    let certificate = source.at("podCertificate");
    let parts = [("certificateChainPath", "chain"), ("keyPath", "key"), ("credentialBundlePath", "credential bundle")]
        .into_iter();
    let there = parts.filter(|(field, _)| !certificate.at(field).is_empty());
    there.map(|(field, what)| file(certificate.at(field).text(), &format!("PodCertificate {what}"))).collect()
}

fn overlapping(told: &mut Told, volume: &str, described: &str, files: Vec<File<'_>>) {
    let files: Vec<_> = files.into_iter().filter(|file| !file.path.is_empty()).take(PATHS_MAX).collect();
    for (at, file) in files.iter().enumerate() {
        for other in files[..at].iter().filter(|other| file.overlaps(other)) {
            let (one, other) = (file.shown(), other.shown());
            told.say(format!("volume {volume:?} ({described}): overlapping paths: {one} with {other}"));
        }
        if told.is_full() {
            return;
        }
    }
}
