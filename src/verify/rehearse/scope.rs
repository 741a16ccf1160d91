//! The names in a check's code, and the part of the work that an expression takes its value from.
//!
//! Invariant: pure. An expression that cannot be read has no value.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::grep_text::{GrepSyntax, matching};
use super::known_names::{BUILTINS, KEYED, LENGTHS, PASSES, READS, STARTS, WRAPPERS};
use super::languages::Language;
use super::operands::{inside, parts};
use super::wanted::{Step, Wanted, json_of};

/// A source of values that the work makes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueOrigin {
    /// A function or a method of this name, called.
    Call(String),
    /// A name that is not called.
    Name(String),
    /// The output of a program, by the words that start it.
    Output(Vec<String>),
    /// A file, by the words of its path.
    File(Vec<String>),
}

/// A part of such a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) origin: ValueOrigin,
    pub(super) path: Vec<Step>,
    /// It is read as JSON or the like.
    pub(super) is_parsed: bool,
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// It comes from the work.
    Of(Subject),
    /// A function whose result comes from the work.
    Helper(Subject),
    /// True if a part of the work has this value.
    Asks(Subject, Wanted),
    /// It stands in the code.
    Literal(String),
    /// One after another of these texts: the name of a loop.
    Each(Vec<String>),
}

/// What is known of the names at a place.
pub(super) struct Scope {
    language: Language,
    names: BTreeMap<String, Bound>,
}

impl Scope {
    pub(super) fn new(language: Language) -> Self {
        Self { language, names: BTreeMap::new() }
    }

    /// Gives a name a value; without one, it is no longer known.
    pub(super) fn bind(&mut self, name: &str, value: Option<Bound>) {
        match value {
            Some(value) => self.names.insert(name.to_owned(), value),
            None => self.names.remove(name),
        };
    }

    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Bound> {
        self.names.get(name)
    }

    /// The text of a literal, or of a name that stands for one.
    pub(super) fn literal(&self, text: &str) -> Option<String> {
        match self.read(text)? {
            Bound::Literal(text) => Some(text),
            Bound::Of(_) | Bound::Helper(_) | Bound::Asks(..) | Bound::Each(_) => None,
        }
    }

