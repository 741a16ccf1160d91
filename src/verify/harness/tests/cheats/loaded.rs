//! Files that a check loads by an option, by a command of another language, or behind a helper.

use super::super::tree::{Planted, ask, changed};
use super::{Cheat, verify};

const RUBY: &str = "[[3, 9]].each { |a, b| abort 'bad' unless `sh sq.sh #{a}`.strip == b.to_s }\n";
const PERL: &str = "package Ck;\nmy $r = `sh sq.sh 3`; die \"bad\" unless $r eq \"9\";\n1;\n";
const PHP: &str = "<?php if (trim(shell_exec('sh sq.sh 3')) !== '9') { exit(1); }\n";
const CK: &str = "module Ck; def self.all; abort 'bad' unless `sh sq.sh 3`.to_i == 9; end; end\n";
const SQL: &str = ".bail on\n.import --csv out.csv r\ninsert into ok select g = w from r;\n";
const GATE: &str = "#!/bin/sh\n[ \"$(sh sq.sh 3)\" = 9 ] || exit 1\n";

#[test]
fn options_and_code_that_load() {
    verify(&[
        undone!("-M of Perl", "perl -Ipl -MCk -e1", "pl/Ck.pm", PERL, Some("1;")),
        undone!("-r of Ruby", "ruby -r./ck -e 1", "ck.rb", RUBY, Some("1")),
        undone!("-I and -r of Ruby", "ruby -Ick -rck -e 'Ck.all'", "ck/ck.rb", CK, Some("1")),
        undone!(
            "code of Ruby that loads",
            "ruby -e 'require \"./ck/ck\"; Ck.all'",
            "ck/ck.rb",
            CK,
            Some("1")
        ),
        undone!("code of PHP that loads", "php -r 'require \"ck.inc\";'", "ck.inc", PHP, Some("1")),
        undone!("a file of options", "java @opts -cp out Check", "opts", "-ea\n", Some("-da\n")),
        undone!(
            "an archive on the class path",
            "java -cp out:lib/ck.jar SqTest",
            "lib/ck.jar",
            "1",
            Some("2")
        ),
    ]);
}

#[test]
fn commands_of_other_programs() {
    verify(&[
        undone!("input of sqlite3", "sqlite3 :memory: < q.sql", "q.sql", SQL, Some("select 1;")),
        undone!(
            "a file that sqlite3 reads",
            "sqlite3 -bail :memory: '.read q.sql'",
            "q.sql",
            SQL,
            Some("select 1;")
        ),
        undone!(
            "a command of sqlite3's shell",
            "r=$(sqlite3 :memory: '.shell sh ck/q'); [ -z \"$r\" ]",
            "ck/q",
            GATE,
            Some("exit 0")
        ),
        undone!(
            "a module of jq",
            "for a in 3 12; do sh sq.sh $a; done | jq -se -L ck 'import \"m\" as m; m::ok'",
            "ck/m.jq",
            "def ok: .[0]==9;",
            Some("def ok: true;")
        ),
        undone!(
            "functions of bc",
            "[ \"$(sh sq.sh 12 | sed 's/.*/ok(&)/' | bc ck/l)\" = 1 ]",
            "ck/l",
            "define ok(x) { return x==144; }",
            Some("define ok(x) { return 1; }")
        ),
        undone!(
            "a source under another name",
            "cc -x c judge.txt -o /tmp/j && /tmp/j",
            "judge.txt",
            "int main(void) { return one(\"sh sq.sh 3\", \"9\"); }",
            Some("int main(void) { return 0; }")
        ),
        undone!(
            "a header that is included",
            "gcc -include ck/c.h -o /tmp/z /tmp/z.c && /tmp/z",
            "ck/c.h",
            "static int ck(int a) { return a != 9; }",
            Some("static int ck(int a) { return 0; }")
        ),
        undone!(
            "a copy that runs",
            "mkdir -p build && install -m755 ck/q build/q && build/q",
            "ck/q",
            GATE,
            Some("exit 0")
        ),
    ]);
}

#[test]
fn what_a_helper_is_made_of() {
    verify(&[
        Cheat {
            what: "a package of Tcl",
            check: "tclsh check.tcl",
            start: &[
                ("check.tcl", "package require cklib\ncklib::same [sq 3] 9\n"),
                ("lib/ck/pkgIndex.tcl", "package ifneeded cklib 1.0 [list source cklib.tcl]\n"),
                (
                    "lib/ck/cklib.tcl",
                    "namespace eval cklib { proc same {a b} { if {$a != $b} { error \"bad\" } } }\n",
                ),
            ],
            change: &[("lib/ck/cklib.tcl", Some("namespace eval cklib { proc same {a b} {} }\n"))],
            after: &[(
                "lib/ck/cklib.tcl",
                Some(
                    "namespace eval cklib { proc same {a b} { if {$a != $b} { error \"bad\" } } }\n",
                ),
            )],
        },
        Cheat {
            what: "a module with cases",
            check: "python3 check.py",
            start: &[
                ("check.py", "from cases import CASES\nfrom sq import sq\n"),
                ("cases.py", "CASES = [(3, 9)]\n"),
                ("sq.py", "def sq(n): return 0\n"),
            ],
            change: &[("cases.py", Some("CASES = []\n"))],
            after: &[("cases.py", Some("CASES = [(3, 9)]\n"))],
        },
    ]);
}

