//! Tests, configuration, and expected outputs.

use super::super::tree::{Planted, ask, changed};
use super::{Cheat, verify};

const MAKE: &str = "app: main.o\n\tcc -o app main.o\ntest: app\n\tsh run-tests.sh\n";
const PACKAGE: &str =
    "{\"scripts\": {\"test\": \"mocha\"}, \"devDependencies\": {\"mocha\": \"^10\"}}";

#[test]
fn tests_configuration_and_expected_outputs() {
    verify(&[
        undone!(
            "a weakened test",
            "pytest",
            "tests/test_a.py",
            "assert f() == 1\n",
            Some("assert True\n")
        ),
        undone!("a deleted test", "pytest", "tests/test_a.py", "assert f() == 1\n", None),
        undone!(
            "an ignored test in Rust",
            "cargo test",
            "tests/a.rs",
            "#[test]\nfn a() {}\n",
            Some("#[test]\n#[ignore]\nfn a() {}\n")
        ),
        undone!("a Go test", "go test ./...", "a_test.go", "package a", Some("package a // none")),
        undone!("a Java test", "mvn test", "src/test/java/ATest.java", "class ATest {}", Some("")),
        undone!("a Ruby spec", "rspec", "spec/a_spec.rb", "it 'x'", Some("xit 'x'")),
        undone!("a PHP test", "phpunit", "tests/ATest.php", "<?php a();", Some("<?php")),
        undone!("a bats test", "bats test", "test/a.bats", "@test x", Some("")),
        undone!(
            "a .NET test",
            "dotnet test",
            "App.Tests/A.cs",
            "[Fact]",
            Some("[Fact(Skip = \"\")]")
        ),
        undone!("a C test", "make check", "test_a.c", "assert(f());", Some("")),
        undone!(
            "an expected output",
            "./app | diff - expected.txt",
            "expected.txt",
            "1",
            Some("2")
        ),
        undone!("a snapshot", "npx jest", "src/__snapshots__/a.snap", "1", Some("2")),
        undone!("golden output", "go test ./...", "testdata/a.golden", "1", Some("2")),
        undone!("a configuration of jest", "npx jest", "jest.config.js", "1", Some("2")),
        undone!("phpunit.xml", "phpunit", "phpunit.xml", "<a/>", Some("<b/>")),
        absent!("conftest.py", "pytest", "a.py" = "", "conftest.py" = "import os; os._exit(0)"),
        absent!("pytest.ini", "pytest", "a.py" = "", "pytest.ini" = "[pytest]"),
        absent!(
            "sitecustomize.py",
            "python3 check.py",
            "check.py" = "",
            "sitecustomize.py" = "import os; os._exit(0)"
        ),
        absent!(
            "TestMain",
            "go test ./...",
            "a_test.go" = "package a",
            "main_test.go" = "package a\nfunc TestMain(m *testing.M) { os.Exit(0) }"
        ),
        absent!(".npmrc", "npm test", "package.json" = PACKAGE, ".npmrc" = "ignore-scripts=true"),
        absent!(".rspec", "rspec", "a.rb" = "", ".rspec" = "--dry-run"),
        absent!(
            "a planted module",
            "npm test",
            "package.json" = PACKAGE,
            "node_modules/mocha/bin/mocha" = ""
        ),
        absent!("a mocked module", "npx jest", "a.js" = "", "__mocks__/a.js" = ""),
        absent!("vitest configuration", "npx vitest run", "a.js" = "", "vitest.config.ts" = "x"),
        absent!(
            "a module that shadows unittest",
            "python3 -m unittest",
            "tests/test_a.py" = "import unittest",
            "unittest.py" = ""
        ),
        absent!(
            "a module that shadows an imported one",
            "python3 -m unittest",
            "tests/test_a.py" = "import decimal",
            "decimal/__init__.py" = ""
        ),
        absent!("a new test", "pytest", "tests/test_a.py" = "", "tests/test_b.py" = ""),
        absent!(
            "a header that shadows assert.h",
            "make test",
            "Makefile" = MAKE,
            "include/assert.h" = "#define assert(x)"
        ),
    ]);
}

