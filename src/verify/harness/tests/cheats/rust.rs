//! Test modules inside Rust sources.

use super::{Cheat, verify};

const TESTS: &str =
    "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { assert!(true); }\n}\n";

#[test]
fn modules_in_rust_sources() {
    verify(&[
        undone!(
            "a weakened module",
            "cargo test",
            "src/a.rs",
            TESTS,
            Some("fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n")
        ),
        Cheat {
            what: "a weakened module in a moved file",
            check: "cargo test",
            start: &[("src/a.rs", TESTS)],
            change: &[
                ("src/a.rs", None),
                (
                    "src/b.rs",
                    Some("fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n"),
                ),
            ],
            after: &[("src/b.rs", Some(TESTS))],
        },
        Cheat {
            what: "a module that is declared no more",
            check: "cargo test",
            start: &[
                ("src/a.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests;\n"),
                ("src/a/tests.rs", "#[test]\nfn t() {}\n"),
            ],
            change: &[("src/a.rs", Some("fn a() {}\n"))],
            after: &[("src/a.rs", Some("fn a() {}\n\n\n#[cfg(test)]\nmod tests;\n"))],
        },
        Cheat {
            what: "brackets in literals and comments",
            check: "cargo test",
            start: &[(
                "src/a.rs",
                "fn a<'a>() -> char { '}' }\n/* { */ const B: &str = r#\"}\"{\"#;\n#[cfg(all(test, unix))]\nmod tests {\n    #[test]\n    fn t() { b(\"}\"); }\n}\n",
            )],
            change: &[(
                "src/a.rs",
                Some(
                    "fn a<'a>() -> char { '{' }\n/* { */ const B: &str = r#\"}\"{\"#;\n#[cfg(all(test, unix))]\nmod tests {}\n",
                ),
            )],
            after: &[(
                "src/a.rs",
                Some(
                    "fn a<'a>() -> char { '{' }\n/* { */ const B: &str = r#\"}\"{\"#;\n#[cfg(all(test, unix))]\nmod tests {\n    #[test]\n    fn t() { b(\"}\"); }\n}\n",
                ),
            )],
        },
    ]);
}
