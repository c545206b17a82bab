//! Where images come from: `registry.example:5000/group/name:tag`, part by part.

use super::OverrideError;
use crate::apis::Kind;
use crate::apis::kinds;
use crate::scheduler::change::ImageChange;
use crate::scheduler::change::ImagePart;
use crate::scheduler::change::Operation;
use serde_json::Value;

/// Init containers are left alone unless the place is given.
pub(super) fn change(object: &mut Value, change: &ImageChange) -> Result<(), OverrideError> {
    if let Some(at) = &change.at {
        let no_text = || OverrideError::NoText { path: at.clone() };
        let place = object.pointer_mut(at).ok_or_else(no_text)?;
        *place = changed(place.as_str().ok_or_else(no_text)?, change).into();
        return Ok(());
    }
    // What runs later, from a template of a template, is not changed.
    if Kind::of(object).name() == ("batch", "CronJob") {
        return Ok(());
    }
    let template = kinds::pod_template_mut(object);
    let containers = template.and_then(|template| template.pointer_mut("/spec/containers"));
    for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(Value::String(image)) = container.get_mut("image") {
            *image = changed(image, change);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Image {
    registry: String,
    repository: String,
    tag: String,
    digest: String,
}

impl Image {
    /// The first part is a registry if it has a dot, a colon, or is `localhost`.
    fn parse(text: &str) -> Self {
        let (name, digest) = text.split_once('@').unwrap_or((text, ""));
        let after_slash = name.rfind('/').map_or(0, |at| at + 1);
        let (name, tag) = match name[after_slash..].find(':') {
            Some(at) => (&name[..after_slash + at], &name[after_slash + at + 1..]),
            None => (name, ""),
        };
        let (registry, repository) = match name.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
            _ => ("", name),
        };
        let owned = str::to_owned;
        // With a tag, the digest is not looked at.
        let digest = if tag.is_empty() { digest } else { "" };
        Self { registry: owned(registry), repository: owned(repository), tag: owned(tag), digest: owned(digest) }
    }

    fn print(&self) -> String {
        let slash = if self.registry.is_empty() { "" } else { "/" };
        let version = match (self.tag.as_str(), self.digest.as_str()) {
            ("", "") => String::new(),
            ("", digest) => format!("@{digest}"),
            (tag, _) => format!(":{tag}"),
        };
        format!("{}{slash}{}{version}", self.registry, self.repository)
    }

    /// A tag and a digest exclude each other; what is neither changes nothing.
    fn set_version(&mut self, version: &str) {
        let letters = |text: &str, also: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c));
        let is_tag = (1..=128).contains(&version.len()) && !version.starts_with(['.', '-']) && letters(version, "_.-");
        let is_digest = version.split_once(':').is_some_and(|(algorithm, hex)| {
            letters(algorithm, "+._-") && hex.len() >= 32 && hex.chars().all(|c| c.is_ascii_hexdigit())
        });
        if is_tag {
            (self.tag, self.digest) = (version.to_owned(), String::new());
        } else if is_digest {
            (self.tag, self.digest) = (String::new(), version.to_owned());
        }
    }
}

fn changed(text: &str, change: &ImageChange) -> String {
    let mut image = Image::parse(text);
    let value = &change.value;
    let edit = |part: &mut String| match change.operation {
        Operation::Add => part.push_str(value),
        Operation::Replace => part.clone_from(value),
        Operation::Remove => part.clear(),
    };
    match (change.part, change.operation) {
        (ImagePart::Registry, _) => edit(&mut image.registry),
        (ImagePart::Repository, _) => edit(&mut image.repository),
        (ImagePart::Tag, Operation::Remove) => (image.tag, image.digest) = (String::new(), String::new()),
        (ImagePart::Tag, Operation::Replace) => image.set_version(value),
        (ImagePart::Tag, Operation::Add) => {
            let now = if image.tag.is_empty() { image.digest.clone() } else { image.tag.clone() };
            image.set_version(&(now + value));
        }
    }
    image.print()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(image: &str, part: ImagePart, operation: Operation, value: &str, expect: &str) {
        let change = ImageChange { at: None, part, operation, value: value.to_owned() };
        assert_eq!(changed(image, &change), expect);
    }

    #[test]
    fn each_part_of_an_image_changes_by_itself() {
        use ImagePart::{Registry, Repository, Tag};
        use Operation::{Add, Remove, Replace};
        check("nginx", Registry, Replace, "hub.example", "hub.example/nginx");
        check("nginx", Registry, Add, "hub.example", "hub.example/nginx");
        check("hub.example/nginx:1", Registry, Add, ":5000", "hub.example:5000/nginx:1");
        check("hub.example:5000/a/b:1", Registry, Remove, "", "a/b:1");
        check("library/nginx", Registry, Replace, "hub.example", "hub.example/library/nginx");
        check("localhost/nginx", Registry, Replace, "hub.example", "hub.example/nginx");
        check("hub.example/a/b:1", Repository, Replace, "c", "hub.example/c:1");
        check("hub.example/a:1", Repository, Add, "-edge", "hub.example/a-edge:1");
        check("nginx:1.25", Tag, Replace, "1.26", "nginx:1.26");
        check("nginx:1.25", Tag, Add, "-alpine", "nginx:1.25-alpine");
        check("nginx:1.25", Tag, Remove, "", "nginx");
        check("nginx", Tag, Add, "1.25", "nginx:1.25");
    }

    #[test]
    fn a_tag_and_a_digest_exclude_each_other() {
        let digest = format!("sha256:{}", "50d858e0".repeat(8));
        check(&format!("nginx@{digest}"), ImagePart::Tag, Operation::Replace, "1", "nginx:1");
        check("nginx:1", ImagePart::Tag, Operation::Replace, &digest, &format!("nginx@{digest}"));
        check("nginx:1", ImagePart::Tag, Operation::Replace, "no tag!", "nginx:1");
    }
}
