//! Manifests that grow with the work.

use super::{CMAKE, Honest, stays, verify};
use crate::verify::harness::tests::tree::{Change, Planted, ask, changed};

#[test]
fn packages() {
    stays(
        "Go: formatted, upgraded, with a new module from a folder",
        "go test ./...",
        "go.mod",
        "module x\n\nrequire a.org/a v1.0.0\nreplace a.org/a => ../a\n",
        "module x\n\ngo 1.23\n\nrequire (\n\ta.org/a v1.2.0\n\tb.org/b v1.0.0 // indirect\n)\n\nreplace (\n\ta.org/a => ../a\n\tb.org/b => ./b\n)\n",
    );
    stays(
        "Go: a new module in the workspace",
        "go test ./...",
        "go.work",
        "go 1.22\n\nuse .\n",
        "go 1.22\n\nuse (\n\t.\n\t./b\n)\n",
    );
    stays(
        "Python: sorted, upgraded, with hashes and new packages",
        "pytest",
        "requirements.txt",
        "pytest==8.0\nRequests>=2\n-r base.txt\n",
        "# pinned\n-r base.txt\n\nflask==3 \\\n    --hash=sha256:1\nmine @ file:./mine\n-e ./other\npytest==8.1\nrequests[socks]>=2.1  # web\n",
    );
    stays(
        "Python: other sections of setup.cfg",
        "pytest",
        "setup.cfg",
        "[metadata]\nname = x\n\n[tool:pytest]\naddopts = -q\n",
        "[metadata]\nname = x\nversion = 2\n\n[options]\ninstall_requires =\n  a\n\n[tool:pytest]\n# quiet\naddopts = -q\n",
    );
    stays(
        "Ruby: upgraded gems in groups, and new ones",
        "bundle exec rspec",
        "Gemfile",
        "source 'https://rubygems.org'\n\ngem 'rake'\ngem 'rspec', '~> 3'\ngem 'mine', path: 'mine'\n",
        "source 'https://rubygems.org'\n\ngem 'rack', github: 'rack/rack'\ngem 'mine', '2', path: 'mine'\n\ngroup :test do\n  gem 'rake'\n  gem 'rspec', '~> 4', require: false\nend\n",
    );
    stays(
        "PHP: a new development dependency",
        "vendor/bin/phpunit -c phpunit.xml",
        "composer.json",
        "{\"require-dev\": {\"phpunit/phpunit\": \"^10\"}}",
        "{\"require-dev\": {\"phpunit/phpunit\": \"^10\", \"mockery/mockery\": \"^1\"}, \"autoload\": {\"psr-4\": {\"A\\\\\": \"src/\"}}}",
    );
    stays(
        "Node: an upgraded runner and a new development dependency",
        "npm --prefix . test",
        "package.json",
        "{\"scripts\": {\"test\": \"mocha\"}, \"devDependencies\": {\"mocha\": \"^10\"}}",
        "{\n  \"scripts\": { \"test\": \"mocha\" },\n  \"devDependencies\": { \"chai\": \"^5\", \"mocha\": \"^11\" }\n}\n",
    );
    stays(
        "Rust: an upgraded dependency, a new binary, and features",
        "cargo test --manifest-path Cargo.toml",
        "Cargo.toml",
        "[package]\nname = \"x\"\nversion = \"1.0.0\"\n\n[dependencies]\nserde = \"1\"\n",
        "[package]\nname = \"x\"\nversion = \"1.1.0\"\n\n[features]\na = []\n\n[[bin]]\nname = \"b\"\npath = \"src/b.rs\"\n\n[dependencies]\nserde = { version = \"1.0.2\", features = [\"derive\"] }\n\n[dev-dependencies]\ntempfile = \"3\"\n",
    );
}

