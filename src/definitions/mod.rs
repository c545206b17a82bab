//! The kinds that come with Hanse, besides those of Kubernetes: one file each, in the form of a definition.

mod convert;

pub use convert::{CARRIED, binding as convert_binding, converter, export as convert_export};

use apiserver::catalog::Catalog;
use apiserver::object::Object;
use std::sync::Arc;

const DEFINITIONS: [&str; 12] = [
    include_str!("apiresourceschema.yaml"),
    include_str!("apiconversion.yaml"),
    include_str!("apiexport.yaml"),
    include_str!("apibinding.yaml"),
    include_str!("apiexportendpointslice.yaml"),
    include_str!("workspace.yaml"),
    include_str!("workspacetype.yaml"),
    include_str!("logicalcluster.yaml"),
    include_str!("shard.yaml"),
    include_str!("organization.yaml"),
    include_str!("project.yaml"),
    include_str!("projectsuspension.yaml"),
];

/// All of them. They are part of the program, so that one which cannot be read is a mistake that tests find.
pub fn definitions() -> impl Iterator<Item = Object> {
    DEFINITIONS.into_iter().filter_map(|text| read(text).ok())
}

/// What every workspace serves: the kinds of Kubernetes, and what definitions say that come with the server.
pub fn catalog(definitions: impl IntoIterator<Item = Object>) -> Catalog {
    let definitions = definitions.into_iter().map(|definition| {
        let names = (definition.text(&["spec", "group"]), definition.text(&["spec", "names", "plural"]));
        let converter = converter(names.0, names.1);
        (definition, converter)
    });
    Catalog::given_in_versions(&Arc::new(Catalog::builtin()), definitions)
}

fn read(text: &str) -> Result<Object, String> {
    let tree: serde_json::Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    Object::try_from(tree).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiserver::ambient::Ambient;
    use apiserver::client::Client;
    use apiserver::place::Workspace;
    use apiserver::resources::Resources;
    use serde_json::Value;
    use storage::{Options, Place, Store};

    #[tokio::test]
    async fn every_definition_names_everything_and_would_be_accepted_from_anybody() {
        let store = Store::open(&Place::Memory, Options::default()).unwrap();
        let resources = Resources::new(store, Arc::new(Catalog::builtin()), Ambient::real());
        let client = Client::as_system(resources, "test");
        let resource = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let place = client.at(resource, &Workspace::new("w"), None).unwrap();
        for text in DEFINITIONS {
            let definition = Value::from(read(text).unwrap());
            let name = definition["metadata"]["name"].clone();
            for word in ["plural", "singular", "kind", "listKind"] {
                assert!(definition["spec"]["names"][word].is_string(), "{word} of {name}");
            }
            let made = client.create(&place, definition).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            let conditions: Vec<&Value> = made.items(&["status", "conditions"]).collect();
            let is_bad = |found: &&&Value| found["type"] == "NonStructuralSchema";
            assert!(!conditions.iter().any(|found| is_bad(&found)), "{name}: {conditions:?}");
        }
    }
}
