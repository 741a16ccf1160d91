//! Weak checks that one constant, one file, or a copy meets, and strong neighbors of each.

use super::{CRATE, Planted};

const CLI_TEST: (&str, &str) = (
    "tests/report.check.js",
    "const { execFileSync } = require('child_process');\nconst assert = require('assert');\nconst out = JSON.parse(execFileSync('node', ['report.js', '--json'], { encoding: 'utf8' }));\nassert.strictEqual(out.total, 3);\nassert.deepStrictEqual(out.items, ['a', 'b']);\n",
);
const GO: (&str, &str) = ("go.mod", "module a\n\ngo 1.18\n");
const MINI: (&str, &str) = (
    "mini.py",
    "class App:\n    def __init__(self):\n        self.routes = {}\n\n    def route(self, path):\n        def add(f):\n            self.routes[path] = f\n            return f\n        return add\n",
);
const ROUTES: (&str, &str) = (
    "app.py",
    "from mini import App\n\napp = App()\n\n\n@app.route('/')\ndef index():\n    return 'hi'\n",
);

pub(super) const WEAK: &[Planted] = &[
    // A call outside its assertion.
    Planted {
        check: "python3 -m unittest tests.test_one",
        files: &[(
            "tests/test_one.py",
            "import unittest\nimport app\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        s = app.total([1, 2])\n        self.assertEqual(s, 3)\n",
        )],
    },
    Planted {
        check: "python3 -m unittest tests.test_cart",
        files: &[(
            "tests/test_cart.py",
            "import unittest\nfrom cart import Cart\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        c = Cart()\n        c.add('tea', 2)\n        self.assertEqual(c.total(), 10)\n        self.assertEqual(c.names, ['tea'])\n",
        )],
    },
    Planted {
        check: "node --test tests/one.test.mjs",
        files: &[
            (
                "tests/one.test.mjs",
                "import test from 'node:test';\nimport assert from 'node:assert';\nimport { slug } from '../app.mjs';\ntest('slug', () => {\n  const s = slug('A b');\n  assert.strictEqual(s, 'a-b');\n});\n",
            ),
            ("app.mjs", "export function slug(t) { return t }\n"),
        ],
    },
    Planted {
        check: "node tests/check.js",
        files: &[(
            "tests/check.js",
            "const assert = require('assert');\nconst { Stack } = require('../stack');\nconst s = new Stack();\ns.push(2);\nassert.strictEqual(s.pop(), 2);\nassert.strictEqual(s.size, 1);\n",
        )],
    },
    Planted {
        check: "ruby -Ilib -e 'require \"temp\"; abort \"wrong\" unless Temp.c2f(100) == 212'",
        files: &[("lib/temp.rb", "module Temp\nend\n")],
    },
    Planted {
        check: "ruby -Ilib -e 'require \"temp\"; exit 1 unless c2f(100) == 212'",
        files: &[("lib/temp.rb", "def c2f(n) = 0\n")],
    },
    Planted {
        check: "php -r 'require \"temp.php\"; exit(c2f(100) === 212 ? 0 : 1);'",
        files: &[("temp.php", "<?php\nfunction c2f($n) { return 0; }\n")],
    },
    // The output of a program that the check starts.
    Planted {
        check: "javac -d out src/*.java && java -cp out Main 12 | grep -q 144",
        files: &[("src/Main.java", "public class Main {}\n"), (".gitignore", "out/\n")],
    },
    Planted {
        check: "bash tests/e2e.sh",
        files: &[
            (
                "tests/e2e.sh",
                "cd \"$(dirname \"$0\")/..\"\nout=$(perl bin/sum.pl 17 25)\nif [[ \"$out\" != \"42\" ]]; then\n  echo \"got $out\" >&2\n  exit 1\nfi\n",
            ),
            ("bin/sum.pl", "print \"0\\n\";\n"),
        ],
    },
    // The output of a program that the code starts.
    Planted {
        check: "node tests/report.check.js",
        files: &[CLI_TEST, ("report.js", "console.log('{}')\n")],
    },
    Planted {
        check: "python3 tests/check_cli.py",
        files: &[
            (
                "tests/check_cli.py",
                "import json, subprocess, sys\nout = subprocess.run([sys.executable, 'cli.py', 'stats'], capture_output=True, text=True).stdout\ndata = json.loads(out)\nif data['count'] != 4:\n    sys.exit(1)\n",
            ),
            ("cli.py", "print('{}')\n"),
        ],
    },
    Planted {
        check: "sh pack.sh && tar -tzf out.tar.gz > /dev/null",
        files: &[(".gitignore", "out.tar.gz\n")],
    },
    // Compiled languages.
    Planted {
        check: "cargo test --offline",
        files: &[
            CRATE[0],
            CRATE[1],
            CRATE[2],
            ("src/lib.rs", "pub fn parse(s: &str) -> Result<u32, String> { Err(s.to_owned()) }\n"),
            ("tests/p.rs", "#[test]\nfn parses() { assert!(a::parse(\"x=1\").is_ok()); }\n"),
        ],
    },
    Planted {
        check: "go test ./...",
        files: &[
            GO,
            ("v.go", "package a\n\nfunc Version() string { return \"\" }\n"),
            (
                "v_test.go",
                "package a\n\nimport \"testing\"\n\nfunc TestVersion(t *testing.T) {\n\tif got := Version(); got != \"1.2.0\" {\n\t\tt.Fatal(got)\n\t}\n}\n",
            ),
        ],
    },
    // Files that hold only what is looked for.
    Planted { check: "sqlite3 :memory: < schema.sql", files: &[] },
    Planted { check: "sqlite3 :memory: '.read schema.sql'", files: &[] },
    Planted {
        check: "grep -q 'CREATE TABLE users' schema.sql && sqlite3 :memory: < schema.sql",
        files: &[],
    },
    Planted {
        check: "grep -qE '^USER [a-z]+' Dockerfile && grep -q '^HEALTHCHECK' Dockerfile",
        files: &[("Dockerfile", "FROM alpine\n")],
    },
    Planted {
        check: "python3 tests/check_docker.py",
        files: &[
            ("Dockerfile", "FROM alpine\n"),
            (
                "tests/check_docker.py",
                "import re, sys\ntext = open('Dockerfile').read()\nif not re.search(r'^USER\\s+\\w+', text, re.M):\n    sys.exit('no user')\n",
            ),
        ],
    },
    Planted {
        check: "ruby -ryaml -e 'd = YAML.load_file(\"ci.yml\"); exit 1 unless d[\"jobs\"][\"test\"]'",
        files: &[],
    },
    Planted {
        check: "python3 -c \"import configparser; c = configparser.ConfigParser(); c.read('app.ini'); assert c['server']['port'] == '8080'\"",
        files: &[],
    },
    Planted { check: "test \"$(head -n1 out.csv)\" = 'id,name,price'", files: &[] },
    Planted {
        check: "python3 -c \"import csv; r = csv.DictReader(open('plans.csv')); assert 'price' in r.fieldnames\"",
        files: &[],
    },
    Planted {
        check: "grep -q '^name: app' conf.ini && python3 -c \"import configparser; c = configparser.ConfigParser(); c.read('conf.ini'); assert c['db']['host']\" || exit 1",
        files: &[],
    },
    Planted {
        check: "python3 -c \"from app import app; assert '/health' in app.routes\"",
        files: &[MINI, ROUTES],
    },
    Planted {
        check: "test -z \"$(sort names.txt | uniq -d)\"",
        files: &[("names.txt", "a\nb\na\n")],
    },
    // There and back.
    Planted {
        check: "python3 -c \"from codec import enc, dec; assert dec(enc('abc')) == 'abc'\"",
        files: &[],
    },
    Planted {
        check: "test \"$(echo secret | sh enc.sh | sh dec.sh)\" = secret",
        files: &[("enc.sh", "exit 1\n"), ("dec.sh", "exit 1\n")],
    },
    // Copies.
    Planted { check: "diff build/a.css src/a.css", files: &[("src/a.css", "a { b: c }\n")] },
    Planted {
        check: "python3 gen.py && cmp out/page.html golden/page.html",
        files: &[("golden/page.html", "<h1>x</h1>\n"), (".gitignore", "out\n")],
    },
    Planted {
        check: "test -z \"$(grep -rn console.log src)\" && test -f src/a.js",
        files: &[("src/a.js", "console.log(1)\n")],
    },
];

pub(super) const STRONG: &[Planted] = &[
    Planted {
        check: "for n in 3 8; do out=$(sh sq.sh $n); if [ \"$out\" != $((n * n)) ]; then exit 1; fi; done",
        files: &[("sq.sh", "echo 0\n")],
    },
    Planted {
        check: "ruby -Ilib -e 'require \"temp\"; exit 1 unless [0, 100].map { |n| c2f(n) } == [32, 212]'",
        files: &[("lib/temp.rb", "def c2f(n) = 0\n")],
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
