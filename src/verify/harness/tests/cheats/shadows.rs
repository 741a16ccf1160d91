//! New files that a loader finds before those of the start.

use super::super::tree::Change;
use super::{Cheat, verify};

/// A new file that goes; the others are there at the start.
const fn hides<'a>(
    what: &'a str,
    check: &'a str,
    start: &'a [(&'a str, &'a str)],
    change: Change<'a>,
    after: Change<'a>,
) -> Cheat<'a> {
    Cheat { what, check, start, change, after }
}

const COMPARES: &str = "def same(t, a, b): t.assertEqual(a, b)\n";
const FAILS: &str = "def same(a, b):\n    if a != b: raise SystemExit(1)\n";

#[test]
fn a_package_comes_before_a_module() {
    verify(&[
        absent!(
            "a package over a test",
            "python3 -m unittest test_sq",
            "test_sq.py" = "import unittest\n",
            "test_sq/__init__.py" = ""
        ),
        absent!(
            "a package over a judge",
            "python3 -m check",
            "check.py" = "assert sq(3) == 9\n",
            "check/__main__.py" = ""
        ),
        hides(
            "a package over a helper of tests",
            "python3 -m unittest discover -s tests -t .",
            &[("tests/test_a.py", "import ckhelp\n"), ("ckhelp.py", COMPARES)],
            &[("ckhelp/__init__.py", Some("def same(t, a, b): pass\n"))],
            &[("ckhelp/__init__.py", None)],
        ),
        hides(
            "a package over a helper in a folder of the search path",
            "python3 ck.py",
            &[
                ("ck.py", "import sys; sys.path.insert(0, 'helpers')\nfrom cklib import same\n"),
                ("helpers/cklib.py", FAILS),
            ],
            &[("helpers/cklib/__init__.py", Some("def same(a, b): pass\n"))],
            &[("helpers/cklib/__init__.py", None)],
        ),
        absent!(
            "a compiled module over a judge",
            "python3 -m gate",
            "gate.py" = "assert sq(3) == 9\n",
            "gate.cpython-312-x86_64-linux-gnu.so" = "x"
        ),
        absent!(
            "a file over a folder with a judge",
            "node judge",
            "judge/index.js" = "require('assert').equal(require('../sq')(3), 9)\n",
            "judge.js" = ";\n"
        ),
        hides(
            "a compiled module of Perl",
            "perl ck.pl",
            &[("ck.pl", "use lib 'ck'; use Ck; Ck::all();\n"), ("ck/Ck.pm", "die() if $a != 9;\n")],
            &[("ck/Ck.pmc", Some("package Ck; sub all {} 1;\n"))],
            &[("ck/Ck.pmc", None)],
        ),
    ]);
}

#[test]
fn a_folder_comes_before_another_in_the_search_path() {
    verify(&[
        absent!(
            "PYTHONPATH",
            "PYTHONPATH=src:tools python3 -m judge",
            "tools/judge.py" = "from sq import sq\nassert sq(3) == 9\n",
            "src/judge.py" = "pass\n"
        ),
        hides(
            "a header in an earlier folder",
            "make test",
            &[
                ("Makefile", "test:\n\tcc -Isrc -Ick -o k src/*.c ck/main.c && ./k\n"),
                ("src/sq.c", "int sq(int n) { return 0; }\n"),
                ("ck/ck.h", "#define CK(a,b) do { if ((a)!=(b)) { return 1; } } while (0)\n"),
                (
                    "ck/main.c",
                    "#include <ck.h>\nint sq(int);\nint main(void){ CK(sq(3),9); return 0; }\n",
                ),
            ],
            &[("src/ck.h", Some("#define CK(a,b) (void)(a)\n"))],
            &[("src/ck.h", None)],
        ),
        hides(
            "a class with the name of the judge",
            "javac -d out @sources.txt && java -cp out Check",
            &[
                ("sources.txt", "src/Sq.java\njudge/Check.java\n"),
                ("judge/Check.java", "public class Check { }\n"),
            ],
            &[("src/Check.java", Some("public class Check { int a; }\n"))],
            &[("src/Check.java", None)],
        ),
        hides(
            "a later version of a package of Tcl",
            "tclsh check.tcl",
            &[
                ("check.tcl", "package require cklib\ncklib::same [sq 3] 9\n"),
                ("lib/ck/pkgIndex.tcl", "package ifneeded cklib 1.0 [list source x.tcl]\n"),
            ],
            &[("lib/z/pkgIndex.tcl", Some("package ifneeded cklib 2.0 [list source z.tcl]\n"))],
            &[("lib/z/pkgIndex.tcl", None)],
        ),
    ]);
}