    /// The texts of a list: `["a", "b"]`, `%w[a b]`, or a name that stands for one.
    pub(super) fn list(&self, text: &str) -> Option<Vec<String>> {
        let text = text.trim();
        if let Some(words) = text.strip_prefix("%w") {
            let words = words.get(1..words.len().saturating_sub(1))?;
            return Some(words.split_whitespace().map(str::to_owned).collect());
        }
        if let Some(Bound::Each(all)) = self.get(text) {
            return Some(all.clone());
        }
        let serde_json::Value::Array(items) = json_of(&self.literal(text)?)? else { return None };
        items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// The text that an expression stands for; several, if it is the name of a loop.
    pub(super) fn texts(&self, text: &str) -> Option<Vec<String>> {
        if let Some(Bound::Each(all)) = self.get(text.trim()) {
            return Some(all.clone());
        }
        Some(vec![json_of(&self.literal(text)?)?.as_str()?.to_owned()])
    }

    /// The value of an expression.
    pub(super) fn read(&self, text: &str) -> Option<Bound> {
        static HEAD: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"^(?<head>[\w.:]*?)(?<name>\w+)!?\(").expect("a pattern"));
        let text = bare(text);
        if is_literal(text, self.language) {
            return Some(Bound::Literal(text.to_owned()));
        }
        if text.starts_with('`') && self.language != Language::Node {
            return Some(self.output(text));
        }
        if text.starts_with('/')
            && let Some((pattern, rest)) = text.rsplit_once(".test(")
        {
            let Bound::Of(subject) = self.read(inside(rest))? else { return None };
            return Some(Bound::Asks(subject, Wanted::Parts(vec![sample(pattern)?])));
        }
        if let Some(head) = HEAD.captures(text) {
            let (name, owner) = (&head["name"], &head["head"]);
            let inner = inside(&text[head[0].len()..]);
            let rest = text.get(head[0].len() + inner.len() + 1..).unwrap_or_default();
            if STARTS.contains(&name)
                || owner.contains("subprocess")
                || owner.contains("Command")
                || owner == "exec." && name == "Command"
            {
                return Some(self.output(text));
            }
            let is_json = name == "require" && inner.contains(".json");
            // The names of a module are those of its functions.
            if ["require", "import"].contains(&name) && !is_json {
                return None;
            }
            if is_json || READS.contains(&name) || name == "Path" && rest.contains("read") {
                let origin = ValueOrigin::File(self.words(text));
                return Some(Bound::Of(Subject { origin, path: Vec::new(), is_parsed: false }));
            }
            if owner.is_empty() && (name == "len" || name == "count") {
                let Bound::Of(subject) = self.read(parts(inner).first()?)? else { return None };
                return Some(Bound::Of(subject.then(Step::Length)));
            }
            if ["strings.Contains", "strings.HasPrefix", "str_contains"]
                .contains(&format!("{owner}{name}").as_str())
            {
                let args = parts(inner);
                let [value, part, ..] = args.as_slice() else { return None };
                let Bound::Of(subject) = self.read(value)? else { return None };
                let part = json_of(&self.literal(part)?)?.as_str()?.to_owned();
                return Some(Bound::Asks(subject, Wanted::Parts(vec![part])));
            }
            if ["search", "match", "fullmatch", "findall", "preg_match"].contains(&name)
                && (owner == "re." || owner.is_empty())
            {
                let args = parts(inner);
                let [pattern, value, ..] = args.as_slice() else { return None };
                let Bound::Of(subject) = self.read(value)? else { return None };
                return Some(Bound::Asks(subject, Wanted::Parts(vec![sample(pattern)?])));
            }
            if WRAPPERS.contains(&format!("{owner}{name}").as_str()) {
                return match self.read(parts(inner).first()?)? {
                    Bound::Of(mut subject) => {
                        subject.is_parsed |= name.contains("load") || name.contains("parse");
                        subject.is_parsed |= name.contains("decode");
                        self.behind(subject, rest)
                    }
                    other => Some(other),
                };
            }
        }
        self.path(text)
    }

    /// `name`, `name.method(…)`, `name["key"]`, and so on.
    fn path(&self, text: &str) -> Option<Bound> {
        static NAME: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"^(?:self\.|this\.|[$@])?(?<name>[A-Za-z_]\w*)").expect("a pattern")
        });
        let name = NAME.captures(text)?;
        let (whole, name) = (name[0].to_owned(), name["name"].to_owned());
        let rest = &text[whole.len()..];
        match self.get(&name) {
            Some(Bound::Of(subject)) => return self.behind(subject.clone(), rest),
            Some(Bound::Helper(subject)) => {
                let inner = inside(rest.strip_prefix('(')?);
                let mut subject = subject.clone();
                if let ValueOrigin::Output(words) = &mut subject.origin {
                    words.extend(self.words(inner));
                }
                return self.behind(subject, rest.get(inner.len() + 2..)?);
            }
            Some(known) if rest.is_empty() => return Some(known.clone()),
            _ => {}
        }
        if BUILTINS.contains(&name.as_str()) {
            return None;
        }
        let (mut name, mut rest) = (name, rest);
        loop {
            if let Some((next, after)) = member(rest) {
                (name, rest) = (next.to_owned(), after);
            } else if let Some(after) = rest.strip_prefix('(') {
                let inner = inside(after);
                let origin = ValueOrigin::Call(name);
                let subject = Subject { origin, path: Vec::new(), is_parsed: false };
                return self.behind(subject, after.get(inner.len() + 1..)?);
            } else {
                let is_method = self.language == Language::Ruby && text.contains('.');
                let origin =
                    if is_method { ValueOrigin::Call(name) } else { ValueOrigin::Name(name) };
                return self.behind(Subject { origin, path: Vec::new(), is_parsed: false }, rest);
            }
        }
    }

    /// A part of a value, by what follows it.
    fn behind(&self, mut subject: Subject, mut rest: &str) -> Option<Bound> {
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Some(Bound::Of(subject));
            }
            if let Some(after) = rest.strip_prefix('[') {
                let inner = inside(after);
                rest = after.get(inner.len() + 1..)?;
                subject = subject.then(self.key(inner)?);
                continue;
            }
            let (name, after) = member(rest)?;
            rest = after;
            let Some(after) = rest.strip_prefix('(') else {
                if let Some(asks) = self.asked(&subject, name, "") {
                    return Some(asks);
                }
                subject = match name {
                    "returncode" | "status" | "exitstatus" | "stderr"
                        if !subject.is_parsed && subject.path.is_empty() =>
                    {
                        return None;
                    }
                    // `stack.size` of a class is an attribute like any other.
                    _ if LENGTHS.contains(&name) && subject.origin.is_object() => {
                        let origin = ValueOrigin::Name(name.to_owned());
                        Subject { origin, path: Vec::new(), is_parsed: false }
                    }
                    _ if LENGTHS.contains(&name) => subject.then(Step::Length),
                    // A method without arguments.
                    _ if self.language == Language::Ruby && subject.origin.is_code() => {
                        let origin = ValueOrigin::Call(name.to_owned());
                        Subject { origin, path: Vec::new(), is_parsed: false }
                    }
                    "stdout" | "output" if !subject.is_parsed && subject.path.is_empty() => subject,
                    _ => subject.then(Step::Key(name.to_owned())),
                };
                continue;
            };
            let inner = inside(after);
            rest = after.get(inner.len() + 1..)?;
            if let Some(asks) = self.asked(&subject, name, inner) {
                return Some(asks);
            }
            let holds_keys = match &subject.origin {
                ValueOrigin::Output(_) | ValueOrigin::File(_) => true,
                ValueOrigin::Call(of) => {
                    self.language == Language::Python && !of.starts_with(char::is_uppercase)
                }
                ValueOrigin::Name(_) => false,
            };
            if LENGTHS.contains(&name) {
                subject = subject.then(Step::Length);
            } else if KEYED.contains(&name.trim_end_matches('?')) && holds_keys {
                for key in parts(inner) {
                    subject = subject.then(self.key(key)?);
                }
            } else if !PASSES.contains(&name) {
                let origin = ValueOrigin::Call(name.to_owned());
                subject = Subject { origin, path: Vec::new(), is_parsed: false };
            }
        }
    }

    /// A question that a method asks about its object.
    fn asked(&self, subject: &Subject, name: &str, arguments: &str) -> Option<Bound> {
        let raw = |text: &str| Wanted::Raw(text.to_owned());
        let wanted = match name {
            "is_ok" => raw("Ok(Default::default())"),
            "is_err" => raw("Err(Default::default())"),
            "is_some" => raw("Some(Default::default())"),
            "is_none" => raw("None"),
            "is_empty" => Wanted::Items(Vec::new()),
            "includes" | "contains" | "include?" | "startswith" | "startsWith" | "endswith"
            | "endsWith" | "start_with?" | "starts_with" | "ends_with" => {
                Wanted::Parts(self.texts(arguments)?)
            }
            "match" | "match?" => Wanted::Parts(vec![sample(arguments)?]),
            "hasOwnProperty" | "key?" | "has_key?" => {
                Wanted::at(&[Step::Key(json_of(arguments)?.as_str()?.to_owned())], Wanted::Any)
            }
            _ => return None,
        };
        Some(Bound::Asks(subject.clone(), wanted))
    }

    fn key(&self, text: &str) -> Option<Step> {
        let text = text.trim();
        let symbol = text.strip_prefix(':').filter(|it| it.chars().all(char::is_alphanumeric));
        if let Some(symbol) = symbol {
            return Some(Step::Key(symbol.to_owned()));
        }
        match json_of(&self.literal(text)?)? {
            serde_json::Value::String(key) => Some(Step::Key(key)),
            serde_json::Value::Number(at) => Some(Step::Index(at.as_u64()?.try_into().ok()?)),
            _ => None,
        }
    }

    fn output(&self, text: &str) -> Bound {
        let origin = ValueOrigin::Output(self.words(text));
        Bound::Of(Subject { origin, path: Vec::new(), is_parsed: false })
    }

    /// The words of all texts in an expression.
    pub(super) fn words(&self, text: &str) -> Vec<String> {
        static WORD: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(
                r#"'(?<one>[^'\n]*)'|"(?<two>[^"\n]*)"|`(?<tick>[^`\n]*)`|(?<name>[A-Za-z_]\w*)"#,
            )
            .expect("a pattern")
        });
        let mut found = Vec::new();
        for it in WORD.captures_iter(text) {
            let known = match it.name("name") {
                Some(name) => match self.get(name.as_str()) {
                    Some(Bound::Literal(text)) => json_of(text),
                    _ => None,
                },
                None => None,
            };
            let quoted = it.name("one").or(it.name("two")).or(it.name("tick"));
            let text = match known {
                Some(serde_json::Value::String(text)) => text,
                _ => match quoted {
                    Some(quoted) => quoted.as_str().to_owned(),
                    None => continue,
                },
            };
            found.extend(text.split_whitespace().map(str::to_owned));
        }
        found
    }
}

