//! The user's own rules, compiled: which tools, commands and paths they are about.
//!
//! Invariant: a rule that does not fit its examples is never loaded. The strictest of the matching
//! rules wins. Rules can narrow everything; they cannot widen the [`FLOOR`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use regex::Regex;

use crate::model::{
    Access, CommandRule, PathRule, Pattern, PolicyDefault, PolicyRules, RuleDecision, RulePlace,
};

use super::denial::Denial;
use super::families::same_kind;
use super::policy_error::PolicyError;
use super::prefix::fits;
use super::programs::exactly;

/// Built-in rules that no configuration lifts, by the beginning of their ids, and what
/// they keep.
pub const FLOOR: &[(&str, &str)] = &[
    ("path.", "git's own data, agent settings, protected paths, links, system folders"),
    ("state.", "the runner's own state and the files of a task"),
    ("human.", "the human's uncommitted work"),
    ("secret.", "files and variables that hold secrets"),
    ("env.", "the environment as a whole, and variables that load code"),
    ("git.destructive", "git that throws work or history away"),
    ("git.push-force", "a push that overwrites or removes the work of others"),
    ("git.setting", "settings of git that run programs"),
    ("git.internals", "git's own data, behind its back"),
    ("privilege", "raising privilege, changing owners"),
    ("system", "the machine and other processes"),
    ("shell.", "lines that the guard cannot parse"),
    ("tool.malformed", "calls that the guard cannot parse"),
    ("tool.keystrokes", "typing into a running program"),
];

/// Whether the user's own rules may lift what a built-in one refuses.
pub fn liftable(rule: &str) -> bool {
    rule == "shell.unknown-program" || !FLOOR.iter().any(|(floor, _)| rule.starts_with(floor))
}

/// Rules that say no more than that something is not known.
pub(super) fn unknown(rule: &str) -> bool {
    matches!(rule, "shell.unknown-program" | "program.verb" | "program.module" | "tool.unknown")
}

/// Everything the user's configuration says, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct Rules(Arc<Compiled>);

#[derive(Debug, Default)]
struct Compiled {
    allow_unknown: bool,
    allowed: Vec<Tool>,
    blocked: Vec<Tool>,
    ask: Vec<Tool>,
    patterns: Vec<Regex>,
    commands: Vec<Command>,
    paths: Vec<Paths>,
}

/// A rule that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ruling {
    pub(super) id: String,
    pub(super) decision: RuleDecision,
    pub(super) reason: String,
}

impl Ruling {
    /// The denial that says what the rule says.
    pub(super) fn denial(&self) -> Denial {
        Denial::new(self.id.clone(), self.reason.trim_end_matches('.'))
    }
}

#[derive(Debug)]
struct Tool {
    name: String,
    glob: GlobMatcher,
}

#[derive(Debug)]
struct Command {
    ruling: Ruling,
    words: Vec<String>,
    exactly: bool,
}

#[derive(Debug)]
struct Paths {
    ruling: Ruling,
    access: Access,
    globs: GlobSet,
}

impl Rules {
    /// Compiles the rules and tries each on its own examples.
    ///
    /// # Errors
    /// The first rule that cannot be understood or does not fit its examples, with its
    /// place.
    pub fn compile(
        written: &PolicyRules,
        workspace: &Path,
        home: Option<&Path>,
    ) -> Result<Self, PolicyError> {
        let tools = |names: &[Pattern]| names.iter().map(tool).collect::<Result<Vec<_>, _>>();
        let commands = written.command.iter().map(command).collect::<Result<_, _>>()?;
        let roots = Roots { workspace, home };
        let paths = written.path.iter().map(|rule| roots.paths(rule)).collect::<Result<_, _>>()?;
        Ok(Self(Arc::new(Compiled {
            allow_unknown: written.default == Some(PolicyDefault::Allow),
            allowed: tools(&written.allowed_tools)?,
            blocked: tools(&written.blocked_tools)?,
            ask: tools(&written.ask_tools)?,
            patterns: written.blocked_patterns.iter().map(pattern).collect::<Result<_, _>>()?,
            commands,
            paths,
        })))
    }

