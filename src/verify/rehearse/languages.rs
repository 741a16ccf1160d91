//! Programs that do as little as possible, by language.

use std::path::Path;

/// A language that is run from its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Shell,
    Python,
    Node,
    Ruby,
    Perl,
    Php,
}

impl Language {
    /// By the extension, or by the first line of the existing file.
    pub(super) fn of(path: &Path, text: Option<&str>) -> Option<Self> {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let shebang = text.and_then(|text| text.lines().next()?.strip_prefix("#!"));
        let named = |names: &[&str]| {
            names.contains(&extension)
                || shebang.is_some_and(|line| names.iter().any(|name| line.contains(name)))
        };
        match () {
            () if named(&["py", "python"]) => Some(Self::Python),
            () if named(&["js", "mjs", "cjs", "ts", "node"]) => Some(Self::Node),
            () if named(&["rb", "ruby"]) => Some(Self::Ruby),
            () if named(&["pl", "pm", "t", "perl"]) => Some(Self::Perl),
            () if named(&["php"]) => Some(Self::Php),
            () if named(&["sh", "bash", "dash", "zsh", "ksh"]) => Some(Self::Shell),
            () => None,
        }
    }

    /// A program that ends with 0 at once.
    pub(super) fn exits(self) -> &'static str {
        match self {
            Self::Shell => "exit 0\n",
            Self::Python => "import os\nos._exit(0)\n",
            Self::Node => "process.exit(0)\n",
            Self::Ruby => "exit!(0)\n",
            Self::Perl => "BEGIN { require POSIX; POSIX::_exit(0) }\n1;\n",
            Self::Php => "<?php exit(0);\n",
        }
    }

    /// A program that prints a text.
    pub(super) fn prints(self, text: &str) -> String {
        let quoted = format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
        match self {
            Self::Shell => format!("printf '%s\\n' '{}'\n", text.replace('\'', r"'\''")),
            Self::Python => format!("print({quoted})\n"),
            Self::Node => format!("console.log({quoted})\n"),
            Self::Ruby => format!("puts {quoted}\n"),
            Self::Perl => format!("print {quoted}, \"\\n\";\n"),
            Self::Php => format!("<?php echo {quoted}, \"\\n\";\n"),
        }
    }

    /// A test that tests nothing.
    pub(super) fn passes(self, path: &Path) -> &'static str {
        let name = path.to_string_lossy();
        match self {
            Self::Shell => "exit 0\n",
            Self::Python => {
                "import unittest\n\n\ndef test_nothing():\n    pass\n\n\nclass NothingTest(unittest.TestCase):\n    \
                 def test_nothing(self):\n        pass\n"
            }
            Self::Node => "require('node:test')('nothing', () => {})\n",
            Self::Ruby if name.ends_with("_spec.rb") => "describe('nothing') { it('is') {} }\n",
            Self::Ruby => {
                "require 'minitest/autorun'\nclass NothingTest < Minitest::Test\n  def test_nothing = assert(true)\nend\n"
            }
            Self::Perl => "print \"1..1\\nok 1\\n\";\n",
            Self::Php => "<?php exit(0);\n",
        }
    }
}
