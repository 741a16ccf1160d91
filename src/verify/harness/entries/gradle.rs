//! `build.gradle` and `settings.gradle`, also in Kotlin: the configuration of tests and checks.
//! Dependencies and plugins may change.

use std::sync::LazyLock;

use regex::Regex;

use super::super::paths::{folder, sounds_like_a_check};
use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged, squeezed};
use super::statements::{Syntax, opening, statements};

const GRADLE: Syntax = Syntax { comment: "//", quotes: &['"', '\''], long_strings: false };

/// Blocks whose statements count one by one.
const BLOCKS: [&str; 9] = [
    "afterEvaluate",
    "allprojects",
    "buildscript",
    "configure(",
    "dependencies",
    "if",
    "project(",
    "subprojects",
    "tasks",
];

/// Puts back what configures tests and checks.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    // Gradle reads the Groovy script first.
    let other = around.path.with_extension("gradle.kts");
    let is_groovy = around.path.extension().is_some_and(|end| end == "gradle");
    if start.is_none() && is_groovy && around.start.paths().contains_key(&other) {
        return Merged::Gone;
    }
    let parts = |code: &str| parts(around, code, 0);
    merged(&parts(start.unwrap_or_default()), parts(now))
}

/// `settings.gradle`: projects of the start stay in the build while they are there.
pub(super) fn put_back_settings(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let result = put_back(around, start, now);
    let mut text = match &result {
        Merged::Same => now.to_owned(),
        Merged::Text(text) => text.clone(),
        Merged::Gone => return Merged::Gone,
    };
    let included = projects(&text);
    let there = |name: &String| {
        let path = folder(around.path).join(name.trim_start_matches(':').replace(':', "/"));
        around.now.paths().keys().any(|file| file.starts_with(&path))
    };
    let lost = projects(start.unwrap_or_default());
    let lost: Vec<String> =
        lost.into_iter().filter(|name| !included.contains(name) && there(name)).collect();
    if lost.is_empty() {
        return result;
    }
    for name in lost {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("include(\"{name}\")\n"));
    }
    Merged::Text(text)
}

/// The projects that top-level `include` statements name.
fn projects(code: &str) -> Vec<String> {
    let statements = statements(code, GRADLE).into_iter();
    let includes = statements.filter(|text| {
        let rest = text.trim().strip_prefix("include");
        rest.is_some_and(|rest| rest.starts_with([' ', '(', '\'', '"']))
    });
    includes
        .flat_map(|text| {
            let quoted = text.split(['"', '\'']).skip(1).step_by(2);
            quoted.map(|name| name.trim_start_matches(':').to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

fn parts(around: &Manifests<'_>, code: &str, depth: usize) -> Vec<Part> {
    statements(code, GRADLE).iter().map(|text| part(around, text, depth)).collect()
}

fn part(around: &Manifests<'_>, text: &str, depth: usize) -> Part {
    static DECIDES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"\benabled\s*=|setEnabled|\bonlyIf\b|ignoreFailures|\btest\s*[.{]|tasks\.(?:test|check)\b",
            r#"|\[\s*["'](?:test|check)["']\s*\]|named\(\s*["'](?:test|check)["']|withType[(<]\s*Test\b|taskGraph|System\.exit"#,
            r"|exitProcess|xcludedTask|dependencySubstitution|substitute|useTarget|useModule|\.exec\s*\{|Runtime\.",
        ))
        .expect("valid")
    });
    let plain = text.trim();
    if plain.is_empty() || plain.starts_with("//") {
        return Part::blank(text);
    }
    let open = opening(text, GRADLE);
    let head = open.map_or(plain, |at| text[..at].trim());
    let word = head.split([' ', '{', '(']).next().unwrap_or(head);
    let is_block = |name: &&str| {
        name.strip_suffix('(').map_or(word == *name && !head.contains('.'), |name| word == name)
    };
    if let Some(at) = open
        && depth < 6
        && BLOCKS.iter().any(is_block)
        && let Some(close) = text.rfind('}')
        && close > at
    {
        let (opens, rest) = text[..close].split_at(at + 1);
        // White space before the first statement and the closing bracket belongs to those.
        let line_end = rest.find('\n').filter(|end| rest[..*end].trim().is_empty());
        let (first, inner) = rest.split_at(line_end.map_or(0, |end| end + 1));
        let indent = inner.rfind('\n').map_or(0, |end| end + 1);
        let indent = if inner[indent..].trim().is_empty() { indent } else { inner.len() };
        let end = format!("{}{}", &inner[indent..], &text[close..]);
        let inner = if word == "dependencies" {
            dependencies(&inner[..indent])
        } else {
            parts(around, &inner[..indent], depth + 1)
        };
        return Part::block(&format!("{opens}{first}"), squeezed(head), inner, &end);
    }
    let key = match head.split_once('=') {
        Some((name, _)) if open.is_none() => squeezed(name),
        Some(_) | None => squeezed(head),
    };
    let tools = ["jacoco", "pitest", "pmd", "spotbugs", "detekt", "ktlint", "spotless", "sonar"];
    let about = head.to_lowercase();
    let checks = sounds_like_a_check(head) || tools.iter().any(|tool| about.starts_with(tool));
    let registers =
        head.starts_with("task ") || head.contains("register") || head.contains("create(");
    let asked = registers && words(head).any(|word| around.names.contains(word));
    let redirects = word == "includeBuild" || head.contains("projectDir");
    let fate = match () {
        () if matches!(word, "plugins" | "import" | "include" | "pluginManagement") => Fate::Free,
        () if DECIDES.is_match(text) || redirects => Fate::Fixed,
        () if asked => Fate::Kept,
        () if checks => Fate::Fixed,
        () => Fate::Free,
    };
    Part::new(text, key, fate)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "_-".contains(c))).filter(|word| !word.is_empty())
}

/// Dependencies: those of tests must not vanish, whatever their version.
fn dependencies(code: &str) -> Vec<Part> {
    let dependency = |text: &String| {
        let plain = text.trim();
        let quoted = plain.split(['"', '\'']).nth(1).unwrap_or("");
        let module: Vec<&str> = quoted.splitn(3, ':').take(2).collect();
        let key = module.join(":");
        let for_tests = plain.starts_with("test") && module.len() == 2 && !key.is_empty();
        if for_tests {
            let key = format!("test dependency {key}");
            Part::with_value(text, key, String::new(), Fate::Kept)
        } else {
            Part::blank(text)
        }
    };
    statements(code, GRADLE).iter().map(dependency).collect()
}
