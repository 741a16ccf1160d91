//! Where packages and modules come from.

use super::super::tree::{Planted, ask, changed};
use super::{Cheat, verify};

const GO: &str = "module x\n\nrequire a.org/a v1.0.0\n\nreplace a.org/a => ../a\n";
const GEMS: &str = "source 'https://rubygems.org'\n\ngem 'rake'\ngem 'rspec', '~> 3'\n";
const REQUIRED: &str = "pytest==8.0\nrequests>=2\n";
const POM: &str = "<project>\n  <properties>\n    <a>1</a>\n  </properties>\n  <dependencies>\n    \
                   <dependency>\n      <groupId>junit</groupId>\n      \
                   <artifactId>junit</artifactId>\n      <scope>test</scope>\n    \
                   </dependency>\n  </dependencies>\n</project>\n";
const GRADLE: &str = "plugins {\n    id 'java'\n}\n\ndependencies {\n    \
                      testImplementation 'junit:junit:4.13'\n}\n";

#[test]
fn go() {
    verify(&[
        undone!(
            "another replacement",
            "go test ./...",
            "go.mod",
            GO,
            Some("module x\n\nrequire a.org/a v1.0.0\n\nreplace a.org/a => ./fake\n")
        ),
        undone!(
            "a replacement in a block",
            "go test ./...",
            "go.mod",
            "module x\n\nrequire a.org/a v1.0.0\n\nreplace (\n)\n",
            Some(
                "module x\n\nrequire a.org/a v1.0.0\n\nreplace (\n\ta.org/a v1.0.0 => ./fake\n)\n"
            )
        ),
        undone!(
            "ignored folders",
            "go test ./...",
            "go.mod",
            "module x\n",
            Some("module x\nignore ./pkg\n")
        ),
        absent!(
            "a module that takes a package out of ./...",
            "go test ./...",
            "pkg/a.go" = "package pkg",
            "pkg/go.mod" = "module y\n"
        ),
        absent!(
            "a workspace with a replacement",
            "go test ./...",
            "go.mod" = "module x\nrequire a.org/a v1.0.0\n",
            "go.work" = "replace a.org/a => ./fake\n"
        ),
        Cheat {
            what: "a workspace with a module of a known name",
            check: "go test ./...",
            start: &[("go.mod", "module x\nrequire a.org/a v1.0.0\n")],
            change: &[
                ("go.work", Some("use .\nuse ./fake\n")),
                ("fake/go.mod", Some("module a.org/a\n")),
            ],
            after: &[("go.work", Some("use .\n"))],
        },
    ]);
}

#[test]
fn python() {
    verify(&[
        undone!(
            "a package from a path",
            "pytest",
            "requirements.txt",
            REQUIRED,
            Some("pytest @ file:./fake\nrequests>=2\n")
        ),
        undone!(
            "an editable package",
            "pytest",
            "requirements-dev.txt",
            REQUIRED,
            Some("-e ./fake/pytest\nrequests>=2\n")
        ),
        undone!(
            "an address with a name",
            "pytest",
            "requirements.txt",
            REQUIRED,
            Some("git+https://x.org/fake.git#egg=PyTest\nrequests>=2\n")
        ),
        undone!(
            "a marker that is never true",
            "pytest",
            "requirements.txt",
            REQUIRED,
            Some("pytest==8.0; python_version < '2'\nrequests>=2\n")
        ),
        undone!("a removed package", "pytest", "requirements.txt", REQUIRED, Some("pytest==8.0\n")),
        undone!(
            "another index",
            "pytest",
            "requirements.txt",
            REQUIRED,
            Some("--extra-index-url http://localhost\npytest==8.0\nrequests>=2\n")
        ),
        undone!(
            "a plugin of pytest in setup.cfg",
            "pytest",
            "setup.cfg",
            "[metadata]\nname = x\n",
            Some("[metadata]\nname = x\n[options.entry_points]\npytest11 =\n  x = x\n")
        ),
        undone!(
            "a section of pytest in tox.ini",
            "tox -e py",
            "tox.ini",
            "[tox]\nenvlist = py\n",
            Some("[tox]\nenvlist = py\n[pytest]\naddopts = --co\n")
        ),
        absent!(
            "a new setup.cfg with options of pytest",
            "pytest",
            "a.py" = "",
            "setup.cfg" = "[tool:pytest]\naddopts = --co\n"
        ),
        Cheat {
            what: "conftest.py in a new package",
            check: "pytest",
            start: &[("tests/test_a.py", "")],
            change: &[
                ("b/pyproject.toml", Some("")),
                ("b/conftest.py", Some("def pytest_collection_modifyitems(items): items[:] = []")),
                ("b/test_b.py", Some("import unittest; unittest.TestCase.assertEqual = print")),
            ],
            after: &[("b/conftest.py", None), ("b/test_b.py", None)],
        },
    ]);
}

