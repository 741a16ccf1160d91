//! Weak checks by their class, and strong neighbors of each.

use super::{CRATE, JS, PY, PY_TEST, Planted, SQ};

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

const LOCALES: (&str, &str) = (
    "qa/locales.py",
    "import json, pathlib, sys\n\nbase = pathlib.Path('locales')\nwant = set(json.loads((base / 'en.json').read_text()))\nbad = 0\nfor lang in ['de', 'fr', 'nl']:\n    path = base / f'{lang}.json'\n    if not path.exists():\n        print(f'{path}: missing')\n        bad += 1\n    elif set(json.loads(path.read_text())) != want:\n        bad += 1\nsys.exit(1 if bad else 0)\n",
);
const FRAGMENTS: (&str, &str) = (
    "ci/fragments.sh",
    "rc=0\nwhile read -r pr; do\n  if [ ! -f \"news/$pr.yml\" ]; then echo \"change $pr has none\"; rc=1; fi\ndone < prs.txt\nexit $rc\n",
);
const LINKS: (&str, &str) = (
    "qa/links.py",
    "import pathlib, re\n\nbad = []\nfor page in pathlib.Path('docs').rglob('*.md'):\n    for to in re.findall(r'\\]\\(([^)#]+)', page.read_text()):\n        if not (page.parent / to).is_file():\n            bad.append(f'{page}: {to}')\nprint('\\n'.join(bad))\nraise SystemExit(len(bad))\n",
);
const IMAGES: (&str, &str) = (
    "qa/images.py",
    "import pathlib, re, sys\n\nbad = 0\nfor page in pathlib.Path('site').glob('*.html'):\n    for tag in re.findall(r'<img[^>]*>', page.read_text()):\n        bad += 'alt=' not in tag\nsys.exit(bad > 0)\n",
);

