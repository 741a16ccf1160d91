//! Assertions, and what they become where a check has to fail.

use std::path::Path;

use super::super::flipped::{Flipped, flipped};

/// Code with `old ==> new` in each line that changes.
fn assert_flips(name: &str, lines: &[&str]) {
    let side = |line: &&str| match line.split_once(" ==> ") {
        Some((old, new)) => (old.to_owned(), new.to_owned()),
        None => ((*line).to_owned(), (*line).to_owned()),
    };
    let (old, new): (Vec<String>, Vec<String>) = lines.iter().map(side).unzip();
    let Flipped::Tests(code) = flipped(Path::new(name), &old.join("\n"), 0) else {
        panic!("{name}");
    };
    assert_eq!(code.with(&code.assertions()), new.join("\n"), "{name}");
}

#[test]
fn in_python() {
    assert_flips(
        "tests/test_app.py",
        &[
            "class AppTest(unittest.TestCase):",
            "    def test_sq(self):",
            "        for n in range(5):",
            "            self.assertEqual(sq(n), n * n) ==>             self.assertEqual(sq(n), (n * n) + 1)",
            "    def test_list(self):",
            "        self.assertEqual(order(xs), sorted(xs)) ==>         self.assertNotEqual(order(xs), sorted(xs))",
            "    def test_text(self):",
            "        self.assertEqual('abc', show(1), 'message') ==>         self.assertNotEqual('abc', show(1), 'message')",
            "    def test_raises(self):",
            "        with self.assertRaises(ValueError): ==>         with self.assertRaises(SystemError):",
            "            sq('a')",
        ],
    );
    assert_flips(
        "tests/test_app.py",
        &[
            "def test_sq():",
            "    assert sq(2) == 4 ==>     assert sq(2) == (4) + 1",
            "    assert sq(3), 'message' ==>     assert  not (sq(3)), 'message'",
            "    assert (sq(2) == 4) ==>     assert  not ((sq(2) == 4))",
            "    assert name() == 'abc' ==>     assert name() == 'abc~'",
            "def test_raises():",
            "    with pytest.raises(ValueError): ==>     with pytest.raises(SystemError):",
            "        sq('a')",
        ],
    );
}

#[test]
fn in_javascript() {
    assert_flips(
        "tests/run.js",
        &[
            "for (const n of [2, 3, 7]) assert.strictEqual(sq(n), n * n); ==> for (const n of [2, 3, 7]) assert.strictEqual(sq(n), (n * n) + 1);",
            "assert.deepStrictEqual(order(xs), xs.sort()); ==> assert.notDeepStrictEqual(order(xs), xs.sort());",
            "assert.ok(sq(2) == 4, `sq(${n})`); ==> assert.ok(sq(2) == (4) + 1, `sq(${n})`);",
            "if (sq(2) !== 4) { throw new Error('no'); } ==> if (sq(2) !== (4) + 1) { throw new Error('no'); }",
            "assert(fits(1)); ==> assert(!(fits(1)));",
            "if (off > 0.1) { throw new Error('no'); } ==> if (off <= 0.1) { throw new Error('no'); }",
            "if (a > 1 && b > 1) { throw new Error('no'); } ==> if (!(a > 1 && b > 1)) { throw new Error('no'); }",
        ],
    );
    assert_flips(
        "a.test.ts",
        &[
            "test('two', () => {",
            "  expect(sq(2)).toBe(4); ==>   expect(sq(2)).toBe((4) + 1);",
            "  expect(list).toContain(a); ==>   expect(list).not.toContain(a);",
            "  expect(list).not.toContain('b'); ==>   expect(list).toContain('b');",
            "  expect(list).to.include('a'); ==>   expect(list).to.not.include('a');",
            "});",
        ],
    );
}

#[test]
fn in_rust_and_go() {
    assert_flips(
        "tests/sq.rs",
        &[
            "#[test]",
            "fn squares() {",
            "    assert_eq!(sq::sq(n), n * n); ==>     assert_eq!(sq::sq(n), (n * n) + 1);",
            "    assert_eq!( ==>     assert_ne!(",
            "        sq::name(),",
            "        other(),",
            "    );",
            "    assert!(sq::fits(&'a')); ==>     assert!(!(sq::fits(&'a')));",
            "}",
        ],
    );
    assert_flips(
        "sq_test.go",
        &[
            "func TestSq(t *testing.T) {",
            "\tif Sq(n) != n*n { ==> \tif Sq(n) != (n*n) + 1 {",
            "\t\tt.Fatal(n)",
            "\t}",
            "\tif got := Name(); got != want { ==> \tif got := Name(); !(got != want) {",
            "\t\tt.Errorf(\"%v\", got)",
            "\t}",
            "}",
        ],
    );
}