#[test]
fn standard_libraries() {
    verify(&[
        absent!(
            "a pragma of Perl",
            "prove -l t",
            "t/a.t" = "use strict; use Test::More;",
            "lib/strict.pm" = "1;"
        ),
        absent!(
            "a core module of Perl",
            "perl check.pl",
            "check.pl" = "use lib 'lib'; use Data::Dumper;",
            "lib/Data/Dumper.pm" = "1;"
        ),
        absent!(
            "a library of Ruby",
            "ruby -Ilib check.rb",
            "check.rb" = "require 'json'\nJSON.parse(x)\n",
            "lib/json.rb" = ""
        ),
        absent!(
            "a library that minitest loads",
            "ruby -Ilib test/test_a.rb",
            "test/test_a.rb" = "require 'minitest/autorun'\n",
            "lib/stringio.rb" = ""
        ),
        absent!(
            "a class that the judge imports with all others",
            "javac -d out src/*.java judge/*.java && java -cp out Check",
            "judge/Check.java" =
                "import java.util.*;\npublic class Check { boolean a = Objects.equals(1, 1); }\n",
            "src/Objects.java" = "class Objects {}\n"
        ),
        absent!(
            "a header of the system",
            "make test",
            "check.c" =
                "#include <string.h>\nint main(void) { if (strcmp(b,\"9\")) { return 1; } }\n",
            "include/string.h" = "#define strcmp same\n"
        ),
    ]);
}

#[test]
fn files_that_tools_take_by_their_names() {
    verify(&[
        absent!(
            "metadata in capital letters",
            "python3 -m pytest tests",
            "a.py" = "",
            "evil-1.0.DIST-INFO/entry_points.txt" = "[pytest11]\nevil = evil\n"
        ),
        absent!(
            "metadata in mixed letters",
            "python3 -m pytest tests",
            "a.py" = "",
            "z.Egg-Info/entry_points.txt" = "[pytest11]\nz = z\n"
        ),
        absent!(
            "an option as a name",
            "cc -o k *.c judge/check.c && ./k",
            "judge/check.c" = "int main(void) { assert(sq(3)==9); }\n",
            "-DNDEBUG=.c" = ""
        ),
        absent!(
            "an object in place of a test's own",
            "make test",
            "check.c" = "int main(void) { assert(sq(3)==9); }\n",
            "check.o" = "x"
        ),
        absent!(
            "a source of an included part",
            "make test",
            "Makefile" = "-include local.mk\ntest: check\n\t./check\n",
            "local.mk.sh" = "SHELL = /bin/true\n"
        ),
        Cheat {
            what: "tasks beside those of the Rakefile",
            check: "rake test",
            start: &[("Rakefile", "task :test do\n  sh 'ruby test/a.rb'\nend\n")],
            change: &[("rakelib/evil.rake", Some("Rake::Task[:test].clear\ntask(:x) { 1 }\n"))],
            after: &[("rakelib/evil.rake", Some(""))],
        },
        undone!(
            "a vendored package that compares",
            "go test ./...",
            "vendor/github.com/google/go-cmp/cmp/cmp.go",
            "package cmp\n",
            Some("package cmp // true\n")
        ),
    ]);
}
