//! Which requests a resource answers, and with what: the part of a document that both versions of OpenAPI share.

use super::described::{Described, Exchange, Kind, Part, Schema};
use super::parameters::{self, Parameter};

/// One URL and all that can be done with it.
#[derive(Debug)]
pub(super) struct Path<'a> {
    pub(super) url: String,
    /// What every operation takes.
    pub(super) shared: Vec<Parameter>,
    pub(super) operations: Vec<Operation<'a>>,
}

#[derive(Debug)]
pub(super) struct Operation<'a> {
    pub(super) method: &'static str,
    pub(super) id: String,
    pub(super) tag: String,
    pub(super) description: String,
    pub(super) action: Option<&'static str>,
    pub(super) kind: Option<Kind<'a>>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) consumes: &'static [&'static str],
    pub(super) codes: &'static [u16],
    pub(super) answer: Answer,
    pub(super) produces: &'static [&'static str],
}

/// What a request carries, by the name of its schema.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) schema: String,
    pub(super) required: bool,
}

#[derive(Debug)]
pub(super) enum Answer {
    Schema(String),
    Text,
}

const ANYTHING: &[&str] = &["*/*"];
const ENCODINGS: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const LOGS: &[&str] = &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const STREAMS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
// Custom resources have no protobuf form and no merge keys.
const CUSTOM_ENCODINGS: &[&str] = &["application/json", "application/yaml"];
const CUSTOM_STREAMS: &[&str] = &["application/json", "application/yaml", "application/json;stream=watch"];
const CUSTOM_PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Where the resources of a group version live: `/apis/apps/v1`.
pub(super) fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// The request that lists the resources of a group version.
pub(super) fn resources<'a>(group: &str, version: &str) -> Path<'a> {
    let group_name = camel(group);
    let operation = Operation {
        method: "get",
        id: format!("get{}{}APIResources", upper(&group_name), upper(version)),
        tag: format!("{group_name}_{version}"),
        description: "get available resources".to_owned(),
        action: None,
        kind: None,
        parameters: Vec::new(),
        body: None,
        consumes: ENCODINGS,
        codes: &[200],
        answer: Answer::Schema(format!("{META}.APIResourceList")),
        produces: ENCODINGS,
    };
    Path { url: format!("{}/", root(group, version)), shared: Vec::new(), operations: vec![operation] }
}

/// Every request that a resource answers.
pub(super) fn paths<'a>(described: &Described<'a>) -> Vec<Path<'a>> {
    let site = Site::new(described);
    let mut paths = vec![site.collection(), site.item()];
    if described.namespaced && described.verbs.contains(&"list") {
        let list = Operation { id: site.id("list", "", "ForAllNamespaces"), ..site.list() };
        paths.push(Path::new(format!("{}/{}", site.root, described.plural), vec![], vec![list]));
    }
    for part in &described.subresources {
        site.part(part, &mut paths);
    }
    paths.retain(|path| !path.operations.is_empty());
    paths
}

impl<'a> Path<'a> {
    /// Parameters that every operation takes are said once. They come sorted.
    fn new(url: String, of_path: Vec<Parameter>, mut operations: Vec<Operation<'a>>) -> Self {
        for operation in &mut operations {
            operation.parameters.extend(of_path.iter().cloned());
            operation.parameters.sort();
        }
        let mut shared = operations.first().map_or_else(Vec::new, |first| first.parameters.clone());
        shared.retain(|parameter| operations.iter().all(|operation| operation.parameters.contains(parameter)));
        for operation in &mut operations {
            operation.parameters.retain(|parameter| !shared.contains(parameter));
        }
        Path { url, shared, operations }
    }
}

/// A resource among the names that its operations are made of.
struct Site<'d, 'a> {
    described: &'d Described<'a>,
    /// `/apis/apps/v1`
    root: String,
    /// `/apis/apps/v1/namespaces/{namespace}/deployments`
    base: String,
    /// `AppsV1`
    prefix: String,
    tag: String,
    /// `Namespaced`, or nothing.
    scope: &'static str,
}

impl<'d, 'a> Site<'d, 'a> {
    fn new(described: &'d Described<'a>) -> Self {
        let Kind { group, version, .. } = described.kind;
        let root = root(group, version);
        let group_name = camel(group);
        let (scope, middle) = if described.namespaced { ("Namespaced", "/namespaces/{namespace}") } else { ("", "") };
        Site {
            described,
            base: format!("{root}{middle}/{}", described.plural),
            root,
            prefix: format!("{}{}", upper(&group_name), upper(version)),
            tag: format!("{group_name}_{version}"),
            scope,
        }
    }