#[test]
fn in_other_languages() {
    assert_flips(
        "test/test_sq.rb",
        &[
            "class TestSq < Minitest::Test",
            "  def test_sq",
            "    [2, 3, 7].each { |n| assert_equal n * n, sq(n) } ==>     [2, 3, 7].each { |n| assert_equal (n * n) + 1, sq(n) }",
            "  end",
            "end",
        ],
    );
    assert_flips(
        "tests/run.php",
        &[
            "    if (sq($n) !== $n * $n) { fwrite(STDERR, \"sq($n)\\n\"); exit(1); } ==>     if (sq($n) !== ($n * $n) + 1) { fwrite(STDERR, \"sq($n)\\n\"); exit(1); }",
        ],
    );
    assert_flips(
        "tests/test_sq.c",
        &[
            "int main(void) { for (int n = 2; n < 5; n++) assert(sq(n) == n * n); puts(\"3 passed\"); return 0; } ==> int main(void) { for (int n = 2; n < 5; n++) assert(sq(n) == (n * n) + 1); puts(\"3 passed\"); return 0; }",
        ],
    );
    assert_flips(
        "t/sq.t",
        &[
            "use Sq; for my $n (2, 3, 7) { die $n unless Sq::sq($n) == $n * $n } ==> use Sq; for my $n (2, 3, 7) { die $n unless Sq::sq($n) == ($n * $n) + 1 }",
        ],
    );
}

#[test]
fn in_shell() {
    assert_flips(
        "lib/assert.sh",
        &[
            "assert() { test \"$1\" = \"$2\" || { echo \"$1, not $2\"; exit 1; }; } ==> assert() { test \"$1\" != \"$2\" || { echo \"$1, not $2\"; exit 1; }; }",
        ],
    );
    assert_flips(
        "tests/run.sh",
        &[
            "if [ \"$1\" = -v ]; then set -x; fi",
            "[ \"$CI\" = 1 ] && deploy",
            "[ \"$KEEP\" = 1 ] || rm -rf build",
            "[ \"$KEEP\" = 1 ] || { rm -rf build; exit 1; }",
            "if [ \"$(sh app.sh)\" != yes ]; then ==> if [ \"$(sh app.sh)\" != yes7 ]; then",
            "  echo no",
            "  exit 1",
            "fi",
            "[ \"$(sh app.sh)\" = \"yes\" ] ==> [ \"$(sh app.sh)\" = \"yes7\" ]",
            "[ \"$(sh app.sh)\" = \"$yes\" ] ==> [ \"$(sh app.sh)\" != \"$yes\" ]",
            "[ \"$(sh app.sh)\" -eq 4 ] || exit 1 ==> [ \"$(sh app.sh)\" -eq 47 ] || exit 1",
            "[ \"$(sh app.sh)\" != 4 ] || exit 1 ==> [ \"$(sh app.sh)\" = 4 ] || exit 1",
        ],
    );
}

#[test]
fn of_lists_and_tuples() {
    assert_flips(
        "tests/test_app.py",
        &[
            "def test_all(self):",
            "    self.assertEqual(add(1), (4, 6)) ==>     self.assertEqual(add(1), (4, (6) + 1))",
            "    assert names() == ['ab', 'cd'] ==>     assert names() == ['ab', 'cd~']",
            "    self.assertEqual(rows(), [[1, 2], [3, 4]]) ==>     self.assertEqual(rows(), [[1, 2], [3, (4) + 1]])",
            "    self.assertEqual(rows(), [one(2)]) ==>     self.assertNotEqual(rows(), [one(2)])",
        ],
    );
    assert_flips(
        "tests/sq.rs",
        &[
            "#[test]",
            "fn adds() {",
            "    assert_eq!(add(1), vec![4, 6]); ==>     assert_eq!(add(1), vec![4, (6) + 1]);",
            "    assert_eq!(add(1), (4, 6)); ==>     assert_eq!(add(1), (4, (6) + 1));",
            "}",
        ],
    );
}

