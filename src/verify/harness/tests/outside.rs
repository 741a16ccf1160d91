//! Files outside of test folders that decide, each next to an honest neighbor.

use super::tree::{Planted, ask, changed};

/// A project, the file that decides, and a file of the product beside it.
pub(super) struct Case<'a> {
    pub(super) check: &'a str,
    pub(super) files: &'a [(&'a str, &'a str)],
    pub(super) decides: &'a str,
    pub(super) product: &'a str,
}

pub(super) fn verify(cases: &[Case<'_>]) {
    let mut wrong = Vec::new();
    for case in cases {
        let start = Planted::of(case.files);
        let edited = |path: &str| {
            assert!(start.text(path).is_some(), "{}: no {path}", case.check);
            let change = [(path, Some("\n"))];
            let result = ask(case.check, &start, &changed(&start, &change));
            !result.changed.is_empty() || !result.inline_tests.is_empty()
        };
        if !edited(case.decides) {
            wrong.push(format!(
                "{}: {} is not harness in {:?}",
                case.check, case.decides, case.files
            ));
        }
        if edited(case.product) {
            wrong.push(format!("{}: {} is harness in {:?}", case.check, case.product, case.files));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const APP: (&str, &str) = ("app.py", "def sq(n):\n    return 0\n");
const TEST_PY: (&str, &str) =
    ("tests/test_app.py", "from support import Base\nimport kit\nfrom app import sq\n");
const SQ_JS: (&str, &str) = ("sq.js", "exports.sq = n => 0;\n");
const SQ_SH: (&str, &str) = ("sq.sh", "echo 0\n");
const GATE_JS: &str = "if (run('sh sq.sh 7') !== '49') process.exit(1);\n";
const GATE_PY: &str = "if run('sh', 'sq.sh') != '49':\n    sys.exit(1)\n";

#[test]
fn scripts_that_interpreters_find_themselves() {
    verify(&[
        Case {
            check: "python3 ci",
            files: &[("ci/__main__.py", GATE_PY), SQ_SH],
            decides: "ci/__main__.py",
            product: "sq.sh",
        },
        Case {
            check: "node ci",
            files: &[("ci/index.js", GATE_JS), SQ_SH],
            decides: "ci/index.js",
            product: "sq.sh",
        },
        Case {
            check: "node ci/",
            files: &[("ci/package.json", r#"{"main": "gate.js"}"#), ("ci/gate.js", GATE_JS), SQ_SH],
            decides: "ci/gate.js",
            product: "sq.sh",
        },
        Case {
            check: "node ci/gate",
            files: &[("ci/gate.js", GATE_JS), SQ_SH],
            decides: "ci/gate.js",
            product: "sq.sh",
        },
        Case {
            check: "PYTHONPATH=ci python3 -m gate",
            files: &[("ci/gate.py", GATE_PY), SQ_SH],
            decides: "ci/gate.py",
            product: "sq.sh",
        },
        Case {
            check: "java ci/Gate.java",
            files: &[("ci/Gate.java", "class Gate {}"), ("src/Sq.java", "class Sq {}")],
            decides: "ci/Gate.java",
            product: "src/Sq.java",
        },
        Case {
            check: "javac -d out ci/Gate.java src/Sq.java && java -cp out ci.Gate",
            files: &[("ci/Gate.java", "class Gate {}"), ("src/Sq.java", "class Sq {}")],
            decides: "ci/Gate.java",
            product: "src/Sq.java",
        },
        Case {
            check: "perl -Ici -MGate -e 'Gate::run()'",
            files: &[("ci/Gate.pm", "package Gate; sub run { 1 } 1;\n"), SQ_SH],
            decides: "ci/Gate.pm",
            product: "sq.sh",
        },
        Case {
            check: "groovy ci/gate.groovy",
            files: &[("ci/gate.groovy", "assert run() == 49\n"), SQ_SH],
            decides: "ci/gate.groovy",
            product: "sq.sh",
        },
    ]);
}

#[test]
fn code_in_commands() {
    verify(&[
        Case {
            check: "python3 -c 'import quality; quality.run()'",
            files: &[("quality.py", "def run():\n    gate()\n"), APP],
            decides: "quality.py",
            product: "app.py",
        },
        Case {
            check: "node -e \"require('./ci/gate')\"",
            files: &[("ci/gate.js", GATE_JS), SQ_JS],
            decides: "ci/gate.js",
            product: "sq.js",
        },
        Case {
            check: "node -e \"require('./ci/gate').run()\"",
            files: &[("ci/gate.js", "exports.run = () => {};\n"), SQ_JS],
            decides: "ci/gate.js",
            product: "sq.js",
        },
        Case {
            check: "PYTHONPATH=lib python3 -c 'import app, kit; kit.same(app.sq(3), 9)'",
            files: &[
                ("lib/kit.py", "def same(a, b):\n    if a != b: raise SystemExit(1)\n"),
                SQ_SH,
            ],
            decides: "lib/kit.py",
            product: "sq.sh",
        },
        Case {
            check: "python3 -c 'from app import sq; assert sq(3) == 9' && sh tests/a.sh",
            files: &[APP, ("tests/a.sh", "x")],
            decides: "tests/a.sh",
            product: "app.py",
        },
        Case {
            check: "python3 -c 'import app; print(app.sq(7))' | grep -qx 49 && sh tests/a.sh",
            files: &[APP, ("tests/a.sh", "x")],
            decides: "tests/a.sh",
            product: "app.py",
        },
    ]);
}

#[test]
fn files_that_options_name() {
    for check in [
        "node --env-file=cfg/own --test",
        "node --env-file cfg/own --test",
        "node --import ./cfg/own --test",
        "node --require=./cfg/own tests/a.js",
        "npx mocha -r ./cfg/own tests/a.js",
        "npx jest --config cfg/own",
        "python3 -m pytest -c cfg/own",
        "php -c cfg/own tests/run.php",
        "php -d auto_prepend_file=cfg/own tests/run.php",
    ] {
        verify(&[Case {
            check,
            files: &[("cfg/own", "A=1\n"), SQ_JS, ("tests/a.js", "require('../sq.js')\n")],
            decides: "cfg/own",
            product: "sq.js",
        }]);
    }
}

#[test]
fn programs_that_are_built_to_check() {
    const CHECK_C: &str = "#include <assert.h>\nint sq(int);\n\
                           int main(void) { assert(sq(3) == 9); return 0; }\n";
    const SQ_C: (&str, &str) = ("sq.c", "int sq(int n) { return 0; }\n");
    verify(&[
        Case {
            check: "cc -o \"$TMPDIR/t\" gate.c sq.c && \"$TMPDIR/t\"",
            files: &[("gate.c", CHECK_C), SQ_C],
            decides: "gate.c",
            product: "sq.c",
        },
        Case {
            check: "make check",
            files: &[
                ("Makefile", "check: t\n\t./t\nt: check_sq.c sq.c\n\tcc -o t check_sq.c sq.c\n"),
                ("check_sq.c", CHECK_C),
                SQ_C,
            ],
            decides: "check_sq.c",
            product: "sq.c",
        },
        Case {
            check: "cc -o app main.c sq.c && ./app 7 | grep -qx 49 && sh tests/a.sh",
            files: &[
                (
                    "main.c",
                    "int main(int argc, char **argv) { assert(argc == 2); return !sq(1); }\n",
                ),
                SQ_C,
                ("tests/a.sh", "x"),
            ],
            decides: "tests/a.sh",
            product: "main.c",
        },
        Case {
            check: "make test",
            files: &[
                ("Makefile", "test: app\n\tsh tests/a.sh\napp: main.c\n\tcc -o app main.c\n"),
                (
                    "main.c",
                    "int main(void) {\n    if (init() != 0) return 1;\n    return run() == 0 ? 0 : 1;\n}\n",
                ),
                ("tests/a.sh", "x"),
            ],
            decides: "tests/a.sh",
            product: "main.c",
        },
        Case {
            check: "cargo run --offline --example gate",
            files: &[
                ("examples/gate.rs", "fn main() { assert_eq!(sq::sq(3), 9); }\n"),
                ("examples/show.rs", "fn main() { println!(\"{}\", sq::sq(3)); }\n"),
            ],
            decides: "examples/gate.rs",
            product: "examples/show.rs",
        },
        Case {
            check: "cargo run --example show | grep -q 9 && sh tests/a.sh",
            files: &[
                ("examples/show.rs", "fn main() { println!(\"{}\", sq::sq(3)); }\n"),
                ("tests/a.sh", "x"),
            ],
            decides: "tests/a.sh",
            product: "examples/show.rs",
        },
        Case {
            check: "go run ./gate",
            files: &[
                ("gate/main.go", "func main() {\n\tif sq.Sq(3) != 9 {\n\t\tos.Exit(1)\n\t}\n}\n"),
                ("sq/sq.go", "package sq\n"),
            ],
            decides: "gate/main.go",
            product: "sq/sq.go",
        },
    ]);
}

#[test]
fn texts_with_tests() {
    verify(&[
        Case {
            check: "python3 -m doctest docs/guide.txt",
            files: &[("docs/guide.txt", ">>> sq(3)\n9\n"), APP],
            decides: "docs/guide.txt",
            product: "app.py",
        },
        Case {
            check: "python3 -m unittest discover -s quality -p '*.py' -t .",
            files: &[("quality/squares.py", "from app import sq\n"), APP],
            decides: "quality/squares.py",
            product: "app.py",
        },
        Case {
            check: "npx mocha 'quality/**/*.js'",
            files: &[("quality/a/b.js", "sq()\n"), SQ_JS],
            decides: "quality/a/b.js",
            product: "sq.js",
        },
    ]);
}

#[test]
fn helpers_of_tests_anywhere() {
    const TEST_JS: (&str, &str) =
        ("test/a.test.js", "const { sq } = require('../sq.js'), same = require('../lib/same');\n");
    verify(&[
        Case {
            check: "python3 -m unittest discover -s tests -t .",
            files: &[
                TEST_PY,
                (
                    "support.py",
                    "import unittest\nclass Base(unittest.TestCase):\n    def same(self, a, b):\n        self.assertEqual(a, b)\n",
                ),
                APP,
            ],
            decides: "support.py",
            product: "app.py",
        },
        Case {
            check: "python3 tests/test_app.py",
            files: &[
                TEST_PY,
                ("lib/kit.py", "def same(a, b):\n    if a != b: raise SystemExit(1)\n"),
                (
                    "app.py",
                    "import sys\ndef sq(n):\n    if n < 0: raise ValueError(n)\n    return 0\nif __name__ == '__main__':\n    sys.exit(sq(7))\n",
                ),
            ],
            decides: "lib/kit.py",
            product: "app.py",
        },
        Case {
            check: "node --test",
            files: &[
                TEST_JS,
                (
                    "lib/same.js",
                    "const assert = require('node:assert');\nmodule.exports = (a, b) => assert.strictEqual(a, b);\n",
                ),
                (
                    "sq.js",
                    "const assert = require('node:assert');\nexports.sq = n => { assert(n > 0); return 0; };\n",
                ),
            ],
            decides: "lib/same.js",
            product: "sq.js",
        },
        Case {
            check: "node --test test/",
            files: &[
                ("test/all.test.js", "require('../quality/a.js');\n"),
                ("quality/a.js", "const test = require('node:test');\ntest('a', () => sq(3));\n"),
                SQ_JS,
            ],
            decides: "quality/a.js",
            product: "sq.js",
        },
        Case {
            check: "node tests/t.mjs",
            files: &[
                ("tests/t.mjs", "import { same } from '../lib/kit.mjs';\nimport '../sq.js';\n"),
                (
                    "lib/kit.mjs",
                    "export const same = (a, b) => { if (a !== b) { process.exitCode = 1; } };\n",
                ),
                SQ_JS,
            ],
            decides: "lib/kit.mjs",
            product: "sq.js",
        },
    ]);
}

#[test]
fn helpers_in_languages_with_search_paths() {
    verify(&[
        Case {
            check: "perl -Ilib t/a.t",
            files: &[
                ("t/a.t", "use Sq; use Kit; Kit::same(Sq::sq(7), 49);\n"),
                ("lib/Kit.pm", "package Kit; sub same { exit 1 if $_[0] != $_[1] } 1;\n"),
                ("lib/Sq.pm", "package Sq; sub sq { 0 } 1;\n"),
            ],
            decides: "lib/Kit.pm",
            product: "lib/Sq.pm",
        },
        Case {
            check: "pytest",
            files: &[
                TEST_PY,
                ("kit.py", "def same(a, b):\n    assert a == b\n"),
                (
                    "app.py",
                    "def move(source, target):\n    if source == target:\n        raise ValueError(source)\n",
                ),
            ],
            decides: "kit.py",
            product: "app.py",
        },
        Case {
            check: "make test",
            files: &[
                ("Makefile", "test:\n\tcc -Iinclude -o t tests/test_sq.c sq.c && ./t\n"),
                ("tests/test_sq.c", "#include \"check.h\"\n#include \"sq.h\"\n"),
                ("include/check.h", "#define CHECK(x) do { if (!(x)) abort(); } while (0)\n"),
                ("include/sq.h", "#define SQ(x) ((x) * (x))\n"),
            ],
            decides: "include/check.h",
            product: "include/sq.h",
        },
        Case {
            check: "sh tests/run.sh",
            files: &[
                (
                    "tests/run.sh",
                    "use() { . \"$ROOT/lib/$1.sh\"; }\nuse kit\neq \"$(sh sq.sh 7)\" 49\n",
                ),
                ("lib/kit.sh", "eq() { test \"$1\" = \"$2\" || exit 1; }\n"),
                SQ_SH,
            ],
            decides: "lib/kit.sh",
            product: "sq.sh",
        },
    ]);
}

#[test]
fn helpers_behind_manifests() {
    const PACKAGE: &str = r##"{"imports": {"#same": "./lib/strict.js", "#sq": "./sq.js"}, "scripts": {"test": "node tests/run.js"}}"##;
    const STRICT: &str =
        "module.exports = (a, b) => { if (a !== b) throw new Error(`${a} is not ${b}`); };\n";
    let files =
        [("package.json", PACKAGE), ("tests/run.js", "x"), ("lib/strict.js", STRICT), SQ_JS];
    let start = Planted::of(&files);
    for (from, to, held) in [("strict", "loose", true), ("./sq.js", "./other.js", false)] {
        let other = PACKAGE.replace(from, to);
        let now = changed(&start, &[("package.json", Some(&other))]);
        assert_eq!(!ask("npm test", &start, &now).changed.is_empty(), held, "{from}");
    }
    verify(&[
        Case { check: "npm test", files: &files, decides: "lib/strict.js", product: "sq.js" },
        Case {
            check: "npm test",
            files: &[
                (
                    "package.json",
                    r#"{"exports": {".": "./sq.js", "./same": "./lib/same.js"}, "scripts": {"test": "node tests/run.js"}}"#,
                ),
                ("tests/run.js", "const same = require('sq/same'), { sq } = require('sq');\n"),
                ("lib/same.js", STRICT),
                SQ_JS,
            ],
            decides: "lib/same.js",
            product: "sq.js",
        },
        Case {
            check: "cargo test",
            files: &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"sq\"\n[dependencies]\ncore = { path = \"core\" }\n[dev-dependencies]\nkit = { path = \"kit\" }\n",
                ),
                ("tests/sq.rs", "fn t() { kit::same(1, 1); core::same(1, 1); }\n"),
                ("kit/Cargo.toml", "[package]\nname = \"kit\"\n"),
                ("kit/src/lib.rs", "pub fn same(a: u32, b: u32) { assert_eq!(a, b); }\n"),
                ("core/Cargo.toml", "[package]\nname = \"core\"\n"),
                ("core/src/lib.rs", "pub fn same(a: u32, b: u32) { assert_eq!(a, b); }\n"),
            ],
            decides: "kit/src/lib.rs",
            product: "core/src/lib.rs",
        },
    ]);
}

#[test]
fn tests_that_are_replaced_at_run_time() {
    const PY: &str = "def sq(n):\n    \"\"\"\n    >>> sq(3)\n    9\n    \"\"\"\n    return 0\n";
    for (check, added, held) in [
        ("python3 -m unittest", "def load_tests(loader, tests, pattern): pass\n", true),
        ("python3 -m unittest", "from fake import load_tests\n", true),
        ("python3 -m unittest", "def load(loader): pass\n", false),
        ("python3 -m doctest app.py", "__test__ = {}\n", true),
        ("python3 -m doctest app.py", "sq.__doc__ = ''\n", true),
        ("python3 -m doctest app.py", "def cube(n): return 0\n", false),
        ("python3 -m unittest", "wrapper.__doc__ = sq.__doc__\n", false),
    ] {
        let start = Planted::of(&[("app.py", PY)]);
        let now = changed(&start, &[("app.py", Some(&format!("{PY}{added}")))]);
        let result = ask(check, &start, &now);
        assert_eq!(!result.inline_tests.is_empty(), held, "{check}: {added}");
        assert!(result.edits.is_empty(), "{check}: {added}");
    }
}

#[test]
fn test_only_items_of_rust_sources() {
    const SAME: &str = "#[cfg(test)]\nfn same(a: u32, b: u32) { assert_eq!(a, b); }\n";
    const NEW: &str = "#[cfg(test)]\nfn new() -> A { A { a: 0 } }\n";
    let start = Planted::of(&[("src/lib.rs", &format!("pub fn sq() {{}}\n{SAME}{NEW}"))]);
    for (text, held) in [
        (format!("pub fn sq() {{}}\n#[cfg(test)]\nfn same(_: u32, _: u32) {{}}\n{NEW}"), true),
        (format!("pub fn sq() {{}}\n{NEW}"), true),
        (format!("pub fn sq() {{ 1 }}\n{SAME}{NEW}"), false),
        (format!("pub fn sq() {{}}\n{SAME}{}", NEW.replace("a: 0", "a: 0, b: 1")), false),
        (format!("{NEW}pub fn sq() {{}}\n\n{SAME}#[cfg(test)]\nuse a::b;\n"), false),
    ] {
        let now = changed(&start, &[("src/lib.rs", Some(&text))]);
        let result = ask("cargo test", &start, &now);
        assert_eq!(!result.edits.is_empty(), held, "{text}");
        let after = now.after(&result.edits).text("src/lib.rs").expect("the source");
        assert!(after.contains(SAME.trim_end()), "{after}");
    }
}