pub(super) const WEAK: &[Planted] = &[
    // Files that only the script's output or its code has the names of.
    Planted {
        check: "python3 qa/locales.py",
        files: &[
            LOCALES,
            ("locales/en.json", "{\"pay\": \"Pay now\"}\n"),
            ("locales/de.json", "{\"pay\": \"Jetzt zahlen\"}\n"),
        ],
    },
    Planted {
        check: "sh ci/fragments.sh",
        files: &[FRAGMENTS, ("prs.txt", "101\n104\n"), ("news/101.yml", "kind: fix\n")],
    },
    Planted {
        check: "python3 qa/links.py",
        files: &[LINKS, ("docs/index.md", "[a](guides/a.md) [b](b.md)\n")],
    },
    Planted {
        check: "python3 qa/images.py",
        files: &[IMAGES, ("site/index.html", "<title>Shop</title>\n<img src=\"a.png\">\n")],
    },
    // Names in a list.
    Planted {
        check: "python3 qa/layout.py",
        files: &[(
            "qa/layout.py",
            "import os, sys\n\nREQUIRED = [\n    'src/pkg/core.py',\n    'LICENSE',\n]\nmissing = [p for p in REQUIRED if not os.path.exists(p)]\nsys.exit(1 if missing else 0)\n",
        )],
    },
    Planted {
        check: "sh qa/layout.sh",
        files: &[(
            "qa/layout.sh",
            "for f in src/a.py LICENSE; do\n  [ -f \"$f\" ] || exit 1\ndone\n",
        )],
    },
    // Words of a loop.
    Planted {
        check: "python3 qa/words.py",
        files: &[
            (
                "qa/words.py",
                "import pathlib, sys\n\nsrc = pathlib.Path('app.py').read_text()\nfor word in ('retry', 'backoff'):\n    if word not in src:\n        sys.exit(word)\n",
            ),
            PY,
        ],
    },
    Planted {
        check: "for w in retry backoff; do grep -q \"$w\" app.py || exit 1; done",
        files: &[PY],
    },
    Planted {
        check: "node -e \"const s = require('fs').readFileSync('app.js', 'utf8'); if (!['retry', 'backoff'].every(w => s.includes(w))) process.exit(1)\"",
        files: &[JS],
    },
    // Sizes.
    Planted { check: "test $(wc -l < list.csv) -ge 240", files: &[LIST] },
    Planted { check: "test $(cat list.csv | wc -l) -gt 1200", files: &[LIST] },
    Planted { check: "test $(awk 'END{print NR}' list.csv) -ge 150", files: &[LIST] },
    Planted { check: "test $(grep -c ',' list.csv) -eq 7", files: &[LIST] },
    Planted {
        check: "test $(stat -c %s style.css) -lt 40",
        files: &[("style.css", "body {\n    margin: 0;\n    padding: 0;\n    color: black;\n}\n")],
    },
    // Files by their kind.
    Planted {
        check: "python3 -c \"import xml.etree.ElementTree as e; e.parse('map.svg')\"",
        files: &[],
    },
    Planted {
        check: "python3 -c \"import tomllib; tomllib.load(open('a.toml','rb'))\"",
        files: &[],
    },
    Planted { check: "(cd out && sha256sum -c SHA256SUMS)", files: &[] },
    Planted { check: "tar -tzf out/site.tar.gz | grep -q index.html", files: &[] },
    // Comparisons.
    Planted { check: "bash -c 'diff <(sh sq.sh 7) <(echo 49)'", files: &[SQ] },
    Planted { check: "bash -c 'diff <(sh sq.sh 7) - <<< 49'", files: &[SQ] },
    Planted { check: "python3 tool.py --help | grep -q -- '--dry-run'", files: &[TOOL] },
    Planted { check: "python3 tool.py --help | grep -q -e --dry-run", files: &[TOOL] },
    Planted { check: "cargo test --offline again 2>&1 | grep -q '[1-9] passed'", files: &CRATE },
    Planted {
        check: "python3 -m unittest tests.test_one",
        files: &[
            PY,
            (
                "tests/test_one.py",
                "import unittest\nfrom app import sq\n\n\nclass T(unittest.TestCase):\n    def test_sq(self):\n        self.assertEqual(sq(12), 144)\n",
            ),
        ],
    },
    // Builds.
    Planted { check: "gcc -fsyntax-only src/area.c", files: &[TODO_C] },
    Planted {
        check: "cargo check --offline",
        files: &[CRATE[0], CRATE[1], CRATE[2], ("src/lib.rs", "mod cache;\n")],
    },
    // Recipes.
    Planted {
        check: "make -s docs && test -s site/index.html",
        files: &[("Makefile", "all:\n\t@true\n"), (".gitignore", "site\n")],
    },
    Planted {
        check: "npm run --silent build && test -f dist/a.js",
        files: &[("package.json", "{\"scripts\": {}}\n"), (".gitignore", "dist\n")],
    },
    // Stubs.
    Planted {
        check: "python3 -m unittest tests.test_put",
        files: &[(
            "tests/test_put.py",
            "import unittest\nfrom box import put\n\n\nclass T(unittest.TestCase):\n    def test_put(self):\n        self.assertIsNotNone(put(3))\n",
        )],
    },
    Planted { check: "python3 -c 'import app; assert callable(app.cube)'", files: &[PY] },
    Planted {
        check: "node --test tests/",
        files: &[
            JS,
            (
                "tests/cube.test.js",
                "const test = require('node:test');\nconst assert = require('node:assert');\nconst { cube } = require('../app');\ntest('cube', () => assert.ok(cube(3)));\n",
            ),
        ],
    },
    Planted {
        check: "node -e \"if (typeof require('./app').cube !== 'function') process.exit(1)\"",
        files: &[JS],
    },
    // JSON.
    Planted { check: "python3 -c \"assert 'def cube' in open('app.py').read()\"", files: &[PY] },
];

pub(super) const STRONG: &[Planted] = &[
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
];