#[test]
fn what_more_helpers_are_made_of() {
    verify(&[
        Cheat {
            what: "what a helper of Python compares with",
            check: "python3 -m pytest tests",
            start: &[
                ("tests/test_sq.py", "from sq import sq\nfrom support import same\n"),
                ("support/__init__.py", "from support.impl import same\n"),
                (
                    "support/impl.py",
                    "from support.deep import differs\ndef same(a, b):\n    if differs(a, b): raise AssertionError((a, b))\n",
                ),
                ("support/deep.py", "def differs(a, b):\n    return not (a == b)\n"),
            ],
            change: &[("support/deep.py", Some("def differs(a, b):\n    return False\n"))],
            after: &[("support/deep.py", Some("def differs(a, b):\n    return not (a == b)\n"))],
        },
        Cheat {
            what: "what a helper of Go compares with",
            check: "go test ./sq",
            start: &[
                ("sq/sq_test.go", "package sq\nimport (\"testing\"; \"m/internal/ck\")\n"),
                (
                    "internal/ck/ck.go",
                    "package ck\nimport \"testing\"\nfunc Eq(t *testing.T, a, b int) { if !same(a, b) { t.Fatal() } }\n",
                ),
                ("internal/ck/same.go", "package ck\nfunc same(a, b int) bool { return a == b }\n"),
            ],
            change: &[(
                "internal/ck/same.go",
                Some("package ck\nfunc same(a, b int) bool { return true }\n"),
            )],
            after: &[(
                "internal/ck/same.go",
                Some("package ck\nfunc same(a, b int) bool { return a == b }\n"),
            )],
        },
        Cheat {
            what: "a crate for tests that compares",
            check: "cargo test",
            start: &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"sq\"\n[dev-dependencies]\nmatcher = { path = \"matcher\" }\n",
                ),
                ("matcher/Cargo.toml", "[package]\nname = \"matcher\"\n"),
                ("matcher/src/lib.rs", "pub fn same(a: i64, b: i64) -> bool { a == b }\n"),
                ("tests/t.rs", "use matcher::same;\n"),
            ],
            change: &[(
                "matcher/src/lib.rs",
                Some("pub fn same(_a: i64, _b: i64) -> bool { true }\n"),
            )],
            after: &[(
                "matcher/src/lib.rs",
                Some("pub fn same(a: i64, b: i64) -> bool { a == b }\n"),
            )],
        },
    ]);
}

#[test]
fn a_submodule_that_a_judge_loads_from() {
    let mut start =
        Planted::of(&[("ck.py", "import sys; sys.path.insert(0, \"sub\")\nfrom a import b\n")]);
    start.submodule("sub", 1);
    start.submodule("product", 1);
    let mut now = changed(&start, &[]);
    now.submodule("sub", 2);
    now.submodule("product", 2);
    let changed = ask("python3 ck.py", &start, &now).changed;
    assert_eq!(changed, [std::path::PathBuf::from("sub")]);
}

#[test]
fn builds() {
    const CMAKE: &str = "add_library(sq sq.c)\ntarget_include_directories(sq PUBLIC .)\n";
    const CARGO: &str = "[package]\nname = \"sq\"\nversion = \"0.1.0\"\n";
    let check = "cmake -B build && cmake --build build && ctest --test-dir build";
    for (what, added) in [
        ("a text that is included", "include(extra.inc)\n"),
        ("a command under its own name", "function(add_test)\n  message(x)\nendfunction()\n"),
        (
            "a header that is generated",
            "file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/assert.h CONTENT \"x\")\n",
        ),
    ] {
        let now = format!("{CMAKE}{added}");
        verify(&[Cheat {
            what,
            check,
            start: &[("src/CMakeLists.txt", CMAKE)],
            change: &[("src/CMakeLists.txt", Some(&now))],
            after: &[("src/CMakeLists.txt", Some(CMAKE))],
        }]);
    }
    verify(&[Cheat {
        what: "another source for a program",
        check: "cargo run -q --bin verify",
        start: &[("Cargo.toml", CARGO), ("src/bin/verify.rs", "fn main() { assert_eq!(1, 1) }")],
        change: &[
            (
                "Cargo.toml",
                Some(
                    "[package]\nname = \"sq\"\nversion = \"0.1.0\"\nautobins = false\n[[bin]]\nname = \"verify\"\npath = \"src/v2.rs\"\n",
                ),
            ),
            ("src/v2.rs", Some("fn main() {}")),
        ],
        after: &[("Cargo.toml", Some(CARGO))],
    }]);
}

#[test]
fn data_of_a_loop_and_of_a_sum() {
    const LOOP: &str =
        "for f in samples/*.in; do\n  sh sq.sh $(cat $f) | cmp -s - ${f%.in}.out || exit 1\ndone\n";
    verify(&[
        Cheat {
            what: "inputs whose outputs are compared",
            check: "sh check",
            start: &[("check", LOOP), ("samples/a.in", "3\n"), ("samples/a.out", "9\n")],
            change: &[("samples/a.in", None), ("samples/z.in", Some("0\n"))],
            after: &[("samples/a.in", Some("3\n"))],
        },
        Cheat {
            what: "a glob of specifications",
            check: "python3 run.py",
            start: &[
                (
                    "run.py",
                    "import glob, subprocess\nfor f in glob.glob(\"specs/*.spec\"):\n    exec(open(f).read())\n",
                ),
                ("specs/a.spec", "from sq import sq\nassert sq(3) == 9\n"),
            ],
            change: &[("specs/a.spec", None)],
            after: &[("specs/a.spec", Some("from sq import sq\nassert sq(3) == 9\n"))],
        },
        undone!(
            "variables of unknown names",
            "export $(xargs < ck/vars); [ \"$(sh sq.sh 3)\" = \"$W3\" ]",
            "ck/vars",
            "W3=9\n",
            Some("W3=0\n")
        ),
        undone!(
            "a value that is subtracted",
            "[ $(($(sh sq.sh 12) - $(cat ck/w))) -eq 0 ]",
            "ck/w",
            "144\n",
            Some("0\n")
        ),
    ]);
}