    /// Whether what nobody knows may run.
    pub(super) fn allow_unknown(&self) -> bool {
        self.0.allow_unknown
    }

    /// The name in `blocked_tools` that fits a tool.
    pub(super) fn blocks(&self, name: &str) -> Option<&str> {
        find(&self.0.blocked, name)
    }

    /// The name in `ask_tools` that fits a tool.
    pub(super) fn asks_for(&self, name: &str) -> Option<&str> {
        find(&self.0.ask, name)
    }

    /// Whether tools are listed at all, and this one is not.
    pub(super) fn leaves_out(&self, name: &str) -> bool {
        !self.0.allowed.is_empty() && find(&self.0.allowed, name).is_none()
    }

    /// The tools that are listed, as they are written.
    pub(super) fn allowed(&self) -> Vec<&str> {
        self.0.allowed.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// Whether this tool is listed by name.
    pub(super) fn lists(&self, name: &str) -> bool {
        find(&self.0.allowed, name).is_some()
    }

    /// The blocked pattern that a text matches.
    pub(super) fn matches(&self, text: &str) -> Option<&str> {
        self.0.patterns.iter().find(|pattern| pattern.is_match(text)).map(Regex::as_str)
    }

    /// Whether there are patterns or rules for commands.
    pub(super) fn about_commands(&self) -> bool {
        !self.0.patterns.is_empty() || !self.0.commands.is_empty()
    }

    /// The strictest rule for a command, word by word; `None` is a word that is not known.
    pub(super) fn command(&self, words: &[Option<String>]) -> Option<&Ruling> {
        let fits = self.0.commands.iter().filter(|rule| rule.fits(words));
        fits.map(|rule| &rule.ruling).max_by_key(|ruling| ruling.decision)
    }

    /// The strictest rule for a path.
    pub(super) fn path(&self, path: &Path, access: Access) -> Option<&Ruling> {
        let fits = self.0.paths.iter().filter(|rule| rule.access == access);
        let fits = fits.filter(|rule| rule.globs.is_match(path));
        fits.map(|rule| &rule.ruling).max_by_key(|ruling| ruling.decision)
    }

    /// Whether some paths must not be read.
    pub(super) fn hides(&self) -> bool {
        let hides = |rule: &Paths| {
            rule.access == Access::Read && rule.ruling.decision != RuleDecision::Allow
        };
        self.0.paths.iter().any(hides)
    }
}

fn find<'a>(tools: &'a [Tool], name: &str) -> Option<&'a str> {
    let fits = |tool: &&Tool| tool.glob.is_match(name) || same_kind(&tool.name, name);
    tools.iter().find(fits).map(|tool| tool.name.as_str())
}

fn bad(name: &str, place: Option<&RulePlace>, why: impl Into<String>) -> PolicyError {
    PolicyError::Rule {
        place: place.cloned().map(Box::new),
        name: name.to_owned(),
        why: why.into(),
    }
}

fn tool(written: &Pattern) -> Result<Tool, PolicyError> {
    let glob = GlobBuilder::new(&written.text).case_insensitive(true).build();
    let glob = glob.map_err(|error| bad(&written.text, written.place.as_ref(), error.to_string()));
    if written.text.trim().is_empty() {
        return Err(bad("", written.place.as_ref(), "a tool needs a name"));
    }
    Ok(Tool { name: written.text.clone(), glob: glob?.compile_matcher() })
}

fn pattern(written: &Pattern) -> Result<Regex, PolicyError> {
    // An empty pattern would refuse everything, and nobody means that.
    let why = match Regex::new(&written.text) {
        Ok(regex) if !regex.is_match("") => return Ok(regex),
        Ok(_) => "it matches the empty text, so it would refuse every call".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(bad(&written.text, written.place.as_ref(), why))
}

fn ruling(
    id: &str,
    decision: RuleDecision,
    reason: &str,
    place: Option<&RulePlace>,
) -> Result<Ruling, PolicyError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if id.is_empty() || !id.chars().all(fine) {
        return Err(bad(id, place, "an id is made of letters, digits, `-`, `_` and `.`"));
    }
    if reason.trim().is_empty() {
        return Err(bad(id, place, "it needs a reason, which a denied agent reads"));
    }
    Ok(Ruling { id: format!("policy.{id}"), decision, reason: reason.trim().to_owned() })
}

