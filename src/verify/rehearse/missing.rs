//! Files that a check or a build names and that are not there.
//!
//! Invariant: pure.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::Glob;
use regex::Regex;

use super::attack::{Attack, MOST_FILES, NEW_FILES, new_names, plain};
use super::inline_code::InlineCode;
use super::languages::Language;
use crate::verify::classify::shell::ShellCommand;

/// `mod parser;`
static MODULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub\s+)?mod\s+(?<name>\w+);").expect("a pattern"));

/// A quoted word that may be a path.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"['"](?<path>[\w-]+(?:/[\w-]+)*\.(?:json|md|txt|ya?ml|toml|html|csv|cfg|ini|xml|svg|css|sql|lock|log|tsv|php|rb|js|py|sh))['"]"#,
    )
    .expect("a pattern")
});

impl Attack<'_> {
    /// Paths that the checks name and that are not there.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        let is_file = |path: &Path| self.start.paths().contains_key(path);
        let is_there = |path: &Path| {
            is_file(path) || self.start.paths().keys().any(|known| known.starts_with(path))
        };
        let looks_like_one = |path: &Path| {
            path.components().count() > 1 || path.extension().is_some() || self.is_tested(path)
        };
        let codes: Vec<InlineCode> = self.scanned.iter().filter_map(InlineCode::of).collect();
        let texts = codes.iter().map(|code| &code.code).chain(self.scripts);
        let quoted = texts.flat_map(|text| QUOTED.captures_iter(text));
        let quoted = quoted.filter_map(|it| plain(&it["path"]));
        let inner = self.scanned.iter().flat_map(|it| &it.words);
        let inner = inner.filter_map(|word| plain(word.strip_prefix(".read ")?));
        let words = self.words().into_iter().chain(inner);
        let words = words.chain(self.globbed()).chain(self.unwritten());
        let listed = self.listed_files();
        // A folder of another file is made with it.
        let is_folder = |path: &PathBuf| listed.iter().any(|it| it != path && it.starts_with(path));
        let listed = listed.iter().filter(|path| !is_folder(path)).cloned();
        let words = words.filter(|path| looks_like_one(path)).chain(quoted).chain(listed);
        let words = words.chain(self.run_modules());
        let words = words.filter(|path| !is_there(path) && !self.is_ignored(path));
        let mut found: Vec<PathBuf> = words.collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// A file that git ignores is made by a command: no commit has it.
    pub(super) fn is_ignored(&self, path: &Path) -> bool {
        let lines = self.text(Path::new(".gitignore")).unwrap_or_default();
        let globs = lines.lines().map(|line| line.trim().trim_matches('/'));
        let globs = globs.filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
        let mut globs = globs.filter_map(|line| Some((line, Glob::new(line).ok()?)));
        globs.any(|(line, glob)| {
            let glob = glob.compile_matcher();
            path.ancestors().any(|above| {
                let name = above.file_name().filter(|_| !line.contains('/'));
                glob.is_match(above) || name.is_some_and(|name| glob.is_match(name))
            })
        })
    }

    /// Files that are looked at and that a program or a recipe may write.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let is_output = |path: &PathBuf| {
            let mut outputs = self.scanned.iter().flat_map(|it| &it.outputs);
            outputs.any(|name| Path::new(name) == path.as_path())
        };
        let words = self.words().into_iter().filter(|path| {
            path.components().count() > 1 || path.extension().is_some() || self.is_tested(path)
        });
        let globbed = self.globbed().into_iter();
        let missing = |path: &PathBuf| {
            Language::of(path, None).is_none_or(|_| self.is_ignored(path))
                && !self.start.paths().keys().any(|known| known.starts_with(path))
                && !is_output(path)
        };
        let mut found: Vec<PathBuf> = words.chain(globbed).filter(missing).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Sources that a build names and that are not there: `mod parser;`, `add_library(a b.c)`.
    fn unwritten(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for path in self.start.paths().keys() {
            let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            let folder = path.parent().unwrap_or(Path::new(""));
            if name.ends_with(".rs") {
                let stem = name.trim_end_matches(".rs");
                let is_root = ["lib", "main", "mod"].contains(&stem);
                let folder = if is_root { folder.to_owned() } else { folder.join(stem) };
                let text = self.text(path).unwrap_or_default();
                let modules = MODULE.captures_iter(&text).map(|it| folder.join(&it["name"]));
                let is_there = |it: &PathBuf| {
                    self.start.paths().contains_key(&it.with_extension("rs"))
                        || self.start.paths().contains_key(&it.join("mod.rs"))
                };
                found.extend(modules.filter(|it| !is_there(it)).map(|it| it.with_extension("rs")));
            } else if ["CMakeLists.txt", "Makefile", "meson.build"].contains(&name) {
                let text = self.text(path).unwrap_or_default();
                let words = text.split(|c: char| c.is_whitespace() || "()'\",=:".contains(c));
                let is_source = |path: &PathBuf| {
                    path.extension().is_some_and(|it| it == "c" || it == "cpp" || it == "h")
                };
                let paths = words.filter_map(plain).map(|it| folder.join(it)).filter(is_source);
                found.extend(paths);
            }
        }
        found
    }

    /// Files that `ls docs/*.md` and `find docs -name '*.md'` would list.
    fn globbed(&self) -> Vec<PathBuf> {
        let lists = self.scanned.iter().filter_map(|command| {
            let (program, rest) = command.words.split_first()?;
            let found: Vec<String> = match program.as_str() {
                "ls" | "cat" => rest.iter().filter_map(|it| self.listed(it)).collect(),
                "find" => {
                    let at = rest.iter().position(|it| it == "-name" || it == "-iname")?;
                    let folder = rest.first().filter(|it| !it.starts_with('-'))?;
                    vec![format!("{}/{}", folder.trim_end_matches('/'), rest.get(at + 1)?)]
                }
                _ => return None,
            };
            Some(found)
        });
        let most = if self.counts() { self.enough().min(MOST_FILES) } else { NEW_FILES };
        let lists = lists.flatten().chain(self.loops_over_nothing());
        lists.flat_map(|glob| new_names(&glob, most)).collect()
    }

    /// Globs that a loop goes through and that name no file yet: `for it in tests/test_*.sh`.
    fn loops_over_nothing(&self) -> Vec<String> {
        let loops = self.scanned.iter().filter(|it| it.is_loop());
        let values = loops.flat_map(|it| &it.assignments).map(|(_, value)| value);
        let globs = values.flat_map(|value| value.split_whitespace());
        let is_new = |glob: &&str| {
            let name = glob.strip_prefix("./").unwrap_or(glob);
            let matcher = Glob::new(name).map(|it| it.compile_matcher());
            name.contains('*')
                && matcher.is_ok_and(|it| !self.start.paths().keys().any(|path| it.is_match(path)))
        };
        globs.filter(is_new).map(str::to_owned).collect()
    }

    /// A glob, or all of a folder.
    fn listed(&self, word: &str) -> Option<String> {
        let is_folder = |path: &PathBuf| {
            self.start.paths().keys().any(|known| known != path && known.starts_with(path))
        };
        match plain(word) {
            _ if word.contains('*') => Some(word.to_owned()),
            Some(path) if is_folder(&path) => Some(format!("{}/*", path.display())),
            _ => None,
        }
    }

    /// The module of `python3 -m NAME`.
    fn run_modules(&self) -> Vec<PathBuf> {
        let python = |it: &&ShellCommand| {
            it.words
                .first()
                .is_some_and(|it| it.rsplit('/').next().unwrap_or("").starts_with("python"))
        };
        let pairs = self.scanned.iter().filter(python).flat_map(|it| it.words.windows(2));
        let names = pairs.filter(|pair| pair[0] == "-m").map(|pair| pair[1].replace('.', "/"));
        names.filter_map(|name| plain(&format!("{name}.py"))).collect()
    }

    /// Python modules that `unittest` is to run and that are not there.
    pub(super) fn missing_modules(&self) -> Vec<PathBuf> {
        let runs = |command: &&ShellCommand| command.words.iter().any(|word| word == "unittest");
        let words = self.scanned.iter().filter(runs).flat_map(|command| &command.words);
        let is_module = |word: &&String| {
            word.contains('.')
                && !word.ends_with(".py")
                && word.chars().all(|c| c.is_alphanumeric() || "_.".contains(c))
        };
        let paths = words.filter(is_module).map(|word| format!("{}.py", word.replace('.', "/")));
        let paths = paths.map(PathBuf::from);
        let missing = paths.filter(|path| !self.start.paths().contains_key(path));
        missing.chain(self.nothing_to_discover()).collect()
    }

    /// A test in the folder of `python3 -m unittest discover -s FOLDER`, if it has none.
    fn nothing_to_discover(&self) -> Option<PathBuf> {
        let discovers = |it: &&ShellCommand| it.words.iter().any(|word| word == "discover");
        let command = self.scanned.iter().find(discovers)?;
        let option = |word: &String| word == "-s" || word == "--start-directory";
        let at = command.words.iter().position(option)?;
        let folder = plain(command.words.get(at + 1)?)?;
        let is_test = |path: &PathBuf| {
            let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            path.starts_with(&folder) && name.starts_with("test") && name.ends_with(".py")
        };
        let has_one = self.start.paths().keys().any(is_test);
        (!has_one).then(|| folder.join("test_new.py"))
    }
}
