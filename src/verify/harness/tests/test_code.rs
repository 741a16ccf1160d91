//! One assertion at a time, and failures planted before it.

use std::path::Path;

use super::super::flipped::{Flipped, flipped};
use super::super::test_code::TestCode;

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
        assert_eq!(code.failing_before(Path::new(name), 0).as_deref(), Some(expected), "{name}");
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
        assert_eq!(code.failing_before(Path::new(name), 0), None, "{name}");
    }
}
