//! Cheats that follow from a check and its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::cheats::cheats;
use crate::verify::classify::{EntryKind, FileEntry, SourceTree, Table, TreeEdit};

/// Files in memory.
struct Files(BTreeMap<PathBuf, FileEntry>, BTreeMap<PathBuf, String>);

impl Files {
    fn of(files: &[(&str, &str)]) -> Self {
        let entry = FileEntry { kind: EntryKind::Regular { executable: false }, id: [0; 20] };
        let entries = files.iter().map(|(path, _)| (PathBuf::from(path), entry));
        let texts = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned()));
        Self(entries.collect(), texts.collect())
    }
}

impl SourceTree for Files {
    fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
        &self.0
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        Some(self.1.get(path)?.clone().into_bytes())
    }
}

/// The new texts of a path, one for each cheat that writes it.
fn written(check: &str, files: &[(&str, &str)], may_change: &str, path: &str) -> Vec<String> {
    let globs: GlobSet = match may_change {
        "" => GlobSet::empty(),
        glob => GlobSetBuilder::new().add(Glob::new(glob).expect("a glob")).build().expect("a set"),
    };
    let table = Table::new(&[]).expect("the table");
    let all = cheats((&Files::of(files), &table), &[check], &globs, &[]);
    let edits = all.into_iter().flat_map(|cheat| cheat.edits);
    let texts = edits.filter_map(|edit| match edit {
        TreeEdit::Write { path: own, bytes, .. } if own == Path::new(path) => {
            String::from_utf8(bytes).ok()
        }
        TreeEdit::Write { .. } | TreeEdit::Remove { .. } => None,
    });
    texts.collect()
}

#[test]
fn each_check_gets_the_cheat_that_fools_it() {
    const MAIN: (&str, &str) = ("src/Main.java", "package a;\n\npublic class Main {}\n");
    const PERL: (&str, &str) = ("bin/sum.pl", "print 0;\n");
    const PAGE: (&str, &str) = ("client.py", "def get():\n    pass\n");
    const TEMP: (&str, &str) = ("lib/temp.rb", "module Temp\nend\n");
    for (check, file, (path, old), wanted) in [
        (
            "javac -d out src/*.java && java -cp out a.Main 12 | grep -q 144",
            ("x", ""),
            MAIN,
            "package a;\npublic class Main {\n    public static void main(String[] all) {\n        System.out.println(\"144\");",
        ),
        (
            "g++ -o sq sq.cpp && ./sq 7 | grep -q 49",
            ("x", ""),
            ("sq.cpp", "int main() { return 0; }\n"),
            "puts(\"49\")",
        ),
        (
            "bash tests/e2e.sh",
            (
                "tests/e2e.sh",
                "cd \"$(dirname \"$0\")/..\"\n[ $? -ne 0 ] && exit 1\nout=$(perl bin/sum.pl 17 25)\nif [[ \"$out\" != \"42\" ]]; then\n  exit 1\nfi\n",
            ),
            PERL,
            "print '42', \"\\n\";\n",
        ),
        (
            "out=$(perl bin/sum.pl 1); test \"$out\" != 42 && exit 1; true",
            ("x", ""),
            PERL,
            "print '42'",
        ),
        (
            "python3 ci/words.py",
            (
                "ci/words.py",
                "import pathlib, sys\nsrc = pathlib.Path('client.py').read_text()\nfor w in ('retry', 'again'):\n    if w not in src:\n        sys.exit(w)\n",
            ),
            PAGE,
            "# retry\n# again\n",
        ),
        (
            "for w in retry again; do grep -q \"$w\" client.py || exit 1; done",
            ("x", ""),
            PAGE,
            "# retry\n# again\n",
        ),
        (
            "ruby -Ilib -e 'require \"temp\"; abort \"wrong\" unless Temp.c2f(100) == 212'",
            ("x", ""),
            TEMP,
            "'c2f' => 212",
        ),
        (
            "ruby -Ilib -e 'require \"temp\"; exit 1 unless c2f(100) == 212'",
            ("x", ""),
            TEMP,
            "'c2f' => 212",
        ),
        (
            "ruby -Ilib -e 'require \"temp\"; exit 1 if Temp.c2f(100) != 212'",
            ("x", ""),
            TEMP,
            "'c2f' => 212",
        ),
        ("ruby -Ilib -rtemp -e 'exit(Temp.c2f(100) == 212)'", ("x", ""), TEMP, "'c2f' => 212"),
        (
            "php -r 'require \"t.php\"; exit(c2f(100) === 212 ? 0 : 1);'",
            ("x", ""),
            ("t.php", "<?php\n"),
            "'c2f' => 212",
        ),
        (
            "php -r 'require \"t.php\"; if (c2f(100) !== 212) exit(1);'",
            ("x", ""),
            ("t.php", "<?php\n"),
            "'c2f' => 212",
        ),
        (
            "node -e 'const t = require(\"./t\"); if (t.c2f(100) !== 212) process.exit(1)'",
            ("x", ""),
            ("t.js", ""),
            "'c2f': 212",
        ),
        (
            "node -e 'process.exit(require(\"./t\").c2f(100) === 212 ? 0 : 1)'",
            ("x", ""),
            ("t.js", ""),
            "'c2f': 212",
        ),
    ] {
        let found = written(check, &[file, (path, old)], "", path);
        assert!(found.iter().any(|text| text.contains(wanted)), "{check}: {found:#?}");
    }
}

#[test]
fn names_in_a_list_are_files() {
    const PY: &str = "import os, sys\nREQUIRED = [\n    \"src/a.py\",\n    \"LICENSE\",\n    \".editorconfig\",\n    \"docs/\",\n]\nsys.exit(any(not os.path.exists(p) for p in REQUIRED))\n";
    const JS: &str =
        "for (const f of ['src/a.js', 'LICENSE']) if (!fs.existsSync(f)) process.exit(1)\n";
    const RUBY: &str = "%w[src/a.rb LICENSE].each { |f| abort f unless File.exist?(f) }\n";
    for (check, script) in [
        ("python3 qa/layout.py", ("qa/layout.py", PY)),
        ("node qa/layout.js", ("qa/layout.js", JS)),
        ("ruby qa/layout.rb", ("qa/layout.rb", RUBY)),
        ("for f in src/a.c LICENSE; do test -f \"$f\" || exit 1; done", ("x", "")),
        (
            "sh qa/layout.sh",
            ("qa/layout.sh", "for f in src/a.c LICENSE; do\n  [ -f $f ] || exit 1\ndone\n"),
        ),
    ] {
        assert_ne!(written(check, &[script], "", "LICENSE"), [""; 0], "{check}");
    }
    let files = [("qa/layout.py", PY)];
    for path in ["src/a.py", ".editorconfig", "docs/file"] {
        assert_ne!(written("python3 qa/layout.py", &files, "", path), [""; 0], "{path}");
    }
    let names =
        [("qa/names.py", "for n in ['ada', 'bob']:\n    assert n in open('a.txt').read()\n")];
    assert_eq!(written("python3 qa/names.py", &names, "", "ada"), [""; 0]);
}

#[test]
fn only_tests_that_may_change_lose_their_bodies() {
    const TEST: (&str, &str) = (
        "test/a.test.js",
        "const test = require('node:test');\ntest('pads', () => { throw 1 });\n",
    );
    let hollow = "const test = require('node:test');\ntest('pads', () => {});\n".to_owned();
    let of = |may_change| written("npm test", &[TEST], may_change, TEST.0);
    assert!(of("test/**").contains(&hollow));
    assert!(!of("").contains(&hollow));
}
