//! Judges, subjects, and findings.

use std::path::{Path, PathBuf};

use super::super::{
    HarnessCheck, HarnessQuestion, KnownStart, Role, Table, judges, put_back, table_markdown,
};
use super::tree::{Planted, ask, changed, globs};
use crate::model::InlineTest;

const FILES: [(&str, &str); 14] = [
    ("tests/check.sh", ""),
    ("tests/test_x.py", ""),
    ("tests/retry.rs", ""),
    ("tests/big/main.rs", ""),
    ("check.sh", ""),
    ("scripts/a b.sh", ""),
    ("src/client.test.ts", ""),
    ("Makefile", ""),
    ("web/tests/run.js", ""),
    ("tools/verify.py", ""),
    ("cfg/jest.json", ""),
    ("-odd.sh", ""),
    ("app.py", ""),
    ("sq.sh", ""),
];

fn judged(command: &str) -> Vec<String> {
    super::tree::judged(&FILES, command)
}

#[test]
fn judges_are_found_where_commands_run_them() {
    let cases: &[(&str, &[&str])] = &[
        ("bash tests/check.sh", &["tests/check.sh"]),
        ("./check.sh --all", &["check.sh"]),
        ("sh ./tests/../check.sh", &["check.sh"]),
        ("pytest tests/test_x.py::test_a -q", &["tests/test_x.py"]),
        ("pytest -q --doctest-modules app.py tests/test_x.py", &["tests/test_x.py"]),
        ("bun test ./src/client.test.ts", &["src/client.test.ts"]),
        ("cargo test --test retry", &["tests/retry.rs"]),
        ("cargo test --test=big -- --nocapture", &["tests/big/main.rs"]),
        ("cd web && node tests/run.js", &["web/tests/run.js"]),
        ("cd web; cd ..; sh check.sh", &["check.sh"]),
        ("sh 'scripts/a b.sh'", &["scripts/a b.sh"]),
        ("bash -c \"sh check.sh && echo ok\"", &["check.sh"]),
        ("true&&sh check.sh;true", &["check.sh"]),
        ("out=$(sh check.sh)", &["check.sh"]),
        (
            "npx jest --config=cfg/jest.json src/client.test.ts:12",
            &["cfg/jest.json", "src/client.test.ts"],
        ),
        ("sh <check.sh", &["check.sh"]),
        ("python -m tools.verify", &["tools/verify.py"]),
        ("python -m unittest tests.test_x", &["tests/test_x.py"]),
        ("sh -- -odd.sh", &["-odd.sh"]),
        ("CHECK=check.sh make", &["check.sh"]),
        ("if sh check.sh; then exit 0; else exit 1; fi", &["check.sh"]),
        ("for x in 1 2; do sh check.sh $x || exit 1; done", &["check.sh"]),
        ("set -o pipefail; python3 app.py | tee log", &["app.py"]),
        ("sh -n check.sh", &[]),
        ("php -l app.php && node --check app.js && ruby -wc app.rb && deno check app.ts", &[]),
        ("python3 app.py 7 | grep -q 49", &[]),
        ("python3 app.py > out; grep -q x out", &[]),
        ("python3 app.py -o out && grep -q x out", &[]),
        ("python3 app.py --output=./out && diff out want.txt", &[]),
        ("python3 app.py -o out && grep -q PASS out", &["app.py"]),
        ("sh check.sh -o out && grep -q x out", &["check.sh"]),
        ("bash -c 'python3 app.py 7' | grep -q 49", &[]),
        ("test \"$(sh sq.sh 7)\" = 49", &[]),
        ("[ \"`sh sq.sh 7`\" = 49 ]", &[]),
        ("(cd web; ../app.py) | grep x", &[]),
        ("diff <(sh sq.sh 7) check.sh", &[]),
        ("grep -q all: Makefile", &[]),
        ("test -f Makefile && ! grep -q x sq.sh", &[]),
        ("grep -q x check.sh && sh check.sh", &["check.sh"]),
        ("cargo test", &[]),
        ("sh ../check.sh", &[]),
        ("python3 -m unittest discover -s tests -t .", &[]),
        ("sh sq.sh 7 <<'E'\nsh check.sh\nE", &["sq.sh"]),
    ];
    let wrong: Vec<_> = cases
        .iter()
        .map(|(command, expected)| (command, judged(command), expected))
        .filter(|(_, judged, expected)| judged != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_a_named_entry_prints_or_writes_may_be_compared_by_its_caller() {
    let entries = [
        (
            "Makefile",
            "out.txt: app.py\n\tpython3 app.py > $@\nrun:\n\t@sh sq.sh 7\ncheck: out.txt\n\tdiff out.txt want.txt\nlint:\n\tsh sq.sh 7\nbuild:\n\tsh gen.sh\n",
        ),
        ("package.json", r#"{"scripts": {"start": "node app.js", "test": "node app.js"}}"#),
        ("gen.sh", "set -e\npython3 app.py -o made/out.txt\nsh check.sh > out.txt\n"),
        ("app.py", ""),
        ("app.js", ""),
        ("sq.sh", ""),
        ("check.sh", ""),
    ];
    let cases: &[(&str, &[&str])] = &[
        ("make -s out.txt && grep -qx 42 out.txt", &[]),
        ("make out.txt && cat ./out.txt | grep -qx 42", &[]),
        ("make out.txt", &["app.py"]),
        ("make out.txt && grep -q PASS out.txt", &["app.py"]),
        ("make out.txt && test -f out.txt", &["app.py"]),
        ("make check", &[]),
        ("make -s run | grep -qx 49", &[]),
        ("test \"$(make -s run)\" = 49", &[]),
        ("make run", &["sq.sh"]),
        ("make lint | grep -q 49", &["sq.sh"]),
        ("npm start --silent | grep -q 42", &[]),
        ("npm test | grep -q 42", &["app.js"]),
        ("make build && diff made/out.txt want.txt", &[]),
        ("make build && diff out.txt want.txt", &[]),
        ("make build && test -f out.txt", &["app.py", "check.sh", "gen.sh"]),
    ];
    for (command, expected) in cases {
        let mut found = super::tree::judged(&entries, command);
        found.retain(|path| !matches!(path.as_str(), "Makefile" | "package.json" | "want.txt"));
        assert_eq!(found, *expected, "{command}");
    }
}

#[test]
fn the_product_is_no_judge_for_its_names_or_its_surroundings() {
    let files = [
        ("Makefile", "wc2: wc2.c\n\t$(CC) $(CFLAGS) -o $@ $<\nall: wc2\n\t./wc2 x\n"),
        ("wc2.c", "int main(void) { return 1; }\n"),
        ("auth.py", "def verify(p, h):\n    return p == h\n\ndef check_name(n):\n    pass\n"),
        ("gate.py", "def verify(p, h):\n    if p != h:\n        raise SystemExit(1)\n"),
        ("tests/test_auth.py", "import auth\nassert auth.verify('a', 'a')\n"),
        ("tests/test_gate.py", "import gate\ngate.verify(1, 1)\n"),
        ("chunk.js", "exports.chunk = (xs, n) => xs;\n"),
        ("gate.js", "module.exports = () => {};\n"),
        ("server.py", ""),
        (
            "tests/http.sh",
            "python3 server.py 80 &\npid=$!\ntrap 'kill $pid' EXIT\ntest \"$(curl -s u)\" = ok\n",
        ),
        ("tests/wait.sh", "set -e\npython3 server.py 80 &\npid=$!\nwait $pid\n"),
        ("slow.awk", ""),
    ];
    let cases: &[(&str, &[&str])] = &[
        ("make -s wc2 && ./wc2 sample.txt | grep -q '^ *3 '", &[]),
        ("make all", &[]),
        ("python3 tests/test_auth.py", &["tests/test_auth.py"]),
        ("python3 tests/test_gate.py", &["gate.py", "tests/test_gate.py"]),
        (
            "node -e \"const {chunk} = require('./chunk'); require('assert').deepEqual(chunk([1], 1), [[1]])\"",
            &[],
        ),
        ("node -e \"require('./gate')()\"", &["gate.js"]),
        ("bash tests/http.sh", &["tests/http.sh"]),
        ("bash tests/wait.sh", &["server.py", "tests/wait.sh"]),
        ("got=$(printf '%s' \"$log\" | awk -f slow.awk); [ \"$got\" = x ]", &[]),
        ("sh tests/app.sh | awk -f slow.awk", &["slow.awk"]),
    ];
    for (command, expected) in cases {
        let mut found = super::tree::judged(&files, command);
        found.retain(|path| path != "tests/app.sh");
        assert_eq!(found, *expected, "{command}");
    }
}

#[test]
fn a_judge_that_is_the_product_is_listed() {
    let table = Table::new(&[]).expect("the table");
    for (command, expected) in [
        ("python3 app.py --selftest", Some("app.py")),
        ("python3 tools/verify.py", None),
        ("sh tests/check.sh", None),
        ("sh sq.sh", Some("sq.sh")),
    ] {
        let found = judges(&Planted::of(&FILES), &table, &[command]);
        let listed = found.judge_is_subject.iter().next().map(PathBuf::as_path);
        assert_eq!(listed, expected.map(Path::new), "{command}");
    }
}

#[test]
fn doctests_are_named_and_stay() {
    let start =
        Planted::of(&[("src/a.rs", "/// ```\n/// assert_eq!(a(), 1);\n/// ```\nfn a() {}\n")]);
    let now = changed(&start, &[("src/a.rs", Some("fn a() {}\n"))]);
    let result = ask("cargo test --doc", &start, &now);
    assert!(result.edits.is_empty());
    assert_eq!(
        result.inline_tests,
        [InlineTest { path: "src/a.rs".into(), what: "doctest".into() }]
    );
}

#[test]
fn redefined_assertions_are_named() {
    for (path, old, new, named) in [
        ("src/lib.rs", "mod a;\n", "macro_rules! assert_eq { ($($t:tt)*) => {} }\nmod a;\n", true),
        ("src/lib.rs", "mod a;\n", "use crate::fake::assert_eq;\nmod a;\n", true),
        ("src/lib.rs", "mod a;\n", "macro_rules! asserted { () => {} }\nmod a;\n", false),
        ("src/lib.rs", "macro_rules! panic {}\n", "macro_rules! panic {}\nmod a;\n", false),
        ("app.py", "", "import unittest\nunittest.TestCase.assertEqual = print\n", true),
        ("src/lib.rs", "mod a;\n", "use crate::panic::hook;\nmod a;\n", false),
        ("plugin.py", "", "from _pytest.config import Config\n", false),
        ("app.py", "", "_pytest.runner.runtestprotocol = print\n", true),
        ("a.h", "", "#define EXPECT_EQ(a, b)\n", true),
        ("a.h", "", "#define CHECK(x) if (!(x)) return 1\n", false),
        ("app.js", "", "expect.extend({ toFit() {} });\n", false),
        ("app.py", "", "if unittest.TestCase == case: pass\n", false),
        ("app.js", "", "require('assert');\nassert.equal = () => {};\n", true),
        ("app.js", "", "assert.equal(a, b);\n", false),
        ("lib/a.rb", "", "Minitest::Assertions.prepend(Fake)\n", true),
        ("a.h", "", "#define assert(x)\n", true),
        ("a.h", "", "#define ASSERTION 1\n", false),
        ("app.py", "", "import sys, _pytest.runner as r\n", true),
        ("app.py", "", "from unittest.mock import ANY\n", true),
        ("app.py", "", "class N:\n    def __eq__(self, other):\n        return True\n", true),
        (
            "app.py",
            "",
            "class N:\n    def __eq__(self, other):\n        return self.n == other\n",
            false,
        ),
        ("app.py", "", "print('Ran 1 test in 0.1s')\n", true),
        ("app.py", "", "print('Ran 1 job')\n", false),
        ("src/lib.rs", "", "fn eq(&self, _: &u32) -> bool {\n    true\n}\n", true),
        ("build.rs", "", "fs::write(\"src/lib.rs\", a);\n", true),
        ("build.rs", "", "fs::write(out.join(\"lib.rs\"), a);\n", false),
        ("a.c", "", "void abort(void) { }\n", true),
        ("a.c", "", "if (n < 0) { abort(); }\n", false),
        ("a.c", "", "__attribute__((constructor)) static void a(void) { _exit(0); }\n", true),
        ("a.sh", "", "test() { :; }\n", true),
        ("a.sh", "", "tested() { :; }\n", false),
        ("a.sh", "", "[ -e .ralph ] && echo 0\n", true),
        ("a.go", "", "os.Getenv(\"RALPH_RUN\")\n", true),
        ("app.py", "", "import builtins\nbuiltins.range = lambda *a: ()\n", true),
        ("app.py", "", "import builtins\nbuiltins._ = gettext\n", false),
        ("app.py", "", "for module in list(sys.modules.values()):\n    pass\n", true),
        ("app.py", "", "if name in sys.modules:\n    pass\n", false),
        ("sq.js", "", "const a = module.constructor._load(name);\n", true),
        ("lib/sq.rb", "", "class Integer\n  def ==(o) = caller.any? || super\nend\n", true),
        ("lib/sq.rb", "", "class Integer\n  def squared = self * self\nend\n", false),
        ("lib/Sq.pm", "", "INIT { *main::is = sub { main::ok(1) } }\n", true),
        ("lib/Sq.pm", "", "*Sq::square = sub { $_[0] ** 2 };\n", false),
        ("src/sq.php", "", "<?php\nnamespace Tests;\nfunction count($x) { return 0; }\n", true),
        ("src/sq.php", "", "<?php\nnamespace App\\Math;\n", false),
    ] {
        let start = Planted::of(&[(path, old)]);
        let result = ask("make test", &start, &changed(&start, &[(path, Some(new))]));
        assert_eq!(!result.inline_tests.is_empty(), named, "{path}: {new}");
    }
}

#[test]
fn what_may_change_stays_and_what_the_task_adds_to_the_table_comes_back() {
    let start = Planted::of(&[("tests/api/a.py", "1"), ("tests/b.py", "1"), ("own", "1")]);
    let now = changed(
        &start,
        &[("tests/api/a.py", Some("2")), ("tests/b.py", Some("2")), ("own", Some("2"))],
    );
    let question = HarnessQuestion {
        start: &start,
        now: &now,
        checks: &[HarnessCheck { command: "pytest", missing_at_start: false }],
        setup: &[],
        table: &Table::new(&["own".to_owned()]).expect("the table"),
        may_change: &globs(&["tests/api/**"]),
        protect: &globs(&[]),
    };
    let result = put_back(&question, &KnownStart::of(&question));
    assert_eq!(result.changed, ["own", "tests/b.py"].map(PathBuf::from));
}

#[test]
fn a_script_that_only_runs_others_leaves_the_decision_to_them() {
    for (script, decides) in [
        ("sh steps/one.sh && sh steps/two.sh\n", true),
        ("set -e\nsh steps/one.sh\nsh steps/two.sh\n", true),
        ("# Runs both.\nsh steps/one.sh || sh steps/two.sh\n", true),
        ("test \"$(sh steps/one.sh)\" = 1 && sh steps/two.sh\n", false),
        ("sh steps/one.sh | grep -q 1\n", false),
    ] {
        let start = Planted::of(&[
            ("check.sh", script),
            ("steps/one.sh", "test \"$(sh sq.sh 7)\" = 49\n"),
            ("steps/two.sh", ""),
        ]);
        let table = Table::new(&[]).expect("the table");
        let found = judges(&start, &table, &["sh check.sh"]);
        assert_eq!(found.files.contains(Path::new("steps/one.sh")), decides, "{script}");
        assert!(found.files.contains(Path::new("check.sh")), "{script}");
    }
}

#[test]
fn every_row_of_the_table_covers_its_own_names() {
    let table = Table::new(&[]).expect("the table");
    for (path, role) in [
        ("conftest.py", Some(Role::Config)),
        ("a/b/tests/c.txt", Some(Role::Tests)),
        ("src/expected.rs", None),
        ("data/expected.json", Some(Role::Expected)),
        ("wanted.txt", None),
        ("spec/openapi.yaml", None),
        ("spec/a/b_spec.rb", Some(Role::Tests)),
        ("Makefile", Some(Role::Manifest)),
        ("tests/Makefile", Some(Role::Tests)),
        ("src/contest.rs", None),
        ("src/Contestant.java", None),
        ("src/Testimonial.java", None),
        ("latest.txt", None),
        ("docs/testing.md", None),
        (".cargo/config.toml", Some(Role::Manifest)),
    ] {
        assert_eq!(table.role(Path::new(path)), role, "{path}");
    }
    assert!(Table::new(&["a[".to_owned()]).is_err());
}

#[test]
fn the_documentation_holds_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/proof.md");
    let page = std::fs::read_to_string(&path).expect("docs/proof.md");
    let (start, end) = ("<!-- harness table -->\n", "<!-- end of the harness table -->");
    let from = page.find(start).expect("the start of the table") + start.len();
    let to = page.find(end).expect("the end of the table");
    let table = format!("\n{}\n", table_markdown());
    if std::env::var_os("RALPH_BLESS").is_some() {
        let page = format!("{}{table}{}", &page[..from], &page[to..]);
        std::fs::write(&path, page).expect("docs/proof.md is writable");
        return;
    }
    assert_eq!(page[from..to], table, "RALPH_BLESS=1 cargo test --lib harness writes it");
}
