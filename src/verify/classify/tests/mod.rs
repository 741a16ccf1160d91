//! What is put back, and what checks name, in small trees.

pub(in crate::verify::classify) mod tree;

use std::path::Path;

use globset::GlobSet;

use super::{HarnessCheck, HarnessQuestion, Role, Table, judges, missing_tests, put_back};
use tree::{Change, Planted, ask, changed, globs, judged};

#[test]
fn a_path_has_the_role_of_its_first_row() {
    let table = Table::new(&["qa/**".to_owned()]).expect("the table");
    for (path, role) in [
        ("tests/a.rs", Some(Role::Tests)),
        ("src/a_test.go", Some(Role::Tests)),
        ("lib/test_a.py", Some(Role::Tests)),
        ("conftest.py", Some(Role::Config)),
        ("qa/x/y", Some(Role::Config)),
        ("a/want.txt", Some(Role::Expected)),
        ("a/want.py", None),
        ("Cargo.toml", Some(Role::Manifest)),
        ("CMakeLists.txt", Some(Role::Build)),
        ("src/range.rs", None),
        ("lib/latest.py", None),
    ] {
        assert_eq!(table.role(Path::new(path)), role, "{path}");
    }
}

#[test]
fn a_test_that_is_not_defined_any_more_is_named() {
    let removed = |path: &str, tests: [&str; 2]| {
        let start =
            Planted::of(&[(path, &*tests.concat()), ("same_test.py", "def test_it(): 0\n")]);
        let now = Planted::of(&[(path, tests[0]), ("same_test.py", "def test_it(): 0\n")]);
        assert_eq!(missing_tests(&now, &start, &[]), [""; 0], "{path}");
        missing_tests(&start, &now, &[])
    };
    for (path, tests, name) in [
        ("t.py", ["def test_a(self):\n    0\n", "    async def test_b(self):\n"], "test_b"),
        (
            "a.rs",
            ["#[test]\nfn a() {}\n", "#[tokio::test(x)]\n#[should_panic]\npub async fn b() {"],
            "b",
        ),
        ("a_test.go", ["func TestA(t *testing.T) {}\n", "func TestB(t *testing.T) {"], "TestB"),
        ("a.test.js", ["it('a', () => {});\n", "  test(\"b's c\", async () => {"], "b's c"),
        ("a.test.ts", ["it.each([1])('a')\n", "  it.only(`b`, () => {"], "b"),
        (
            "ATest.java",
            ["@Test\nvoid a() {}\n", "  @Test\n  @Tag(\"x\")\n  public void b() {"],
            "b",
        ),
        ("ATest.kt", ["@Test fun a() {}\n", "    @Test\n    fun `b c`() {"], "b c"),
        ("A.cs", ["[Fact]\npublic void A() {}\n", "[Theory]\npublic async Task B() {"], "B"),
        ("a_spec.rb", ["it \"a\" do\nend\n", "  it 'b' do\n"], "b"),
        ("a.bats", ["@test \"a\" {\n}\n", "@test \"b\" {\n"], "b"),
        (
            "a.sh",
            ["test_a() { :; }\ntest \"$x\" = 1 || exit 1\n", "test_b() {\ntest \"$y\" = 2\n"],
            "test_b",
        ),
        ("a.cc", ["TEST(S, A) {}\n", "TEST_F(S, B) {"], "S, B"),
        ("a.cpp", ["TEST_CASE(\"a\") {}\n", "TEST_CASE(\"b\") {"], "b"),
        ("ATest.php", ["function testA() {}\n", "    public function testB(): void {"], "testB"),
    ] {
        assert_eq!(removed(path, tests), [name], "{path}");
    }
    // It is in another file.
    let test = "def test_a(): 0\n";
    let start = Planted::of(&[("a.py", &test.repeat(2)), ("b.py", "")]);
    let now = Planted::of(&[("a.py", ""), ("b.py", test)]);
    assert_eq!(missing_tests(&start, &now, &[]), ["test_a"]);
    assert_eq!(missing_tests(&start, &now, &["b.py".into()]), [""; 0]);
}

