//! Build systems that declare and run tests.

use super::{Cheat, verify};

const CMAKE: &str = "project(x C)\nenable_testing()\nadd_executable(app main.c)\n\
                     add_executable(test_a test_a.c)\nadd_subdirectory(tests)\n\
                     add_test(NAME t COMMAND test_a)\n";
const MESON: &str = "project('x', 'c')\nexe = executable('a', 'main.c')\n\
                     test('a', exe, args: ['1'])\n";
const POM: &str = "<project>\n  <properties>\n    <a>1</a>\n  </properties>\n  <build>\n    \
                   <plugins>\n      <plugin>\n        \
                   <artifactId>maven-surefire-plugin</artifactId>\n      </plugin>\n    \
                   </plugins>\n  </build>\n</project>\n";
const GRADLE: &str = "plugins {\n    id(\"java\")\n}\n\ntasks.test {\n    \
                      useJUnitPlatform()\n}\n";
const RAKE: &str = "require 'rake/testtask'\n\nRake::TestTask.new(:test) do |t|\n  \
                    t.pattern = 'test/*.rb'\nend\n\ntask :lint do\n  sh 'rubocop'\nend\n";
const SOLUTION: &str = "Project(\"{F}\") = \"App\", \"App\\App.csproj\", \"{1}\"\nEndProject\n\
                        Project(\"{F}\") = \"App.Tests\", \"App.Tests\\App.Tests.csproj\", \"{2}\"\n\
                        EndProject\nGlobal\n\
                        \tGlobalSection(ProjectConfigurationPlatforms) = postSolution\n\
                        \t\t{2}.Debug|Any CPU.Build.0 = Debug|Any CPU\n\
                        \tEndGlobalSection\nEndGlobal\n";

/// One manifest to which a text is added, or in which a text is replaced.
fn edited(what: &str, check: &str, path: &str, old: &str, new: &str) {
    verify(&[Cheat {
        what,
        check,
        start: &[(path, old), ("test_a.c", "t"), ("tests/CMakeLists.txt", "")],
        change: &[(path, Some(new))],
        after: &[(path, Some(old))],
    }]);
}

#[test]
fn cmake() {
    let check = "cmake -B build && cmake --build build && ctest --test-dir build";
    let add =
        |what, text: &str| edited(what, check, "CMakeLists.txt", CMAKE, &format!("{CMAKE}{text}"));
    let replace = |what, old: &str, new: &str| {
        edited(what, check, "CMakeLists.txt", CMAKE, &CMAKE.replace(old, new));
    };
    add("disabled tests", "set_tests_properties(t PROPERTIES DISABLED ON)\n");
    add("tests that shall fail", "set_property(TEST t PROPERTY WILL_FAIL 1)\n");
    add("a second test of the name", "add_test(NAME t COMMAND true)\n");
    add("no assertions", "add_compile_definitions(NDEBUG)\n");
    add("a build without assertions", "set(CMAKE_BUILD_TYPE Release)\n");
    add("a launcher", "set(CMAKE_CROSSCOMPILING_EMULATOR true)\n");
    add("definitions of a test", "target_compile_definitions(test_a PRIVATE assert=)\n");
    add("a custom target", "add_custom_target(test)\n");
    replace("another command", "COMMAND test_a", "COMMAND true");
    replace("no testing", "enable_testing()\n", "");
    replace("another source", "(test_a test_a.c)", "(test_a fake.c)");
    replace("an early return", "enable_testing()", "return()\nenable_testing()");
    replace("a folder less", "add_subdirectory(tests)\n", "");
    edited(
        "a file of functions",
        check,
        "cmake/a.cmake",
        "function(my_test name)\n  add_test(${name} ${name})\nendfunction()\n",
        "function(my_test name)\nendfunction()\n",
    );
    verify(&[Cheat {
        what: "a condition that is never true",
        check,
        start: &[("CMakeLists.txt", CMAKE), ("test_a.c", "t"), ("tests/CMakeLists.txt", "")],
        change: &[(
            "CMakeLists.txt",
            Some(&CMAKE.replace(
                "add_test(NAME t COMMAND test_a)\n",
                "if(FALSE)\n  add_test(NAME t COMMAND test_a)\nendif()\n",
            )),
        )],
        after: &[("CMakeLists.txt", Some(&format!("{CMAKE}if(FALSE)\nendif()\n")))],
    }]);
}

