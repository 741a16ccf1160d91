//! `find`: searches by name, size, and time. Actions that run, delete, or write are denied.

use std::path::{Path, PathBuf};

use super::options::unknown_option;
use crate::guard::call_context::{ReadKind, secret};
use crate::guard::denial::Denial;
use crate::guard::line::{Arg, Judge, Place, aims_at_secrets};
use crate::guard::programs::refused;
use crate::guard::secrets;

/// Tests and actions with a value.
const VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-type",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-ctime",
    "-cmin",
    "-perm",
    "-user",
    "-group",
    "-links",
    "-regextype",
    "-printf",
    "-xtype",
];

/// Tests and actions without one.
const PLAIN: &[&str] = &[
    "-not",
    "!",
    "-o",
    "-or",
    "-a",
    "-and",
    "(",
    ")",
    "-print",
    "-print0",
    "-prune",
    "-empty",
    "-ls",
    "-executable",
    "-readable",
    "-writable",
    "-true",
    "-false",
    "-depth",
    "-xdev",
    "-mount",
    "-quit",
    "-daystart",
];

impl Judge<'_> {
    pub(super) fn find(&mut self, place: &mut Place, args: &[Arg]) -> Result<(), Denial> {
        let starts = args.iter().take_while(|arg| !arg.head().starts_with(['-', '(', '!'])).count();
        let (roots, tests) = args.split_at(starts);
        let here = [Arg::of(".")];
        for root in if roots.is_empty() { &here } else { roots } {
            let judged = self.reads(place, root, ReadKind::Name);
            self.soften(judged)?;
        }
        let mut rest = tests.iter().enumerate();
        while let Some((at, test)) = rest.next() {
            let name = test.text().unwrap_or_default();
            if name == "-newer" {
                let file = rest.next().map_or(Arg::of(""), |(_, file)| file.clone());
                self.reads(place, &file, ReadKind::Name)?;
            } else if VALUED.contains(&name) {
                let Some((_, value)) = rest.next() else {
                    return Err(unknown_option("find", name));
                };
                if value.text().is_some_and(|value| secrets::of_gateway(Path::new(value))) {
                    return Err(secret(Path::new(value.head())));
                }
                if matches!(value, Arg::Open { .. }) {
                    self.soften::<()>(Err(unknown_option("find", name)))?;
                }
            } else if name == "-delete" && self.sandboxed {
                return self.removes_found(
                    place,
                    if roots.is_empty() { &here } else { roots },
                    tests,
                );
            } else if name == "-delete" {
                return Err(refused::group("rm")
                    .map_or_else(|| unknown_option("find", name), refused::Group::denial));
            } else if matches!(name, "-exec" | "-execdir" | "-ok") && self.sandboxed {
                let command: Vec<Arg> = tests[at + 1..]
                    .iter()
                    .take_while(|arg| !matches!(arg.head(), ";" | "+"))
                    .cloned()
                    .collect();
                let removes = command
                    .first()
                    .and_then(Arg::text)
                    .is_some_and(|name| matches!(name, "rm" | "unlink" | "shred"));
                if removes {
                    return self.removes_found(
                        place,
                        if roots.is_empty() { &here } else { roots },
                        tests,
                    );
                }
                let plain: Vec<Arg> = command
                    .iter()
                    .map(|arg| if arg.head() == "{}" { open() } else { arg.clone() })
                    .collect();
                let judged = self.run(place, &plain);
                self.soften(judged)?;
                return Ok(());
            } else if name == "-exec" && only_endings(&tests[..at]) {
                let roots = if roots.is_empty() { &here } else { roots };
                return self.executes(place, (roots, &tests[..at]), &tests[at + 1..]);
            } else if !PLAIN.contains(&name) {
                return Err(unknown_option("find", test.head()));
            }
        }
        Ok(())
    }
}

impl Judge<'_> {
    /// In a sandbox, what a search removes: no file that git tracks.
    fn removes_found(&mut self, place: &Place, roots: &[Arg], tests: &[Arg]) -> Result<(), Denial> {
        let Some(glob) = name_of(tests) else {
            return self.remove(place, "find", roots);
        };
        for root in roots {
            let paths = self.paths(place, root);
            for path in self.soften(paths)?.unwrap_or_default() {
                let real = self.cx.resolve(&path)?.path;
                let found = |file: &&PathBuf| {
                    file.starts_with(&real)
                        && file.file_name().is_some_and(|name| glob.is_match(name))
                };
                if let Some(file) = self.cx.tracked().into_iter().flatten().find(found) {
                    let why = format!("it deletes {}, which git tracks", file.display());
                    return Err(Denial::new("program.delete", why).instead(super::remove::BY_GIT));
                }
            }
        }
        Ok(())
    }

    /// A reader for files that are known by their endings.
    fn executes(
        &mut self,
        place: &mut Place,
        (roots, tests): (&[Arg], &[Arg]),
        words: &[Arg],
    ) -> Result<(), Denial> {
        let Some((end, command)) =
            words.split_last().filter(|(end, _)| matches!(end.head(), ";" | "+"))
        else {
            return Err(unknown_option("find", "-exec"));
        };
        let program = command.first().and_then(Arg::text).unwrap_or_default();
        let last = command.last().map(Arg::head);
        let once = command.iter().filter(|word| word.head().contains("{}")).count() == 1;
        if !matches!(program, "grep" | "wc" | "ls" | "head" | "tail" | "cat" | "jq" | "yq")
            || last != Some("{}")
            || !once
            || end.text().is_none()
        {
            return Err(unknown_option("find", "-exec"));
        }
        if let Some(glob) = name_of(tests).filter(|_| !matches!(program, "wc" | "ls")) {
            for root in roots {
                for path in self.paths(place, root)? {
                    let tree = self.cx.entries(&path);
                    let is_found =
                        |file: &&PathBuf| file.file_name().is_some_and(|name| glob.is_match(name));
                    for file in tree.paths.iter().filter(is_found) {
                        self.cx.read(file, ReadKind::Content)?;
                    }
                }
            }
        }
        self.run(place, &command[..command.len() - 1])
    }
}

/// The names that the first test of names finds.
fn name_of(tests: &[Arg]) -> Option<globset::GlobMatcher> {
    let named = |pair: &&[Arg]| matches!(pair[0].head(), "-name" | "-iname");
    let name = tests.windows(2).find(named)?[1].head();
    Some(globset::Glob::new(name).ok()?.compile_matcher())
}

/// Do the tests find only names with a plain ending, such as `*.rs`?
fn only_endings(tests: &[Arg]) -> bool {
    let plain =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let negates = |at: usize| at > 0 && matches!(tests[at - 1].head(), "!" | "-not");
    let named = tests.windows(2).enumerate().any(|(at, pair)| {
        let name = pair[1].text().unwrap_or_default();
        let ending = name.rsplit_once('.').filter(|(stem, ending)| {
            (*stem == "*" || plain(stem) && !stem.is_empty()) && plain(ending) && !ending.is_empty()
        });
        pair[0].text() == Some("-name")
            && !negates(at)
            && ending.is_some()
            && !aims_at_secrets(name)
    });
    let joined = tests
        .iter()
        .any(|test| matches!(test.head(), "-o" | "-or" | "(" | ")" | "," | "-regex" | "-xtype"));
    named && !joined
}

fn open() -> Arg {
    Arg::Open { head: String::new(), quoted: true }
}
