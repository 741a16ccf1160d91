//! `rehearse`: planted weak checks are found, strong ones are not blamed, and nothing changes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::repo::{Ran, Repo};
use crate::sample;
use crate::tier::has_tier;

mod classes;

/// A check, and the files around it.
struct Planted {
    check: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const SQ: (&str, &str) = ("sq.sh", "echo 0\n");
const SQ_TEST: (&str, &str) = (
    "tests/run.sh",
    "for n in 1 2 3 7 12; do test \"$(sh sq.sh $n)\" = $(($n * $n)) || exit 1; done\n",
);
const PY: (&str, &str) = ("app.py", "def sq(n):\n    return 0\n");
const PY_TEST: (&str, &str) = (
    "tests/test_app.py",
    "import unittest\nfrom app import sq\n\n\nclass T(unittest.TestCase):\n    def test_sq(self):\n        for n in range(9):\n            self.assertEqual(sq(n), n * n)\n",
);
const JS: (&str, &str) = ("app.js", "exports.sq = n => 0;\n");
const JS_TEST: (&str, &str) = (
    "tests/app.test.js",
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst { sq } = require('../app.js');\ntest('sq', () => { for (const n of [1, 2, 3]) assert.equal(sq(n), n * n); });\n",
);
const MAKE: (&str, &str) = ("Makefile", "test:\n\t@sh tests/run.sh\n");
const PACKAGE: (&str, &str) = ("package.json", "{\"scripts\": {\"test\": \"sh tests/run.sh\"}}\n");
const TODO: (&str, &str) = ("app.py", "def sq(n):\n    return 0  # TODO\n");
const PLAIN: (&str, &str) =
    ("check.py", "from app import sq\nfor n in range(9):\n    assert sq(n) == n * n, n\n");
const LAST_LINE: (&str, &str) = (
    "tests/plain.py",
    "import sys\nsys.path.insert(0, '.')\nfrom app import sq\nfor n in range(9):\n    assert sq(n) == n * n\nprint('all of it')\n",
);

const CRATE: [(&str, &str); 4] = [
    ("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n"),
    (".gitignore", "target/\n"),
    ("src/lib.rs", "pub fn sq(n: u32) -> u32 { let _ = n; 0 }\n"),
];
const MAIN: (&str, &str) = ("src/main.rs", "fn main() { std::process::exit(1) }\n");
const ANSWER: (&str, &str) = ("answer.txt", "49\n");

const WEAK: &[Planted] = &[
    Planted { check: "true", files: &[] },
    Planted { check: ":", files: &[] },
    Planted { check: "sh tests/run.sh || true", files: &[SQ, SQ_TEST] },
    Planted { check: "sh tests/run.sh; true", files: &[SQ, SQ_TEST] },
    Planted { check: "sh tests/run.sh | cat", files: &[SQ, SQ_TEST] },
    Planted { check: "test -d .", files: &[] },
    Planted { check: "sh -n sq.sh", files: &[SQ] },
    Planted { check: "python3 -m py_compile app.py", files: &[PY] },
    Planted { check: "ls", files: &[] },
    Planted { check: "echo done", files: &[] },
    Planted { check: "test -f notes.txt", files: &[] },
    Planted { check: "test -e src/retry.py", files: &[PY] },
    Planted { check: "[ -f CHANGES.md ]", files: &[] },
    Planted { check: "[ -e notes.txt ] && [ -s notes.txt ]", files: &[] },
    Planted { check: "test -s notes.txt", files: &[] },
    Planted { check: "ls docs/guide.md", files: &[] },
    Planted { check: "cat docs/guide.md", files: &[] },
    Planted { check: "bash -n gen.sh", files: &[] },
    Planted { check: "bash gen.sh", files: &[] },
    Planted { check: "test -d docs", files: &[] },
    Planted { check: "test -f a.txt && test -f b.txt", files: &[] },
    Planted { check: "stat lib/x.rb", files: &[] },
    Planted { check: "grep -q 'def retry' app.py", files: &[PY] },
    Planted { check: "grep -q retry app.js", files: &[JS] },
    Planted { check: "grep -E 'retry|again' app.py", files: &[PY] },
    Planted { check: "grep -q '^def cube' app.py", files: &[PY] },
    Planted { check: "grep -qF 'a.b(c)' app.py", files: &[PY] },
    Planted { check: "grep -rq retry src", files: &[("src/a.py", "x = 1\n")] },
    Planted { check: "grep -q 'fn main() {' main.rs", files: &[("main.rs", "// empty\n")] },
    Planted { check: "test -f app.py && grep -q 'retries = [0-9]' app.py", files: &[PY] },
    Planted { check: "! grep -q TODO app.py", files: &[TODO] },
    Planted { check: "test \"$(sh sq.sh 7)\" = 49", files: &[SQ] },
    Planted { check: "[ \"$(sh sq.sh 7)\" -eq 49 ]", files: &[SQ] },
    Planted { check: "test $(python3 sq.py 7) = 49", files: &[("sq.py", "print(0)\n")] },
    Planted { check: "sh sq.sh 7 | grep -q 49", files: &[SQ] },
    Planted { check: "sh sq.sh 7 | grep -qx '49'", files: &[SQ] },
    Planted { check: "node sq.js 7 | grep -q '^49$'", files: &[("sq.js", "console.log(0)\n")] },
    Planted { check: "sh sq.sh 7 | grep -q 49", files: &[] },
    Planted {
        check: "test \"$(python3 -c 'from app import sq; print(sq(7))')\" = 49",
        files: &[PY],
    },
    Planted { check: "test \"$(node -p 'require(\"./app.js\").sq(7)')\" = 49", files: &[JS] },
    Planted {
        check: "test \"$(node -e 'const {sq} = require(\"./app.js\"); console.log(sq(7))')\" = 49",
        files: &[JS],
    },
    Planted { check: "grep -q retry app.py || grep -q again app.py", files: &[PY] },
    Planted { check: "test -s app.log", files: &[PY] },
    Planted { check: "curl -sf http://127.0.0.1:9/health || true", files: &[] },
    Planted { check: "make app.py", files: &[PY] },
    Planted { check: "make app.txt", files: &[PY] },
    Planted {
        check: "cargo build --offline",
        files: &[
            ("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n"),
            ("src/lib.rs", "pub fn sq(n: u32) -> u32 { 0 }\n"),
            (".gitignore", "target/\n"),
        ],
    },
    Planted {
        check: "sh check.sh",
        files: &[SQ, ("check.sh", "if test \"$(sh sq.sh 3)\" = 9; then exit 0; fi\nexit 0\n")],
    },
    Planted { check: "test $(grep -c def app.py) -ge 2", files: &[PY] },
    Planted { check: "[ -x tool.sh ]", files: &[] },
    Planted { check: "[ -x bin/tool ] && bin/tool --version", files: &[] },
    Planted { check: "test -x sq.sh", files: &[SQ] },
    Planted { check: "python3 app.py --help", files: &[PY] },
    Planted { check: "test -n \"$(ls docs/*.md 2>/dev/null)\"", files: &[("docs/.keep", "")] },
    Planted { check: "ls migrations/*.sql", files: &[] },
    Planted { check: "grep -q retry src/*.py", files: &[("src/a.py", "x = 1\n")] },
    Planted { check: "grep -rn --include='*.py' retry .", files: &[PY] },
    Planted { check: "git grep -q retry -- app.py", files: &[PY] },
    Planted {
        check: "cat config.yaml | grep -q 'retries: 3'",
        files: &[("config.yaml", "name: a\n")],
    },
    Planted { check: "head -1 app.py | grep -q '^#!'", files: &[PY] },
    Planted {
        check: "[ $(grep -c FIXME settings.yaml) -eq 0 ]",
        files: &[("settings.yaml", "a: 1 # FIXME\n")],
    },
    Planted {
        check: "cargo run -q --offline -- --version",
        files: &[CRATE[0], CRATE[1], CRATE[2], MAIN],
    },
    Planted {
        check: "cargo run -q --offline -- 7 | grep -q 49",
        files: &[CRATE[0], CRATE[1], CRATE[2], MAIN],
    },
    Planted { check: "gcc -o app app.c && ./app", files: &[] },
    Planted {
        check: "sh scripts/check.sh",
        files: &[PY, ("scripts/check.sh", "grep -q retry app.py\n")],
    },
    Planted {
        check: "npm run check",
        files: &[JS, ("package.json", "{\"scripts\": {\"check\": \"grep -q retry app.js\"}}\n")],
    },
    Planted { check: "python3 -c \"import json; json.load(open('config.json'))\"", files: &[] },
    Planted { check: "sh sq.sh 7 | diff - answer.txt", files: &[SQ, ANSWER] },
    Planted { check: "bin/tool list | grep -q item", files: &[] },
    Planted { check: "sh -c 'test -f a.txt'", files: &[] },
    Planted { check: "sh sq.sh 7 > out.txt && diff out.txt want.txt", files: &[SQ] },
    Planted { check: "sh sq.sh 7 2>&1 | grep -q 49", files: &[SQ] },
    Planted { check: "sh sq.sh 7 > out.txt; grep -q 49 out.txt", files: &[SQ] },
    Planted { check: "out=$(sh sq.sh 7); test \"$out\" = 49", files: &[SQ] },
    Planted { check: "echo 7 | sh sq.sh | grep -q 49", files: &[SQ] },
    Planted { check: "sh sq.sh 7 | grep -q 49 || exit 1", files: &[SQ] },
    Planted { check: "sh sq.sh 7 | tee out.log | grep -q 49", files: &[SQ] },
    Planted { check: "test -f notes.txt && test \"$(sh sq.sh 7)\" = 49", files: &[SQ] },
];

const STRONG: &[Planted] = &[
    Planted {
        check: "test \"$(python3 -c 'from app import sq; print(sq(7), sq(2))')\" = '49 4'",
        files: &[PY],
    },
    Planted {
        check: "python3 -c 'from app import sq; print([sq(n) for n in range(3)])' | grep -qF '[0, 1, 4]'",
        files: &[PY],
    },
    Planted {
        check: "test \"$(node -e 'const {sq} = require(\"./app.js\"); console.log(sq(7), sq(2))')\" = '49 4'",
        files: &[JS],
    },
    Planted { check: "python3 check.py", files: &[PY, PLAIN] },
    Planted { check: "sh tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted { check: "bash tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted { check: "sh ./tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted { check: "set -e; sh tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted { check: "cd tests && cd .. && sh tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted { check: "sh tests/run.sh && test -f notes.txt", files: &[SQ, SQ_TEST] },
    Planted { check: "grep -q echo sq.sh && sh tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted { check: "make test", files: &[SQ, SQ_TEST, MAKE] },
    Planted { check: "make -s test", files: &[SQ, SQ_TEST, MAKE] },
    Planted { check: "npm test", files: &[SQ, SQ_TEST, PACKAGE] },
    Planted { check: "npm run --silent test", files: &[SQ, SQ_TEST, PACKAGE] },
    Planted { check: "python3 -m unittest tests/test_app.py", files: &[PY, PY_TEST] },
    Planted { check: "python3 -m unittest tests.test_app", files: &[PY, PY_TEST] },
    Planted {
        check: "python3 -m unittest discover -s tests -t .",
        files: &[PY, PY_TEST, ("tests/__init__.py", "")],
    },
    Planted { check: "python3 -B -m unittest tests/test_app.py", files: &[PY, PY_TEST] },
    Planted { check: "python3 -m unittest -v tests/test_app.py", files: &[PY, PY_TEST] },
    Planted { check: "python3 -m unittest tests/test_app.py 2>&1", files: &[PY, PY_TEST] },
    Planted { check: "PYTHONPATH=. python3 -m unittest tests/test_app.py", files: &[PY, PY_TEST] },
    Planted { check: "timeout 60 python3 -m unittest tests/test_app.py", files: &[PY, PY_TEST] },
    Planted {
        check: "test \"$(python3 tests/plain.py)\" = 'all of it' && sh tests/run.sh",
        files: &[PY, LAST_LINE, SQ, SQ_TEST],
    },
    Planted {
        check: "python3 tests/plain.py | grep -q 'all of it' && sh tests/run.sh",
        files: &[PY, LAST_LINE, SQ, SQ_TEST],
    },
    Planted {
        check: "! grep -q TODO app.py && python3 -m unittest tests/test_app.py",
        files: &[TODO, PY_TEST],
    },
    Planted { check: "test \"$(sh sq.sh 7)\" = 49 && test \"$(sh sq.sh 8)\" = 64", files: &[SQ] },
    Planted {
        check: "test \"$(sh sq.sh 7)\" = 49 && test \"$(sh sq.sh 12)\" = 144 && test \"$(sh sq.sh 3)\" = 9",
        files: &[SQ],
    },
    Planted {
        check: "for n in 1 2 3 9; do test \"$(sh sq.sh $n)\" = $(($n * $n)) || exit 1; done",
        files: &[SQ],
    },
    Planted { check: "sh sq.sh 7 | grep -qx 49 && sh sq.sh 8 | grep -qx 64", files: &[SQ] },
    Planted { check: "test \"$(sh sq.sh 7; sh sq.sh 8)\" = \"$(printf '49\\n64')\"", files: &[SQ] },
    Planted {
        check: "sh tests/run.sh > out.log",
        files: &[SQ, SQ_TEST, (".gitignore", "*.log\n")],
    },
    Planted {
        check: "sh tests/all.sh",
        files: &[SQ, SQ_TEST, ("tests/all.sh", ". tests/run.sh\n")],
    },
    Planted {
        check: "sh tests/all.sh",
        files: &[SQ, SQ_TEST, ("tests/all.sh", "set -e\nsh tests/run.sh\n")],
    },
    Planted {
        check: "./tests/all.sh",
        files: &[SQ, SQ_TEST, ("tests/all.sh", "#!/bin/sh\nexec sh tests/run.sh\n")],
    },
    Planted {
        check: "sh scripts/check.sh",
        files: &[SQ, SQ_TEST, ("scripts/check.sh", "sh tests/run.sh\n")],
    },
    Planted {
        check: "sh check.sh squares",
        files: &[
            SQ,
            (
                "check.sh",
                "case $1 in squares) for n in 2 5; do test $(sh sq.sh $n) = $(($n * $n)) || exit 1; done;; *) exit 1;; esac\n",
            ),
        ],
    },
    Planted {
        check: "make check",
        files: &[
            SQ,
            (
                "Makefile",
                "check:\n\t@for n in 2 5; do test \"$$(sh sq.sh $$n)\" = \"$$(($$n * $$n))\" || exit 1; done\n",
            ),
        ],
    },
    Planted {
        check: "npm run check",
        files: &[
            SQ,
            (
                "package.json",
                "{\"scripts\": {\"check\": \"for n in 2 5; do test $(sh sq.sh $n) = $(($n * $n)) || exit 1; done\"}}\n",
            ),
        ],
    },
    Planted { check: "sh tests/run.sh 7 || exit 1", files: &[SQ, SQ_TEST] },
    Planted { check: "sh tests/run.sh || { echo no; exit 1; }", files: &[SQ, SQ_TEST] },
    Planted { check: "time sh tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted { check: "if sh tests/run.sh; then :; else exit 1; fi", files: &[SQ, SQ_TEST] },
    Planted { check: "sh -c 'sh tests/run.sh'", files: &[SQ, SQ_TEST] },
    Planted {
        check: "node --test tests/app.test.js | grep -q '^# pass 1' && sh tests/run.sh",
        files: &[JS, JS_TEST, SQ, SQ_TEST],
    },
    Planted {
        check: "node -e \"const {sq} = require('./app'); for (const n of [2, 3, 9]) if (sq(n) !== n * n) process.exit(1); console.log('end')\" | grep -q end",
        files: &[JS],
    },
    Planted { check: "test -s sq.sh && sh tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted {
        check: "grep -q def app.py && python3 -m unittest -k sq tests/test_app.py",
        files: &[PY, PY_TEST],
    },
    Planted {
        check: "sh check.sh",
        files: &[
            SQ,
            (
                "check.sh",
                "for n in 2 5; do\n  if test \"$(sh sq.sh $n)\" != $(($n * $n)); then exit 1; fi\ndone\nexit 0\n",
            ),
        ],
    },
    Planted {
        check: "cargo test --offline",
        files: &[
            ("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n"),
            ("src/lib.rs", "pub fn sq(n: u32) -> u32 { 0 }\n"),
            (
                "tests/sq.rs",
                "#[test]\nfn squares() { for n in 0..9 { assert_eq!(a::sq(n), n * n); } }\n",
            ),
            (".gitignore", "target/\n"),
        ],
    },
    Planted { check: "[ -x tests/run.sh ] || sh tests/run.sh", files: &[SQ, SQ_TEST] },
    Planted {
        check: "make all && sh tests/run.sh",
        files: &[SQ, SQ_TEST, ("Makefile", "all:\n\t@sh -n sq.sh\n")],
    },
    Planted {
        check: "n=$(date +%S); test \"$(sh sq.sh $n)\" = \"$((10#$n * 10#$n))\" && sh tests/run.sh",
        files: &[SQ, SQ_TEST],
    },
    Planted {
        check: "test \"$(printf '3\\n4\\n' | sh sq.sh)\" = \"$(printf '9\\n16')\"",
        files: &[("sq.sh", "cat\n")],
    },
    Planted {
        check: "test -f CHANGES.md && make test",
        files: &[SQ, SQ_TEST, ("Makefile", "test:\n\t@sh tests/run.sh\n")],
    },
    Planted {
        check: "sh sq.sh 7 | diff - tests/7.txt && sh sq.sh 9 | diff - tests/9.txt",
        files: &[SQ, ("tests/7.txt", "49\n"), ("tests/9.txt", "81\n")],
    },
    Planted {
        check: "sh tests/golden.sh",
        files: &[
            SQ,
            ("tests/cases/a.in", "7\n"),
            ("tests/cases/a.out", "49\n"),
            (
                "tests/golden.sh",
                "for f in tests/cases/*.in; do sh sq.sh < $f | diff - ${f%.in}.out || exit 1; done\n",
            ),
        ],
    },
    Planted {
        check: "out=$(sh sq.sh 7); test \"$out\" = 49 && out=$(sh sq.sh 9) && test \"$out\" = 81",
        files: &[SQ],
    },
    Planted {
        check: "for n in 3 4; do echo $n | sh sq.sh | grep -qx $((n * n)) || exit 1; done",
        files: &[SQ],
    },
    Planted {
        check: "cargo build --offline && cargo test --offline squares",
        files: &[
            CRATE[0],
            CRATE[1],
            CRATE[2],
            CRATE[3],
            (
                "tests/sq.rs",
                "#[test]\nfn squares() { for n in 0..9 { assert_eq!(a::sq(n), n * n); } }\n",
            ),
        ],
    },
    Planted {
        check: "node tests/check.js",
        files: &[
            JS,
            (
                "tests/check.js",
                "const assert = require('assert');\nconst { sq } = require('../app.js');\nfor (const n of [1, 2, 9]) assert.strictEqual(sq(n), n * n);\nconsole.log('all right');\n",
            ),
        ],
    },
    // Tests that are to be written have to fail without the work.
    Planted { check: "for f in tests/test_*.sh; do sh $f || exit 1; done", files: &[SQ] },
    Planted { check: "python3 -m unittest tests/test_new.py", files: &[PY] },
    Planted { check: "sh tests/new.sh", files: &[SQ] },
    Planted { check: "cargo test --offline --test retry", files: &CRATE },
    Planted {
        check: "python3 -m compileall -q app.py && python3 -m unittest tests.test_app",
        files: &[PY, PY_TEST, (".gitignore", "__pycache__/\n")],
    },
];

fn rehearse(check: &str, files: &[(&str, &str)]) -> (Repo, Ran) {
    let repo = with_cache(&format!("# Demo\n\n- [ ] it\n  - verify: ``{check}``\n"), files);
    if repo.path("tests/all.sh").exists() {
        repo.git(&["update-index", "--chmod=+x", "tests/all.sh"]);
        repo.git(&["commit", "--quiet", "--amend", "--no-edit", "--allow-empty"]);
        repo.git(&["checkout", "--quiet", "--force", "HEAD"]);
    }
    let before = everything(&repo);
    let ran = repo.ralph(&["rehearse", "demo", "--json"]);
    assert!(everything(&repo) == before, "{check}");
    (repo, ran)
}

/// A repository beside a HOME with a cache.
fn with_cache(task: &str, files: &[(&str, &str)]) -> Repo {
    let repo = Repo::with(task, files);
    std::fs::create_dir_all(repo.beside("home/.cache/tool")).expect("a folder");
    repo
}

/// Every file of the repository but git's objects and index.
fn everything(repo: &Repo) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![repo.root()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            // `git status` notes there what it has looked at.
            if path.ends_with(".git/objects") || path.ends_with(".git/index") {
                continue;
            }
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.display().to_string(), std::fs::read(path).expect("a file"));
            }
        }
    }
    found
}

/// A sample of both lists; `tests/soak` tries all of them.
fn drawn(
    all: &'static [Planted],
    more: &'static [Planted],
) -> impl Iterator<Item = (usize, &'static Planted)> {
    const EVERY: usize = 7;
    let seed = usize::try_from(sample::seed() % 1000).expect("a number");
    let whole = sample::full();
    all.iter()
        .chain(more)
        .enumerate()
        .filter(move |(at, _)| whole || (at + seed).is_multiple_of(EVERY))
}

fn failed(at: usize, planned: &Planted, ran: &Ran) -> String {
    let said = match ran.code {
        Some(0 | 1) => {
            let accepted = ran.json()["criteria"][0]["accepted"].clone();
            let all = accepted.as_array().into_iter().flatten();
            all.map(|cheat| format!("{}: {}", cheat["cheat"], cheat["diff"])).collect()
        }
        _ => ran.stderr.clone(),
    };
    format!("{at}: {}: exit {:?} {said}", planned.check, ran.code)
}

#[test]
fn weak_checks_are_found() {
    let mut missed = Vec::new();
    for (at, planted) in drawn(WEAK, classes::WEAK) {
        let (_, ran) = rehearse(planted.check, planted.files);
        if ran.code != Some(1) {
            missed.push(failed(at, planted, &ran));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn strong_checks_are_not_blamed() {
    let mut blamed = Vec::new();
    for (at, planted) in drawn(STRONG, classes::STRONG) {
        let (_, ran) = rehearse(planted.check, planted.files);
        if ran.code != Some(0) {
            blamed.push(failed(at, planted, &ran));
        }
    }
    assert!(blamed.is_empty(), "{}", blamed.join("\n"));
}

#[test]
fn the_object_has_what_the_documentation_says() {
    let task = "---\nverify: sh tests/run.sh\n---\n# Demo\n\n- [ ] text\n  - verify: `grep -q Ada README.md`\n- [ ] none\n- [x] done\n  - verify: `true`\n- [ ] push\n  - verify: `git push origin main`\n";
    let repo = Repo::with(task, &[SQ, SQ_TEST]);
    let ran = repo.ralph(&["rehearse", "demo", "--json"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    let json = ran.json();
    assert_eq!((&json["task"], &json["strong"]), (&json!("demo"), &json!(true)));
    assert!(["off", "partial", "full"].contains(&json["sandbox"].as_str().unwrap_or_default()));
    let text = &json["criteria"][0];
    assert_eq!((&text["weak"], &text["text_only"]), (&json!(true), &json!(true)));
    assert_eq!(text["checks"][0]["start"], json!(["red", "red", "red"]));
    let diff = text["accepted"][0]["diff"].as_str().expect("a diff");
    assert!(diff.contains("+Ada"), "{diff}");
    assert_eq!(json["commit_only"], json!([{ "line": 8, "text": "none", "occurrence": 0 }]));
    let denied: Vec<&Value> =
        json["denied"].as_array().expect("a list").iter().map(|it| &it["command"]).collect();
    assert_eq!(denied, [&json!("git push origin main")]);
    assert!(json["millis_per_iteration"].is_u64());
    let whole = &json["whole_task"];
    assert_eq!(whole["checks"][0]["command"], "sh tests/run.sh");
    assert_eq!(whole["checks"][0]["start"], json!(["red", "red", "red"]));
    assert_eq!((&whole["weak"], &whole["accepted"]), (&json!(false), &json!([])));
}

/// Red, green, red, green: caches in HOME stay the same in a room, in every tier.
const FLAKY: &str =
    "f=$HOME/.cache/tool/n; n=$(cat $f || echo 0); echo $(($n + 1)) > $f; test $(($n % 2)) = 1";

/// They run in each iteration, and have to notice a product that does nothing any more.
#[test]
fn checks_of_the_front_matter_are_attacked() {
    let task = |check: &str| format!("---\nverify: {check}\n---\n# Demo\n\n- [ ] notes\n");
    let whole = |check: &str, files: &[(&str, &str)], code: i32| {
        let repo = with_cache(&task(check), files);
        let ran = repo.ralph(&["rehearse", "demo", "--json"]);
        assert_eq!(ran.code, Some(code), "{check}: {} {}", ran.stdout, ran.stderr);
        if code == 7 { Value::Null } else { ran.json()["whole_task"].clone() }
    };
    let right = ("app.py", "def sq(n):\n    return n * n\n");
    let parses = "python3 -m py_compile app.py";
    let found = whole(parses, &[right], 0);
    assert_eq!(found["checks"][0]["start"], json!(["green", "green", "green"]), "{found}");
    assert_eq!(found["weak"], json!(true), "{found}");
    assert_eq!(found["accepted"][0]["cheat"], "empty the files of the product");
    let found = whole("python3 -m unittest tests/test_app.py", &[right, PY_TEST], 0);
    assert_eq!(found["weak"], json!(false), "{found}");
    assert_eq!(whole("true", &[], 0)["weak"], json!(false));
    whole(&format!("'{FLAKY}'"), &[], 1);
    whole("no-such-tool --check", &[], 7);
    let ran = Repo::with(&task(parses), &[right]).ralph(&["rehearse", "demo"]);
    assert!(
        ran.stdout.contains("weak    the whole task\n      would pass: empty the files"),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.trim_end().ends_with("the exit code is 0."), "{}", ran.stdout);
}

/// The guard denies to edit it, and a change is put back; with `may_change:`, the check is weak.
#[test]
fn a_judge_that_is_the_product_itself_is_attacked_only_if_it_may_change() {
    for (check, file) in [
        ("sh app.sh --run", ("app.sh", "exit 1\n")),
        ("python3 qa/audit_pages.py", ("qa/audit_pages.py", "import sys\nsys.exit(1)\n")),
    ] {
        let (_, ran) = rehearse(check, &[file]);
        assert_eq!(ran.code, Some(0), "{check}: {} {}", ran.stdout, ran.stderr);
        let criterion = &ran.json()["criteria"][0];
        let found = (&criterion["judge_is_subject"], &criterion["weak"]);
        assert_eq!(found, (&json!(true), &json!(false)), "{check}");
        for (front, item) in [
            (format!("---\nmay_change: {}\n---\n", file.0), String::new()),
            (String::new(), format!("  - may_change: [\"{}\"]\n", file.0)),
        ] {
            let task = format!("{front}# Demo\n\n- [ ] it\n  - verify: ``{check}``\n{item}");
            let ran = with_cache(&task, &[file]).ralph(&["rehearse", "demo", "--json"]);
            assert_eq!(ran.code, Some(1), "{check}: {} {}", ran.stdout, ran.stderr);
            assert_eq!(ran.json()["criteria"][0]["judge_is_subject"], json!(false), "{check}");
        }
    }
    let task = "---\nprotect: qa\n---\n# Demo\n\n- [ ] it\n  - verify: `sh qa/a.sh`\n";
    let ran = with_cache(task, &[("qa/a.sh", "exit 1\n")]).ralph(&["rehearse", "demo"]);
    assert!(!ran.stdout.contains("may_change"), "{}", ran.stdout);
    let (_, ran) = rehearse("sh tests/run.sh", &[SQ, SQ_TEST]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(ran.json()["criteria"][0]["judge_is_subject"], json!(false));
}

#[test]
fn tests_that_may_change_can_lose_their_bodies() {
    let test = (
        "test/pad.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst { pad } = require('..');\ntest('pads', () => { for (const n of [7, 42]) assert.equal(pad(n), String(n).padStart(3, '0')); });\n",
    );
    let index = ("index.js", "exports.pad = n => '';\n");
    for (item, code) in [("", 0), ("  - may_change: [\"test/**\"]\n", 1)] {
        let task = format!("# Demo\n\n- [ ] it\n  - verify: `node --test test/`\n{item}");
        let ran = with_cache(&task, &[test, index]).ralph(&["rehearse", "demo", "--json"]);
        assert_eq!(ran.code, Some(code), "{item}: {} {}", ran.stdout, ran.stderr);
        assert!(code == 0 || ran.stdout.contains("empty their bodies"), "{}", ran.stdout);
    }
}

/// One cheat is enough: it is the most specific one, and has the right advice.
#[test]
fn the_reason_fits_the_check() {
    let of = |check: &str, files: &[(&str, &str)]| {
        let (_, ran) = rehearse(check, files);
        let accepted = ran.json()["criteria"][0]["accepted"].clone();
        assert_eq!(accepted.as_array().map(Vec::len), Some(1), "{check}: {accepted}");
        accepted[0]["cheat"].as_str().expect("a name").to_owned()
    };
    let emptied = of("! grep -rn TODO src/", &[("src/a.py", "# TODO\n"), ("src/b.py", "# TODO\n")]);
    assert_eq!(emptied, "empty the files of the product");
    let syntax = of("bash -n run.sh && test -x run.sh", &[]);
    assert_eq!(syntax, "create the files that the check names, with the smallest content");
}

#[test]
fn an_error_is_an_object_too() {
    let (_, ran) = rehearse("no-such-tool --check", &[]);
    assert_eq!(ran.json()["error"]["exit_code"], json!(7), "{}", ran.stdout);
}

#[test]
fn a_flaky_check_and_one_that_cannot_run() {
    let (_, ran) = rehearse(FLAKY, &[]);
    assert_eq!(ran.code, Some(1), "{} {}", ran.stdout, ran.stderr);
    let (_, ran) = rehearse("no-such-tool --check", &[]);
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("`no-such-tool` was not found"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`visible: [PATH]`"), "{}", ran.stderr);
    let (_, ran) = rehearse("[[ -f a ]]", &[]);
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("write `bash -c '…'`"), "{}", ran.stderr);
    let repo = Repo::new("# Demo\n\n- [x] it\n");
    let ran = repo.ralph(&["rehearse", "demo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("Nothing is open."), "{}", ran.stdout);
}

/// No work can turn them green. All of them are told, each with its line.
#[test]
fn checks_that_the_shell_cannot_run_are_told_with_their_lines() {
    for check in ["test \"a", "grep -q x one &&", "if test -f a; then echo", "(test -f a"] {
        let (_, ran) = rehearse(check, &[]);
        assert_eq!(ran.code, Some(7), "{check}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("line 4: `"), "{check}: {}", ran.stderr);
        assert!(ran.stderr.contains("the shell cannot read it"), "{check}: {}", ran.stderr);
    }
    let repo = Repo::new(
        "# Demo\n\n- [ ] a\n  - verify: `no-such-tool a | grep -q x`\n- [ ] b\n  - verify: `test -f b`\n\
         - [ ] c\n  - verify: `test -f c && (`\n",
    );
    let ran = repo.ralph(&["rehearse", "demo"]);
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("line 4: `no-such-tool a | grep -q x` cannot run"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("line 8: `test -f c && (` cannot run"), "{}", ran.stderr);
    // A run would come to nothing, too.
    let ran = repo.run("turns: []\n", &[]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
}

/// The advice for a check that never runs the code.
#[test]
fn a_check_that_only_parses_is_told_what_is_missing() {
    for (check, file) in [
        ("node --check app.js", ("app.js", "exports.a = ;\n")),
        ("sh -n app.sh", ("app.sh", "if true; then\n")),
    ] {
        let (_, ran) = rehearse(check, &[file]);
        let instead = ran.json()["criteria"][0]["accepted"][0]["instead"].to_string();
        assert!(instead.contains("only parses, lints, or searches"), "{check}: {instead}");
    }
}

#[test]
fn what_is_uncommitted_is_rehearsed_and_stays() {
    let repo = Repo::with("# Demo\n\n- [ ] it\n  - verify: `sh tests/run.sh`\n", &[SQ, SQ_TEST]);
    repo.write("tasks/demo/TASK.md", "# Demo\n\n- [ ] it\n  - verify: `test -f notes.txt`\n");
    repo.write("notes.txt", "mine\n");
    let before = everything(&repo);
    let ran = repo.ralph(&["rehearse", "demo", "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(ran.json()["criteria"][0]["checks"][0]["start"], json!(["green", "green", "green"]));
    assert!(everything(&repo) == before);
}

/// A check that cannot run stands cheats, but says nothing about the work.
#[test]
fn what_a_check_lacks_is_named() {
    let (_, ran) = rehearse(".venv/bin/pytest", &[(".gitignore", ".venv/\n")]);
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("`.venv/bin/pytest` was not found"), "{}", ran.stderr);
    if !has_tier("full") {
        return;
    }
    let outside =
        std::path::PathBuf::from("/tmp").join(format!("ralph-rehearse-{}", std::process::id()));
    std::fs::write(&outside, "").expect("written");
    let (_, ran) = rehearse(&format!("test -e {}", outside.display()), &[]);
    std::fs::remove_file(&outside).expect("removed");
    assert_eq!(ran.code, Some(7), "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("passes in the working tree"), "{}", ran.stderr);
}

#[test]
fn a_script_behind_a_link_is_rehearsed() {
    let task = "# Demo\n\n- [ ] it\n  - verify: `sh ci/run.sh`\n";
    let repo = Repo::with(task, &[SQ, SQ_TEST]);
    std::os::unix::fs::symlink("tests", repo.path("ci")).expect("linked");
    repo.commit("a link");
    let ran = repo.ralph(&["rehearse", "demo", "--json"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
}