#[test]
fn c_and_cpp() {
    verify(&[
        Honest {
            what: "CMake: targets, libraries, a folder, and a test",
            check: "cmake -B build && ctest --test-dir build",
            start: &[
                (
                    "CMakeLists.txt",
                    "cmake_minimum_required(VERSION 3.10)\nproject(x C)\nenable_testing()\nadd_executable(app main.c old.c)\nadd_library(gone gone.c)\nadd_executable(test_a test_a.c main.c)\nadd_test(NAME t COMMAND test_a)\n",
                ),
                ("old.c", ""),
                ("test_a.c", ""),
            ],
            change: &[
                (
                    "CMakeLists.txt",
                    Some(
                        "cmake_minimum_required(VERSION 3.20)\nproject(x C CXX)\nset(SOURCES main.c new.c)\n\nadd_library(core STATIC ${SOURCES})\nadd_executable(app main.c)\nif(UNIX)\n  target_link_libraries(app PRIVATE core m)\nendif()\nadd_subdirectory(lib)\n\nenable_testing()\nadd_executable(test_a\n  test_a.c\n  main.c\n  new.c)\ntarget_link_libraries(test_a core)\nadd_test(NAME t\n  COMMAND test_a)\nadd_test(NAME u COMMAND app)\n",
                    ),
                ),
                ("lib/CMakeLists.txt", Some("add_library(lib lib.c)\n")),
                ("old.c", None),
            ],
        },
        Honest {
            what: "CMake: a test that moves into a condition stays one test",
            check: "ctest --test-dir build",
            start: &[("CMakeLists.txt", "if(UNIX)\n  add_test(NAME t COMMAND a)\nendif()\n")],
            change: &[(
                "CMakeLists.txt",
                Some(
                    "if(UNIX)\n  add_test(NAME t COMMAND a) # fast\n  message(x)\nelse()\n  message(y)\nendif()\n",
                ),
            )],
        },
    ]);
    // A new test goes with its target, so that the rest can be built.
    let start = Planted::of(&[("CMakeLists.txt", CMAKE), ("main.c", "")]);
    let tests = "add_executable(mul tests/mul.c)\ntarget_link_libraries(mul m)\n\
                 add_test(NAME mul COMMAND mul)\nadd_subdirectory(tests)\n";
    let library = "add_library(m mul.c)\nadd_subdirectory(lib)\n";
    let text = format!("{CMAKE}{tests}{library}");
    let change: Change<'_> = &[
        ("CMakeLists.txt", Some(&text)),
        ("mul.c", Some("")),
        ("lib/CMakeLists.txt", Some("add_library(lib lib.c)\n")),
        ("tests/CMakeLists.txt", Some("")),
        ("tests/mul.c", Some("")),
    ];
    let now = changed(&start, change);
    let after = now.after(&ask("cmake --build build && ctest", &start, &now).edits);
    assert_eq!(after.text("CMakeLists.txt"), Some(format!("{CMAKE}{library}")));
    assert_eq!(after.text("tests/mul.c"), None);
    stays(
        "Meson: sources, a library, and a test",
        "meson test -C build",
        "meson.build",
        "project('x', 'c')\nexe = executable('a', 'main.c')\ntest('a', exe)\n",
        "project('x', 'c', version: '1.1')\nlib = library('b', ['b.c', 'c.c'])\nexe = executable(\n  'a',\n  'main.c',\n  link_with: lib,\n)\ntest('a', exe)\nif get_option('more')\n  test('b', exe, args: ['b'])\nendif\n",
    );
}