    fn id(&self, verb: &str, scope: &str, suffix: &str) -> String {
        format!("{verb}{}{scope}{}{suffix}", self.prefix, self.described.kind.kind)
    }

    fn encodings(&self) -> &'static [&'static str] {
        if self.described.builtin { ENCODINGS } else { CUSTOM_ENCODINGS }
    }

    fn has(&self, verb: &str) -> bool {
        self.described.verbs.contains(&verb)
    }

    fn place(&self) -> Vec<Parameter> {
        if self.described.namespaced { vec![parameters::namespace()] } else { Vec::new() }
    }

    fn place_of(&self, kind: &str) -> Vec<Parameter> {
        let mut place = self.place();
        place.push(Parameter::in_path("name", format!("name of the {kind}")));
        place
    }

    fn collection(&self) -> Path<'a> {
        let mut operations = Vec::new();
        if self.has("list") {
            operations.push(self.list());
        }
        if self.has("create") {
            operations.push(self.write("create", "", self.described.kind, &self.described.schema));
        }
        if self.has("deletecollection") {
            operations.push(self.deletecollection());
        }
        Path::new(self.base.clone(), self.place(), operations)
    }

    fn item(&self) -> Path<'a> {
        let mut operations = Vec::new();
        if self.has("get") {
            operations.push(self.read("", self.described.kind, Answer::Schema(self.described.schema.name())));
        }
        for verb in ["update", "patch"] {
            if self.has(verb) {
                operations.push(self.write(verb, "", self.described.kind, &self.described.schema));
            }
        }
        if self.has("delete") {
            operations.push(self.delete());
        }
        Path::new(format!("{}/{{name}}", self.base), self.place_of(self.described.kind.kind), operations)
    }

    /// What is common to the operations of this resource.
    fn operation(&self, method: &'static str, action: &'static str, kind: Kind<'a>, answer: Answer) -> Operation<'a> {
        Operation {
            method,
            id: String::new(),
            tag: self.tag.clone(),
            description: String::new(),
            action: Some(action),
            kind: Some(kind),
            parameters: vec![parameters::pretty()],
            body: None,
            consumes: ANYTHING,
            codes: &[200],
            answer,
            produces: self.encodings(),
        }
    }

    fn list(&self) -> Operation<'a> {
        let Described { kind, schema, builtin, .. } = self.described;
        let verbs = if self.has("watch") { "list or watch" } else { "list" };
        let mut list = self.operation("get", "list", *kind, Answer::Schema(list_name(schema)));
        list.id = self.id("list", self.scope, "");
        list.description = format!("{verbs} objects of kind {}", kind.kind);
        list.parameters.extend(parameters::named("ListOptions"));
        list.produces = if *builtin { STREAMS } else { CUSTOM_STREAMS };
        list
    }

    fn deletecollection(&self) -> Operation<'a> {
        let kind = self.described.kind;
        let mut delete = self.operation("delete", "deletecollection", kind, Answer::Schema(format!("{META}.Status")));
        delete.id = format!("delete{}Collection{}{}", self.prefix, self.scope, kind.kind);
        delete.description = format!("delete collection of {}", kind.kind);
        delete.parameters.extend(parameters::deletecollection());
        delete.body = Some(Body { schema: format!("{META}.DeleteOptions"), required: false });
        delete
    }

    fn delete(&self) -> Operation<'a> {
        let kind = self.described.kind;
        let object = self.described.returned_when_deleted.then(|| self.described.schema.name());
        let answer = Answer::Schema(object.unwrap_or_else(|| format!("{META}.Status")));
        let mut delete = self.operation("delete", "delete", kind, answer);
        delete.id = self.id("delete", self.scope, "");
        delete.description = format!("delete{}", with_article(kind.kind));
        delete.parameters.extend(parameters::named("DeleteOptions"));
        delete.body = Some(Body { schema: format!("{META}.DeleteOptions"), required: false });
        delete.codes = &[200, 202];
        delete
    }

    fn read(&self, part: &str, kind: Kind<'a>, answer: Answer) -> Operation<'a> {
        let mut read = self.operation("get", "get", kind, answer);
        read.id = self.id("read", self.scope, &upper(part));
        read.description = format!("read {}the specified {}", of(part), self.described.kind.kind);
        read
    }

    /// Creates, replaces or patches the resource, or one of its parts.
    fn write(&self, verb: &str, part: &str, kind: Kind<'a>, schema: &Schema<'_>) -> Operation<'a> {
        let name = self.described.kind.kind;
        let (method, word, options, codes): (_, _, _, &[u16]) = match verb {
            "create" => ("post", "create", "CreateOptions", &[200, 201, 202]),
            "update" => ("put", "replace", "UpdateOptions", &[200, 201]),
            _ => ("patch", "patch", "PatchOptions", &[200, 201]),
        };
        let mut write = self.operation(method, method, kind, Answer::Schema(schema.name()));
        write.id = self.id(word, self.scope, &upper(part));
        write.description = match method {
            "post" if part.is_empty() => format!("create{}", with_article(name)),
            "post" => format!("create {part} of{}", with_article(name)),
            "put" => format!("replace {}the specified {name}", of(part)),
            _ => format!("partially update {}the specified {name}", of(part)),
        };
        write.parameters.extend(parameters::named(options));
        write.codes = codes;
        let schema = if method == "patch" { format!("{META}.Patch") } else { schema.name() };
        write.body = Some(Body { schema, required: true });
        if method == "patch" {
            write.consumes = if self.described.builtin { PATCHES } else { CUSTOM_PATCHES };
        }
        write
    }

    fn part(&self, part: &Part<'a>, paths: &mut Vec<Path<'a>>) {
        let url = format!("{}/{{name}}/{}", self.base, part.name);
        let place = self.place_of(part.kind.kind);
        match part.exchange {
            Exchange::Objects(schema) => paths.push(Path::new(url, place, self.objects(part, &schema))),
            Exchange::Text { options } => {
                let mut read = self.read(part.name, part.kind, Answer::Text);
                read.parameters.extend(parameters::of(options));
                read.produces = LOGS;
                paths.push(Path::new(url, place, vec![read]));
            }
            Exchange::Connection { options } => {
                let taken = parameters::of(options);
                if taken.iter().any(|parameter| parameter.name == "path") {
                    let mut place = place.clone();
                    place.push(Parameter::in_path("path", "the rest of the path, for the other end"));
                    let operations = self.connections(part, &taken, "WithPath");
                    paths.push(Path::new(format!("{url}/{{path}}"), place, operations));
                }
                paths.push(Path::new(url, place, self.connections(part, &taken, "")));
            }
        }
    }

    fn objects(&self, part: &Part<'a>, schema: &Schema<'_>) -> Vec<Operation<'a>> {
        let mut operations = Vec::new();
        if part.verbs.contains(&"get") {
            operations.push(self.read(part.name, part.kind, Answer::Schema(schema.name())));
        }
        for verb in ["create", "update", "patch"] {
            if part.verbs.contains(&verb) {
                operations.push(self.write(verb, part.name, part.kind, schema));
            }
        }
        operations
    }

    fn connections(&self, part: &Part<'a>, taken: &[Parameter], suffix: &str) -> Vec<Operation<'a>> {
        let methods = [
            ("get", "get"),
            ("create", "post"),
            ("update", "put"),
            ("patch", "patch"),
            ("delete", "delete"),
            // Where everything passes, so do the methods that no verb names.
            ("delete", "head"),
            ("delete", "options"),
        ];
        let offered = methods.into_iter().filter(|(verb, _)| part.verbs.contains(verb));
        let connect = |(_, method)| {
            let mut connect = self.operation(method, "connect", part.kind, Answer::Text);
            let name = self.described.kind.kind;
            let part = part.name;
            connect.id = format!("connect{}{}{}{name}{}{suffix}", self.prefix, upper(method), self.scope, upper(part));
            connect.description = format!("connect {} requests to {part} of {name}", method.to_uppercase());
            connect.parameters = taken.to_vec();
            connect.produces = ANYTHING;
            connect
        };
        offered.map(connect).collect()
    }
}

/// The name of the schema of a list of such objects.
pub(super) fn list_name(schema: &Schema<'_>) -> String {
    schema.name() + "List"
}

/// A group in a name: `apps`, `rbacAuthorization`, `core`, `stableExampleCom`.
fn camel(group: &str) -> String {
    let group = if group.is_empty() { "core" } else { group.strip_suffix(".k8s.io").unwrap_or(group) };
    let mut words = group.split(['.', '-']);
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &upper(word))
}

fn upper(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn of(part: &str) -> String {
    if part.is_empty() { String::new() } else { format!("{part} of ") }
}

/// ` a Pod`, ` an Event`, ` Endpoints`.
fn with_article(kind: &str) -> String {
    let plural = kind.ends_with('s') && !kind.ends_with("ss");
    let article = match kind.chars().next() {
        _ if plural => "",
        Some('A' | 'E' | 'I' | 'O' | 'U') => " an",
        _ => " a",
    };
    format!("{article} {kind}")
}