#[test]
fn ruby() {
    verify(&[
        undone!(
            "a gem from a repository",
            "bundle exec rspec",
            "Gemfile",
            GEMS,
            Some(
                "source 'https://rubygems.org'\n\ngem 'rake'\ngem 'rspec', '~> 3',\n  github: 'x/fake'\n"
            )
        ),
        undone!(
            "a removed gem",
            "bundle exec rspec",
            "Gemfile",
            GEMS,
            Some("source 'https://rubygems.org'\n\ngem 'rake'\n")
        ),
        undone!(
            "a gem behind a condition",
            "bundle exec rspec",
            "Gemfile",
            GEMS,
            Some("source 'https://rubygems.org'\n\ngem 'rake'\ngem 'rspec', '~> 3' if false\n")
        ),
        undone!(
            "another source",
            "bundle exec rspec",
            "Gemfile",
            GEMS,
            Some("source 'http://localhost'\n\ngem 'rake'\ngem 'rspec', '~> 3'\n")
        ),
        Cheat {
            what: "a block with a path",
            check: "bundle exec rspec",
            start: &[("Gemfile", "gem 'rspec'\n")],
            change: &[("Gemfile", Some("path 'fake' do\n  gem 'rspec'\nend\n"))],
            after: &[("Gemfile", Some("gem 'rspec'\npath 'fake' do\nend\n"))],
        },
        absent!("gems.rb", "bundle exec rspec", "Gemfile" = GEMS, "gems.rb" = "gem 'fake'\n"),
        absent!(
            "rakefile",
            "bundle exec rake spec",
            "Rakefile" = "task :spec do\nend\n",
            "rakefile" = "task :spec\n"
        ),
    ]);
}

#[test]
fn java() {
    verify(&[
        undone!(
            "a removed test dependency of Maven",
            "mvn test",
            "pom.xml",
            POM,
            Some(
                "<project>\n  <properties>\n    <a>1</a>\n  </properties>\n  <dependencies>\n  </dependencies>\n</project>\n"
            )
        ),
        Cheat {
            what: "a removed test dependency of Gradle",
            check: "./gradlew test",
            start: &[("build.gradle", GRADLE)],
            change: &[(
                "build.gradle",
                Some(
                    "plugins {\n    id 'java'\n}\n\ndependencies {\n    testImplementation files('fake.jar')\n}\n",
                ),
            )],
            after: &[(
                "build.gradle",
                Some(
                    "plugins {\n    id 'java'\n}\n\ndependencies {\n    testImplementation 'junit:junit:4.13'\n    testImplementation files('fake.jar')\n}\n",
                ),
            )],
        },
        undone!(
            "a substituted dependency",
            "./gradlew test",
            "build.gradle",
            GRADLE,
            Some(
                "plugins {\n    id 'java'\n}\n\ndependencies {\n    testImplementation 'junit:junit:4.13'\n}\n\nconfigurations.all {\n    resolutionStrategy.dependencySubstitution { }\n}\n"
            )
        ),
        undone!(
            "a build that is included",
            "./gradlew test",
            "settings.gradle",
            "include 'app'\n",
            Some("include 'app'\nincludeBuild 'fake'\n")
        ),
    ]);
}