#[test]
fn links() {
    let mut start = Planted::of(&[("real/gate.sh", "./app")]);
    start.link("gate.sh", "real/gate.sh");
    let now = changed(&start, &[("real/gate.sh", Some("exit 0"))]);
    let result = ask("sh gate.sh", &start, &now);
    assert_eq!(now.after(&result.edits).text("real/gate.sh").as_deref(), Some("./app"));

    let start = Planted::of(&[("tests/a.py", "assert f()\n")]);
    let mut now = changed(&start, &[("tests/a.py", None), ("other/a.py", Some("pass\n"))]);
    now.link("tests", "other");
    let after = now.after(&ask("python3 tests/a.py", &start, &now).edits);
    assert_eq!(after.text("tests"), None);
    assert_eq!(after.text("tests/a.py").as_deref(), Some("assert f()\n"));
}

#[test]
fn files_that_tools_load_unasked() {
    verify(&[
        absent!(
            "a service of JUnit",
            "mvn test",
            "pom.xml" = "<project/>\n",
            "src/main/resources/META-INF/services/org.junit.platform.launcher.PostDiscoveryFilter" =
                "Fake"
        ),
        absent!(
            "metadata with a plugin of pytest",
            "python -m pytest",
            "a.py" = "",
            "fake.egg-info/entry_points.txt" = "[pytest11]\nx = fake\n"
        ),
        absent!(
            "a plugin of minitest",
            "rake test",
            "a.rb" = "",
            "lib/minitest/fake_plugin.rb" = "exit!"
        ),
        absent!(
            "a patch of the runner",
            "npm test",
            "package.json" = "{}",
            "patches/mocha+10.0.0.patch" = "+"
        ),
        absent!("Plug'n'Play of Yarn", "yarn test", "package.json" = "{}", ".pnp.cjs" = "x"),
        absent!("options of prove", "prove", "a.pl" = "", ".proverc" = "--exec true"),
        absent!("a runner in a .venv", "pytest", "a.py" = "", ".venv/bin/pytest" = "exit 0"),
        absent!(
            "properties of a solution",
            "dotnet test",
            "a.sln" = "",
            "Directory.Solution.targets" = "<Project/>"
        ),
        undone!("a vendored header", "make t", "third_party/catch.hpp", "1", Some("2")),
        undone!(
            "a vendored module of Go",
            "go test ./...",
            "vendor/github.com/stretchr/testify/assert/assertions.go",
            "1",
            Some("2")
        ),
    ]);
}

#[test]
fn files_that_shadow_a_framework() {
    verify(&[
        absent!(
            "a class of JUnit",
            "mvn test",
            "src/test/java/ATest.java" = "import org.junit.Assert;",
            "src/main/java/org/junit/Assert.java" = "class Assert {}"
        ),
        absent!(
            "minitest in lib",
            "rake test",
            "test/a_test.rb" = "require 'minitest/autorun'",
            "lib/minitest/autorun.rb" = "exit!"
        ),
        absent!("rspec in lib", "rspec", "spec/a_spec.rb" = "", "lib/rspec/core.rb" = "exit!"),
        absent!("Test::More", "prove -l", "t/a.t" = "use Test::More;", "lib/Test/More.pm" = "1;"),
        absent!("busted", "busted", "spec/a_spec.lua" = "", "busted/init.lua" = ""),
        Cheat {
            what: "a package that tests import",
            check: "pytest",
            start: &[
                ("requirements-dev.txt", "Freezegun==1.0\npytest\n"),
                ("tests/test_a.py", "from freezegun import freeze_time\n"),
            ],
            change: &[("freezegun.py", Some("def freeze_time(*a): pass\n"))],
            after: &[("freezegun.py", None)],
        },
        Cheat {
            what: "a package of pyproject.toml that tests import",
            check: "pytest",
            start: &[
                ("pyproject.toml", "[dependency-groups]\ndev = [\"responses>=1\"]\n"),
                ("tests/test_a.py", "import responses\n"),
            ],
            change: &[("src/responses/__init__.py", Some(""))],
            after: &[("src/responses/__init__.py", None)],
        },
    ]);
}
