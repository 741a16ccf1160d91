//! Scripts that decide, and what they load.

use super::super::tree::{Planted, ask, changed};
use super::{Cheat, verify};

const JUDGES: &[Cheat<'_>] = &[
    undone!("exit 0 in a script", "sh check.sh", "check.sh", "./app || exit 1", Some("exit 0")),
    undone!("a judge with an odd name", "sh ci/gate", "ci/gate", "./app", Some("exit 0")),
    undone!("a script piped into a shell", "cat run.sh | sh", "run.sh", "./app", Some("exit 0")),
    undone!("a script as standard input", "bash -s < run.sh", "run.sh", "./app", Some("exit 0")),
    undone!(
        "a check behind a pipe",
        "sh check.sh | grep -q PASS",
        "check.sh",
        "./app",
        Some("echo PASS")
    ),
    undone!("patterns of grep", "./app | grep -qf wanted.lst", "wanted.lst", "1", Some("")),
    undone!(
        "a script of a wrapper",
        "timeout 5 env A=1 sh gate.sh",
        "gate.sh",
        "./app",
        Some("exit 0")
    ),
    undone!(
        "a module that is run",
        "python3 -m checks.api",
        "checks/api.py",
        "import app",
        Some("")
    ),
    Cheat {
        what: "a helper sourced from lib",
        check: "sh check.sh",
        start: &[
            ("check.sh", ". lib/compare.sh\nsame \"$(./app)\" 3\n"),
            ("lib/compare.sh", "same() { [ \"$1\" = \"$2\" ]; }\n"),
        ],
        change: &[("lib/compare.sh", Some("same() { true; }\n"))],
        after: &[("lib/compare.sh", Some("same() { [ \"$1\" = \"$2\" ]; }\n"))],
    },
    Cheat {
        what: "functions whose status decides, in a file of any name",
        check: "sh check.sh",
        start: &[
            ("check.sh", ". \"$(dirname \"$0\")/lib/base.sh\"\nsame \"$(./app)\" 3\n"),
            ("lib/base.sh", "same() { [ \"$1\" = \"$2\" ]; }\n"),
        ],
        change: &[("lib/base.sh", Some("same() { true; }\n"))],
        after: &[("lib/base.sh", Some("same() { [ \"$1\" = \"$2\" ]; }\n"))],
    },
    Cheat {
        what: "a helper that a test imports",
        check: "pytest",
        start: &[
            ("tests/test_a.py", "from lib.assertions import same\n"),
            ("lib/assertions.py", "def same(a, b): assert a == b\n"),
        ],
        change: &[("lib/assertions.py", Some("def same(a, b): pass\n"))],
        after: &[("lib/assertions.py", Some("def same(a, b): assert a == b\n"))],
    },
    Cheat {
        what: "the __init__ of a package of checks",
        check: "python3 -m checks.api",
        start: &[("checks/api.py", "import app")],
        change: &[("checks/__init__.py", Some("import os; os._exit(0)"))],
        after: &[("checks/__init__.py", None)],
    },
    Cheat {
        what: "a required file that is shadowed",
        check: "node check.js",
        start: &[("check.js", "require('./lib/verify')"), ("lib/verify/index.js", "1")],
        change: &[("lib/verify.js", Some("process.exit(0)"))],
        after: &[("lib/verify.js", None)],
    },
    Cheat {
        what: "a script of a named entry",
        check: "make gate",
        start: &[("Makefile", "gate:\n\tsh ci/final\n"), ("ci/final", "./app")],
        change: &[("ci/final", Some("exit 0"))],
        after: &[("ci/final", Some("./app"))],
    },
    Cheat {
        what: "a script of an npm script",
        check: "npm run gate",
        start: &[
            ("package.json", "{\"scripts\": {\"gate\": \"node ci/final.js\"}}"),
            ("ci/final.js", "app()"),
        ],
        change: &[("ci/final.js", Some(""))],
        after: &[("ci/final.js", Some("app()"))],
    },
    Cheat {
        what: "a script that becomes a folder",
        check: "sh ci/final",
        start: &[("ci/final", "./app")],
        change: &[("ci/final", None), ("ci/final/x", Some("1"))],
        after: &[("ci/final", Some("./app")), ("ci/final/x", None)],
    },
];

#[test]
fn judges_and_what_they_load() {
    verify(JUDGES);
}

