//! Comments, by the kind of a file.
//!
//! Invariant: pure.

use std::path::Path;

/// A line with a text, in a comment if the file's kind has them.
pub(super) fn comment(path: &Path, text: &str, is_comment: bool) -> String {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let (before, after) = match extension {
        _ if !is_comment => ("", ""),
        "py" | "sh" | "rb" | "pl" | "yml" | "yaml" | "toml" | "ini" | "cfg" | "conf" | "tf"
        | "bash" | "mk" | "env" | "r" | "ex" | "exs" | "nix" => ("# ", ""),
        "js" | "ts" | "rs" | "go" | "c" | "h" | "java" | "cpp" | "cs" | "mjs" | "cjs" | "tsx"
        | "jsx" | "kt" | "swift" | "php" | "scss" | "proto" | "scala" | "dart" | "zig" => {
            ("// ", "")
        }
        "sql" | "lua" | "hs" => ("-- ", ""),
        "css" => ("/* ", " */"),
        "html" | "xml" | "svg" | "md" | "vue" => ("<!-- ", " -->"),
        _ if ["Makefile", "Dockerfile", "Gemfile", "Rakefile"].contains(&name) => ("# ", ""),
        _ => ("", ""),
    };
    format!("{before}{text}{after}\n")
}