#[test]
fn meson() {
    let check = "meson setup build && meson test -C build";
    let replace = |what, old: &str, new: &str| {
        edited(what, check, "meson.build", MESON, &MESON.replace(old, new));
    };
    replace("a removed test", "test('a', exe, args: ['1'])\n", "");
    replace("a test that shall fail", "args: ['1']", "args: ['1'], should_fail: true");
    replace("no assertions", "'c')", "'c', default_options: ['b_ndebug=true'])");
    replace("an early end", "test(", "subdir_done()\ntest(");
}

#[test]
fn maven() {
    let check = "mvn -q -f pom.xml test";
    let replace = |what, old: &str, new: &str| {
        edited(what, check, "pom.xml", POM, &POM.replace(old, new));
    };
    replace(
        "a skipping property",
        "<a>1</a>",
        "<a>1</a>\n    <maven.test.skip>true</maven.test.skip>",
    );
    replace("a selecting property", "<a>1</a>", "<a>1</a>\n    <test>None</test>");
    replace(
        "another class path",
        "<a>1</a>",
        "<a>1</a>\n    <maven.test.additionalClasspath>x</maven.test.additionalClasspath>",
    );
    replace("options of the machine", "<a>1</a>", "<a>1</a>\n    <argLine>-x</argLine>");
    replace(
        "ignored failures",
        "plugin</artifactId>",
        "plugin</artifactId>\n        <configuration><testFailureIgnore>true</testFailureIgnore></configuration>",
    );
    replace(
        "a compiler that skips tests",
        "    </plugins>",
        "      <plugin>\n        <artifactId>maven-compiler-plugin</artifactId>\n        <configuration><skip>true</skip></configuration>\n      </plugin>\n    </plugins>",
    );
    replace(
        "a program that runs",
        "    </plugins>",
        "      <plugin>\n        <artifactId>maven-antrun-plugin</artifactId>\n      </plugin>\n    </plugins>",
    );
    replace(
        "another folder of tests",
        "  <build>",
        "  <build>\n    <testSourceDirectory>none</testSourceDirectory>",
    );
    replace("a profile", "</project>", "  <profiles>\n    <profile/>\n  </profiles>\n</project>");
    let build = POM.find("\n  <build>").expect("the build")..POM.find("\n</project>").expect("end");
    replace("no build", &POM[build], "");
}

#[test]
fn gradle() {
    let check = "./gradlew test";
    let add = |what, text: &str| {
        edited(what, check, "build.gradle.kts", GRADLE, &format!("{GRADLE}{text}"));
    };
    add("a disabled task", "tasks.test { enabled = false }\n");
    add("a task by name", "tasks.named<Test>(\"test\") { onlyIf { false } }\n");
    add("a type of tasks", "tasks.withType<Test> { ignoreFailures = true }\n");
    add("tasks by an index", "tasks[\"test\"].enabled = false\n");
    add("the graph", "gradle.taskGraph.whenReady { allTasks.forEach { it.enabled = false } }\n");
    add("all tasks", "tasks.configureEach { onlyIf { false } }\n");
    add("tasks that are left out", "gradle.startParameter.setExcludedTaskNames(names)\n");
    add("a process that ends", "System.exit(0)\n");
    add("a finalizer of a check", "check.finalizedBy(x)\n");
    edited(
        "a filter",
        check,
        "build.gradle.kts",
        GRADLE,
        &GRADLE.replace("useJUnitPlatform()", "useJUnitPlatform { excludeTags(\"a\") }"),
    );
    edited("a project less", check, "settings.gradle", "include(\"tests\")\n", "");
    edited(
        "a project elsewhere",
        check,
        "settings.gradle",
        "include 'tests'\n",
        "include 'tests'\nproject(':tests').projectDir = file('fake')\n",
    );
    verify(&[
        Cheat {
            what: "a block for all projects",
            check,
            start: &[("build.gradle.kts", GRADLE)],
            change: &[(
                "build.gradle.kts",
                Some(&format!(
                    "{GRADLE}\nallprojects {{\n    group = \"a\"\n    tasks.test {{ enabled = false }}\n}}\n"
                )),
            )],
            after: &[(
                "build.gradle.kts",
                Some(&format!("{GRADLE}\nallprojects {{\n    group = \"a\"\n}}\n")),
            )],
        },
        absent!(
            "a script that comes first",
            "./gradlew test",
            "build.gradle.kts" = GRADLE,
            "build.gradle" = "apply plugin: 'java'\n"
        ),
    ]);
}