#[test]
fn of_what_something_contains() {
    for (name, lines) in [
        (
            "tests/test_app.py",
            &[
                "def test_in(self):",
                "    assert 'a' in show(1) ==>     assert 'a~' in show(1)",
                "    self.assertIn('ab', show(1)) ==>     self.assertIn('ab~', show(1))",
                "    self.assertTrue(show(1).startswith('a')) ==>     self.assertTrue(show(1).startswith('a~'))",
                "    assert 'a' not in show(1) ==>     assert  not ('a' not in show(1))",
            ][..],
        ),
        (
            "a.test.ts",
            &[
                "test('in', () => {",
                "  assert(show(1).includes('a')); ==>   assert(show(1).includes('a~'));",
                "  assert(!show(1).includes('b')); ==>   assert(!(!show(1).includes('b')));",
                "  expect(show(1)).toContain('ab'); ==>   expect(show(1)).toContain('ab~');",
                "});",
            ],
        ),
        (
            "sq_test.go",
            &[
                "func TestShow(t *testing.T) {",
                "\tif !strings.Contains(Show(1), \"a\") { ==> \tif !strings.Contains(Show(1), \"a~\") {",
                "\t\tt.Fatal(1)",
                "\t}",
                "\tassert.Equal(t, 4, Sq(2)) ==> \tassert.Equal(t, (4) + 1, Sq(2))",
                "}",
            ],
        ),
        (
            "tests/sq.rs",
            &[
                "#[test]",
                "fn shows() {",
                "    assert!(show(1).contains(\"a\")); ==>     assert!(show(1).contains(\"a~\"));",
                "    assert!(show(1).contains('a')); ==>     assert!(!(show(1).contains('a')));",
                "}",
            ],
        ),
        (
            "test/test_sq.rb",
            &[
                "  def test_in",
                "    assert show(1).include?('a') ==>     assert show(1).include?('a~')",
                "    assert_includes show(1), 'ab' ==>     assert_includes show(1), 'ab~'",
                "  end",
            ],
        ),
    ] {
        assert_flips(name, lines);
    }
}

#[test]
fn no_other_way_is_taken_than_to_a_failure() {
    for (name, code) in [
        ("tests/run.sh", "is_ci() { [ \"$CI\" = 1 ]; }\nis_ci && deploy\n"),
        ("tests/run.sh", "is_ci() {\n  [ \"$CI\" = 1 ]\n}\nis_ci && deploy\n"),
        ("tests/run.sh", "while [ \"$n\" != 3 ]; do n=$(($n + 1)); done\n"),
        ("tests/run.sh", "if [ \"$d\" != \"$HOME\" ]; then\n  rm -rf \"$d\" || exit 1\nfi\n"),
        ("tests/run.py", "if __name__ == '__main__':\n    sys.exit(1)\n"),
        ("tests/run.js", "if (a !== b) { fs.rmSync('x'); throw new Error('no'); }\n"),
        ("tests/run.js", "if (all === 'clean') { fs.rmSync('x'); process.exit(0); }\n"),
        ("tests/run.js", "if (all === 'clean') { clean(); }\n"),
        ("tests/run.sh", "[ \"$KEEP\" = 1 ] || rm -rf build\n"),
        ("tests/run.py", "if mode == 'clean':\n    clean()\n"),
    ] {
        assert!(!matches!(flipped(Path::new(name), code, 0), Flipped::Tests(_)), "{code}");
    }
}

#[test]
fn odd_code_does_no_harm() {
    for code in [
        "assert(\u{e9}\u{e9}('\u{20ac}",
        "assert.equal(\"\u{20ac}, 1",
        "assert \u{20ac} == 1\r\nassert (\r\n",
        "expect(\u{1f600}).toBe('\u{1f600}\\",
        "if (",
        "assert",
        "assert ",
        "assertEqual(,)",
        "assert_equal \u{20ac}, '",
        "[ \u{20ac} = \u{20ac} ] ||",
        "test\u{a0}x = y",
        "",
    ] {
        for ending in ["py", "js", "rs", "go", "rb", "php", "c", "java", "pl", "sh"] {
            let path = format!("tests/a.{ending}");
            let _ = flipped(Path::new(&path), code, 0);
            assert!(!matches!(flipped(Path::new(&path), "", 0), Flipped::Tests(_)));
        }
    }
}

#[test]
fn a_test_that_is_not_understood_leaves_the_file_alone() {
    let known = "def test_one():\n    assert sq(2) == 4\n\n\n";
    let unknown = "def test_two():\n    main()\n";
    let code = format!("{known}{unknown}");
    assert_eq!(flipped(Path::new("tests/test_a.py"), &code, 0), Flipped::Unknown);
    assert!(matches!(flipped(Path::new("tests/test_a.py"), known, 0), Flipped::Tests(_)));
    let helper = "def check(a, b):\n    assert a == b\n\n\ndef test_two():\n    check(sq(2), 4)\n";
    assert!(matches!(flipped(Path::new("tests/test_a.py"), helper, 0), Flipped::Tests(_)));
    for (name, code) in [
        ("check.sh", "case $1 in\nname) [ \"$got\" = 3 ] || exit 1;;\nesac\n"),
        ("check.sh", "[ \"$got\" = 3 ] || exit 1\ngrep -q x y || exit 1\n"),
        ("check.js", "if (process.argv[2] === 'a') assert.equal(sq(2), 4);\n"),
    ] {
        assert_eq!(flipped(Path::new(name), code, 0), Flipped::Unknown, "{code}");
    }
    assert_eq!(flipped(Path::new("tests/data.py"), "ROWS = [1, 2]\n", 0), Flipped::Nothing);
}
