//! Arguments that name files: every one of them passes the path rules.

use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;

use super::judge::Judge;
use super::place::Place;
use super::value::Arg;
use crate::guard::call_context::{COST_OF_A_GLOB, COST_OF_AN_ENTRY, ReadKind, WriteKind, secret};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::places::agent_setting;
use crate::guard::secrets;

/// Files that one pattern may stand for.
const MOST_MATCHES: usize = 400;

/// Folders whose files a tool makes anew.
const OUTPUT: &[&str] =
    &["target", "build", "dist", "out", "coverage", "_build", ".cache", "tmp", "logs", "htmlcov"];

impl Judge<'_> {
    /// The absolute paths that an argument stands for, in every folder the shell may be in.
    pub(in crate::guard) fn paths(
        &mut self,
        place: &Place,
        arg: &Arg,
    ) -> Result<Vec<PathBuf>, Denial> {
        let unknown = || {
            Denial::new("path.unknown", "cannot tell which file this is").instead("write its name")
        };
        let text = arg.head().to_owned();
        match arg {
            Arg::Open { .. } => Err(unknown()),
            Arg::Text(_) if text.is_empty() || text.starts_with(['-', '+']) => Err(unknown()),
            Arg::Text(_) if text.starts_with('/') => Ok(vec![PathBuf::from(text)]),
            Arg::Text(_) if place.folders.is_empty() => Err(unknown()),
            Arg::Text(_) => Ok(place.folders.iter().map(|folder| folder.join(&text)).collect()),
            Arg::Pattern(_) => {
                if has_classes(&text) {
                    return Err(unknown());
                }
                if aims_at_secrets(&text) {
                    return Err(secret(Path::new(&text)));
                }
                let mut found = Vec::new();
                let roots = if text.starts_with('/') {
                    vec![PathBuf::from("/")]
                } else {
                    place.folders.clone()
                };
                if roots.is_empty() {
                    return Err(unknown());
                }
                for root in roots {
                    self.matches(&root, &text, &mut found)?;
                }
                Ok(found)
            }
        }
    }

    /// The matches of a pattern below a folder; without a match, the pattern itself.
    fn matches(
        &mut self,
        root: &Path,
        pattern: &str,
        found: &mut Vec<PathBuf>,
    ) -> Result<(), Denial> {
        self.cx.spend(COST_OF_A_GLOB)?;
        let too_many = || {
            Denial::new("path.unknown", format!("`{pattern}` stands for too many files"))
                .instead("name the files, or a folder")
        };
        let mut heads = vec![root.to_owned()];
        for part in Path::new(pattern).components() {
            let name = match part {
                Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
                Component::ParentDir => "..".to_owned(),
                Component::Normal(name) => name.to_string_lossy().into_owned(),
            };
            let mut next = Vec::new();
            for head in heads {
                if !name.contains(['*', '?', '[']) {
                    next.push(head.join(&name));
                    continue;
                }
                let glob = GlobBuilder::new(&name).literal_separator(true).build();
                let glob = glob.map_err(|_| too_many())?.compile_matcher();
                let names = self.cx.list(&head, MOST_MATCHES + 1);
                self.cx.spend(names.len() / 8 * COST_OF_AN_ENTRY)?;
                if names.len() > MOST_MATCHES {
                    return Err(too_many());
                }
                let hidden = name.starts_with('.');
                let fits = |entry: &&String| {
                    (hidden || !entry.starts_with('.')) && glob.is_match(entry.as_str())
                };
                for entry in names.iter().filter(fits) {
                    // A name that looks like an option would be one.
                    if entry.starts_with('-') {
                        return Err(Denial::new(
                            "path.unknown",
                            format!("`{pattern}` finds the name `{entry}`"),
                        ));
                    }
                    next.push(head.join(entry));
                }
            }
            heads = next;
            if heads.len() > MOST_MATCHES {
                return Err(too_many());
            }
        }
        // The call may make a file that fits.
        if !self.cx.changed().is_empty() {
            let mut glob = GlobBuilder::new(pattern.trim_start_matches("./"));
            let glob = glob.literal_separator(true).build();
            let glob = glob.map_err(|_| too_many())?.compile_matcher();
            let fits = |path: &&PathBuf| {
                path.strip_prefix(root).is_ok_and(|relative| glob.is_match(relative))
            };
            heads.extend(self.cx.changed().iter().filter(fits).cloned());
        }
        if heads.is_empty() {
            heads.push(root.join(pattern));
        }
        found.extend(heads);
        Ok(())
    }

    /// Checks that an argument may be read.
    pub(in crate::guard) fn reads(
        &mut self,
        place: &Place,
        arg: &Arg,
        read: ReadKind,
    ) -> Result<(), Denial> {
        // Below a sandbox, folders show what may be shown.
        let read = match read {
            ReadKind::Tree | ReadKind::Search if self.sandboxed => ReadKind::Content,
            read => read,
        };
        let paths = self.paths(place, arg);
        for path in self.soften(paths)?.unwrap_or_default() {
            let judged = self.cx.read(&path, read);
            self.soften(judged)?;
        }
        Ok(())
    }

    /// Checks that an argument may be written, and notes it.
    pub(in crate::guard) fn writes(
        &mut self,
        place: &Place,
        arg: &Arg,
        write: WriteKind,
    ) -> Result<(), Denial> {
        let paths = self.paths(place, arg);
        for path in self.soften(paths)?.unwrap_or_default() {
            let judged = self.cx.write(&path, write);
            self.soften(judged)?;
        }
        Ok(())
    }

    /// Checks that the content of a file may be replaced; `gives` tells that something is known to
    /// be put there.
    pub(in crate::guard) fn fills(
        &mut self,
        place: &Place,
        arg: &Arg,
        gives: bool,
    ) -> Result<(), Denial> {
        self.writes(place, arg, WriteKind::Change)?;
        if self.sandboxed || gives && matches!(arg, Arg::Text(_)) {
            return Ok(());
        }
        for path in self.paths(place, arg)? {
            let real = self.cx.resolve(&path)?.path;
            if self.loses(&real) {
                return Err(Denial::new(
                    "program.delete",
                    "it may empty a file that this run did not make",
                )
                .instead(
                    "write to a new file or below `target/`, or change it with the edit tool",
                ));
            }
        }
        Ok(())
    }

    /// Is a path a folder of build output, or below one?
    pub(in crate::guard) fn is_output(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.cx.policy().workspace).unwrap_or(path);
        relative
            .components()
            .any(|part| OUTPUT.contains(&part.as_os_str().to_string_lossy().as_ref()))
    }

    /// Is there a file of the workspace that neither this run nor a tool made?
    pub(in crate::guard) fn loses(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.cx.policy().workspace).unwrap_or(path);
        let output = self.is_output(path)
            || relative.file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                ["coverage.", "junit", "report.", "test-results"]
                    .iter()
                    .any(|start| name.starts_with(start))
            })
            || path.extension().is_some_and(|extension| extension == "log" || extension == "tmp");
        path.starts_with(&self.cx.policy().workspace)
            && !output
            && self.cx.kind(path) == FileKind::File
            && !self.cx.is_new(path)
    }

    /// Checks a word that may name a file, in all its parts: after `=`, `:`, `,` and `@` too.
    pub(in crate::guard) fn harmless(&mut self, place: &Place, arg: &Arg) -> Result<(), Denial> {
        let text = match arg {
            Arg::Text(text) => text.clone(),
            Arg::Pattern(_) => return self.reads(place, arg, ReadKind::Content),
            Arg::Open { .. } => {
                return self
                    .soften(Err(Denial::new(
                        "shell.unknown-word",
                        "it has a word that is known at run time only",
                    )
                    .instead("write the word itself")))
                    .map(Option::unwrap_or_default);
            }
        };
        if text.contains("://") || text.contains(['`', '\n', '\0']) || text.contains("$(") {
            let unclear =
                Denial::new("program.option", format!("cannot tell what `{text}` means here"));
            return self.soften(Err(unclear)).map(Option::unwrap_or_default);
        }
        let attached = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let attached = attached
            .and_then(|rest| rest.char_indices().nth(1).map(|(at, _)| rest[at..].to_owned()));
        let mut parts: Vec<String> =
            text.split(['=', '@', ',', ';', ':', '#']).map(str::to_owned).collect();
        parts.extend(attached);
        parts.push(text);
        parts.dedup();
        for part in parts {
            let judged = self.harmless_part(place, &part);
            self.soften(judged)?;
        }
        Ok(())
    }

    fn harmless_part(&mut self, place: &Place, part: &str) -> Result<(), Denial> {
        let part = part.trim_start_matches('-');
        if matches!(part, "" | ".") || part.contains(char::is_whitespace) || part.len() > 250 {
            return Ok(());
        }
        let home = self.cx.policy().home.clone();
        let path = match (part.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
            _ => part.to_owned(),
        };
        let folders =
            if path.starts_with('/') { vec![PathBuf::new()] } else { place.folders.clone() };
        for folder in folders {
            let absolute = folder.join(&path);
            let resolved = self.cx.resolve(&absolute);
            let Some(real) = self.soften(resolved)? else { continue };
            let there = real.kind != FileKind::Missing;
            // A word without a file behind it is a name of something else.
            let meant = there
                || path.contains('/')
                || path.starts_with('.')
                || agent_setting(Path::new(&path));
            if meant
                && (self.cx.policy().hides(&absolute) || self.cx.policy().hides(&real.path))
                && real.kind != FileKind::Dir
            {
                return Err(secret(Path::new(&path)));
            }
            if !meant {
                continue;
            }
            self.cx.read(&absolute, ReadKind::Name)?;
            if self.cx.inside(&real.path) && real.path != self.cx.policy().workspace {
                match self.cx.protected(&real.path, WriteKind::Change) {
                    Err(denial)
                        if kept(&denial.rule)
                            && (!self.sandboxed || denial.rule.starts_with("secret.")) =>
                    {
                        return Err(denial.instead("name other files"));
                    }
                    Ok(()) | Err(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// Rules that hold for whatever a tool is given: it may write there.
fn kept(rule: &str) -> bool {
    ["path.git", "path.settings", "state.", "secret."].iter().any(|kept| rule.starts_with(kept))
}

/// Does a pattern have classes of characters, which programs read differently?
fn has_classes(pattern: &str) -> bool {
    ["[[", "[:", "[.", "[=", "[^", "\\"].iter().any(|class| pattern.contains(class))
        || pattern.contains("[!") && pattern.contains("[]")
}

/// Does a pattern spell part of a secret's name?
pub(in crate::guard) fn aims_at_secrets(pattern: &str) -> bool {
    let last = pattern.trim_start_matches('!').rsplit('/').next().unwrap_or(pattern);
    if has_classes(pattern) {
        return true;
    }
    if !last.contains(|c: char| c.is_alphanumeric()) {
        return last.starts_with('.') && last.len() > 1 || last.starts_with('[');
    }
    if secrets::path(Path::new(pattern)) || secrets::file_name(&last.replace(['*', '?'], "x")) {
        return true;
    }
    let glob = GlobBuilder::new(last).case_insensitive(true).build();
    glob.map_or(true, |glob| {
        let matcher = glob.compile_matcher();
        secrets::EXAMPLES.iter().any(|name| matcher.is_match(name))
    })
}
