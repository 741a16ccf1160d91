//! Cheats that follow from a check and its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::cheats::cheats;
use crate::verify::classify::{EntryKind, FileEntry, SourceTree, Table, TreeEdit, judges};
use crate::verify::prove::globs as globs_of;

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
    let globs: Vec<String> = may_change.split_whitespace().map(str::to_owned).collect();
    let globs = globs_of(&globs).expect("globs");
    let table = Table::new(&[]).expect("the table");
    let files = Files::of(files);
    let found = judges(&files, &table, &[check]);
    let lines = [vec![check], found.lines.iter().map(String::as_str).collect()];
    let all = cheats((&files, &table), &lines, &found.files, &globs);
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
    const SQ: (&str, &str) = ("sq.sh", "echo 0\n");
    for (check, (path, old), wanted) in [
        ("out=$(perl sum.sh 1); test \"$out\" != 42 && exit 1; true", ("sum.sh", "0"), "\n42\n"),
        ("g++ -o sq sq.cpp && ./sq 7 | grep -q 49", ("sq.cpp", "int main() {}"), "puts(\"49\")"),
        ("java a.Main 12 | grep -q 144", ("src/Main.java", "package a;\n"), "println(\"144\");"),
        ("node -p 'require(\"./a\").sq(7)' | grep -q 49", ("a.js", "0\n"), "console.log(\"49\")"),
        ("sh sq.sh 7 | diff - want.txt", SQ, "\n# x\n"),
        ("grep -q retry app.py", ("app.py", "x = 1\n"), "x = 1\n# retry\n"),
        ("grep -q '^def retry' app.py", ("app.py", "x = 1\n"), "x = 1\ndef retry\n"),
        ("jq -e '.a[\"b\"]' a.json", ("a.json", "{\"a\": {}}"), "\"b\": 1"),
        ("test \"$(cat VERSION)\" = 1.2.0", ("VERSION", "1"), "1.2.0\n"),
    ] {
        let found = written(check, &[(path, old), ("x", "")], "", path);
        assert!(found.iter().any(|text| text.contains(wanted)), "{check}: {found:#?}");
    }
    let several = "test \"$(sh sq.sh 7)\" = 49 && test \"$(sh sq.sh 8)\" = 64";
    assert!(written(several, &[SQ], "", "sq.sh").iter().all(|text| !text.contains("49")));
}

#[test]
fn files_that_a_line_names_are_created() {
    for (check, path) in [
        ("test -f LICENSE", "LICENSE"),
        ("cd web && test -d img", "web/img/file"),
        ("for f in a.txt b/c.txt; do test -f $f; done", "b/c.txt"),
    ] {
        assert_ne!(written(check, &[("x", "")], "", path), [""; 0], "{check}");
    }
    let ignored = [(".gitignore", "dist/\n")];
    assert_eq!(written("test -f dist/a.js", &ignored, "", "dist/a.js"), [""; 0]);
}

#[test]
fn only_tests_that_may_change_lose_their_bodies() {
    const TEST: (&str, &str) = ("test/a.test.js", "test('pads', () => { throw 1 });\n");
    let of = |may_change| written("npm test", &[TEST], may_change, TEST.0);
    assert!(of("test/**").iter().any(|text| text == "test('pads', () => {});\n"));
    assert_eq!(of(""), [""; 0]);
}
