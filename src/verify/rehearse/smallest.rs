//! The smallest content that a reader, a parser, or a compiler takes, by a file's name.
//!
//! Invariant: pure. An empty text is the smallest content of many files, and is tried before.

use std::path::Path;

use super::languages::Language;

/// The sum of nothing, for a list of sums: the file that it names is always empty.
const EMPTY_SUMS: [(&str, &str); 3] = [
    ("md5", "d41d8cd98f00b204e9800998ecf8427e"),
    ("sha1", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
];

/// A new file with a little content, or as little as its kind allows.
pub(super) fn smallest(path: &Path) -> String {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_lowercase();
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match extension {
        "json" | "webmanifest" => "{}\n".to_owned(),
        "xml" | "html" | "htm" | "svg" | "rss" | "atom" | "plist" => "<a/>\n".to_owned(),
        "yml" | "yaml" => "a: 1\n".to_owned(),
        "toml" => "a = 1\n".to_owned(),
        "ini" | "cfg" => "[a]\na = 1\n".to_owned(),
        "css" => "a {}\n".to_owned(),
        "sql" | "lua" => "-- x\n".to_owned(),
        "tf" | "mk" | "r" => "# x\n".to_owned(),
        "java" => "\n".to_owned(),
        _ if ["ts", "mts", "mjs"].contains(&extension) => "export {}\n".to_owned(),
        _ if name.contains("sums") || extension.starts_with("sha") || extension == "md5" => {
            let sum = EMPTY_SUMS.iter().find(|(kind, _)| name.contains(kind));
            sum.map(|(_, sum)| format!("{sum}  /dev/null\n")).unwrap_or_default()
        }
        _ => match Language::of(path, None) {
            Some(language) if language.is_compiled() => source(language, path, ""),
            Some(Language::Php) => "<?php\n".to_owned(),
            Some(Language::Shell) => ":\n".to_owned(),
            Some(Language::Perl) => "1;\n".to_owned(),
            Some(Language::Python | Language::Ruby) => "# x\n".to_owned(),
            Some(Language::Node) => "// x\n".to_owned(),
            _ => "x\n".to_owned(),
        },
    }
}

/// The smallest source that compiles instead of another one.
pub(super) fn smallest_source(path: &Path, old: &str) -> Option<String> {
    match path.extension()?.to_str()? {
        "ts" | "tsx" | "mts" => Some("export {}\n".to_owned()),
        "java" => Some("\n".to_owned()),
        "cc" | "cpp" | "cxx" => Some(source(Language::C, path, old)),
        _ => {
            let language = Language::of(path, None).filter(|it| it.is_compiled())?;
            Some(source(language, path, old))
        }
    }
}

fn source(language: Language, path: &Path, old: &str) -> String {
    let starts = match path.file_stem().and_then(|it| it.to_str()) {
        _ if !old.is_empty() => language.is_program(old),
        stem => stem == Some("main"),
    };
    let package = old.lines().find(|line| line.starts_with("package "));
    match (language, starts) {
        (Language::Go, false) if package.is_none() => {
            let folder = path.parent().and_then(Path::file_name).and_then(|it| it.to_str());
            format!("package {}\n", folder.unwrap_or("main"))
        }
        (Language::Go, false) => format!("{}\n", package.unwrap_or_default()),
        (language, true) => language.exits(None).unwrap_or_default(),
        (_, false) => "\n".to_owned(),
    }
}
