//! Tables of what a program's options do.
//!
//! Long options may be shortened as GNU's `getopt` allows, so a beginning of a listed option
//! counts as that option.

/// What an option does with its value, or by being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::guard) enum Does {
    /// Takes a value that is only data.
    Data,
    /// Reads the file its value names.
    Reads,
    /// Reads the folder its value names and everything below it.
    Tree,
    /// Runs the file its value names: it must be one of the workspace.
    Runs,
    /// Writes the file its value names.
    Writes,
    /// Empties the folder its value names, and fills it anew.
    Empties,
    /// Takes a value and runs something, or writes where it cannot be seen.
    Refused(&'static str),
    /// Takes no value and is refused.
    FlagRefused(&'static str),
}

/// How options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::guard) enum Style {
    /// `-abc`, `--long`.
    Gnu,
    /// `-long`, as in `go` and `java`.
    Dashed,
}

/// What is known of a program's options.
pub(in crate::guard) struct Spec {
    /// Options that matter, names that do the same in one string: `-o --output`.
    pub(in crate::guard) options: &'static [(&'static str, Does)],
    /// How they are written.
    pub(in crate::guard) style: Style,
    /// Flags beside those, in one string; `None`: any flag is harmless.
    pub(in crate::guard) flags: Option<&'static str>,
}

impl Spec {
    /// A table for a program whose other options are harmless flags.
    pub(in crate::guard) const fn open(options: &'static [(&'static str, Does)]) -> Self {
        Self { options, style: Style::Gnu, flags: None }
    }

    /// A table for a program all of whose options are listed.
    pub(in crate::guard) const fn closed(
        options: &'static [(&'static str, Does)],
        flags: &'static str,
    ) -> Self {
        Self { options, style: Style::Gnu, flags: Some(flags) }
    }

    /// The same with options of one dash.
    pub(in crate::guard) const fn dashed(options: &'static [(&'static str, Does)]) -> Self {
        Self { options, style: Style::Dashed, flags: None }
    }

    /// The option of a name, as it is listed, and what it does.
    pub(in crate::guard) fn find(&self, name: &str) -> Option<(&'static str, Does)> {
        let all = || {
            self.options
                .iter()
                .flat_map(|(names, does)| names.split_whitespace().map(move |name| (name, *does)))
        };
        // Where options have one dash, two are the same.
        let dashed = self.style == Style::Dashed;
        let same = |option: &str| {
            option == name || dashed && option.strip_prefix('-').is_some_and(|one| one == name)
        };
        if let Some(found) = all().find(|(option, _)| same(option)) {
            return Some(found);
        }
        let shortened = name.starts_with("--") && name.len() > 3;
        if shortened && !self.flags.is_some_and(|flags| lists(flags, name)) {
            return all().find(|(option, _)| option.starts_with(name));
        }
        None
    }

    pub(in crate::guard) fn knows(&self, flag: &str) -> bool {
        let Some(flags) = self.flags else { return true };
        let shortened =
            |known: &str| flag.len() > 3 && flag.starts_with("--") && known.starts_with(flag);
        lists(flags, flag) || flags.split_whitespace().any(shortened)
    }
}

/// Whether a word is one of the words of a string.
pub(in crate::guard) fn lists(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}