#[test]
fn the_files_that_a_line_names_are_told_from_the_product() {
    let files = [
        ("sq.sh", "echo 4\n"),
        ("gen.py", "import app\n"),
        ("app.py", ""),
        ("ci/gate.sh", ". ./lib/assert.sh\nsh sq.sh 3\n"),
        ("ci/check.py", "from app import sq\nfrom helpers_test import same\n"),
        ("ci/helpers_test.py", ""),
        ("lib/assert.sh", ""),
        ("tests/run.sh", "out=$(sh sq.sh 3)\n[ \"$out\" = 9 ]\n"),
        ("tests/test_sq.py", ""),
        ("answer.txt", "9\n"),
        ("cases/a.in", ""),
        ("cases/a.out", ""),
        ("Makefile", "check:\n\tsh tests/run.sh\nall: check\n"),
        ("package.json", r#"{"scripts": {"test": "sh ci/gate.sh"}}"#),
        ("pyproject.toml", "[tool.poe.tasks]\ncheck = \"python3 ci/check.py\"\n"),
    ];
    for (line, expected) in [
        ("sh ci/gate.sh", vec!["ci/gate.sh", "lib/assert.sh"]),
        ("python3 ci/check.py", vec!["ci/check.py", "ci/helpers_test.py"]),
        ("test \"$(sh sq.sh 3)\" = 9", vec![]),
        ("sh sq.sh 3 | diff - answer.txt", vec!["answer.txt"]),
        (
            "for f in cases/*.in; do sh sq.sh \"$f\" | diff - \"${f%.in}.out\" || exit 1; done",
            vec!["cases/a.out"],
        ),
        ("python3 gen.py && grep -q BLUE colors.h", vec![]),
        ("grep -q retry app.py", vec![]),
        ("python3 -m pytest tests/test_sq.py::test_a", vec!["tests/test_sq.py"]),
        ("python3 -m unittest tests.test_sq.TestA", vec!["tests/test_sq.py"]),
        ("pytest --doctest-modules app.py", vec![]),
        ("python3 -m doctest answer.txt", vec!["answer.txt"]),
        ("make", vec!["check", "tests/run.sh"]),
        // A new file of that name would keep its recipe from running.
        ("make all", vec!["all", "check", "tests/run.sh"]),
        ("npm test", vec!["ci/gate.sh", "lib/assert.sh"]),
        ("poe check", vec!["ci/check.py", "ci/helpers_test.py"]),
        ("cd tests && sh run.sh", vec!["tests/run.sh"]),
        ("node --check sq.sh; sh -n sq.sh", vec![]),
        ("bash -c 'sh tests/run.sh'", vec!["tests/run.sh"]),
        ("sh tests/*.sh", vec!["tests/run.sh"]),
    ] {
        assert_eq!(judged(&files, line), expected, "{line}");
    }
    let table = Table::new(&[]).expect("the table");
    let found = judges(&Planted::of(&files), &table, &["sh sq.sh 3 | diff - answer.txt"]);
    assert!(found.compared.contains(Path::new("answer.txt")));
    assert!(found.subjects.contains(Path::new("sq.sh")));
}

fn start() -> Planted {
    Planted::of(&[
        ("src/sq.py", "def sq(n):\n    return 0\n"),
        ("tests/test_sq.py", "assert sq(3) == 9\n"),
        ("CMakeLists.txt", "add_library(sq sq.c)\n"),
        ("ci/gate.sh", "sh sq.sh\n"),
    ])
}

#[test]
fn tests_are_put_back_and_the_product_stays() {
    for (change, expected) in [
        (&[("src/sq.py", Some("def sq(n):\n    return n * n\n"))] as Change<'_>, vec![]),
        (&[("tests/test_sq.py", Some("assert True\n"))], vec!["tests/test_sq.py"]),
        (&[("tests/test_sq.py", None)], vec!["tests/test_sq.py"]),
        (&[("tests/test_new.py", Some("x"))], vec!["tests/test_new.py"]),
        (&[("conftest.py", Some("x"))], vec!["conftest.py"]),
        (&[("ci/gate.sh", Some("true"))], vec!["ci/gate.sh"]),
        (&[("CMakeLists.txt", Some("x"))], vec!["CMakeLists.txt"]),
        (&[("loud.in", Some("x")), ("loud.golden", Some("y"))], vec![]),
        (&[("loud.golden", Some("y"))], vec!["loud.golden"]),
    ] {
        let now = changed(&start(), change);
        let found = ask("sh ci/gate.sh", &start(), &now);
        let names: Vec<String> =
            found.changed.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        assert_eq!(names, expected, "{change:?}");
        let back = now.after(&found.edits);
        for path in ["tests/test_sq.py", "ci/gate.sh", "tests/test_new.py", "conftest.py"] {
            assert_eq!(back.text(path), start().text(path), "{path} in {change:?}");
        }
    }
    let build = changed(&start(), &[("CMakeLists.txt", Some("x"))]);
    assert_eq!(ask("ctest", &start(), &build).build, [Path::new("CMakeLists.txt")]);
}

#[test]
fn the_product_of_the_start_meets_the_tests_of_the_work() {
    let now = changed(
        &start(),
        &[
            ("src/sq.py", Some("def sq(n):\n    return n * n\n")),
            ("src/cube.py", Some("x")),
            ("tests/test_new.py", Some("assert sq(2) == 4\n")),
        ],
    );
    let found = ask("pytest tests/test_new.py", &start(), &now);
    let old = now.after(&found.product);
    assert_eq!(old.text("src/sq.py"), start().text("src/sq.py"));
    assert_eq!(old.text("src/cube.py"), None);
    assert!(old.text("tests/test_new.py").is_some());
}

#[test]
fn what_the_task_says_comes_before_the_table() {
    let now = changed(&start(), &[("tests/test_sq.py", Some("x")), ("src/sq.py", Some("y"))]);
    let (start, table) = (start(), Table::new(&[]).expect("the table"));
    for (may_change, protect, expected) in [
        (&["tests/**"][..], &[][..], vec![]),
        (&["tests/**"], &["tests/**"], vec!["tests/test_sq.py"]),
        (&[], &["src/**"], vec!["src/sq.py", "tests/test_sq.py"]),
    ] {
        let (may_change, protect): (GlobSet, GlobSet) = (globs(may_change), globs(protect));
        let question = HarnessQuestion {
            start: &start,
            now: &now,
            checks: &[HarnessCheck { command: "pytest", missing_at_start: false }],
            setup: &[],
            table: &table,
            may_change: &may_change,
            protect: &protect,
        };
        let found = put_back(&question);
        assert_eq!(found.changed, expected.iter().map(Path::new).collect::<Vec<_>>());
    }
}

#[test]
fn a_script_that_loads_the_product_must_run_to_its_end() {
    let start = Planted::of(&[
        ("ci/check.py", "import app\nassert app.sq(3) == 9\n"),
        ("ci/app.py", "def sq(n): return 0\n"),
        ("ci/run.sh", "sh app.sh | grep -q 9\n"),
    ]);
    let now = changed(&start, &[("ci/app.py", Some("def sq(n): return 9\n"))]);
    assert_eq!(ask("python3 ci/check.py", &start, &now).ends.len(), 1);
    assert!(ask("sh ci/run.sh", &start, &now).ends.is_empty());
}
