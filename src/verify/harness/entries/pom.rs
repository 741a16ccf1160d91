//! `pom.xml`: how tests are found and run. Dependencies and most plugins may change.

use super::super::paths::{folder, inside};
use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged, squeezed};
use super::xml::{Element, elements};

/// Plugins that have nothing to do with tests, by what their names hold.
const PRODUCT_PLUGINS: [&str; 33] = [
    "antlr",
    "assembly",
    "avro",
    "bundle",
    "clean",
    "compiler",
    "dependency",
    "deploy",
    "docker",
    "ear",
    "flatten",
    "gpg",
    "install",
    "jar",
    "javadoc",
    "jaxb",
    "jib",
    "jlink",
    "kotlin",
    "license",
    "native",
    "openapi",
    "protobuf",
    "quarkus",
    "rar",
    "release",
    "resources",
    "scala",
    "shade",
    "site",
    "source",
    "spring-boot",
    "war",
];

/// Puts back how tests are found and run.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    merged(&parts(around, start.unwrap_or_default(), ""), parts(around, now, ""))
}

fn parts(around: &Manifests<'_>, text: &str, above: &str) -> Vec<Part> {
    let (elements, rest) = elements(text);
    let mut parts: Vec<Part> = elements.iter().map(|it| part(around, it, above)).collect();
    parts.extend((!rest.is_empty()).then(|| Part::blank(rest)));
    parts
}

fn part(around: &Manifests<'_>, element: &Element<'_>, above: &str) -> Part {
    let text = element.text();
    let own = text[element.lead.len()..].trim();
    let leaf = |key: String, fate| Part::with_value(&text, key, squeezed(own), fate);
    let name = element.name;
    match (above, name) {
        ("", _)
        | (
            "project",
            "properties" | "build" | "modules" | "dependencies" | "dependencyManagement",
        )
        | ("build", "plugins" | "pluginManagement")
        | ("pluginManagement", "plugins")
        | ("dependencyManagement", "dependencies") => {
            let below = if above.is_empty() { "project" } else { name };
            let inner = parts(around, element.inner, below);
            let head = format!("{}{}", element.lead, element.open);
            // `<plugins/>` and no plugins are the same.
            Part::block(&head, format!("{above}/{name}"), inner, element.close)
        }
        ("properties", _) => {
            let fate = if is_about_tests(name) { Fate::Fixed } else { Fate::Free };
            leaf(format!("property {name}"), fate)
        }
        ("modules", _) => {
            let there = inside(folder(around.path), element.inner.trim())
                .is_some_and(|path| around.now.paths().contains_key(&path.join("pom.xml")));
            let fate = if there { Fate::Kept } else { Fate::Free };
            leaf(format!("module {}", element.inner.trim()), fate)
        }
        ("plugins", _) => plugin(element, leaf),
        ("dependencies", _) => dependency(element, &text),
        ("project", "profiles") => leaf(name.to_owned(), Fate::Fixed),
        ("project", "parent") => {
            let parts = ["groupId", "artifactId", "relativePath"];
            let value: Vec<&str> = parts.iter().filter_map(|it| element.child(it)).collect();
            Part::with_value(&text, name.to_owned(), value.join(":"), Fate::Fixed)
        }
        ("project", "repositories" | "pluginRepositories")
            if element.inner.contains("file:") || element.inner.contains("${") =>
        {
            leaf(name.to_owned(), Fate::Fixed)
        }
        (
            "build",
            "testSourceDirectory"
            | "testResources"
            | "testOutputDirectory"
            | "defaultGoal"
            | "extensions",
        ) => leaf(name.to_owned(), Fate::Fixed),
        _ => leaf(format!("{above}/{name}"), Fate::Free),
    }
}

fn plugin(element: &Element<'_>, leaf: impl Fn(String, Fate) -> Part) -> Part {
    let name = element.child("artifactId").unwrap_or("");
    let product = PRODUCT_PLUGINS.iter().any(|plugin| name.contains(plugin));
    let free = product && !element.inner.to_lowercase().contains("test") && !skips(element);
    leaf(format!("plugin {name}"), if free { Fate::Free } else { Fate::Fixed })
}

fn skips(element: &Element<'_>) -> bool {
    element.inner.to_lowercase().contains("<skip")
}

/// A dependency: those for tests must not vanish, and none may point to a file.
fn dependency(element: &Element<'_>, text: &str) -> Part {
    let group = element.child("groupId").unwrap_or("");
    let key = format!("dependency {group}:{}", element.child("artifactId").unwrap_or(""));
    let file = element.child("systemPath").unwrap_or("");
    let for_tests = element.child("scope") == Some("test");
    let fate = if for_tests || !file.is_empty() { Fate::Kept } else { Fate::Free };
    Part::with_value(text, key, file.to_owned(), fate)
}

/// Properties that skip, select, or configure tests and checks.
fn is_about_tests(name: &str) -> bool {
    let starts =
        ["skip", "maven.test", "surefire", "failsafe", "jacoco", "checkstyle", "pmd", "it."];
    let exact = ["argLine", "test", "groups", "excludedGroups", "it.test", "includes", "excludes"];
    let lower = name.to_lowercase();
    starts.iter().any(|start| lower.starts_with(start))
        || exact.contains(&name)
        || lower.contains(".skip")
        || lower.contains("skiptests")
        || lower.contains("failure")
}
