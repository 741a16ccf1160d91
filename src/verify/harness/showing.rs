//! Programs that show what is in files, and their operands.

use super::options::{OptionSyntax, all};
use super::programs::lists;

/// A program that shows what is in files.
struct Tool {
    names: &'static str,
    syntax: OptionSyntax,
    /// Operands before the files: a pattern, or a program.
    operands: usize,
    /// Options that take the place of such an operand.
    given: &'static str,
}

const fn row(names: &'static str, valued: &'static str) -> Tool {
    Tool { names, syntax: OptionSyntax { valued, ..OptionSyntax::NONE }, operands: 0, given: "" }
}

const fn programmable(names: &'static str, valued: &'static str, given: &'static str) -> Tool {
    Tool { operands: 1, given, ..row(names, valued) }
}

const TOOLS: &[Tool] = &[
    row(
        "cat tac nl rev wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum \
         base32 base64 strings zcat gzip gunzip bzcat xzcat zstdcat comm tee bc dc \
         dos2unix column xmllint",
        "",
    ),
    row("diff sdiff colordiff", "UCFILWx"),
    row("cmp", "nij"),
    row("shasum", "a"),
    row("head tail", "nc"),
    row("sort", "ktoST"),
    row("uniq", "fsw"),
    row("cut", "dfcb"),
    row("fold fmt expand unexpand", "wt"),
    row("paste", "d"),
    row("join", "12taeoj"),
    row("od xxd hexdump", "tNjAwlscgen"),
    row("iconv", "ft"),
    Tool { operands: 9, ..row("tr", "") },
    programmable("sed gsed", "ef", "e f expression file"),
    programmable("awk gawk mawk nawk", "vFf", "f file"),
    programmable("grep egrep fgrep rg zgrep", "emABCfdD", "e f regexp file"),
    programmable("jq gojq yq", "fL", "f from-file"),
];

fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| lists(tool.names, name))
}

impl Tool {
    /// The files among its arguments.
    fn files<'w>(&self, arguments: &'w [String]) -> Vec<&'w str> {
        let (given, operands) = all(self.syntax, arguments);
        let takes = given.iter().any(|(name, _)| lists(self.given, name));
        let skipped = if takes { 0 } else { self.operands };
        operands.into_iter().skip(skipped).map(String::as_str).collect()
    }
}

/// The files among the arguments of a program that shows files.
pub(super) fn files<'w>(name: &str, arguments: &'w [String]) -> Vec<&'w str> {
    tool(name).map(|tool| tool.files(arguments)).unwrap_or_default()
}

/// Does a program show what is in files?
pub(super) fn shows(name: &str) -> bool {
    tool(name).is_some()
}

/// Does a program work with several inputs at once?
pub(super) fn mixes(name: &str) -> bool {
    lists("awk gawk mawk nawk jq gojq yq", name)
}

/// The files that options name: patterns of `grep -f`, values of `jq --slurpfile`.
pub(super) fn named_files(name: &str, arguments: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    if lists("jq gojq yq", name) {
        let takes = |word: &String| lists("--slurpfile --rawfile --argfile", word);
        let named = arguments.windows(3).filter(|words| takes(&words[0]));
        found.extend(named.map(|words| words[2].clone()));
    } else if let Some(tool) = tool(name) {
        let (given, _) = all(tool.syntax, arguments);
        let files = given.iter().filter(|(option, _)| lists("f file", option));
        found.extend(files.filter_map(|(_, value)| value.map(str::to_owned)));
    }
    found
}