#[test]
fn java() {
    stays(
        "Maven: a version, modules, dependencies, and plugins of the product",
        "mvn -q test",
        "pom.xml",
        "<?xml version=\"1.0\"?>\n<project>\n  <version>1</version>\n  <!-- <build> -->\n  <dependencies>\n    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4</version><scope>test</scope></dependency>\n    <dependency><groupId>a</groupId><artifactId>a</artifactId></dependency>\n  </dependencies>\n</project>\n",
        "<?xml version=\"1.0\"?>\n<project>\n  <version>2</version>\n  <properties>\n    <maven.compiler.release>21</maven.compiler.release>\n  </properties>\n  <modules><module>b</module></modules>\n  <dependencies>\n    <dependency>\n      <groupId>junit</groupId>\n      <artifactId>junit</artifactId>\n      <version>4.13</version>\n      <scope>test</scope>\n    </dependency>\n    <dependency><groupId>b</groupId><artifactId>b</artifactId></dependency>\n  </dependencies>\n  <build>\n    <finalName>x</finalName>\n    <plugins>\n      <plugin><artifactId>maven-compiler-plugin</artifactId></plugin>\n      <plugin><artifactId>maven-shade-plugin</artifactId></plugin>\n      <plugin><artifactId>maven-jar-plugin</artifactId></plugin>\n    </plugins>\n  </build>\n</project>\n",
    );
    stays(
        "Gradle: plugins, dependencies, the application, and layout",
        "./gradlew test",
        "build.gradle.kts",
        "plugins {\n    java\n}\n\ndependencies {\n    testImplementation(\"junit:junit:4.13\")\n}\n\ntasks.test {\n    useJUnitPlatform()\n}\n",
        "// build\nplugins {\n    java\n    application\n}\n\nrepositories { mavenCentral() }\n\ndependencies {\n    implementation(\"b:b:1\") { isTransitive = false }\n    testImplementation(\"junit:junit:4.13.2\")\n    testImplementation(\"c:c:1\")\n}\n\napplication {\n    mainClass = \"A\"\n}\n\ntasks.jar {\n    archiveBaseName = \"a\"\n}\n\ntasks.test {\n  useJUnitPlatform()\n}\n",
    );
    stays(
        "Gradle: a task that the check names, and blocks for all projects",
        "./gradlew test integrationCheck",
        "build.gradle",
        "subprojects {\n    apply plugin: 'java'\n    test { useJUnitPlatform() }\n}\n",
        "subprojects {\n    apply plugin: 'java'\n    version = '2'\n    dependencies {\n        implementation 'b:b:1'\n    }\n    test { useJUnitPlatform() }\n}\n\ntasks.register('integrationCheck') {\n    dependsOn 'classes'\n}\n",
    );
    verify(&[Honest {
        what: "Gradle: a new project, and one that is gone",
        check: "./gradlew test",
        start: &[
            ("settings.gradle", "rootProject.name = 'x'\ninclude 'a', 'old'\n"),
            ("a/build.gradle", ""),
            ("old/A.java", ""),
        ],
        change: &[
            ("settings.gradle", Some("rootProject.name = 'y'\ninclude(\":a\")\ninclude(\":b\")\n")),
            ("b/build.gradle", Some("plugins { id 'java' }\n")),
            ("old/A.java", None),
        ],
    }]);
}

#[test]
fn others() {
    stays(
        "Rake: a task that the check names",
        "bundle exec rake spec docs:build",
        "Rakefile",
        "require 'rake'\n\ntask :spec do\n  sh 'rspec'\nend\n",
        "require 'rake'\n\ndesc 'Specs'\ntask :spec do\n  sh 'rspec'\nend\n\nnamespace :docs do\n  task :build do\n    sh 'yard'\n  end\nend\n",
    );
    stays(
        ".NET: a new project",
        "dotnet test",
        "x.sln",
        "Project(\"{F}\") = \"App\", \"App\\App.csproj\", \"{1}\"\nEndProject\nGlobal\nEndGlobal\n",
        "Project(\"{F}\") = \"App\", \"App\\App.csproj\", \"{1}\"\nEndProject\nProject(\"{F}\") = \"Lib\", \"Lib\\Lib.csproj\", \"{2}\"\nEndProject\nGlobal\n\tGlobalSection(ProjectConfigurationPlatforms) = postSolution\n\t\t{2}.Debug|Any CPU.Build.0 = Debug|Any CPU\n\tEndGlobalSection\nEndGlobal\n",
    );
    stays(
        "Cargo: an alias that the check names",
        "cargo lint",
        ".cargo/config.toml",
        "[build]\njobs = 1\n",
        "[build]\njobs = 1\n\n[alias]\nlint = \"clippy\"\n",
    );
}
