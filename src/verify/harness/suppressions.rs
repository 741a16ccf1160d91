//! Marks that silence a warning where a check asks for none: `#[allow(…)]`, `noqa`, a pragma, or a
//! removed `deny`. They may be right, so a review decides.

use std::sync::LazyLock;

use regex::Regex;

use super::patterns::regex;

/// Whether the checks' lines fail at warnings, or run a linter.
pub(super) fn are_asked_for<'l>(mut lines: impl Iterator<Item = &'l String>) -> bool {
    static ASKS: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"-W\s?error\b|-D\s?warnings|--deny|/WX\b",
            r"|\b(?:bandit|basedpyright|biome|checkstyle|clang-tidy|clippy|cppcheck|detekt|eslint|flake8|golangci-lint|ktlint",
            r"|markdownlint|mypy|oxlint|phpcs|phpstan|psalm|pylint|pyright|rubocop|ruff|shellcheck|staticcheck|stylelint|tsc|yamllint)\b",
        ))
    });
    lines.any(|line| ASKS.is_match(line))
}

/// Whether a file has more marks than it had, or lost a `deny`.
pub(super) fn silences(old: &str, new: &str) -> bool {
    static MARKS: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"#!?\[(?:allow|expect)\(|#\s*pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored|#\s*pragma\s+warning",
            r"|\b(?:noqa|nosec|NOSONAR|nolint|NOLINT\w*)\b|\btype:\s*ignore|\bpylint:\s*disable|\bpyright:\s*ignore",
            r"|(?:eslint|oxlint|stylelint|markdownlint)-disable|@ts-(?:ignore|nocheck|expect-error)|biome-ignore",
            r"|@Suppress(?:Warnings)?\b|rubocop:\s*disable|phpcs:\s*(?:ignore|disable)|@phpstan-ignore|@psalm-suppress",
            r"|shellcheck\s+disable|\b(?:simplefilter|filterwarnings)\(",
        ))
    });
    let count = |text: &str, marks: &Regex| marks.find_iter(text).count();
    count(new, &MARKS) > count(old, &MARKS) || denies_less(old, new)
}

/// Whether a crate no longer denies what it did.
pub(super) fn denies_less(old: &str, new: &str) -> bool {
    static DENIES: LazyLock<Regex> = LazyLock::new(|| regex(r"#!\[(?:deny|forbid)\(([^)]*)\)"));
    DENIES.captures_iter(old).any(|it| !new.contains(&it[0]))
}

/// Texts of lines that the checks pass over: `grep -v 'lint: ignore'`.
pub(super) fn passed_over<'l>(lines: impl Iterator<Item = &'l String>) -> Vec<String> {
    static PASSES: LazyLock<Regex> = LazyLock::new(|| {
        regex(r#"\bgrep\s+(?:-\w+\s+)*-\w*v\w*\s+(?:-\w+\s+)*(?:"([^"$]{3,})"|'([^']{3,})')"#)
    });
    let texts = lines.flat_map(|line| PASSES.captures_iter(line));
    texts.filter_map(|it| it.get(1).or(it.get(2)).map(|text| text.as_str().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silenced_warning_is_told_from_a_mark_that_moved() {
        for (old, new, expected) in [
            ("a\n", "#![allow(unused)]\na\n", true),
            ("import x\n", "import x  # noqa: F401\n", true),
            ("f()\n", "warnings.simplefilter('ignore')\nf()\n", true),
            ("#![deny(warnings)]\na\n", "a\n", true),
            (
                "#[allow(dead_code)]\nfn f() {}\n",
                "fn g() {}\n#[allow(dead_code)]\nfn f() {}\n",
                false,
            ),
            ("a // NOLINT\n", "b\n", false),
            ("a\n", "b\n", false),
        ] {
            assert_eq!(silences(old, new), expected, "{old}{new}");
        }
        let asked = |line: &str| are_asked_for([line.to_owned()].iter());
        assert!(asked("cargo clippy -- -D warnings") && asked("make CFLAGS='-Wall -Werror'"));
        assert!(!asked("cargo test") && !asked("make test"));
        let lines = ["! grep -rn 'rm' src | grep -v 'lint: ignore'".to_owned()];
        assert_eq!(passed_over(lines.iter()), ["lint: ignore"]);
    }
}
