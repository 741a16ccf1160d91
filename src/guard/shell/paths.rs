//! Values → paths: patterns are matched against the files that are there, and
//! every path a value may stand for is checked.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::judge::Judge;
use crate::guard::call_context::{COST_OF_AN_ENTRY, ReadKind, WriteKind, secret};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::secrets;
use crate::model::Access;

use super::env::Env;
use super::value::{Seg, ShellValue};

/// Names of a folder that a pattern is matched against.
const MOST_NAMES: usize = 2000;

/// Wildcards of one word: a matcher of more takes long to make.
const MOST_WILDCARDS: usize = 64;

/// What it costs to look at one path, in commands.
const COST_OF_A_PATH: usize = 12;

/// Names of a pattern that are told apart.
const MOST_NAMED: usize = 40;

/// Paths that one pattern may stand for.
const MOST_MATCHES: usize = 2000;

impl Judge<'_> {
    /// Checks a read of everything a value may stand for.
    pub(in crate::guard) fn read_value(
        &mut self,
        env: &Env,
        value: &ShellValue,
        read: ReadKind,
    ) -> Result<(), Denial> {
        if value.is_open() {
            return match read {
                ReadKind::Name => Ok(()),
                ReadKind::Content | ReadKind::Tree => Err(Denial::new(
                    "path.unknown",
                    format!("cannot tell which file `{}` is", value.show()),
                )
                .instead("name the file")),
            };
        }
        if value.segs.iter().any(|seg| matches!(seg, Seg::Listed(_))) {
            let unsifted =
                |seg: &Seg| matches!(seg, Seg::Listed(root) if self.cx.is_unsifted(root));
            if read != ReadKind::Name && value.segs.iter().any(unsifted) {
                return Err(Denial::new(
                    "secret.file",
                    "the listing may include files that hold secrets",
                )
                .instead(
                    "narrow it: `git ls-files '*.rs'`, a subfolder, or `git grep -n PATTERN`",
                ));
            }
            // What a listing printed was checked when it was listed; the user's rules come on top.
            let hides = self.cx.policy().rules.hides();
            for seg in value.segs.iter().filter(|_| hides) {
                if let Seg::Listed(root) = seg {
                    for entry in &self.cx.entries(root).paths {
                        self.cx.ruled_path(entry, Access::Read, read != ReadKind::Name)?;
                    }
                }
            }
            return match value.segs.as_slice() {
                [Seg::Listed(_)] => Ok(()),
                [Seg::Lit(_), ..] | [Seg::Listed(_), Seg::Lit(_)]
                    if !value.show().contains("..") =>
                {
                    Ok(())
                }
                _ => Err(Denial::new("path.unknown", "cannot tell which file this is")),
            };
        }
        if env.lost && read != ReadKind::Name && !is_absolute(value) {
            return Err(Denial::new("path.unknown", "cannot tell in which folder this would read")
                .instead("use an absolute path, or a simple `cd` first"));
        }
        for path in self.paths(env, value)? {
            self.cx.read(&path, read)?;
        }
        Ok(())
    }

    /// Checks a write to everything a value may stand for.
    pub(in crate::guard) fn write_value(
        &mut self,
        env: &Env,
        value: &ShellValue,
        write: WriteKind,
    ) -> Result<Vec<PathBuf>, Denial> {
        if value.is_open() {
            return Err(Denial::new(
                "path.unknown",
                format!("cannot tell where `{}` would write", value.show()),
            )
            .instead("write to a path that is spelled out"));
        }
        if let [Seg::Listed(root)] = value.segs.as_slice() {
            return self.write_listed(root.clone()).map(|()| Vec::new());
        }
        if value.segs.iter().any(|seg| matches!(seg, Seg::Listed(_))) {
            return Err(Denial::new("path.unknown", "cannot tell where this would write"));
        }
        if env.lost && !is_absolute(value) {
            return Err(Denial::new(
                "path.unknown",
                "cannot tell in which folder this would write",
            )
            .instead("use an absolute path, or a simple `cd` first"));
        }
        let mut written = Vec::new();
        for path in self.paths(env, value)? {
            written.push(self.cx.write(&path, write)?);
        }
        Ok(written)
    }

    /// A write to any of the files that a listing found below a folder.
    fn write_listed(&mut self, root: PathBuf) -> Result<(), Denial> {
        let unclear = || {
            Denial::new("path.unknown", "the listing may include a protected file")
                .instead("name the files, or list a folder that holds none, such as `src`")
        };
        let policy = self.cx.policy();
        let fixed = policy.protect_paths.iter().chain(&policy.human).chain(&policy.task_dir);
        let mut fixed = fixed.filter(|path| path.starts_with(&root));
        if fixed.next().is_some() || root == policy.workspace {
            return Err(unclear());
        }
        let tree = self.cx.entries(&root);
        self.cx.spend(tree.paths.len() * COST_OF_AN_ENTRY)?;
        for entry in &tree.paths {
            if self.cx.kind(entry) == FileKind::File {
                self.cx.protected(entry, WriteKind::Change)?;
            }
        }
        if tree.all { Ok(()) } else { Err(unclear()) }
    }

    /// Every absolute path that a value without open ends may stand for.
    pub(in crate::guard) fn paths(
        &mut self,
        env: &Env,
        value: &ShellValue,
    ) -> Result<Vec<PathBuf>, Denial> {
        let wildcards = value.segs.iter().filter(|seg| matches!(seg, Seg::Glob(_))).count();
        if wildcards > MOST_WILDCARDS {
            return Err(Denial::new("path.unknown", "the pattern has too many parts")
                .instead("name the files, or the folder"));
        }
        // A pattern costs a look into a folder or more.
        self.cx.spend(COST_OF_A_PATH + if wildcards > 0 { 200 } else { 0 })?;
        let mut text = String::new();
        let mut pattern = String::new();
        let mut globs = false;
        // Behind a bracket that ends nobody knows where, a name may go on in any way.
        let mut loose = false;
        let mut unended = false;
        for seg in &value.segs {
            match seg {
                Seg::Lit(literal) => {
                    text.push_str(literal);
                    let from = if loose { literal.find('/') } else { Some(0) };
                    if let Some(from) = from {
                        loose = false;
                        pattern.push_str(&globset::escape(&literal[from..]));
                    }
                }
                Seg::Glob(glob) => {
                    globs = true;
                    text.push_str(glob);
                    let opens = glob == "[";
                    if !loose {
                        pattern.push_str(if opens { "*" } else { glob });
                    }
                    loose |= opens;
                    unended |= opens;
                }
                Seg::Token => {
                    text.push('0');
                    if !loose {
                        pattern.push('0');
                    }
                }
                Seg::Listed(_) | Seg::Any => {
                    return Err(Denial::new("path.unknown", "cannot tell which file this is"));
                }
            }
        }
        let mut found = Vec::new();
        for cwd in env.cwds.clone() {
            let before = found.len();
            if globs {
                self.matches(&cwd, &pattern, &mut found)?;
            }
            // A pattern that matches nothing stands for itself.
            if found.len() == before || unended {
                found.push(cwd.join(&text));
            }
        }
        if globs {
            likely_secret(&pattern)?;
        }
        Ok(found)
    }

    /// The names that a pattern stands for now, as the shell would write them; `None`
    /// where that is not plain: then the pattern itself stays.
    pub(super) fn named_by_pattern(
        &mut self,
        env: &Env,
        value: &ShellValue,
    ) -> Option<Vec<ShellValue>> {
        let plain = |seg: &Seg| matches!(seg, Seg::Lit(_) | Seg::Glob(_));
        let globs = value.segs.iter().any(|seg| matches!(seg, Seg::Glob(_)));
        let [cwd] = env.cwds.as_slice() else { return None };
        let shown = value.show();
        if !globs || env.lost || value.splits || !value.segs.iter().all(plain) {
            return None;
        }
        if shown.starts_with(['/', '.']) || shown.contains("..") || shown.contains("**") {
            return None;
        }
        let found = self.paths(env, value).ok()?;
        let names: Vec<String> = found
            .iter()
            .map(|path| path.strip_prefix(cwd).ok()?.to_str().map(str::to_owned))
            .collect::<Option<_>>()?;
        let named = names.len() <= MOST_NAMED && names != [shown.trim_end_matches('/')];
        named.then(|| names.into_iter().map(ShellValue::lit).collect())
    }

    /// Adds the paths that a pattern matches now.
    fn matches(&self, cwd: &Path, pattern: &str, found: &mut Vec<PathBuf>) -> Result<(), Denial> {
        let mut folders =
            vec![if pattern.starts_with('/') { PathBuf::from("/") } else { cwd.to_owned() }];
        let many =
            || Denial::new("path.too-large", "the pattern matches too many files to look at");
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        for (index, part) in parts.iter().enumerate() {
            let last = index + 1 == parts.len();
            let mut next = Vec::new();
            for folder in &folders {
                if !part.contains(['*', '?', '[']) {
                    next.push(folder.join(part));
                    continue;
                }
                let glob = GlobBuilder::new(part)
                    .literal_separator(true)
                    .case_insensitive(true)
                    .build()
                    .map_err(|_| Denial::new("path.unknown", "cannot parse the pattern"))?
                    .compile_matcher();
                let names = self.cx.list(folder, MOST_NAMES);
                if names.len() >= MOST_NAMES {
                    return Err(many());
                }
                if *part == "**" {
                    // With `globstar` it also stands for no folder and for every one below.
                    next.extend(self.cx.entries(folder).paths.iter().cloned());
                    next.push(folder.clone());
                    continue;
                }
                let hidden = part.starts_with(['.', '[']);
                for name in names {
                    if (hidden || !name.starts_with('.')) && glob.is_match(&name) {
                        if name.starts_with('-') && index == 0 {
                            return Err(Denial::new("path.unknown", format!("the pattern matches the file `{name}`, which reads as an option"))
                                .instead("begin the pattern with `./`"));
                        }
                        next.push(folder.join(&name));
                    }
                }
            }
            if next.len() > MOST_MATCHES {
                return Err(many());
            }
            if last {
                found.extend(next);
                return Ok(());
            }
            folders = next;
        }
        Ok(())
    }
}

fn is_absolute(value: &ShellValue) -> bool {
    value.head().starts_with('/')
}

/// Refuses a pattern that spells part of a secret's name, whether or not such a
/// file is there now.
fn likely_secret(pattern: &str) -> Result<(), Denial> {
    let last = pattern.rsplit('/').next().unwrap_or(pattern);
    let spelled = last.chars().filter(|c| c.is_alphanumeric()).count() > 0;
    if !spelled {
        return Ok(());
    }
    let Ok(glob) = GlobBuilder::new(last).case_insensitive(true).build() else {
        return Err(Denial::new("path.unknown", "cannot parse the pattern"));
    };
    let matcher = glob.compile_matcher();
    let hidden = last.starts_with(['.', '[']);
    let hit = secrets::EXAMPLES
        .iter()
        .find(|name| (hidden || !name.starts_with('.')) && matcher.is_match(name));
    hit.map_or(Ok(()), |name| Err(secret(Path::new(name))))
}