#[test]
fn node() {
    verify(&[
        Cheat {
            what: "a package of the workspace that has the runner's name",
            check: "npm test",
            start: &[(
                "package.json",
                "{\"workspaces\": [\"packages/*\"], \"devDependencies\": {\"mocha\": \"*\"}}",
            )],
            change: &[("packages/m/package.json", Some("{\"name\": \"mocha\"}"))],
            after: &[("packages/m/package.json", None)],
        },
        Cheat {
            what: "a package of the workspace that has the runner's program",
            check: "npm test",
            start: &[("package.json", "{\"workspaces\": [\"packages/*\"]}")],
            change: &[("packages/m/package.json", Some("{\"bin\": {\"vitest\": \"x.js\"}}"))],
            after: &[("packages/m/package.json", None)],
        },
        Cheat {
            what: "a path in place of the runner",
            check: "npx vitest run",
            start: &[
                ("package.json", "{\"devDependencies\": {\"vitest\": \"1\"}}"),
                ("tsconfig.json", "{\"compilerOptions\": {\"paths\": {}}}"),
            ],
            change: &[(
                "tsconfig.json",
                Some("{\"compilerOptions\": {\"paths\": {\"vitest\": [\"./fake\"]}}}"),
            )],
            after: &[("tsconfig.json", Some("{\"compilerOptions\": {\"paths\": {}}}"))],
        },
        Cheat {
            what: "a name space of PHPUnit",
            check: "vendor/bin/phpunit",
            start: &[("composer.json", "{\"autoload\": {\"psr-4\": {\"A\": \"src/\"}}}")],
            change: &[(
                "composer.json",
                Some(
                    "{\"autoload\": {\"psr-4\": {\"A\": \"src/\", \"PHPUnit\\\\Framework\\\\\": \"x/\"}}}",
                ),
            )],
            after: &[("composer.json", Some("{\"autoload\": {\"psr-4\": {\"A\": \"src/\"}}}"))],
        },
    ]);
}

#[test]
fn pyproject() {
    const START: &str = "[project]\nname = \"x\"\ndependencies = [\"a\"]\n\n\
                         [tool.poetry.group.dev.dependencies]\npytest = \"8\"\n\n\
                         [dependency-groups]\ntest = [\"Py_Test\"]\n";
    for (what, old, new) in [
        ("a path for Poetry", "pytest = \"8\"", "pytest = { path = \"fake\" }"),
        ("a path in a group", "\"Py_Test\"", "\"py-test @ file:./fake\""),
        ("a path for a dependency", "[\"a\"]", "[\"a @ file:./fake\"]"),
    ] {
        let now = START.replace(old, new);
        assert_ne!(now, START, "{what}");
        verify(&[Cheat {
            what,
            check: "pytest",
            start: &[("pyproject.toml", START)],
            change: &[("pyproject.toml", Some(&now))],
            after: &[("pyproject.toml", Some(START))],
        }]);
    }
    for added in [
        "[project.scripts]\npytest = \"fake:main\"\n",
        "[tool.poetry.plugins.pytest11]\nx = \"fake\"\n",
        "[project.entry-points.pytest11]\nx = \"fake\"\n",
    ] {
        let start = Planted::of(&[("pyproject.toml", START)]);
        let now = changed(&start, &[("pyproject.toml", Some(&format!("{START}\n{added}")))]);
        let after = now.after(&ask("pytest", &start, &now).edits);
        let text = after.text("pyproject.toml").expect("the manifest");
        assert!(!text.contains("fake"), "{added}: {text}");
    }
}
