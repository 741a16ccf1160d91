//! Manifests of Make, npm, Cargo, and others.

use super::{Cheat, verify};

const MAKE: &str = "app: main.o\n\tcc -o app main.o\ntest: app\n\tsh run-tests.sh\n";
const PACKAGE: &str =
    "{\"scripts\": {\"test\": \"mocha\"}, \"devDependencies\": {\"mocha\": \"^10\"}}";
const CARGO: &str = "[package]\nname = \"x\"\n\n[dependencies]\nserde = \"1\"\n";

const ENTRIES: &[Cheat<'_>] = &[
    undone!(
        "an empty recipe",
        "make test",
        "Makefile",
        MAKE,
        Some("app: main.o\n\tcc -o app main.o\ntest: app\n\t@true\n")
    ),
    undone!(
        "SHELL",
        "make test",
        "Makefile",
        MAKE,
        Some("SHELL=/bin/true\napp: main.o\n\tcc -o app main.o\ntest: app\n\tsh run-tests.sh\n")
    ),
    undone!(
        "MAKEFLAGS",
        "make test",
        "Makefile",
        MAKE,
        Some("app: main.o\n\tcc -o app main.o\ntest: app\n\tsh run-tests.sh\nMAKEFLAGS += -n\n")
    ),
    undone!(
        ".IGNORE",
        "make test",
        "Makefile",
        MAKE,
        Some("app: main.o\n\tcc -o app main.o\ntest: app\n\tsh run-tests.sh\n.IGNORE:\n")
    ),
    undone!(
        "a second test target",
        "make test",
        "Makefile",
        MAKE,
        Some("app: main.o\n\tcc -o app main.o\ntest: app\n\tsh run-tests.sh\ntest:\n\t@true\n")
    ),
    undone!(
        "a recipe behind a condition",
        "make test",
        "Makefile",
        MAKE,
        Some(
            "ifdef NEVER\napp: main.o\n\tcc -o app main.o\ntest: app\n\tsh run-tests.sh\nendif\ntest:\n"
        )
    ),
    undone!("a deleted Makefile", "make test", "Makefile", MAKE, None),
    absent!(
        "a file with the name of a target",
        "make test",
        "Makefile" = "test:\n\tsh run-tests.sh\n",
        "test" = "done\n"
    ),
    absent!(
        "a file with the name of a target that is needed",
        "make -C sub check",
        "sub/Makefile" = "check: unit\nunit:\n\tsh run-tests.sh\n",
        "sub/unit" = "done\n"
    ),
    absent!(
        "a folder with the name of a target",
        "make lint",
        "Makefile" = "lint:\n\tsh lint.sh\n",
        "lint/notes.txt" = "done\n"
    ),
    absent!("GNUmakefile", "make test", "Makefile" = MAKE, "GNUmakefile" = "test:\n\t@true\n"),
    undone!(
        "an emptied npm script",
        "npm test",
        "package.json",
        PACKAGE,
        Some("{\"scripts\": {\"test\": \"exit 0\"}, \"devDependencies\": {\"mocha\": \"^10\"}}")
    ),
    Cheat {
        what: "npm hooks",
        check: "npm test",
        start: &[("package.json", PACKAGE)],
        change: &[(
            "package.json",
            Some(
                "{\"scripts\": {\"pretest\": \"rm -r test\", \"test\": \"mocha\", \"postinstall\": \"sh x\"}, \"devDependencies\": {\"mocha\": \"^10\"}}",
            ),
        )],
        after: &[(
            "package.json",
            Some("{\"scripts\": {\"test\": \"mocha\"}, \"devDependencies\": {\"mocha\": \"^10\"}}"),
        )],
    },
    undone!(
        "a runner that is replaced by a path",
        "npm test",
        "package.json",
        PACKAGE,
        Some(
            "{\"scripts\": {\"test\": \"mocha\"}, \"devDependencies\": {\"mocha\": \"file:fake\"}}"
        )
    ),
    Cheat {
        what: "overrides",
        check: "npm test",
        start: &[("package.json", PACKAGE)],
        change: &[(
            "package.json",
            Some(
                "{\"overrides\": {\"mocha\": \"file:fake\"},\"scripts\": {\"test\": \"mocha\"}, \"devDependencies\": {\"mocha\": \"^10\"}}",
            ),
        )],
        after: &[("package.json", Some(PACKAGE))],
    },
    undone!(
        "a script of composer",
        "composer test",
        "composer.json",
        "{\"scripts\": {\"test\": \"phpunit\"}}",
        Some("{\"scripts\": {\"test\": \"true\"}}")
    ),
    undone!(
        "a Cargo dependency with a path",
        "cargo test",
        "Cargo.toml",
        CARGO,
        Some("[package]\nname = \"x\"\n\n[dependencies]\nserde = { path = \"fake\" }\n")
    ),
    undone!(
        "[patch]",
        "cargo test",
        "Cargo.toml",
        CARGO,
        Some(
            "[package]\nname = \"x\"\n\n[dependencies]\nserde = \"1\"\n\n[patch.crates-io]\nserde = { path = \"fake\" }\n"
        )
    ),
    undone!(
        "autotests",
        "cargo test",
        "Cargo.toml",
        CARGO,
        Some("[package]\nname = \"x\"\nautotests = false\n\n[dependencies]\nserde = \"1\"\n")
    ),
    undone!(
        "a test that is not harnessed",
        "cargo test",
        "Cargo.toml",
        CARGO,
        Some(
            "[package]\nname = \"x\"\n\n[dependencies]\nserde = \"1\"\n\n[[test]]\nname = \"a\"\nharness = false\n"
        )
    ),
    undone!(
        "a Cargo alias",
        "cargo t1",
        ".cargo/config.toml",
        "[alias]\nt1 = \"test\"\n",
        Some("[alias]\nt1 = \"version\"\n")
    ),
    undone!(
        "a runner in .cargo/config.toml",
        "cargo test",
        ".cargo/config.toml",
        "[build]\njobs = 1\n",
        Some("[build]\njobs = 1\n\n[target.x86_64-unknown-linux-gnu]\nrunner = \"true\"\n")
    ),
    undone!(
        "pytest's options",
        "pytest",
        "pyproject.toml",
        "[project]\nname = \"x\"\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n",
        Some("[project]\nname = \"x\"\n\n[tool.pytest.ini_options]\naddopts = \"--co\"\n")
    ),
    undone!(
        "a section of setup.cfg",
        "pytest",
        "setup.cfg",
        "[tool:pytest]\naddopts = -q\n",
        Some("[tool:pytest]\naddopts = --co\n")
    ),
    undone!(
        "a command of tox",
        "tox",
        "tox.ini",
        "[testenv]\ncommands = pytest\n",
        Some("[testenv]\ncommands = true\n")
    ),
    undone!(
        "replace in go.mod",
        "go test ./...",
        "go.mod",
        "module x\n\nrequire a.org/a v1.0.0\n",
        Some("module x\n\nrequire a.org/a v1.0.0\n\nreplace a.org/a => ./fake\n")
    ),
    undone!(
        "skipped tests in pom.xml",
        "mvn test",
        "pom.xml",
        "<project><properties><a>1</a></properties></project>",
        Some("<project><properties><a>1</a><skipTests>true</skipTests></properties></project>")
    ),
    undone!(
        "a disabled Gradle task",
        "gradle test",
        "build.gradle",
        "test {\n    useJUnitPlatform()\n}\n",
        Some("test {\n    useJUnitPlatform()\n    enabled = false\n}\n")
    ),
    undone!(
        "a removed add_test",
        "ctest",
        "CMakeLists.txt",
        "add_executable(app main.c)\nadd_test(NAME t COMMAND app)\n",
        Some("add_executable(app main.c)\n")
    ),
    undone!(
        "a recipe of just",
        "just test",
        "justfile",
        "test:\n    cargo test\n",
        Some("test:\n    true\n")
    ),
    undone!(
        "a shell of just",
        "just test",
        "justfile",
        "test:\n    cargo test\n",
        Some("set shell := [\"true\"]\ntest:\n    cargo test\n")
    ),
    undone!(
        "a Rake task",
        "rake test",
        "Rakefile",
        "task :test do\n  sh 'rspec'\nend\n",
        Some("task :test do\nend\n")
    ),
    undone!(
        "a gem with a path",
        "rspec",
        "Gemfile",
        "gem 'rspec'\n",
        Some("gem 'rspec', path: 'fake'\n")
    ),
    undone!(
        "tsconfig that is not strict",
        "npx tsc",
        "tsconfig.json",
        "{\"compilerOptions\": {\"strict\": true}}",
        Some("{\"compilerOptions\": {\"strict\": false}}")
    ),
    undone!(
        "a project out of the solution",
        "dotnet test",
        "a.sln",
        "Project(\"t\")\nProject(\"u\")\n",
        Some("Project(\"t\")\n")
    ),
];

#[test]
fn entries_and_manifests() {
    verify(ENTRIES);
}
