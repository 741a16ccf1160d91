//! Go, Java with Maven and Gradle, and C with CMake.

use crate::place::{Project, proves, proves_in, proves_with_setup};

#[test]
fn go() {
    proves(&Project {
        needs: &["go"],
        files: &[
            ("go.mod", "module example.com/greet\n\ngo 1.18\n"),
            ("greet.go", "package greet\n\nfunc Greet(name string) string { return \"\" }\n"),
            (
                "greet_test.go",
                "package greet\n\nimport \"testing\"\n\nfunc TestGreet(t *testing.T) {\n\tif got := \
                 Greet(\"a\"); got != \"hi a\" {\n\t\tt.Fatal(got)\n\t}\n}\n",
            ),
        ],
        // It fills the build cache in HOME.
        prepare: &["go vet ./... && go test -run none ./..."],
        check: "go test ./...",
        work: (
            "greet.go",
            "package greet\n\nfunc Greet(name string) string { return \"hi \" + name }\n",
        ),
    });
}

/// Debian's packages (`libsurefire-java` and others) are the local repository: no plugin is
/// downloaded.
#[test]
fn maven() {
    const SUREFIRE: &str =
        "test -d /usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin";
    proves(&Project {
        needs: &["javac", "mvn", SUREFIRE],
        files: &[
            (
                "pom.xml",
                r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>demo</groupId><artifactId>greet</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.0</version></plugin>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.10.1</version></plugin>
      <plugin><artifactId>maven-surefire-plugin</artifactId><version>2.22.3</version></plugin>
    </plugins>
  </build>
</project>
"#,
            ),
            (
                "src/main/java/Greet.java",
                "public class Greet {\n    public static String greet(String name) {\n        return \"\";\n    }\n}\n",
            ),
            (
                "src/test/java/GreetTest.java",
                "import static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\npublic class GreetTest {\n    @Test\n    public void greets() {\n        assertEquals(\"hi a\", Greet.greet(\"a\"));\n    }\n}\n",
            ),
            (".gitignore", "target/\n"),
        ],
        prepare: &[
            "mkdir -p ~/.m2 && cp -rL /usr/share/maven-repo ~/.m2/repository",
            "mvn -o -q -B test-compile",
        ],
        check: "mvn -o -B test",
        work: (
            "src/main/java/Greet.java",
            "public class Greet {\n    public static String greet(String name) {\n        return \"hi \" + name;\n    }\n}\n",
        ),
    });
}

/// Debian's Gradle, with its packages (`junit4`) as the repository: nothing is downloaded. A build
/// takes a quarter of a minute, so only `tests/soak` has this. Its workers write to `/tmp` and not to TMPDIR: `partial` denies that,
/// and `off` leaves it behind.
#[test]
fn gradle() {
    let project = Project {
        needs: &[
            "test -n \"$RALPH_TEST_FULL\"",
            "gradle",
            "javac",
            "test -d /usr/share/maven-repo/junit/junit",
        ],
        files: &[
            (
                "build.gradle",
                "apply plugin: 'java'\n\nrepositories {\n    maven { url 'file:///usr/share/maven-repo' }\n}\n\ndependencies {\n    testCompile 'junit:junit:4.x'\n}\n",
            ),
            ("settings.gradle", "rootProject.name = 'greet'\n"),
            (
                "src/main/java/Greet.java",
                "public class Greet {\n    public static String greet(String name) {\n        return \"\";\n    }\n}\n",
            ),
            (
                "src/test/java/GreetTest.java",
                "import static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\npublic class GreetTest {\n    @Test\n    public void greets() {\n        assertEquals(\"hi a\", Greet.greet(\"a\"));\n    }\n}\n",
            ),
            (".gitignore", ".gradle/\nbuild/\n"),
        ],
        prepare: &[],
        check: "gradle --offline --no-daemon --console=plain test",
        work: (
            "src/main/java/Greet.java",
            "public class Greet {\n    public static String greet(String name) {\n        return \"hi \" + name;\n    }\n}\n",
        ),
    };
    proves_in(&project, &["full"]);
}

#[test]
fn javac_and_make() {
    proves(&Project {
        needs: &["java", "javac", "make"],
        files: &[
            (
                "Makefile",
                "test:\n\tmkdir -p out\n\tjavac -d out src/*.java tests/*.java\n\tjava -cp out GreetTest\n",
            ),
            (
                "src/Greet.java",
                "public class Greet {\n    public static String greet(String name) {\n        return \"\";\n    }\n}\n",
            ),
            (
                "tests/GreetTest.java",
                "public class GreetTest {\n    public static void main(String[] args) {\n        if (!Greet.greet(\"a\").equals(\"hi a\")) {\n            throw new AssertionError();\n        }\n    }\n}\n",
            ),
            (".gitignore", "out/\n"),
        ],
        prepare: &[],
        check: "make test",
        work: (
            "src/Greet.java",
            "public class Greet {\n    public static String greet(String name) {\n        return \"hi \" + name;\n    }\n}\n",
        ),
    });
}

const CMAKE: &[(&str, &str)] = &[
    (
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(sq C)\nenable_testing()\nadd_library(sq src/sq.c)\nadd_executable(test_sq tests/test_sq.c)\ntarget_link_libraries(test_sq sq)\nadd_test(NAME sq COMMAND test_sq)\n",
    ),
    ("src/sq.c", "int sq(int n) { return n - n; }\n"),
    ("tests/test_sq.c", "int sq(int n);\nint main(void) { return sq(7) == 49 ? 0 : 1; }\n"),
    (".gitignore", "build/\n"),
];
const SQ: (&str, &str) = ("src/sq.c", "int sq(int n) { return n * n; }\n");

/// The folder of a build knows where it was configured.
#[test]
fn cmake() {
    let project = Project {
        needs: &["cc", "cmake", "make"],
        files: CMAKE,
        prepare: &["cmake -B build", "cmake --build build"],
        check: "cmake --build build && ctest --test-dir build",
        work: SQ,
    };
    proves_with_setup(&project, "CMakeCache.txt", "rm -rf build && cmake -B build");
}

#[test]
fn cmake_that_configures_itself() {
    proves(&Project {
        needs: &["cc", "cmake", "make"],
        files: CMAKE,
        prepare: &[],
        check: "cmake -B build && cmake --build build && ctest --test-dir build",
        work: SQ,
    });
}
