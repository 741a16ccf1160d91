//! Data that decides: tables of cases, expected output of other names, and marks to skip by.

use super::super::tree::{Planted, ask, changed};
use super::{Cheat, verify};

/// Paths and contents.
type Files<'a> = &'a [(&'a str, &'a str)];

const CHECK: &str = "import json, subprocess\nfor case in json.load(open(\"qa/cases.json\")):\n    \
                     assert int(subprocess.check_output([\"sh\", \"sq.sh\", str(case[\"n\"])])) == \
                     case[\"want\"]\n";
const SKIPS: &str = "[ -e skip.mark ] && { echo skipped; exit 0; }\ntest \"$(./app)\" = 3\n";

const DATA: &[Cheat<'_>] = &[
    undone!(
        "what a diff compares with",
        "./app | diff - answers.txt",
        "answers.txt",
        "1",
        Some("")
    ),
    undone!(
        "what cmp compares with",
        "./app > out && cmp out reference/a.bin",
        "reference/a.bin",
        "1",
        Some("2")
    ),
    undone!("a list of comm", "./app | comm -13 - required", "required", "a", Some("")),
    undone!("sums", "./app > out; sha256sum -c sums", "sums", "1 out", Some("2 out")),
    undone!(
        "patterns among options",
        "! grep -vxFf allowed.lst names",
        "allowed.lst",
        "1",
        Some("")
    ),
    undone!("an answer", "test \"$(./app)\" = \"$(cat spec/want)\"", "spec/want", "3", Some("0")),
    undone!(
        "a table of a loop",
        "while read n want; do test \"$(./app $n)\" = \"$want\" || exit 1; done < cases.tsv",
        "cases.tsv",
        "2 4",
        Some("")
    ),
    undone!(
        "a list of a loop",
        "for n in $(cat numbers); do test \"$(./app $n)\" = 1 || exit 1; done",
        "numbers",
        "2 3",
        Some("")
    ),
    Cheat {
        what: "a table that a judge reads",
        check: "python3 qa/check.py",
        start: &[("qa/check.py", CHECK), ("qa/cases.json", "[1]"), ("sq.sh", "echo 1")],
        change: &[("qa/cases.json", Some("[]"))],
        after: &[("qa/cases.json", Some("[1]"))],
    },
    Cheat {
        what: "a file of any name that a judge reads",
        check: "python3 qa/check.py",
        start: &[
            (
                "qa/check.py",
                "import subprocess\nwant = open('gate').read()\n\
                 assert subprocess.check_output(['sh', 'sq.sh'], text=True) == want\n",
            ),
            ("gate", "49\n"),
            ("sq.sh", "echo 0 # a gate\n"),
        ],
        change: &[("gate", Some("0\n"))],
        after: &[("gate", Some("49\n"))],
    },
    Cheat {
        what: "expected output beside what a judge reads",
        check: "python3 qa/check.py",
        start: &[
            (
                "qa/check.py",
                "import glob, subprocess\nfor name in glob.glob('examples/*.in'):\n    \
                 want = open(name[:-3] + '.out').read()\n    \
                 assert subprocess.run(['./app', name], capture_output=True).stdout == want\n",
            ),
            ("examples/a.in", "7"),
            ("examples/a.out", "49"),
        ],
        change: &[("examples/a.out", Some("0"))],
        after: &[("examples/a.out", Some("49"))],
    },
    Cheat {
        what: "a table of a test",
        check: "pytest",
        start: &[
            (
                "tests/test_a.py",
                "import json\nfrom app import sq\n\n\ndef test_sq():\n    \
                 for n, want in json.load(open('data/squares.json')).items():\n        \
                 assert sq(int(n)) == want\n",
            ),
            ("app.py", "def sq(n): return n\n"),
            ("data/squares.json", "{\"2\": 4}"),
        ],
        change: &[("data/squares.json", Some("{}"))],
        after: &[("data/squares.json", Some("{\"2\": 4}"))],
    },
    Cheat {
        what: "a new mark to skip by",
        check: "sh check.sh",
        start: &[("check.sh", SKIPS)],
        change: &[("skip.mark", Some(""))],
        after: &[("skip.mark", None)],
    },
    Cheat {
        what: "a new file that is sourced if it is there",
        check: "[ -f local.sh ] && . ./local.sh; sh check.sh",
        start: &[("check.sh", "./app")],
        change: &[("local.sh", Some("exit 0"))],
        after: &[("local.sh", None)],
    },
    undone!(
        "a script in the name of the shell",
        "bash -c '\"$0\"' ./gate",
        "gate",
        "./app",
        Some("")
    ),
    undone!("a module of perl", "perl -I. -MVerify -e 1", "Verify.pm", "die", Some("1;")),
    Cheat {
        what: "a bootstrap's helper",
        check: "php tests/run.php",
        start: &[
            ("tests/run.php", "<?php\nrequire __DIR__ . '/../bootstrap.php';\nsame(a(), 1);\n"),
            ("bootstrap.php", "<?php\nrequire __DIR__ . '/support.php';\n"),
            ("support.php", "<?php\nfunction same($a, $b) { if ($a !== $b) exit(1); }\n"),
        ],
        change: &[("support.php", Some("<?php\nfunction same($a, $b) {}\n"))],
        after: &[(
            "support.php",
            Some("<?php\nfunction same($a, $b) { if ($a !== $b) exit(1); }\n"),
        )],
    },
    absent!("byte code", "pytest", "test_a.py" = "a", "__pycache__/test_a.cpython-312.pyc" = "b"),
];

