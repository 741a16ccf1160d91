//! Honest work: no edits, so that the third run is skipped, or edits that only touch its tests.

use super::tree::{Change, Planted, ask, changed};

mod layouts;
mod loaded;
mod manifests;
mod shadows;

struct Honest<'a> {
    what: &'a str,
    check: &'a str,
    start: &'a [(&'a str, &'a str)],
    change: Change<'a>,
}

const CMAKE: &str = "project(x C)\nenable_testing()\nadd_executable(app main.c)\n\
                     add_test(NAME t COMMAND app)\n";
const MAKE: &str = "CC = cc\nOBJS = main.o a.o\napp: $(OBJS)\n\t$(CC) -o app $(OBJS)\n\
                    main.o: main.c\n\t$(CC) -c main.c\ntest: app\n\t./run-tests.sh\n";
const PACKAGE: &str = r#"{
  "name": "x",
  "scripts": { "test": "mocha" },
  "dependencies": { "left": "^1.0.0" },
  "devDependencies": { "mocha": "^10.0.0" }
}
"#;

fn verify(cases: &[Honest<'_>]) {
    let mut wrong = Vec::new();
    for case in cases {
        let start = Planted::of(case.start);
        let now = changed(&start, case.change);
        let result = ask(case.check, &start, &now);
        let after = now.after(&result.edits);
        for path in result.changed.iter().map(|path| path.to_string_lossy()) {
            wrong.push(format!("{}: {path} becomes {:?}", case.what, after.text(&path)));
        }
        if result.changed.is_empty() && !result.edits.is_empty() {
            wrong.push(format!("{}: edits without a change", case.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One manifest that stays as it is now.
fn stays(what: &str, check: &str, path: &str, old: &str, new: &str) {
    verify(&[Honest { what, check, start: &[(path, old)], change: &[(path, Some(new))] }]);
}

const WORK: &[Honest<'_>] = &[
    Honest {
        what: "a function of the product with the name of a comparison",
        check: "cargo test --quiet",
        start: &[
            ("Cargo.toml", "[package]\nname = \"x\"\n"),
            ("src/range.rs", "pub fn matches(a: &str, b: &V) -> bool {\n    todo!()\n}\n"),
            (
                "tests/caret.rs",
                "#[test]\nfn t() {\n    assert!(matches(&v(\"1\"), &v(\"2\")));\n}\n",
            ),
        ],
        change: &[(
            "src/range.rs",
            Some("pub fn matches(a: &str, b: &V) -> bool {\n    b.meets(a)\n}\n"),
        )],
    },
    Honest {
        what: "a module of the product whose name says that it checks something",
        check: "python3 -m unittest discover -s tests -t .",
        start: &[
            ("lib/check.py", "def short(text):\n    return False\n"),
            ("lib/validate.py", "def valid(text):\n    return False\n"),
            ("tests/__init__.py", ""),
            ("tests/test_lib.py", "from lib.check import short\nfrom lib.validate import valid\n"),
        ],
        change: &[
            ("lib/check.py", Some("def short(text):\n    return len(text) < 3\n")),
            ("lib/validate.py", Some("def valid(text):\n    return bool(text)\n")),
        ],
    },
    Honest {
        what: "a new example with its golden file",
        check: "sh examples.sh",
        start: &[
            (
                "examples.sh",
                "for i in examples/*.in; do sh x.sh < $i | diff - ${i%.in}.golden; done\n",
            ),
            ("examples/plain.in", "a\n"),
            ("examples/plain.golden", "a\n"),
        ],
        change: &[("examples/loud.in", Some("b\n")), ("examples/loud.golden", Some("B\n"))],
    },
    Honest {
        what: "Make: new files in a folder with the name of a target, which its recipe reads",
        check: "make docs",
        start: &[("Makefile", "docs:\n\tcat docs/a.md\n")],
        change: &[("docs/a.md", Some("A\n"))],
    },
    Honest {
        what: "Make: a new source that a rule without a recipe names",
        check: "make app",
        start: &[("Makefile", "app: main.o\n\tcc -o app main.o\nmain.c: config.h\n")],
        change: &[("main.c", Some("int main(void) { return 0; }\n")), ("config.h", Some(""))],
    },
    Honest {
        what: "Rust: a new source file and a dependency",
        check: "cargo test",
        start: &[
            ("Cargo.toml", "[package]\nname = \"x\"\n\n[dependencies]\nserde = \"1\"\n"),
            (
                "src/lib.rs",
                "pub fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n",
            ),
        ],
        change: &[
            (
                "Cargo.toml",
                Some(
                    "[package]\nname = \"x\"\n\n[dependencies]\nserde = \"1\"\nlog = { path = \"log\" }\n",
                ),
            ),
            (
                "src/lib.rs",
                Some(
                    "mod b;\npub fn a() { b::b() }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n",
                ),
            ),
            ("src/b.rs", Some("pub fn b() {}\n")),
        ],
    },
    Honest {
        what: "Rust: a moved source with its tests",
        check: "cargo test",
        start: &[(
            "src/a.rs",
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n",
        )],
        change: &[
            ("src/a.rs", None),
            (
                "src/b/a.rs",
                Some("fn a() { 1; }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n"),
            ),
        ],
    },
    Honest {
        what: "Rust: a new crate in the workspace, with tests",
        check: "cargo test",
        start: &[
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"),
            ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
        ],
        change: &[
            ("Cargo.toml", Some("[workspace]\nmembers = [\"a\", \"b\"]\n")),
            ("b/Cargo.toml", Some("[package]\nname = \"b\"\n")),
            ("b/tests/t.rs", Some("#[test]\nfn t() {}\n")),
        ],
    },
    Honest {
        what: "Node: a new source, a dependency, and a script that the check names",
        check: "npm test && npm run build",
        start: &[("package.json", PACKAGE), ("index.js", "")],
        change: &[
            (
                "package.json",
                Some(
                    "{\n  \"name\": \"x\",\n  \"scripts\": { \"test\": \"mocha\", \"build\": \"node build.js\" },\n  \"dependencies\": { \"left\": \"^2.0.0\", \"right\": \"file:./right\" },\n  \"devDependencies\": { \"mocha\": \"^10.0.0\" }\n}\n",
                ),
            ),
            ("build.js", Some("")),
        ],
    },
    Honest {
        what: "TypeScript: a new path in tsconfig",
        check: "npx tsc --noEmit",
        start: &[("tsconfig.json", "{ // strict\n  \"compilerOptions\": { \"strict\": true } }")],
        change: &[(
            "tsconfig.json",
            Some(
                "{ // strict\n  \"compilerOptions\": { \"strict\": true, \"paths\": { \"@/*\": [\"src/*\"] } } }",
            ),
        )],
    },
    Honest {
        what: "Python: a module with a usual name inside a package, and a dependency",
        check: "python3 -m unittest discover -s tests -t .",
        start: &[
            (
                "pyproject.toml",
                "[project]\nname = \"x\"\ndependencies = [\"a\"]\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n",
            ),
            ("app/__init__.py", ""),
            ("tests/test_a.py", "import json\nfrom app import a\n"),
        ],
        change: &[
            (
                "pyproject.toml",
                Some(
                    "[project]\nname = \"x\"\ndependencies = [\"a\", \"b\"]\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n",
                ),
            ),
            ("app/json.py", Some("x = 1\n")),
            ("app/__init__.py", Some("from . import json\n")),
            ("statistics.py", Some("def mean(): pass\n")),
        ],
    },
    Honest {
        what: "Go: a new package and a required module with a replacement",
        check: "go test ./...",
        start: &[
            ("go.mod", "module x\n\ngo 1.22\n\nrequire a.org/a v1.0.0\n"),
            ("a.go", "package x"),
        ],
        change: &[
            (
                "go.mod",
                Some(
                    "module x\n\ngo 1.22\n\nrequire (\n\ta.org/a v1.1.0\n\tb.org/b v1.0.0\n)\n\nreplace b.org/b => ./b\n",
                ),
            ),
            ("b/b.go", Some("package b")),
        ],
    },
    Honest {
        what: "C: a new source in add_executable",
        check: "cmake -B build && cmake --build build && ctest --test-dir build",
        start: &[("CMakeLists.txt", CMAKE), ("main.c", "")],
        change: &[
            (
                "CMakeLists.txt",
                Some(
                    "project(x C)\nenable_testing()\nadd_executable(app main.c extra.c)\nadd_test(NAME t COMMAND app)\n",
                ),
            ),
            ("extra.c", Some("")),
        ],
    },
    Honest {
        what: "Make: a new object with a rule of its own",
        check: "make test",
        start: &[("Makefile", MAKE), ("run-tests.sh", "./app"), ("main.c", ""), ("a.c", "")],
        change: &[
            (
                "Makefile",
                Some(
                    "CC = cc\nOBJS = main.o a.o b.o\napp: $(OBJS)\n\t$(CC) -o app $(OBJS)\nmain.o: main.c\n\t$(CC) -c main.c\nb.o: b.c\n\t$(CC) -c b.c\ntest: app\n\t./run-tests.sh\n",
                ),
            ),
            ("b.c", Some("")),
        ],
    },
    Honest {
        what: "Make: a target that the check names",
        check: "make lint",
        start: &[("Makefile", MAKE)],
        change: &[(
            "Makefile",
            Some(
                "CC = cc\nOBJS = main.o a.o\napp: $(OBJS)\n\t$(CC) -o app $(OBJS)\nmain.o: main.c\n\t$(CC) -c main.c\ntest: app\n\t./run-tests.sh\n\nlint:\n\tcc -Wall -fsyntax-only main.c\n",
            ),
        )],
    },
    Honest {
        what: "just: a recipe that the check names",
        check: "just fmt",
        start: &[("justfile", "test:\n    cargo test\n")],
        change: &[("justfile", Some("test:\n    cargo test\n\nfmt:\n    cargo fmt\n"))],
    },
    Honest {
        what: "Java: a dependency in pom.xml and one in build.gradle",
        check: "mvn -q test",
        start: &[
            (
                "pom.xml",
                "<project><properties><a>1</a></properties><dependencies></dependencies><build><plugins/></build></project>",
            ),
            (
                "build.gradle",
                "plugins { id 'java' }\ndependencies {\n    testImplementation 'junit:junit:4.13'\n}\ntest {\n    useJUnitPlatform()\n}\n",
            ),
            ("src/main/java/A.java", "class A {}"),
        ],
        change: &[
            (
                "pom.xml",
                Some(
                    "<project><properties><a>1</a><b.version>2</b.version></properties><dependencies><dependency><artifactId>b</artifactId></dependency></dependencies><build><plugins/></build></project>",
                ),
            ),
            (
                "build.gradle",
                Some(
                    "plugins { id 'java' }\ndependencies {\n    implementation 'b:b:1'\n    testImplementation 'junit:junit:4.13'\n}\ntest {\n    useJUnitPlatform()\n}\n",
                ),
            ),
            ("src/main/java/TestimonialService.java", Some("class TestimonialService {}")),
        ],
    },
    Honest {
        what: "Ruby: a gem and a source",
        check: "bundle exec rspec",
        start: &[("Gemfile", "source 'https://rubygems.org'\ngem 'rspec'\n"), ("lib/a.rb", "")],
        change: &[
            (
                "Gemfile",
                Some("source 'https://rubygems.org'\ngem 'rspec'\ngem 'rack', path: 'rack'\n"),
            ),
            ("lib/a.rb", Some("x")),
        ],
    },
    Honest {
        what: "PHP: a required package",
        check: "vendor/bin/phpunit",
        start: &[(
            "composer.json",
            "{\"require\": {\"a/a\": \"^1\"}, \"require-dev\": {\"phpunit/phpunit\": \"^10\"}}",
        )],
        change: &[(
            "composer.json",
            Some(
                "{\"require\": {\"a/a\": \"^2\", \"b/b\": \"^1\"}, \"require-dev\": {\"phpunit/phpunit\": \"^10\"}}",
            ),
        )],
    },
    Honest {
        what: "Shell: a script whose output is compared, and one that is sourced and compared",
        check: "test \"$(sh sq.sh 7)\" = 49 && sh tests/run.sh",
        start: &[
            ("sq.sh", "echo 1"),
            ("lib.sh", "double() { echo 1; }\n"),
            ("tests/run.sh", ". ./lib.sh\n[ \"$(double 2)\" = 4 ] || exit 1\n"),
        ],
        change: &[
            ("sq.sh", Some("echo $(($1 * $1))")),
            ("lib.sh", Some("double() { echo $(($1 * 2)); }\n")),
        ],
    },
    Honest {
        what: "files that a reader, a linter, or a compiler looks at",
        check: "grep -q x notes.md && javac A.java && python3 -m py_compile a.py && diff a.txt b.txt && sed -n 1p c.txt",
        start: &[
            ("notes.md", ""),
            ("A.java", ""),
            ("a.py", ""),
            ("a.txt", ""),
            ("b.txt", "1"),
            ("c.txt", ""),
        ],
        change: &[
            ("notes.md", Some("x")),
            ("A.java", Some("class A {}")),
            ("a.py", Some("1")),
            ("a.txt", Some("1")),
            ("b.txt", Some("2")),
            ("c.txt", Some("3")),
        ],
    },
    Honest {
        what: "a new test that the check only looks at",
        check: "test -f tests/test_new.py && grep -q def tests/test_new.py",
        start: &[("app.py", "")],
        change: &[("tests/test_new.py", Some("def test_new(): pass\n"))],
    },
    Honest {
        what: "the words of a check that are no files",
        check: "! not time sh tests/run.sh",
        start: &[("not", "1"), ("time", "1"), ("tests/run.sh", "")],
        change: &[("not", Some("2")), ("time", Some("2"))],
    },
    Honest {
        what: ".NET: a source and a project file",
        check: "dotnet test",
        start: &[
            ("App/App.csproj", "<Project/>"),
            ("App.Tests/App.Tests.csproj", "<Project/>"),
            ("App/A.cs", ""),
        ],
        change: &[
            ("App/App.csproj", Some("<Project><ItemGroup/></Project>")),
            ("App/A.cs", Some("class A {}")),
        ],
    },
];

#[test]
fn honest_work_leaves_nothing_to_put_back() {
    verify(WORK);
}

#[test]
fn a_new_test_beside_the_work_is_all_that_is_taken_out() {
    let start =
        Planted::of(&[("src/lib.rs", "pub fn a() {}\n"), ("tests/a.rs", "#[test]\nfn a() {}\n")]);
    let now = changed(
        &start,
        &[
            (
                "src/lib.rs",
                Some(
                    "pub fn a() {}\npub fn b() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n",
                ),
            ),
            ("tests/b.rs", Some("#[test]\nfn b() {}\n")),
        ],
    );
    let result = ask("cargo test", &start, &now);
    let after = now.after(&result.edits);
    assert_eq!(after.text("tests/b.rs"), None);
    assert_eq!(after.text("src/lib.rs").as_deref(), Some("pub fn a() {}\npub fn b() {}\n\n\n"));
}