#[test]
fn scripts_in_other_forms() {
    verify(&[
        undone!("options with a name", "bash -euo pipefail gate", "gate", "./app", Some("exit 0")),
        undone!(
            "a loop",
            "for f in ci/*.sh; do sh $f || exit 1; done",
            "ci/a.sh",
            "./app",
            Some("")
        ),
        undone!("a variable", "F=ci/gate; sh $F", "ci/gate", "./app", Some("exit 0")),
        undone!("find", "find . -name a -exec sh gate {} +", "gate", "./app", Some("exit 0")),
        undone!("xargs", "ls | xargs -n1 sh gate", "gate", "./app", Some("exit 0")),
        undone!("sed's program", "./app | sed -nf rules | grep -q 1", "rules", "p", Some("c1")),
        undone!("awk's program", "./app | awk -f rules", "rules", "{exit 1}", Some("{exit 0}")),
        undone!("jq's program", "./app | jq -e --from-file rules", "rules", ".a", Some("1")),
        undone!("a name after --", "sh -- gate", "gate", "./app", Some("exit 0")),
        undone!("a module for coverage", "coverage run -m gate", "gate.py", "f()", Some("")),
        undone!(
            "a committed runner",
            "vendor/bin/phpunit",
            "vendor/bin/phpunit",
            "run()",
            Some("exit(0);")
        ),
        undone!(
            "a program of xtask",
            "cargo run -p xtask",
            "xtask/src/main.rs",
            "fn main() { a(); }",
            Some("fn main() {}")
        ),
        Cheat {
            what: "a script of a workspace",
            check: "pnpm -r test",
            start: &[
                ("d/package.json", "{\"scripts\": {\"test\": \"node judge.js\"}}"),
                ("d/judge.js", "app()"),
            ],
            change: &[("d/judge.js", Some(""))],
            after: &[("d/judge.js", Some("app()"))],
        },
        Cheat {
            what: "a script that a command of tox runs",
            check: "tox -e py",
            start: &[("tox.ini", "[testenv]\ncommands = sh ci/gate\n"), ("ci/gate", "./app")],
            change: &[("ci/gate", Some("exit 0"))],
            after: &[("ci/gate", Some("./app"))],
        },
        Cheat {
            what: "a script behind a variable of make",
            check: "make -C d t",
            start: &[("d/Makefile", "PY = python3\nt:\n\t$(PY) gate.py\n"), ("d/gate.py", "f()")],
            change: &[("d/gate.py", Some(""))],
            after: &[("d/gate.py", Some("f()"))],
        },
    ]);
}

#[test]
fn parts_that_makefiles_include() {
    verify(&[
        Cheat {
            what: "a part that is included",
            check: "make gate",
            start: &[("Makefile", "include ci/rules.inc\n"), ("ci/rules.inc", "gate:\n\t@./app\n")],
            change: &[("ci/rules.inc", Some("gate:\n\t@true\n"))],
            after: &[("ci/rules.inc", Some("gate:\n\t@./app\n"))],
        },
        Cheat {
            what: "a new part that is included if it exists",
            check: "make test",
            start: &[("Makefile", "-include local.conf\ntest:\n\t@sh tests/run.sh\n")],
            change: &[("local.conf", Some("MAKEFLAGS += -n\n"))],
            after: &[("local.conf", None)],
        },
        Cheat {
            what: "a new list of dependencies",
            check: "make test",
            start: &[("Makefile", "OBJS = a.o\n-include $(OBJS:.o=.d)\ntest:\n\t@./t\n")],
            change: &[("src/a.d", Some(".IGNORE:\n"))],
            after: &[("src/a.d", None)],
        },
        Cheat {
            what: "a new module that is included by a pattern",
            check: "make test",
            start: &[("Makefile", "include $(wildcard modules/*/module.mk)\ntest:\n\t@./t\n")],
            change: &[
                ("modules/b/package.json", Some("{\"name\":\"b\"}")),
                ("modules/b/module.mk", Some("SRC += b.c\nMAKEFLAGS += -n\n")),
            ],
            after: &[("modules/b/module.mk", Some("SRC += b.c\n"))],
        },
        Cheat {
            what: "a script of a pattern",
            check: "make test",
            start: &[
                (
                    "Makefile",
                    "test: $(patsubst ci/%.sh,run-%,$(wildcard ci/*.sh))\nrun-%:\n\t@sh ci/$*.sh\n",
                ),
                ("ci/a.sh", "./app\n"),
            ],
            change: &[("ci/a.sh", None)],
            after: &[("ci/a.sh", Some("./app\n"))],
        },
        Cheat {
            what: "a recipe that the check's needs",
            check: "just all",
            start: &[
                ("justfile", "all: one\none: two\ntwo:\n    sh ci/a.sh\n"),
                ("ci/a.sh", "./app\n"),
            ],
            change: &[("ci/a.sh", Some(""))],
            after: &[("ci/a.sh", Some("./app\n"))],
        },
    ]);
}

#[test]
fn scripts_behind_links_and_in_submodules() {
    let mut start = Planted::of(&[("tools/gates/gate.sh", "./app\n")]);
    start.link("ci", "tools/gates");
    start.submodule("kit", 1);
    start.submodule("vendor/lib", 1);
    let mut now = changed(&start, &[("tools/gates/gate.sh", Some(""))]);
    now.submodule("kit", 2);
    now.submodule("vendor/lib", 2);
    for (check, expected) in [
        ("sh ci/gate.sh", vec!["tools/gates/gate.sh"]),
        ("sh kit/run.sh", vec!["kit"]),
        ("cd kit && make test", vec!["kit"]),
        ("test \"$(sh kit/sq.sh 7)\" = 49", vec![]),
        ("test -d kit && ./app", vec![]),
    ] {
        let result = ask(check, &start, &now);
        let changed: Vec<_> = result.changed.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(changed, expected, "{check}");
        assert_eq!(result.edits.len(), expected.len(), "{check}");
    }
    let mut now = start.clone();
    now.link("ci", "easy");
    assert_eq!(ask("sh ci/gate.sh", &start, &now).changed, [std::path::PathBuf::from("ci")]);
}