/// Tries a rule on its examples.
fn examples(
    id: &str,
    place: Option<&RulePlace>,
    fitting: &[String],
    others: &[String],
    fits: impl Fn(&str) -> bool,
) -> Result<(), PolicyError> {
    if fitting.is_empty() {
        return Err(bad(id, place, "it needs an example in `match`"));
    }
    if let Some(example) = fitting.iter().find(|example| !fits(example)) {
        return Err(bad(id, place, format!("it does not match its example `{example}`")));
    }
    match others.iter().find(|example| fits(example)) {
        Some(example) => {
            Err(bad(id, place, format!("it matches `{example}`, which `not_match` rules out")))
        }
        None => Ok(()),
    }
}

fn command(written: &CommandRule) -> Result<Command, PolicyError> {
    let (id, place) = (written.id.as_str(), written.place.as_ref());
    let words = shlex::split(&written.command).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| bad(id, place, "its command cannot be split into words"))?;
    let ruling = ruling(id, written.decision, &written.reason, place)?;
    // A human who is asked sees every word.
    let exactly = written.decision == RuleDecision::Allow && exactly(&words);
    let command = Command { ruling, words, exactly };
    examples(id, place, &written.r#match, &written.not_match, |example| {
        let words = shlex::split(example).unwrap_or_default();
        command.fits(&words.into_iter().map(Some).collect::<Vec<_>>())
    })?;
    Ok(command)
}

impl Command {
    fn fits(&self, words: &[Option<String>]) -> bool {
        let strict = self.ruling.decision != RuleDecision::Allow;
        let same = |(want, word): (&String, &Option<String>)| match word {
            Some(word) => want == "*" || want == word,
            // What is not known may be the word: that narrows, and never widens.
            None => strict || want == "*",
        };
        fits(self.words.len(), words.len(), self.exactly) && self.words.iter().zip(words).all(same)
    }
}

/// The beginnings of relative and home paths.
struct Roots<'a> {
    workspace: &'a Path,
    home: Option<&'a Path>,
}

impl Roots<'_> {
    fn absolute(&self, written: &str) -> Option<PathBuf> {
        match written.strip_prefix("~/") {
            Some(rest) => self.home.map(|home| home.join(rest)),
            None => Some(self.workspace.join(written.trim_start_matches("./"))),
        }
    }

    fn paths(&self, written: &PathRule) -> Result<Paths, PolicyError> {
        let (id, place) = (written.id.as_str(), written.place.as_ref());
        if written.paths.is_empty() {
            return Err(bad(id, place, "it names no paths"));
        }
        let mut globs = GlobSetBuilder::new();
        for glob in &written.paths {
            let absolute = self.glob(glob).ok_or_else(|| bad(id, place, "there is no home"))?;
            // A folder means everything below it; case is no difference on many machines.
            for form in [absolute.clone(), format!("{absolute}/**")] {
                let built = GlobBuilder::new(&form)
                    .literal_separator(true)
                    .case_insensitive(written.decision != RuleDecision::Allow)
                    .build();
                globs.add(built.map_err(|error| bad(id, place, error.to_string()))?);
            }
        }
        let globs = globs.build().map_err(|error| bad(id, place, error.to_string()))?;
        let ruling = ruling(id, written.decision, &written.reason, place)?;
        let paths = Paths { ruling, access: written.access, globs };
        examples(id, place, &written.r#match, &written.not_match, |example| {
            self.absolute(example).is_some_and(|path| paths.globs.is_match(path))
        })?;
        Ok(paths)
    }

    /// A glob with its root, whose own name is no pattern.
    fn glob(&self, written: &str) -> Option<String> {
        let written = written.trim_end_matches('/');
        let below = |root: &Path, rest: &str| {
            format!("{}/{rest}", globset::escape(&root.to_string_lossy()))
        };
        match written.strip_prefix("~/") {
            Some(rest) => self.home.map(|home| below(home, rest)),
            None if written.starts_with('/') => Some(written.to_owned()),
            None => Some(below(self.workspace, written.trim_start_matches("./"))),
        }
    }
}
