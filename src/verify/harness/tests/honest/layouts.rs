//! Files that move, appear, or are looked at.

use super::{Honest, verify};

const TESTS: &str = "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n";

const FILES: &[Honest<'_>] = &[
    Honest {
        what: "Rust: a renamed source with its tests, and its module",
        check: "cargo test",
        start: &[("src/lib.rs", "mod a;\n"), ("src/a.rs", TESTS)],
        change: &[("src/lib.rs", Some("mod b;\n")), ("src/a.rs", None), ("src/b.rs", Some(TESTS))],
    },
    Honest {
        what: "lock files",
        check: "cargo test && npm test && go test ./...",
        start: &[
            ("Cargo.lock", "1"),
            ("package-lock.json", "{}"),
            ("go.sum", "1"),
            ("poetry.lock", "1"),
            ("Gemfile.lock", "1"),
        ],
        change: &[
            ("Cargo.lock", Some("2")),
            ("package-lock.json", Some("{\"a\": 1}")),
            ("go.sum", Some("2")),
            ("poetry.lock", Some("2")),
            ("Gemfile.lock", Some("2")),
        ],
    },
    Honest {
        what: "a new module of Go in a folder of its own",
        check: "go test ./...",
        start: &[("go.mod", "module x\n"), ("a.go", "package x")],
        change: &[("tools/go.mod", Some("module x/tools\n")), ("tools/a.go", Some("package a"))],
    },
    Honest {
        what: "a new package of Node with its tests",
        check: "npm test --workspaces",
        start: &[("package.json", "{\"workspaces\": [\"packages/*\"]}")],
        change: &[
            ("packages/b/package.json", Some("{\"scripts\": {\"test\": \"mocha\"}}")),
            ("packages/b/b.test.js", Some("")),
        ],
    },
    Honest {
        what: "Python: a new module beside tests, in a package",
        check: "python -m pytest tests/test_a.py::test_a",
        start: &[("tests/test_a.py", "from app import a\n"), ("app/__init__.py", "")],
        change: &[("app/logging.py", Some("")), ("app/re/__init__.py", Some(""))],
    },
    Honest {
        what: "Python: the module that tests wait for",
        check: "pytest",
        start: &[
            ("pyproject.toml", "[project]\nname = \"squares\"\ndependencies = [\"numpy\"]\n"),
            ("tests/test_a.py", "import numpy\nfrom squares import square\n"),
        ],
        change: &[
            ("squares.py", Some("def square(n): return n * n\n")),
            (
                "pyproject.toml",
                Some(
                    "[project]\nname = \"squares\"\ndependencies = [\"numpy>=2\", \"rich\"]\n\n[project.scripts]\nsquares = \"squares:main\"\n",
                ),
            ),
        ],
    },
    Honest {
        what: "Node: a package of the workspace with a program",
        check: "npm test",
        start: &[(
            "package.json",
            "{\"workspaces\": [\"packages/*\"], \"devDependencies\": {\"mocha\": \"*\"}}",
        )],
        change: &[
            ("packages/b/package.json", Some("{\"name\": \"b\", \"bin\": {\"b\": \"b.js\"}}")),
            ("patches/left+1.0.0.patch", Some("+")),
        ],
    },
    Honest {
        what: "Java and Ruby: names that resemble a framework's",
        check: "mvn test && rake test",
        start: &[("pom.xml", "<project/>\n")],
        change: &[
            ("src/main/java/com/junit/Reporter.java", Some("class Reporter {}")),
            ("src/main/resources/META-INF/services/com.x.Service", Some("x")),
            ("lib/minitest/extra.rb", Some("")),
            ("lib/rspec_report.rb", Some("")),
        ],
    },
    Honest {
        what: "documents and data",
        check: "sh check.sh",
        start: &[("check.sh", "./app < data/in.txt"), ("README.md", ""), ("data/in.txt", "1")],
        change: &[("README.md", Some("x")), ("docs/testing.md", Some("x"))],
    },
];

#[test]
fn new_and_moved_files() {
    verify(FILES);
}

#[test]
fn programs_that_are_compared() {
    verify(&[
        Honest {
            what: "programs in loops, conditions, and substitutions whose output counts",
            check: "for n in 1 2; do [ \"$(./sq $n)\" = $((n * n)) ] || exit 1; done",
            start: &[("sq", "echo 1")],
            change: &[("sq", Some("echo $(($1 * $1))"))],
        },
        Honest {
            what: "a program that xargs runs into a comparison",
            check: "echo 7 | xargs ./sq | grep -qx 49",
            start: &[("sq", "echo 1")],
            change: &[("sq", Some("echo $(($1 * $1))"))],
        },
        Honest {
            what: "a program with another folder and environment",
            check: "(cd bin && env -i PATH=/bin sh ./sq.sh 7) | cmp - want.txt",
            start: &[("bin/sq.sh", "echo 1"), ("want.txt", "49")],
            change: &[("bin/sq.sh", Some("echo 49"))],
        },
        Honest {
            what: "patterns that look like options with a file",
            check: "grep -ef notes.md && grep -c f notes.md",
            start: &[("notes.md", "1")],
            change: &[("notes.md", Some("f"))],
        },
        Honest {
            what: "the program that a check's document feeds",
            check: "python3 app.py <<'E' | grep -q 49\n7\nE",
            start: &[("app.py", "print(1)")],
            change: &[("app.py", Some("print(49)"))],
        },
    ]);
}
