//! Ruby, Bundler, PHP and Composer.

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

/// The gems are the system's: nothing is downloaded.
#[test]
fn bundler() {
    proves(&Project {
        needs: &["bundle", "rake", "ruby", MINITEST],
        files: &[
            ("Gemfile", "source 'https://rubygems.org'\n\ngem 'minitest'\ngem 'rake'\n"),
            ("Rakefile", "require 'rake/testtask'\n\nRake::TestTask.new\n"),
            ("lib/greet.rb", "def greet(name) = ''\n"),
            (
                "test/test_greet.rb",
                "require 'minitest/autorun'\nrequire 'greet'\n\nclass GreetTest < Minitest::Test\n  def test_greets\n    assert_equal 'hi a', greet('a')\n  end\nend\n",
            ),
        ],
        prepare: &[
            "bundle install --local --quiet",
            "git add --all && git commit --quiet --message lock",
        ],
        check: "bundle exec rake test",
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

/// A package of the repository itself is linked into `vendor`, and the loader is made there.
#[test]
fn composer() {
    proves(&Project {
        needs: &["composer", "php"],
        files: &[
            (
                "composer.json",
                r#"{
  "name": "demo/greet",
  "repositories": [{"type": "path", "url": "packages/text"}, {"packagist.org": false}],
  "require": {"demo/text": "1.0.0"},
  "autoload": {"psr-4": {"Greet\\": "src/"}},
  "scripts": {"test": "php tests/run.php"}
}
"#,
            ),
            (
                "packages/text/composer.json",
                r#"{"name": "demo/text", "version": "1.0.0", "autoload": {"psr-4": {"Text\\": "src/"}}}
"#,
            ),
            (
                "packages/text/src/Join.php",
                "<?php\nnamespace Text;\n\nfinal class Join\n{\n    public static function words(string ...$words): string { return implode(' ', $words); }\n}\n",
            ),
            (
                "src/Greet.php",
                "<?php\nnamespace Greet;\n\nfinal class Greet\n{\n    public static function to(string $name): string { return ''; }\n}\n",
            ),
            (
                "tests/run.php",
                "<?php\nrequire __DIR__ . '/../vendor/autoload.php';\nexit(Greet\\Greet::to('a') === Text\\Join::words('hi', 'a') ? 0 : 1);\n",
            ),
            (".gitignore", "vendor/\n"),
        ],
        prepare: &[
            "composer install --quiet --no-interaction",
            "git add --all && git commit --quiet --message lock",
        ],
        check: "composer --no-interaction test",
        work: (
            "src/Greet.php",
            "<?php\nnamespace Greet;\n\nfinal class Greet\n{\n    public static function to(string $name): string { return \"hi $name\"; }\n}\n",
        ),
    });
}
