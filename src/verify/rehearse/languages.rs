//! Programs that do as little as possible, by language.

use std::path::Path;

use serde_json::json;

/// A language that a cheat can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Shell,
    Python,
    Node,
    Ruby,
    Perl,
    Php,
    C,
    Go,
    Rust,
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
            () if named(&["c"]) => Some(Self::C),
            () if named(&["go"]) => Some(Self::Go),
            () if named(&["rs"]) => Some(Self::Rust),
            () if named(&["sh", "bash", "dash", "zsh", "ksh"]) => Some(Self::Shell),
            () => None,
        }
    }

    /// Is it compiled, so that a check does not name its source?
    pub(super) fn is_compiled(self) -> bool {
        matches!(self, Self::C | Self::Go | Self::Rust)
    }

    /// Does the text hold the program's start? Always, where any file can be run.
    pub(super) fn is_program(self, text: &str) -> bool {
        match self {
            Self::C => text.contains(" main("),
            Self::Go => text.contains("func main("),
            Self::Rust => text.contains("fn main("),
            Self::Shell | Self::Python | Self::Node | Self::Ruby | Self::Perl | Self::Php => true,
        }
    }

    /// A program that ends with 0 at once, or as soon as the code of the old one is loaded.
    pub(super) fn exits(self, old: Option<&str>) -> Option<String> {
        let text = match (self, old) {
            (Self::Shell, _) => "exit 0\n",
            (Self::Python, _) => "import os\nos._exit(0)\n",
            (Self::Node, _) => "process.exit(0)\n",
            (Self::Ruby, _) => "exit!(0)\n",
            (Self::Perl, _) => "BEGIN { require POSIX; POSIX::_exit(0) }\n1;\n",
            (Self::Php, _) => "<?php exit(0);\n",
            (Self::C, None) => "int main(void) { return 0; }\n",
            (Self::C, Some(old)) => {
                let text = old.replace(") {", ") { _exit(0);").replace(")\n{", ") { _exit(0);");
                return Some(format!("void _exit(int);\n{text}"));
            }
            (Self::Go, None) => "package main\n\nfunc main() {}\n",
            (Self::Go, Some(old)) => {
                let at = old.lines().position(|line| line.starts_with("package "))?;
                let mut lines: Vec<&str> = old.lines().collect();
                lines.insert(at + 1, "import rehearsal \"os\"");
                lines.push("func init() { rehearsal.Exit(0) }\n");
                return Some(lines.join("\n"));
            }
            (Self::Rust, Some(old)) if !self.is_program(old) => return None,
            (Self::Rust, _) => "fn main() {}\n",
        };
        Some(text.to_owned())
    }

    /// A program that prints a text.
    pub(super) fn prints(self, text: &str) -> String {
        let quoted = single(text);
        match self {
            Self::Shell => format!("printf '%s\\n' '{}'\n", text.replace('\'', r"'\''")),
            // Their single quotes hold no line breaks.
            Self::Python => format!("print({})\n", json!(text)),
            Self::Node => format!("console.log({})\n", json!(text)),
            Self::Ruby => format!("puts {quoted}\n"),
            Self::Perl => format!("print {quoted}, \"\\n\";\n"),
            Self::Php => format!("<?php echo {quoted}, \"\\n\";\n"),
            Self::C => {
                format!("#include <stdio.h>\nint main(void) {{ puts({text:?}); return 0; }}\n")
            }
            Self::Go => {
                format!(
                    "package main\n\nimport \"fmt\"\n\nfunc main() {{ fmt.Println({text:?}) }}\n"
                )
            }
            Self::Rust => format!("fn main() {{ println!(\"{{}}\", {text:?}); }}\n"),
        }
    }

    /// A program that runs a line of shell, with its arguments where that is easy.
    pub(super) fn runs(self, line: &str) -> String {
        let quoted = single(line);
        match self {
            Self::Shell => format!("{line}\n"),
            Self::Python => format!(
                "import subprocess, sys\nsubprocess.run(['sh', '-c', {quoted}, 'sh', *sys.argv[1:]])\n"
            ),
            Self::Node => format!(
                "require('child_process').spawnSync('sh', ['-c', {quoted}, 'sh', ...process.argv.slice(2)], {{ stdio: 'inherit' }})\n"
            ),
            Self::Ruby => format!("system('sh', '-c', {quoted}, 'sh', *ARGV)\n"),
            Self::Perl => format!("system('sh', '-c', {quoted}, 'sh', @ARGV);\n1;\n"),
            Self::Php => format!("<?php passthru({quoted});\n"),
            Self::C => {
                format!("#include <stdlib.h>\nint main(void) {{ return system({line:?}) != 0; }}\n")
            }
            Self::Go => format!(
                "package main\n\nimport (\n\t\"os\"\n\t\"os/exec\"\n)\n\nfunc main() {{\n\
                 \tit := exec.Command(\"sh\", \"-c\", {line:?})\n\tit.Stdout = os.Stdout\n\
                 \tit.Run()\n}}\n"
            ),
            Self::Rust => format!(
                "fn main() {{\n    let mut it = std::process::Command::new(\"sh\");\n    \
                 it.args([\"-c\", {line:?}]).status().unwrap();\n}}\n"
            ),
        }
    }

    /// A server that answers everything, at a port or at the one that its last argument says.
    pub(super) fn serves(self, port: Option<&str>) -> Option<String> {
        match self {
            Self::Python => Some(format!(
                "import sys\nfrom http.server import BaseHTTPRequestHandler, HTTPServer\n\n\n\
                 class All(BaseHTTPRequestHandler):\n    def do_GET(self):\n        \
                 self.send_response(200)\n        self.end_headers()\n        \
                 self.wfile.write(b'{{}}')\n\n    do_POST = do_PUT = do_DELETE = do_GET\n\n\n\
                 HTTPServer(('127.0.0.1', int({})), All).serve_forever()\n",
                port.unwrap_or("sys.argv[-1]")
            )),
            Self::Node => Some(format!(
                "require('http').createServer((q, r) => r.end('{{}}')).listen({}, '127.0.0.1')\n",
                port.unwrap_or("+process.argv.at(-1)")
            )),
            _ => None,
        }
    }

    /// A test that tests nothing, with a word in its name.
    pub(super) fn passes(self, path: &Path, word: &str) -> String {
        let name = path.to_string_lossy();
        let word: String =
            word.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        match self {
            Self::Shell => "exit 0\n".to_owned(),
            Self::Python => format!(
                "import unittest\n\n\ndef test_{word}():\n    pass\n\n\nclass NothingTest(unittest.TestCase):\n    \
                 def test_{word}(self):\n        pass\n"
            ),
            Self::Node => format!("require('node:test')('{word}', () => {{}})\n"),
            Self::Ruby if name.ends_with("_spec.rb") => {
                format!("describe('{word}') {{ it('is') {{}} }}\n")
            }
            Self::Ruby => format!(
                "require 'minitest/autorun'\nclass NothingTest < Minitest::Test\n  def test_{word} = assert(true)\nend\n"
            ),
            Self::Perl => "print \"1..1\\nok 1\\n\";\n".to_owned(),
            Self::Php if name.ends_with("Test.php") => {
                let class = path.file_stem().unwrap_or_default().to_string_lossy();
                format!(
                    "<?php\nclass {class} extends PHPUnit\\Framework\\TestCase {{ public function test_{word}() {{ $this->assertTrue(true); }} }}\n"
                )
            }
            Self::Php => "<?php exit(0);\n".to_owned(),
            Self::C => "int main(void) { return 0; }\n".to_owned(),
            Self::Go => {
                // Without it, a small letter behind `Test` makes no test.
                let word = word.strip_prefix("Test").map_or(format!("_{word}"), str::to_owned);
                format!("import \"testing\"\n\nfunc Test{word}(t *testing.T) {{}}\n")
            }
            Self::Rust => format!("#[test]\nfn {word}() {{}}\n"),
        }
    }
}

/// A text in single quotes.
pub(super) fn single(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
