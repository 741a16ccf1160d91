//! Variables that make a runner list the tests that it ran.

use std::path::PathBuf;

use super::{Summary, TestRunner, invocations};

/// The variables that a command gets in addition to its own: `go test` names its tests with `-v`,
/// and nextest shows the output of each test binary.
pub fn runner_environment(command: &str) -> Vec<(String, String)> {
    let invocations = invocations(command);
    let asked = |runner| {
        invocations.iter().any(|it| it.runner == runner && it.summary == Summary::Required)
    };
    let mut variables = Vec::new();
    if asked(TestRunner::Go) {
        variables.push(("GOFLAGS".to_owned(), verbose(&own_goflags())));
    }
    if asked(TestRunner::Nextest) && std::env::var_os(NEXTEST).is_none() {
        variables.push((NEXTEST.to_owned(), "immediate".to_owned()));
    }
    variables
}

const NEXTEST: &str = "NEXTEST_SUCCESS_OUTPUT";

/// The human's flags: the variable, else the line in the file that `go env -w` writes.
fn own_goflags() -> String {
    if let Ok(flags) = std::env::var("GOFLAGS") {
        return flags;
    }
    let path = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let config = || path("XDG_CONFIG_HOME").or_else(|| path("HOME").map(|it| it.join(".config")));
    let file = path("GOENV").or_else(|| config().map(|it| it.join("go/env")));
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("GOFLAGS="));
    line.unwrap_or_default().to_owned()
}

fn verbose(flags: &str) -> String {
    if flags.split_whitespace().any(|flag| flag == "-v") {
        return flags.to_owned();
    }
    format!("{flags} -v").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::verbose;

    #[test]
    fn the_humans_flags_stay() {
        assert_eq!(verbose(""), "-v");
        assert_eq!(verbose("-mod=vendor"), "-mod=vendor -v");
        assert_eq!(verbose("-v -race"), "-v -race");
    }
}
