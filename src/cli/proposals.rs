//! Settings that `init` proposes for a project, as comments to uncomment.

use std::fs;
use std::path::Path;

/// Manifests, and what they stand for: the file, a text that must be in it, the check of the whole
/// task, a check that is red until its test is there, and the setup.
const KNOWN: [[&str; 5]; 15] = [
    ["Cargo.lock", "", "cargo test --quiet", "cargo test NAME", "cargo fetch --locked"],
    ["Cargo.toml", "", "cargo test --quiet", "cargo test NAME", "cargo fetch"],
    ["go.mod", "", "go test ./...", "go test ./... -run NAME", "go mod download"],
    ["package.json", "node --test", "npm test", "npm test -- --test-name-pattern=NAME", ""],
    ["pnpm-lock.yaml", "", "pnpm test", "pnpm test -t NAME", "pnpm install --frozen-lockfile"],
    ["yarn.lock", "", "yarn test", "yarn test -t NAME", "yarn install --immutable"],
    ["package-lock.json", "", "npm test", "npm test -- -t NAME", "npm ci"],
    ["package.json", "\"test\"", "npm test", "npm test -- -t NAME", "npm install"],
    ["uv.lock", "", "uv run pytest -q", "uv run pytest -q -k NAME", "uv sync --frozen"],
    ["pyproject.toml", "", "python3 -m pytest -q", "python3 -m pytest -q -k NAME", ""],
    ["requirements.txt", "", "python3 -m pytest -q", "python3 -m pytest -q -k NAME", ""],
    ["pom.xml", "", "mvn -q test", "mvn -q test -Dtest=NAME", "mvn -q dependency:go-offline"],
    ["gradlew", "", "./gradlew test", "./gradlew test --tests NAME", ""],
    ["Gemfile", "", "bundle exec rake test", "bundle exec rake test TEST=FILE", "bundle install"],
    ["Makefile", "\ntest:", "make test", "", ""],
];

/// Folders of tests.
const TESTS: [&str; 5] = ["tests", "test", "spec", "__tests__", "e2e"];

/// Lines of front matter for the project in this folder; none if it has no known manifest.
pub(super) fn proposals(root: &Path) -> Vec<String> {
    let is_there = |name: &str, part: &str| {
        fs::read_to_string(root.join(name)).is_ok_and(|text| format!("\n{text}").contains(part))
    };
    let found = KNOWN.iter().find(|[name, part, ..]| is_there(name, part));
    let Some([name, _, whole, one, setup]) = found else { return Vec::new() };
    let mut lines = vec![format!("# From {name}; remove the first `#` of a line to use it:")];
    lines.push(format!("# verify: {whole}"));
    if !setup.is_empty() {
        lines.push(format!("# setup: [{setup}]"));
        lines.push("# setup_network: true         # if the setup needs the network".to_owned());
    }
    let tests = TESTS.iter().filter(|name| root.join(name).is_dir());
    let tests: Vec<String> = tests.map(|name| format!("\"{name}/**\"")).collect();
    if !tests.is_empty() {
        lines.push(format!("# protect: [{}]", tests.join(", ")));
    }
    if !one.is_empty() {
        lines.push(format!("# A check of a criterion, red until its test is there: {one}"));
    }
    lines
}

/// A TASK.md with these lines at the beginning of its front matter, in the place of other comments
/// about the same settings.
pub(super) fn with_lines(task: &str, lines: &[String]) -> String {
    let own: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let Some((front, body)) = task.strip_prefix("---\n").and_then(|it| it.split_once("---\n"))
    else {
        return if own.is_empty() { task.to_owned() } else { format!("---\n{own}---\n{task}") };
    };
    let key = |line: &str| line.split_once(':').map(|(key, _)| key.to_owned());
    let is_told = |line: &&str| {
        key(line).is_some_and(|it| lines.iter().any(|own| key(own) == Some(it.clone())))
    };
    let others: String =
        front.lines().filter(|line| !is_told(line)).map(|line| format!("{line}\n")).collect();
    format!("---\n{own}{others}---\n{body}")
}