impl ValueOrigin {
    /// Is it a function or a name of a module?
    pub(super) fn is_code(&self) -> bool {
        matches!(self, Self::Call(_) | Self::Name(_))
    }

    /// Is it a new object of a class?
    fn is_object(&self) -> bool {
        matches!(self, Self::Call(name) if name.starts_with(char::is_uppercase))
    }
}

impl Subject {
    fn then(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }
}

/// A text that a pattern finds: `r"^a"`, `/a/i`.
pub(super) fn sample(pattern: &str) -> Option<String> {
    let pattern = pattern.trim().trim_start_matches('r');
    let inner = match pattern.chars().next()? {
        '/' => pattern.strip_prefix('/')?.rsplit_once('/')?.0,
        quote @ ('"' | '\'') => pattern.trim_matches(quote).trim_matches('/'),
        _ => return None,
    };
    matching(inner, GrepSyntax::Extended)
}

/// The name of a member, and what follows it.
fn member(text: &str) -> Option<(&str, &str)> {
    static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:\.|::|->|\?\.|&\.)(?<name>[A-Za-z_]\w*\??)").expect("a pattern")
    });
    let found = MEMBER.captures(text)?;
    let name = found.name("name")?;
    Some((name.as_str(), &text[name.end()..]))
}

/// An expression without words that do not change its value.
fn bare(text: &str) -> &str {
    const BEFORE: [&str; 8] = ["await ", "return ", "new ", "not ", "!", "&", "*", "yield "];
    let mut text = text.trim();
    loop {
        let shorter = BEFORE.iter().find_map(|before| text.strip_prefix(before));
        let inner = text.strip_prefix('(').map(inside);
        let inner = inner.filter(|inner| inner.len() + 2 == text.len() && !inner.contains(','));
        match shorter.or(inner) {
            Some(shorter) => text = shorter.trim(),
            None => return text,
        }
    }
}

/// Is it a literal of the language?
fn is_literal(text: &str, language: Language) -> bool {
    static GO: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)^(?:\[\]|map\[\w+\])\w+\{.*\}$").expect("a pattern"));
    static RUST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?s)^(?:vec!\[.*\]|None|(?:Some|Ok|Err|String::from)\((?:-?[\d._a-z]+|"[^"]*"|true|false)\)|"[^"]*"\.(?:to_string|to_owned|into)\(\)|-?\d[\d_]*(?:\.\d+)?(?:[iuf]\d+|usize)?|'.')$"#)
            .expect("a pattern")
    });
    json_of(text).is_some()
        || language == Language::Go && GO.is_match(text)
        || language == Language::Rust && RUST.is_match(text)
}