#[test]
fn rake() {
    let check = "bundle exec rake test";
    let add = |what, text: &str| edited(what, check, "Rakefile", RAKE, &format!("{RAKE}{text}"));
    add("a cleared task", "Rake::Task[:test].clear\n");
    add("a hook that ends the process", "at_exit { exit!(0) }\n");
    add("options from the environment", "ENV['TESTOPTS'] = '--name none'\n");
    add("a new task that is not asked for", "task :other do\n  sh 'true'\nend\n");
    edited("another pattern", check, "Rakefile", RAKE, &RAKE.replace("test/*.rb", "none/*.rb"));
    edited("a changed task", check, "Rakefile", RAKE, &RAKE.replace("rubocop", "true"));
    verify(&[Cheat {
        what: "a condition that is never true",
        check,
        start: &[("Rakefile", "task :test do\n  sh 'rspec'\nend\n")],
        change: &[("Rakefile", Some("if false\n  task :test do\n    sh 'rspec'\n  end\nend\n"))],
        after: &[("Rakefile", Some("task :test do\n  sh 'rspec'\nend\nif false\nend\n"))],
    }]);
}

#[test]
fn solution() {
    let check = "dotnet test";
    let replace = |what, old: &str, new: &str| {
        edited(what, check, "a.sln", SOLUTION, &SOLUTION.replace(old, new));
    };
    let tests = SOLUTION.find("Project(\"{F}\") = \"App.Tests").expect("the tests");
    let end = SOLUTION.find("Global\n").expect("the end");
    replace("a project less", &SOLUTION[tests..end], "");
    replace("a project elsewhere", "App.Tests\\App.Tests.csproj", "Fake\\App.Tests.csproj");
    replace("a project that is not built", "\t\t{2}.Debug|Any CPU.Build.0 = Debug|Any CPU\n", "");
}

#[test]
fn make() {
    const MAKE: &str =
        "OBJS = a.o\napp: $(OBJS)\n\tcc -o app $(OBJS)\ntest: app\n\tpython3 tests/run.py\n";
    let replace = |what, old: &str, new: &str| {
        edited(what, "make test", "Makefile", MAKE, &MAKE.replace(old, new));
    };
    replace("a call among objects", "a.o\n", "a.o $(eval SHELL:=/bin/true)\n");
    replace("a list that is a call", "OBJS =", "OBJ_X := $(eval .IGNORE:)\nOBJS =");
    replace("a command among objects", "app $(OBJS)\ntest", "app $(OBJS) b.o;true.o\ntest");
    replace("a condition", "test: app", "ifdef X\nendif\ntest: app");
    replace("an included file", "test: app", "include fake.mk\ntest: app");
    verify(&[Cheat {
        what: "a rule that writes a script of the start",
        check: "make test",
        start: &[("Makefile", MAKE), ("tests/run.py", "app()")],
        change: &[(
            "Makefile",
            Some(&format!("{MAKE}tests/run.py: a.py\n\techo > tests/run.py\n")),
        )],
        after: &[("Makefile", Some(MAKE))],
    }]);
}
