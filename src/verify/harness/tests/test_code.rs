//! One assertion at a time, and failures planted before it.

use std::path::Path;

use super::super::flipped::{Flipped, flipped};
use super::super::test_code::{PlantedFailure, TestCode};

const ENDS: [&str; 4] = ["os._exit", "reallyExit", "exit!", "planted"];

fn test_code(name: &str, code: &str) -> TestCode {
    match flipped(Path::new(name), code, 0) {
        Flipped::Tests(code) => code,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn one_assertion_of_each_test_changes() {
    let code = test_code(
        "tests/test_app.py",
        "def same(a, b):\n    assert a == b\n\n\ndef test_a():\n    assert a() == 1\n    assert b() == 2\n\n\ndef test_b():\n    assert c() == 3\n",
    );
    let changed = |at: usize| {
        let new = code.with(&code.of_each_test(at));
        let lines = new.lines().filter(|line| line.contains("+ 1")).map(str::trim);
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(code.most(), 2);
    assert_eq!(changed(0), ["assert a() == (1) + 1", "assert c() == (3) + 1"]);
    assert_eq!(changed(1), ["assert b() == (2) + 1", "assert c() == (3) + 1"]);
    let rounds: Vec<_> = (0..code.len()).map(|at| code.round_of(at)).collect();
    assert_eq!(rounds, [None, Some(0), Some(1), Some(0)]);
    assert_eq!(code.line(2), 7);
}

#[test]
fn a_test_that_asserts_through_a_helper_fails_by_the_helper() {
    let code = test_code(
        "tests/test_app.py",
        "def same(a, b):\n    assert a == b\n\n\ndef test_a():\n    same(a(), 1)\n\n\ndef test_b():\n    assert c() == 3\n",
    );
    assert_eq!(code.of_each_test(0).len(), 2);
}

#[test]
fn a_failure_stands_before_the_statement_of_an_assertion() {
    for (name, code, expected) in [
        (
            "tests/test_app.py",
            "def test_a(self):\n    self.assertEqual(a(), 1)\n",
            "def test_a(self):\n    raise SystemError('planted')\n    self.assertEqual(a(), 1)\n",
        ),
        (
            "tests/run.js",
            "f();\nif (a() !== 1) { process.exit(1); }\n",
            "f();\nif (true) throw new Error('planted');\nif (a() !== 1) { process.exit(1); }\n",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif got := A(); got != 1 {\n\t\tt.Fatal(got)\n\t}\n}\n",
            "func TestA(t *testing.T) {\n\tif true { panic(\"planted\") }\n\tif got := A(); got != 1 {\n\t\tt.Fatal(got)\n\t}\n}\n",
        ),
        (
            "tests/run.sh",
            "set -e\n[ \"$(sh a.sh)\" = 1 ] || exit 1\n",
            "set -e\nexit 97\n[ \"$(sh a.sh)\" = 1 ] || exit 1\n",
        ),
        (
            "tests/run.sh",
            "if [ \"$(sh a.sh)\" != 1 ]; then\n  exit 1\nfi\n",
            "exit 97\nif [ \"$(sh a.sh)\" != 1 ]; then\n  exit 1\nfi\n",
        ),
    ] {
        let code = test_code(name, code);
        assert_eq!(
            code.failing_before(Path::new(name), &[0], PlantedFailure::OfTest).as_deref(),
            Some(expected),
            "{name}"
        );
    }
}

#[test]
fn no_failure_stands_before_an_assertion_that_depends_on_something() {
    for (name, code) in [
        ("tests/run.js", "if (isWindows) assert.equal(a(), 1);\n"),
        ("tests/run.js", "test('a', () => assert.equal(a(), 1));\n"),
        ("tests/run.js", "isWindows && assert.equal(a(), 1);\n"),
        ("tests/run.js", "f(b,\n  assert.equal(a(), 1));\n"),
        ("test/test_a.rb", "def test_a\n  assert_equal 1, a if windows\nend\n"),
    ] {
        let code = test_code(name, code);
        assert_eq!(
            code.failing_before(Path::new(name), &[0], PlantedFailure::OfTest),
            None,
            "{name}"
        );
    }
}

#[test]
fn an_assertion_in_a_loop_or_a_callback_has_to_be_reached() {
    for (name, code, statement) in [
        (
            "tests/test_app.py",
            "def test_rows():\n    assert header() == 'abc'\n    for row in rows():\n        assert row == 3\n",
            "    for row",
        ),
        (
            "tests/test_app.py",
            "def test_set():\n    db = Db()\n    with db.transaction() as t:\n        t.set(1)\n        assert t.get() == 1\n",
            "    with db",
        ),
        (
            "test/a.test.js",
            "test('rows', () => {\n  const all = parse('a', (row) => {\n    assert.equal(row.n, 1);\n  });\n});\n",
            "  const all",
        ),
        (
            "a_test.go",
            "func TestWalk(t *testing.T) {\n\tWalk(tree, func(n *Node) {\n\t\tif n.Size != 1 {\n\t\t\tt.Fatal(n)\n\t\t}\n\t})\n}\n",
            "\tWalk(",
        ),
        (
            "test/test_a.rb",
            "class TestA < Minitest::Test\n  def test_rows\n    table.each_row do |row|\n      assert_equal 1, row.size\n    end\n  end\nend\n",
            "    table.each_row",
        ),
        (
            "test/a.test.js",
            "test('rows', () => {\n  parse('a', (error, rows) => {\n    assert.equal(rows.n, 1);\n  });\n});\n",
            "  parse(",
        ),
        ("tests/run.js", "each((row) => {\n  assert.equal(row.n, 1);\n});\n", "each("),
    ] {
        let code = test_code(name, code);
        let new = code.failing_around(Path::new(name), code.len() - 1).expect(name);
        let mut lines = new.lines().skip_while(|line| !ENDS.iter().any(|end| line.contains(end)));
        assert!(lines.nth(1).is_some_and(|line| line.starts_with(statement)), "{new}");
    }
}

#[test]
fn an_assertion_that_depends_on_something_need_not_be_reached() {
    for (name, code) in [
        ("tests/test_app.py", "def test_a():\n    if windows:\n        assert a() == 1\n"),
        (
            "tests/test_app.py",
            "def test_a():\n    for b in c:\n        if b:\n            continue\n        assert a() == 1\n",
        ),
        (
            "tests/test_app.py",
            "def test_a():\n    with raises(X):\n        b()\n        assert a() == 1\n",
        ),
        (
            "tests/test_app.py",
            "def test_b():\n    assert b() == 1\n\n\ndef same():\n    for b in c:\n        assert a() == 1\n",
        ),
        (
            "test/a.test.js",
            "test('a', () => {\n  b.on('error', (e) => {\n    assert.equal(e.code, 1);\n  });\n});\n",
        ),
        (
            "test/a.test.js",
            "test('a', () => {\n  b().catch((e) => {\n    assert.equal(e.code, 1);\n  });\n});\n",
        ),
        ("tests/run.js", "function same(a) {\n  assert.equal(a, 1);\n}\n"),
        ("tests/run.js", "const same = (a) => {\n  assert.equal(a, 1);\n};\n"),
        ("tests/run.php", "<?php\nfunction same($a) {\n    if ($a !== 1) { exit(1); }\n}\n"),
    ] {
        let code = test_code(name, code);
        assert_eq!(code.failing_around(Path::new(name), code.len() - 1), None, "{name}");
    }
}

#[test]
fn calls_of_a_helper_that_compares_expect_another_value() {
    for (name, code, call, new) in [
        (
            "tests/run.php",
            "<?php\nfunction close($got, $want) {\n    if (abs($got - $want) > 0.1) { exit(1); }\n}\nclose(net(119), 100);\n",
            0,
            "close(net(119), (100) + 1);",
        ),
        (
            "a_test.go",
            "func same(t *testing.T, got, want int) {\n\tif got != want {\n\t\tt.Fatal(got)\n\t}\n}\n\nfunc TestA(t *testing.T) {\n\tsame(t, A(), 3)\n}\n",
            0,
            "\tsame(t, A(), (3) + 1)",
        ),
        (
            "tests/test_a.c",
            "#define CLOSE(got, want) do { if (fabs((got) - (want)) > 1e-9) { return 1; } } while (0)\nint main(void) {\n    CLOSE(half(3), 2);\n    return 0;\n}\n",
            0,
            "    CLOSE(half(3), (2) + 1);",
        ),
    ] {
        let code = test_code(name, code);
        let at = code.assertions().len() + call;
        let changed = code.with(&[at]);
        assert!(changed.lines().any(|line| line == new), "{changed}");
    }
    let code = "static void check(bool ok, const char *what) { if (!ok) { puts(what); exit(1); } }\nint main(void) {\n    check(half(4) == 2, \"half\");\n    return 0;\n}\n";
    let code = test_code("tests/test_a.c", code);
    assert_eq!(code.len(), code.assertions().len());
    let code = "def check(ok, level):\n    assert ok\n\n\ndef test_a():\n    check(a(), 3)\n";
    let code = test_code("tests/test_app.py", code);
    assert_eq!(code.len(), code.assertions().len());
}
