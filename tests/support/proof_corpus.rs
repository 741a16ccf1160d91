//! Reads tests/corpus/proof.txt.

/// Is it a lie?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Must never be proven.
    Lie,
    /// Must be proven, or held.
    Honest,
}

/// A project, a check, and what an agent does.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// The line of the corpus.
    pub(crate) line: usize,
    pub(crate) base: String,
    check: Option<String>,
    front: String,
    files: Vec<(String, String)>,
    /// The guard denies it: the judge itself changes.
    pub(crate) guarded: bool,
    /// Only the tier `full` proves or refuses it: docs/security.md says so.
    pub(crate) needs_full: bool,
    /// Honest work that nobody has to review.
    pub(crate) never_held: bool,
    /// Shell lines that prepare the working tree, as a human would.
    pub(crate) prepare: Vec<String>,
    build: String,
}

const CORPUS: &str = include_str!("../corpus/proof.txt");

/// What the shell script of every case begins with: `done_` ticks, notes and commits everything.
const PRELUDE: &str = "set -e
tick() { [ -z \"$TICKED\" ] || return 0; sed -i.bak 's/\\[ \\] it works/[x] it works/' tasks/demo/TASK.md; rm tasks/demo/TASK.md.bak; }
note() { echo \"- $(date +%F) did it\" >> tasks/demo/progress.md; }
done_() { tick; note; git add -A; git commit -qm 'ralph(demo): work'; }
";

/// A project: its name, its check, and its files.
type Base = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The projects.
const BASES: [Base; 12] = [
    (
        "sh",
        "sh tests/run.sh",
        &[
            ("sq.sh", "echo 0\n"),
            (
                "tests/run.sh",
                ". lib/assert.sh\nfor n in 2 3 7; do assert \"$(sh sq.sh $n)\" $(($n * $n)); done\n",
            ),
            (
                "lib/assert.sh",
                "assert() { test \"$1\" = \"$2\" || { echo \"$1, not $2\"; exit 1; }; }\n",
            ),
        ],
    ),
    (
        "py",
        "python3 -m unittest discover -s tests -t .",
        &[
            ("app.py", "def sq(n):\n    return 0\n"),
            ("tests/__init__.py", ""),
            (
                "tests/test_app.py",
                "import unittest\n\nfrom app import sq\n\n\nclass AppTest(unittest.TestCase):\n    def test_sq(self):\n        for n in range(5):\n            self.assertEqual(sq(n), n * n)\n",
            ),
            (".gitignore", "__pycache__/\ncache/\n"),
        ],
    ),
    (
        "make",
        "make test",
        &[
            ("sq.sh", "echo 0\n"),
            ("Makefile", "test: lint\n\t@sh tests/run.sh\n\nlint:\n\t@sh -n sq.sh\n"),
            (
                "tests/run.sh",
                "for n in 2 3 7; do test \"$(sh sq.sh $n)\" = $(($n * $n)) || exit 1; done\n",
            ),
        ],
    ),
    (
        "npm",
        "npm test --silent",
        &[
            ("sq.js", "exports.sq = n => 0;\n"),
            (
                "package.json",
                "{\n  \"name\": \"sq\",\n  \"scripts\": {\n    \"test\": \"node tests/run.js\"\n  }\n}\n",
            ),
            (
                "tests/run.js",
                "const assert = require('assert');\nconst { sq } = require('../sq.js');\nfor (const n of [2, 3, 7]) assert.strictEqual(sq(n), n * n);\nconsole.log('ok');\n",
            ),
            (".gitignore", "node_modules/\n"),
        ],
    ),
    (
        "golden",
        "sh report.sh | diff - tests/expected.txt",
        &[
            ("report.sh", "echo nothing\n"),
            ("data.txt", "b 2\na 1\n"),
            ("tests/expected.txt", "a 1\nb 2\n"),
        ],
    ),
    (
        "rust",
        "cargo test --offline --quiet",
        &[
            ("Cargo.toml", "[package]\nname = \"sq\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("src/lib.rs", "pub fn sq(n: u32) -> u32 {\n    n * 0\n}\n"),
            (
                "tests/sq.rs",
                "#[test]\nfn squares() {\n    for n in 1..5 {\n        assert_eq!(sq::sq(n), n * n);\n    }\n}\n",
            ),
            (".gitignore", "target/\nCargo.lock\n"),
        ],
    ),
    (
        "nodetest",
        "node --test",
        &[
            ("sq.js", "exports.sq = n => 0;\n"),
            (
                "test/sq.test.js",
                "const test = require('node:test');\nconst assert = require('node:assert');\nconst { sq } = require('../sq.js');\ntest('two', () => assert.strictEqual(sq(2), 4));\ntest('three', () => assert.strictEqual(sq(3), 9));\n",
            ),
            (
                "package.json",
                "{\n  \"name\": \"sq\",\n  \"scripts\": {\n    \"test\": \"node --test\"\n  }\n}\n",
            ),
            (".gitignore", "node_modules/\n"),
        ],
    ),
    (
        "php",
        "php tests/run.php",
        &[
            ("src/sq.php", "<?php\nfunction sq($n) { return 0; }\n"),
            (
                "tests/run.php",
                "<?php\nrequire __DIR__ . \"/../src/sq.php\";\nforeach ([2, 3, 7] as $n) {\n    if (sq($n) !== $n * $n) { fwrite(STDERR, \"sq($n)\\n\"); exit(1); }\n}\necho \"3 ok\\n\";\n",
            ),
        ],
    ),
    (
        "ruby",
        "ruby -Ilib test/test_sq.rb",
        &[
            ("lib/sq.rb", "def sq(n) = 0\n"),
            (
                "test/test_sq.rb",
                "require \"minitest/autorun\"\nrequire \"sq\"\n\nclass TestSq < Minitest::Test\n  def test_sq\n    [2, 3, 7].each { |n| assert_equal n * n, sq(n) }\n  end\nend\n",
            ),
        ],
    ),
    (
        "c",
        "make test",
        &[
            ("src/sq.c", "int sq(int n) { return 0; }\n"),
            ("src/sq.h", "int sq(int n);\n"),
            (
                "tests/test_sq.c",
                "#include <assert.h>\n#include <stdio.h>\n#include \"../src/sq.h\"\nint main(void) { for (int n = 2; n < 5; n++) assert(sq(n) == n * n); puts(\"3 passed\"); return 0; }\n",
            ),
            (
                "Makefile",
                "CC = cc\nCFLAGS = -Wall\n\ntest: test_sq\n\t./test_sq\n\ntest_sq: tests/test_sq.c src/sq.c\n\t$(CC) $(CFLAGS) -o $@ $^\n\nclean:\n\trm -f test_sq\n",
            ),
            (".gitignore", "test_sq\nbuild/\n"),
        ],
    ),
    (
        "cmake",
        "cmake -S . -B build >/dev/null && cmake --build build >/dev/null && ctest --test-dir build --output-on-failure",
        &[
            ("src/sq.c", "int sq(int n) { return 0; }\n"),
            ("src/sq.h", "int sq(int n);\n"),
            (
                "tests/test_sq.c",
                "#include <stdio.h>\n#include \"../src/sq.h\"\nint main(void) { for (int n = 2; n < 5; n++) if (sq(n) != n * n) { printf(\"sq(%d)\\n\", n); return 1; } return 0; }\n",
            ),
            (
                "CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.10)\nproject(sq C)\nenable_testing()\nadd_library(sq src/sq.c)\nadd_executable(test_sq tests/test_sq.c)\ntarget_link_libraries(test_sq sq)\nadd_test(NAME sq COMMAND test_sq)\n",
            ),
            (".gitignore", "build/\n"),
        ],
    ),
    (
        "go",
        "go test ./...",
        &[
            ("go.mod", "module sq\n\ngo 1.18\n"),
            ("sq.go", "package sq\n\nfunc Sq(n int) int { return 0 }\n"),
            (
                "sq_test.go",
                "package sq\n\nimport \"testing\"\n\nfunc TestSq(t *testing.T) {\n\tfor n := 1; n < 4; n++ {\n\t\tif Sq(n) != n*n {\n\t\t\tt.Fatal(n)\n\t\t}\n\t}\n}\n",
            ),
        ],
    ),
];

impl Case {
    /// Is everything installed that its project needs?
    pub(crate) fn can_run(&self) -> bool {
        let needs: &[&str] = match self.base.as_str() {
            "py" => &["python3"],
            "make" => &["make"],
            "npm" => &["npm", "node"],
            "rust" => &["cargo"],
            "nodetest" => &["node"],
            "php" => &["php"],
            "ruby" => &["ruby"],
            "c" => &["make", "cc"],
            "cmake" => &["cmake", "ctest", "make", "cc"],
            "go" => &["go"],
            _ => &[],
        };
        const NAMED: [&str; 18] = [
            "bash", "bc", "cc", "cmake", "go", "javac", "jq", "make", "node", "npm", "perl", "php",
            "prove", "python3", "ruby", "sqlite3", "tclsh", "xmllint",
        ];
        let check = self.check.as_deref().unwrap_or_default();
        let words = check.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let named = words.filter(|word| NAMED.contains(word));
        needs.iter().copied().chain(named).all(|program| which::which(program).is_ok())
    }

    fn base(&self) -> &'static Base {
        BASES
            .iter()
            .find(|base| base.0 == self.base)
            .unwrap_or_else(|| panic!("base {}", self.base))
    }

    /// Its TASK.md.
    pub(crate) fn task(&self) -> String {
        let check = self.check.as_deref().unwrap_or(self.base().1);
        let front = &self.front;
        format!(
            "---\nallow: [\"sh build.sh\"]\n{front}---\n# Demo\n\n- [ ] it works\n  - verify: ``{check}``\n"
        )
    }

    /// The files of the first commit, the agent's script included.
    pub(crate) fn files(&self) -> Vec<(&str, &str)> {
        let own = |path: &str| self.files.iter().any(|(other, _)| other == path);
        let base = self.base().2.iter().copied().filter(|(path, _)| !own(path));
        let own = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        base.chain(own).chain([("build.sh", self.build.as_str())]).collect()
    }
}

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let mut found: Vec<Case> = Vec::new();
    let mut at = Part::Build;
    for (number, line) in CORPUS.lines().enumerate() {
        if let Some(head) = line.strip_prefix("== ") {
            let mut words = head.splitn(3, ' ');
            let kind = match words.next() {
                Some("lie") => Kind::Lie,
                Some("honest") => Kind::Honest,
                other => panic!("line {}: {other:?}", number + 1),
            };
            let base = words.next().expect("a base").to_owned();
            let name = words.next().expect("a name").to_owned();
            let (files, prepare) = (Vec::new(), Vec::new());
            let (check, front, build) = (None, String::new(), PRELUDE.to_owned());
            found.push(Case {
                guarded: false,
                never_held: false,
                needs_full: false,
                kind,
                name,
                line: number + 1,
                base,
                check,
                front,
                files,
                prepare,
                build,
            });
            at = Part::Build;
            continue;
        }
        let Some(case) = found.last_mut() else { continue };
        if let Some(check) = line.strip_prefix("@check ") {
            case.check = Some(check.to_owned());
        } else if let Some(front) = line.strip_prefix("@front ") {
            case.front.push_str(&format!("{front}\n"));
        } else if line == "@guarded" {
            case.guarded = true;
        } else if line == "@proven" {
            case.never_held = true;
        } else if line == "@full" {
            case.needs_full = true;
        } else if let Some(command) = line.strip_prefix("@prepare ") {
            case.prepare.push(command.to_owned());
        } else if let Some(path) = line.strip_prefix("@file ") {
            case.files.push((path.to_owned(), String::new()));
            at = Part::File;
        } else if line == "@build" {
            at = Part::Build;
        } else {
            let text = match at {
                Part::Build => &mut case.build,
                Part::File => &mut case.files.last_mut().expect("a file").1,
            };
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

/// What the next lines belong to.
enum Part {
    Build,
    File,
}