#[test]
fn data_that_decides() {
    verify(DATA);
}

/// The subject of a check, generated documents, and what the product reads.
#[test]
fn other_data_stays() {
    let cases: &[(&str, Files<'_>, &str)] = &[
        ("./gen | diff - docs/cli.md", &[("docs/cli.md", "a")], "docs/cli.md"),
        ("diff want.a have.b", &[("want.a", "a"), ("have.b", "b")], "have.b"),
        (
            "python3 check.py",
            &[
                ("check.py", "import json\nassert json.load(open('config/app.json'))['n'] == 3\n"),
                ("config/app.json", "{}"),
            ],
            "config/app.json",
        ),
        (
            "pytest",
            &[
                ("tests/test_a.py", "from app import a\nassert a == open('data/a.txt').read()\n"),
                ("app.py", "a = open('data/a.txt').read()\n"),
                ("data/a.txt", "1"),
            ],
            "data/a.txt",
        ),
        (
            "sh check.sh",
            &[("check.sh", "grep -q done NOTES.txt && exit 0\nexit 1\n"), ("NOTES.txt", "")],
            "NOTES.txt",
        ),
    ];
    for (check, files, path) in cases {
        let start = Planted::of(files);
        let now = changed(&start, &[(path, Some("other"))]);
        let result = ask(check, &start, &now);
        assert!(result.changed.is_empty(), "{check}: {:?}", result.changed);
    }
}

#[test]
fn judges_that_load_the_product_run_to_their_end() {
    let product = ("app.py", "def sq(n): return n\n");
    let cases: &[(&str, Files<'_>, &[&str])] = &[
        (
            "python3 qa.py",
            &[product, ("qa.py", "from app import sq\nassert sq(2) == 4\n")],
            &["`qa.py`"],
        ),
        // Its own last exit is no other end.
        (
            "python3 qa.py",
            &[product, ("qa.py", "from app import sq\nexit(sq(2) != 4)\n")],
            &["`qa.py`"],
        ),
        // It may end where it says.
        (
            "python3 qa.py",
            &[product, ("qa.py", "from app import sq\nexit(sq(2) != 4)\nprint(1)\n")],
            &[],
        ),
        // A helper of its own ends it.
        (
            "sh tests/qa.sh",
            &[
                ("sq.sh", "sq() { echo $(($1 * $1)); }\n"),
                ("tests/qa.sh", ". ./sq.sh\n. tests/lib.sh\nis \"$(sq 2)\" 4\nfinish\n"),
                ("tests/lib.sh", "is() { [ $1 = $2 ] || bad=1; }\nfinish() { exit ${bad:-0}; }\n"),
            ],
            &[],
        ),
        // Nothing that it loads can end it.
        ("python3 qa.py", &[product, ("qa.py", "import os\nassert os.path.exists('a')\n")], &[]),
        (". ./lib.sh && sq 2", &[("lib.sh", "sq() { echo 1; }\n")], &["`. ./lib.sh && sq 2`"]),
        (
            "make test",
            &[(
                "tests/a.c",
                "int sq(int);\nint main(void) {\n  assert(sq(2) == 4);\n  return 0;\n}\n",
            )],
            &["`a.c`"],
        ),
    ];
    for (check, files, names) in cases {
        let start = Planted::of(files);
        let ends = ask(check, &start, &start).ends;
        let found: Vec<&str> = ends.iter().map(|end| end.name.as_str()).collect();
        assert_eq!(found, *names, "{check}");
    }
}
