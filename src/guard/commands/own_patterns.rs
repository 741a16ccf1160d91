//! Tools that look for files by themselves: by a pattern that the shell does not expand, or in all
//! of a folder.

use std::path::Path;

use super::options::{Parsed, not_known};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;

/// Tools that change files of any language, with what makes them write: options, or a verb.
const REWRITE: &[(&str, &str)] = &[
    ("prettier", "--write -w"),
    ("markdownlint markdownlint-cli2 stylelint textlint htmlhint cspell", "--fix -f"),
    ("typos", "-w --write-changes"),
    ("dprint taplo", "fmt format"),
    ("djlint sqlfluff", "--reformat fix format"),
    ("biome", "--write --fix --apply --apply-unsafe --unsafe"),
];

impl Judge<'_> {
    /// Checks a pattern that a tool expands: literal folders of the workspace that hold nothing
    /// protected come first, and what follows cannot lead out of them.
    pub(super) fn own_pattern(
        &mut self,
        place: &Place,
        name: &str,
        word: &Arg,
    ) -> Result<(), Denial> {
        let Some(text) = word.text() else { return Ok(()) };
        // A pattern that only leaves files out.
        let excludes = text.starts_with('!') && !text.starts_with("!(");
        let Some(at) = text.find(['*', '?', '[', '{', '(', '!', '\\']).filter(|_| !excludes) else {
            return Ok(());
        };
        let refuse = || {
            not_known(name, text)
                .instead("begin the pattern with a folder: `npx prettier --check 'src/**/*.ts'`")
        };
        let Some((folder, rest)) = text[..at].rsplit_once('/') else { return Err(refuse()) };
        let folder = folder.strip_prefix("./").unwrap_or(folder);
        let rest = [rest, &text[at..]].concat();
        let hidden = |part: &str| part.is_empty() || part.starts_with(['.', '~', '-']);
        let braces = rest.split('{').skip(1).filter_map(|part| part.split('}').next());
        let leads_out = braces.into_iter().any(|inner| inner.contains(['/', '.']));
        if folder.split('/').any(hidden)
            || rest.split('/').any(hidden)
            || leads_out
            || rest.contains(['(', '\\', '|'])
            || rest.matches('{').count() != rest.matches('}').count()
            || rest.contains("[.")
        {
            return Err(refuse());
        }
        self.holds_nothing_protected(place, folder)?;
        for path in self.paths(place, &Arg::of(folder))? {
            let real = self.cx.resolve(&path)?;
            let linked =
                real.path != path || real.kind == FileKind::Dir && self.has_link(&real.path);
            if linked || !matches!(real.kind, FileKind::Dir | FileKind::Missing) {
                return Err(refuse());
            }
        }
        Ok(())
    }

    /// Is there a link below a folder?
    pub(super) fn has_link(&self, folder: &Path) -> bool {
        let tree = self.cx.entries(folder);
        tree.paths.iter().any(|entry| matches!(self.cx.kind(entry), FileKind::Link(_)))
    }

    /// Refuses a tool that would change files of any language in the whole workspace.
    pub(super) fn rewrites_everything(
        &mut self,
        place: &Place,
        name: &str,
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let program = name.split(' ').next().unwrap_or_default();
        let mut given = parsed.names.iter().map(String::as_str);
        let verb = parsed.operands.first().map(Arg::head).unwrap_or_default();
        let by = REWRITE.iter().find(|(names, _)| lists(names, program)).map_or("", |(_, by)| by);
        let writes = given.any(|option| lists(by, option))
            || (lists(by, verb) || name == "deno fmt") && !parsed.has(&["--check"]);
        if !writes {
            return Ok(());
        }
        let verbs = "fmt format fix lint check";
        let named: Vec<&Arg> = parsed
            .operands
            .iter()
            .enumerate()
            .filter(|(at, word)| *at > 0 || !lists(verbs, word.head()))
            .map(|(_, word)| word)
            .collect();
        let whole = |word: &&Arg| {
            word.text().is_some_and(|text| text.split('/').all(|part| matches!(part, "." | "")))
        };
        let in_root = place.folders.contains(&self.cx.policy().workspace);
        if in_root && (named.is_empty() || named.iter().any(whole)) {
            return Err(Denial::new(
                "path.settings",
                format!("`{name}` would change agents' settings and files of tasks, too"),
            )
            .instead("name the folders or the files to change, such as src"));
        }
        Ok(())
    }
}
