//! More weak checks of the kinds that `rehearse` knows, and strong checks beside them.

use super::{CRATE, PY, PY_TEST, Planted, SQ};

const LIST: (&str, &str) = ("list.csv", "code,name\nAT,Austria\n");
const MODEL: (&str, &str) = (
    "tests/test_box.py",
    "import random\nimport unittest\nfrom box import put\n\n\nclass T(unittest.TestCase):\n    def test_put(self):\n        for _ in range(9):\n            n = random.randrange(10 ** 6)\n            self.assertEqual(put(n), [n, n + 1])\n",
);
const TODO_C: (&str, &str) =
    ("src/area.c", "#include \"shape.h\"\n\nint area(shape s) { return s.w; }\n");
const TOOL: (&str, &str) = (
    "tool.py",
    "import argparse\n\np = argparse.ArgumentParser()\np.parse_args()\nraise SystemExit(3)\n",
);

pub(super) const WEAK: &[Planted] = &[
    Planted {
        check: "test $(stat -c %s style.css) -lt 40",
        files: &[("style.css", "body {\n    margin: 0;\n    padding: 0;\n    color: black;\n}\n")],
    },
    Planted {
        check: "python3 -c \"import xml.etree.ElementTree as e; e.parse('map.svg')\"",
        files: &[],
    },
    Planted {
        check: "python3 -c \"import tomllib; tomllib.load(open('a.toml','rb'))\"",
        files: &[],
    },
    Planted { check: "python3 tool.py --help | grep -q -- '--dry-run'", files: &[TOOL] },
    Planted { check: "python3 tool.py --help | grep -q -e --dry-run", files: &[TOOL] },
    Planted { check: "gcc -fsyntax-only src/area.c", files: &[TODO_C] },
    Planted {
        check: "cargo check --offline",
        files: &[CRATE[0], CRATE[1], CRATE[2], ("src/lib.rs", "mod cache;\n")],
    },
    Planted {
        check: "javac -d out src/*.java && java -cp out Main 12 | grep -q 144",
        files: &[("src/Main.java", "public class Main {}\n"), (".gitignore", "out/\n")],
    },
    Planted {
        check: "bash tests/e2e.sh",
        files: &[
            (
                "tests/e2e.sh",
                "cd \"$(dirname \"$0\")/..\"\nout=$(sh bin/sum.sh 17 25)\nif [[ \"$out\" != \"42\" ]]; then\n  echo \"got $out\" >&2\n  exit 1\nfi\n",
            ),
            ("bin/sum.sh", "echo 0\n"),
        ],
    },
    Planted { check: "sqlite3 :memory: < schema.sql", files: &[] },
    Planted { check: "cd web && test -d img", files: &[("web/x", "")] },
    Planted { check: "for f in a.txt b/c.txt; do test -f $f; done", files: &[] },
    Planted { check: "grep -q 'retries\\? = [0-9]\\+' app.py", files: &[PY] },
    Planted {
        check: "g++ -o sq sq.cpp && ./sq 7 | grep -q 49",
        files: &[("sq.cpp", "int main() {}\n")],
    },
    Planted {
        check: "grep -qE '^USER [a-z]+' Dockerfile && grep -q '^HEALTHCHECK' Dockerfile",
        files: &[("Dockerfile", "FROM alpine\n")],
    },
    Planted {
        check: "test -z \"$(sort names.txt | uniq -d)\"",
        files: &[("names.txt", "a\nb\na\n")],
    },
    Planted {
        check: "test -z \"$(grep -rn console.log src)\" && test -f src/a.js",
        files: &[("src/a.js", "console.log(1)\n")],
    },
];

pub(super) const STRONG: &[Planted] = &[
    Planted { check: "cargo test --offline again 2>&1 | grep -q '[1-9] passed'", files: &CRATE },
    Planted {
        check: "test $(wc -l < list.csv) -ge 240 && test \"$(cut -d, -f1 list.csv | sort -u | wc -l)\" -ge 240",
        files: &[LIST],
    },
    Planted {
        check: "bash -c 'for n in 3 8; do diff <(sh sq.sh $n) <(echo $((n * n))) || exit 1; done'",
        files: &[SQ],
    },
    Planted {
        check: "n=$(shuf -i 2-999 -n 1); test \"$(sh sq.sh $n)\" = $((n * n))",
        files: &[SQ],
    },
    Planted { check: "python3 -m unittest tests.test_box", files: &[MODEL] },
    Planted {
        check: "python3 -m unittest tests.test_box",
        files: &[MODEL, ("box.py", "def put(n):\n    return [n]\n")],
    },
    Planted {
        check: "cargo check --offline && cargo test --offline squares",
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
        check: "make -s all && python3 -m unittest tests.test_app",
        files: &[PY, PY_TEST, ("Makefile", "all:\n\t@true\n")],
    },
    Planted {
        check: "python3 -c 'import app; assert callable(app.sq) and all(app.sq(n) == n * n for n in range(1, 9))' && python3 -m unittest tests.test_app",
        files: &[PY, PY_TEST],
    },
    Planted {
        check: "for n in 3 8; do out=$(sh sq.sh $n); if [ \"$out\" != $((n * n)) ]; then exit 1; fi; done",
        files: &[("sq.sh", "echo 0\n")],
    },
    Planted {
        check: "python3 qa/words.py && python3 -m unittest tests.test_sq",
        files: &[
            (
                "qa/words.py",
                "import sys\n\nsrc = open('sq.py').read()\nfor word in ('def sq', 'return'):\n    if word not in src:\n        sys.exit(word)\n",
            ),
            ("sq.py", "def sq(n):\n    return 0\n"),
            (
                "tests/test_sq.py",
                "import unittest\nfrom sq import sq\n\n\nclass T(unittest.TestCase):\n    def test_sq(self):\n        for n in range(9):\n            self.assertEqual(sq(n), n * n)\n",
            ),
        ],
    },
    Planted {
        check: "python3 -m unittest tests.test_two",
        files: &[(
            "tests/test_two.py",
            "import unittest\nimport app\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        s = app.total([1, 2])\n        self.assertEqual(s, 3)\n        s = app.total([])\n        self.assertEqual(s, 0)\n",
        )],
    },
    Planted {
        check: "python3 -c \"from codec import enc, dec; assert dec(enc('abc')) == 'abc' and enc('abc') != 'abc' and enc('abc') != enc('abd') and len(enc('abc')) == 8 and len(enc('a')) == 4\"",
        files: &[],
    },
    Planted {
        check: "node scripts/plural.mjs",
        files: &[
            (
                "scripts/plural.mjs",
                "import { plural } from '../lib/plural.mjs';\nfor (const [n, w] of [[1, 'item'], [2, 'items'], [0, 'items']]) if (plural(n) !== w) process.exit(1);\n",
            ),
            ("lib/plural.mjs", "export const plural = n => '';\n"),
        ],
    },
    Planted {
        check: "sh t/gcd.sh",
        files: &[
            (
                "t/gcd.sh",
                "for p in '12 18 6' '7 13 1'; do set -- $p; [ \"$(sh gcd.sh $1 $2)\" = \"$3\" ] || exit 1; done\n",
            ),
            ("gcd.sh", "echo 0\n"),
        ],
    },
    Planted {
        check: "echo 3 | sh sq.sh | grep -qx 9 && echo 4 | sh sq.sh | grep -qx 16",
        files: &[("sq.sh", "cat\n")],
    },
];
