//! The table of programs, read from `table.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The kind of a value or an operand; the table explains the letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::guard) enum Kind {
    Text,
    TwoTexts,
    Number,
    Word,
    Plain,
    NameGlob,
    Read,
    Tree,
    GrepRoot,
    SearchRoot,
    Name,
    WorkDir,
    Config,
    Write,
    Fill,
    OutDir,
    MakeDir,
    Mode,
    Target,
    Script,
    Argument,
    Command,
    Subcommand,
    Special(&'static str),
}

/// An option's use of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::guard) enum Takes {
    Nothing,
    Value(Kind),
    /// Only attached: `--color=auto`.
    Attached(Kind),
}

/// The known facts about a program or one of its subcommands.
#[derive(Clone, Debug, Default)]
pub(in crate::guard) struct Entry {
    /// It runs code of the project.
    pub(in crate::guard) runs: bool,
    pub(in crate::guard) operands: Vec<Kind>,
    /// Any number of further operands.
    pub(in crate::guard) more: Option<Kind>,
    /// First words that are not operands.
    pub(in crate::guard) words: Vec<&'static str>,
    options: HashMap<&'static str, Takes>,
    pub(in crate::guard) one_dash: bool,
    /// The value of an option is a word of its own, or stands behind `=`.
    pub(in crate::guard) apart: bool,
    pub(in crate::guard) posix: bool,
    pub(in crate::guard) through: bool,
    /// Its own check reads the options too.
    pub(in crate::guard) raw: bool,
    /// Operands that must be there.
    pub(in crate::guard) needs: usize,
}

impl Entry {
    /// The value of an option, if it is listed.
    pub(in crate::guard) fn option(&self, name: &str) -> Option<Takes> {
        self.options.get(name).copied()
    }

    /// Whether its operand is a subcommand.
    pub(in crate::guard) fn has_subcommands(&self) -> bool {
        self.operands == [Kind::Subcommand]
    }
}

static TABLE: LazyLock<HashMap<String, Entry>> = LazyLock::new(|| read(include_str!("table.txt")));

/// The entry of a program, or of `program subcommand`.
pub(in crate::guard) fn entry(name: &str) -> Option<&'static Entry> {
    TABLE.get(name)
}

/// Reads the table. A line that cannot be read is left out; a test finds it.
fn read(text: &'static str) -> HashMap<String, Entry> {
    let mut groups: HashMap<&str, &str> = HashMap::new();
    let mut table: HashMap<String, Entry> = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(group) = line.strip_prefix(':') {
            if let Some((name, options)) = group.split_once(' ') {
                groups.insert(name, options);
            }
            continue;
        }
        let mut fields = line.split('|');
        let (Some(names), Some(operands)) = (fields.next(), fields.next()) else { continue };
        let options = fields.next().unwrap_or_default();
        let mut entry = Entry { runs: names.starts_with('*'), ..Entry::default() };
        entry.take_operands(operands);
        for option in options.split_whitespace() {
            match option.strip_prefix(':').and_then(|group| groups.get(group)) {
                Some(group) => {
                    group.split_whitespace().for_each(|option| entry.take_option(option))
                }
                None => entry.take_option(option),
            }
        }
        for key in keys(names.trim_start_matches('*'), &table) {
            table.insert(key, entry.clone());
        }
    }
    table
}

/// The keys of a line: programs, or each program with each subcommand.
fn keys(names: &str, table: &HashMap<String, Entry>) -> Vec<String> {
    let names: Vec<String> = names.split_whitespace().map(|name| name.replace('/', " ")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let branches = |key: &str| table.get(key).is_some_and(Entry::has_subcommands);
    let programs = names.iter().take_while(|name| branches(name)).count();
    if programs == 0 || programs == names.len() {
        return names.iter().map(|name| (*name).to_owned()).collect();
    }
    let mut prefixes: Vec<String> =
        names[..programs].iter().map(|name| (*name).to_owned()).collect();
    let mut rest = &names[programs..];
    while let [first, more @ ..] = rest
        && !more.is_empty()
        && branches(&format!("{} {first}", prefixes[0]))
    {
        prefixes.iter_mut().for_each(|prefix| *prefix = format!("{prefix} {first}"));
        rest = more;
    }
    prefixes
        .iter()
        .flat_map(|prefix| rest.iter().map(move |name| format!("{prefix} {name}")))
        .collect()
}

impl Entry {
    fn take_operands(&mut self, operands: &'static str) {
        for operand in operands.split_whitespace().filter(|operand| *operand != "-") {
            if let Some(kind) = operand.strip_suffix('…').and_then(kind) {
                self.more = Some(kind);
            } else if let Some(kind) = kind(operand.trim_end_matches('!')) {
                self.operands.push(kind);
                if operand.ends_with('!') {
                    self.needs = self.operands.len();
                }
            } else {
                self.words.push(operand);
            }
        }
    }

    fn take_option(&mut self, option: &'static str) {
        match option {
            "one-dash" => self.one_dash = true,
            "apart" => self.apart = true,
            "posix" => self.posix = true,
            "through" => self.through = true,
            "raw" => self.raw = true,
            _ if !option.starts_with('-') => self.words.push(option),
            _ => {
                let (name, takes) = match option.find(['=', '?']) {
                    Some(at) => match kind(&option[at + 1..]) {
                        Some(kind) if option[at..].starts_with('=') => {
                            (&option[..at], Takes::Value(kind))
                        }
                        Some(kind) => (&option[..at], Takes::Attached(kind)),
                        None => (option, Takes::Nothing),
                    },
                    None => (option, Takes::Nothing),
                };
                self.options.insert(name, takes);
            }
        }
    }
}

fn kind(letter: &'static str) -> Option<Kind> {
    Some(match letter {
        "t" => Kind::Text,
        "tt" => Kind::TwoTexts,
        "n" => Kind::Number,
        "w" => Kind::Word,
        "k" => Kind::Plain,
        "g" => Kind::NameGlob,
        "r" => Kind::Read,
        "R" => Kind::Tree,
        "G" => Kind::GrepRoot,
        "F" => Kind::SearchRoot,
        "N" => Kind::Name,
        "d" => Kind::WorkDir,
        "c" => Kind::Config,
        "W" => Kind::Write,
        "O" => Kind::Fill,
        "D" => Kind::OutDir,
        "M" => Kind::MakeDir,
        "P" => Kind::Mode,
        "T" => Kind::Target,
        "S" => Kind::Script,
        "x" => Kind::Argument,
        "C" => Kind::Command,
        "SUB" => Kind::Subcommand,
        _ => Kind::Special(letter.strip_prefix('@')?),
    })
}
