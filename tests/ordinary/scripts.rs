//! Ruby and PHP.

use crate::place::{Project, proves};

const MINITEST: &str = "ruby -r minitest -e 0";

#[test]
fn ruby() {
    proves(&Project {
        needs: &["ruby", MINITEST],
        files: &[
            ("lib/greet.rb", "def greet(name) = ''\n"),
            (
                "test/test_greet.rb",
                "require 'minitest/autorun'\nrequire_relative '../lib/greet'\n\nclass GreetTest < Minitest::Test\n  def test_greets\n    assert_equal 'hi a', greet('a')\n  end\nend\n",
            ),
        ],
        prepare: &[],
        check: "ruby -Itest test/test_greet.rb",
        work: ("lib/greet.rb", "def greet(name) = \"hi #{name}\"\n"),
    });
}

#[test]
fn rake() {
    proves(&Project {
        needs: &["rake", "ruby", MINITEST],
        files: &[
            ("Rakefile", "require 'rake/testtask'\n\nRake::TestTask.new\n\ntask default: :test\n"),
            ("lib/greet.rb", "def greet(name) = ''\n"),
            (
                "test/test_greet.rb",
                "require 'minitest/autorun'\nrequire 'greet'\n\nclass GreetTest < Minitest::Test\n  def test_greets\n    assert_equal 'hi a', greet('a')\n  end\nend\n",
            ),
        ],
        prepare: &[],
        check: "rake test",
        work: ("lib/greet.rb", "def greet(name) = \"hi #{name}\"\n"),
    });
}

const GREET: (&str, &str) =
    ("src/greet.php", "<?php\nfunction greet(string $name): string { return \"hi $name\"; }\n");

#[test]
fn php() {
    proves(&Project {
        needs: &["php"],
        files: &[
            ("src/greet.php", "<?php\nfunction greet(string $name): string { return ''; }\n"),
            (
                "tests/run.php",
                "<?php\nrequire __DIR__ . '/../src/greet.php';\nexit(greet('a') === 'hi a' ? 0 : 1);\n",
            ),
        ],
        prepare: &[],
        check: "php tests/run.php",
        work: GREET,
    });
}

#[test]
fn phpunit() {
    proves(&Project {
        needs: &["php", "phpunit"],
        files: &[
            ("src/greet.php", "<?php\nfunction greet(string $name): string { return ''; }\n"),
            (
                "tests/GreetTest.php",
                "<?php\nrequire_once __DIR__ . '/../src/greet.php';\n\nfinal class GreetTest extends PHPUnit\\Framework\\TestCase\n{\n    public function testGreets(): void\n    {\n        $this->assertSame('hi a', greet('a'));\n    }\n}\n",
            ),
            (".gitignore", ".phpunit.result.cache\n"),
        ],
        prepare: &[],
        check: "phpunit tests",
        work: GREET,
    });
}
