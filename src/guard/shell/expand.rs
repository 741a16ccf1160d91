//! Words → values: what the pieces of a word come to in an environment, the
//! commands inside substitutions judged on the way.

use super::judge::Judge;
use crate::guard::denial::Denial;
use crate::guard::secrets;

use super::braces;
use super::brackets::{Bracket, bracket};
use super::env::Env;
use super::lexer;
use super::pieces::{Op, Param, Piece, Which};
use super::value::{Seg, ShellOutput, ShellValue};

/// Variables the shell itself sets to a number.
const NUMBERS: &[&str] = &[
    "?",
    "#",
    "$",
    "!",
    "RANDOM",
    "SECONDS",
    "UID",
    "EUID",
    "PPID",
    "LINENO",
    "EPOCHSECONDS",
    "BASHPID",
    "OPTIND",
    "SHLVL",
    "COLUMNS",
    "LINES",
];

impl Judge<'_> {
    /// The words that one written word becomes.
    pub(super) fn words(&mut self, env: &mut Env, word: &str) -> Result<Vec<ShellValue>, Denial> {
        if !word.bytes().any(|byte| b"'\"\\$`*?[{~(".contains(&byte)) {
            return Ok(vec![ShellValue::lit(word)]);
        }
        let mut out = Vec::new();
        let forms = if word.contains('{') { braces::braces(word)? } else { vec![word.to_owned()] };
        for form in forms {
            let pieces = lexer::word(&form)?;
            self.split(env, pieces, &mut out)?;
        }
        Ok(out)
    }

    /// One value of a word that is not split: an assignment, a redirection, a pattern.
    pub(super) fn single(&mut self, env: &mut Env, word: &str) -> Result<ShellValue, Denial> {
        let pieces = lexer::word(word)?;
        self.join(env, pieces)
    }

    /// The text of a here-document whose delimiter is not quoted.
    pub(super) fn document(&mut self, env: &mut Env, text: &str) -> Result<ShellValue, Denial> {
        let pieces = lexer::body(text)?;
        self.join(env, pieces)
    }

    /// Judges what stands inside an arithmetic expression. Bash evaluates the
    /// VALUES of variables there once more, so these must be plain.
    pub(in crate::guard) fn arithmetic(&mut self, env: &mut Env, text: &str) -> Result<(), Denial> {
        let pieces = lexer::body(text)?;
        self.arithmetic_pieces(env, pieces)
    }

    fn arithmetic_pieces(&mut self, env: &mut Env, pieces: Vec<Piece>) -> Result<(), Denial> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    no_commands(&text)?;
                    let names =
                        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(
                            |name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'),
                        );
                    for name in names {
                        secret_variable(env, name)?;
                        let plain = |value: &ShellValue| is_number(env, value);
                        if env.vars.get(name).is_some_and(|values| !values.iter().all(plain)) {
                            return Err(Denial::new(
                                "shell.arithmetic",
                                format!(
                                    "arithmetic would evaluate the value of {name}, which is not known to be a number"
                                ),
                            )
                            .instead(INSTEAD_OF_ARITHMETIC));
                        }
                        // Arithmetic can only assign numbers.
                        if env.vars.contains_key(name) {
                            env.set(name, ShellValue::one(Seg::Token));
                        }
                    }
                }
                other => {
                    let mut value = ShellValue::default();
                    self.piece(env, other, &mut value)?;
                    if !is_number(env, &value) {
                        return Err(Denial::new(
                            "shell.arithmetic",
                            "arithmetic on a value that is not known to be a number",
                        )
                        .instead(INSTEAD_OF_ARITHMETIC));
                    }
                }
            }
        }
        Ok(())
    }

    fn join(&mut self, env: &mut Env, pieces: Vec<Piece>) -> Result<ShellValue, Denial> {
        let mut value = ShellValue::default();
        for piece in pieces {
            self.piece(env, piece, &mut value)?;
        }
        value.splits = false;
        Ok(value)
    }

    /// Adds a piece that is not split.
    fn piece(&mut self, env: &mut Env, piece: Piece, value: &mut ShellValue) -> Result<(), Denial> {
        match piece {
            Piece::Text(text) => value.push(Seg::Lit(text)),
            Piece::Glob(text) => value.push(Seg::Glob(text)),
            Piece::Tilde(user) => value.push(self.tilde(env, &user)),
            Piece::Arith(inner) => {
                self.arithmetic_pieces(env, inner)?;
                value.push(Seg::Token);
            }
            Piece::Param(param) => {
                for (index, found) in self.param(env, param)?.into_iter().enumerate() {
                    if index > 0 {
                        let fields = env.vars.contains_key("IFS");
                        value.push(if fields { Seg::Any } else { Seg::Lit(" ".to_owned()) });
                    }
                    for seg in found.segs {
                        value.push(seg);
                    }
                }
            }
            Piece::Command { body, .. } => value.push(match self.substitution(env, &body)? {
                ShellOutput::Text(text) => Seg::Lit(text.trim_end_matches('\n').to_owned()),
                ShellOutput::Tokens => Seg::Token,
                ShellOutput::Listing(root) => Seg::Listed(root),
                ShellOutput::Opaque | ShellOutput::Lines(_) => Seg::Any,
            }),
        }
        Ok(())
    }

    /// Adds the words that pieces become when unquoted expansions are split.
    fn split(
        &mut self,
        env: &mut Env,
        pieces: Vec<Piece>,
        out: &mut Vec<ShellValue>,
    ) -> Result<(), Denial> {
        let mut word = ShellValue::default();
        let mut begun = pieces.is_empty();
        for piece in pieces {
            match piece {
                Piece::Param(param) if param.quoted && param.which == Which::Each => {
                    let mut values = self.param(env, param)?.into_iter();
                    if let Some(first) = values.next() {
                        begun = true;
                        word.splits |= first.splits;
                        first.segs.into_iter().for_each(|seg| word.push(seg));
                    }
                    for next in values {
                        out.push(std::mem::replace(&mut word, next));
                    }
                }
                Piece::Param(param) if !param.quoted => {
                    let fields = env.vars.contains_key("IFS");
                    for (index, value) in self.param(env, param)?.into_iter().enumerate() {
                        if index > 0 && begun {
                            out.push(std::mem::take(&mut word));
                            begun = false;
                        }
                        if fields {
                            word.push(Seg::Any);
                            word.splits = true;
                            begun = true;
                            continue;
                        }
                        scatter(value, &mut word, &mut begun, out);
                    }
                }
                Piece::Command { body, quoted: false } => {
                    let value = match self.substitution(env, &body)? {
                        ShellOutput::Text(text) | ShellOutput::Lines(text) => ShellValue::lit(text),
                        ShellOutput::Tokens => ShellValue::one(Seg::Token),
                        ShellOutput::Listing(root) => ShellValue::one(Seg::Listed(root)),
                        ShellOutput::Opaque => ShellValue { segs: vec![Seg::Any], splits: true },
                    };
                    if env.vars.contains_key("IFS") {
                        word.push(Seg::Any);
                        word.splits = true;
                        begun = true;
                    } else {
                        scatter(value, &mut word, &mut begun, out);
                    }
                }
                other => {
                    begun = true;
                    self.piece(env, other, &mut word)?;
                }
            }
        }
        if begun {
            out.push(word);
        }
        Ok(())
    }

    fn tilde(&self, env: &Env, user: &str) -> Seg {
        let path = match user {
            "" => self.cx.policy().home.clone(),
            "+" if !env.lost => match env.cwds.as_slice() {
                [only] => Some(only.clone()),
                _ => None,
            },
            _ => None,
        };
        path.map_or(Seg::Any, |path| Seg::Lit(path.to_string_lossy().into_owned()))
    }

    /// The values of a parameter, as long as all of them together stay short enough.
    fn param(&mut self, env: &mut Env, param: Param) -> Result<Vec<ShellValue>, Denial> {
        let values = self.parameter(env, param)?;
        let cost = values.iter().map(ShellValue::weight).sum();
        self.spend_expanded(cost)?;
        Ok(values)
    }

    /// The values of a parameter: one, or several for an array.
    fn parameter(&mut self, env: &mut Env, param: Param) -> Result<Vec<ShellValue>, Denial> {
        for piece in param.inner.clone() {
            let mut ignored = ShellValue::default();
            self.piece(env, piece, &mut ignored)?;
        }
        let name = param.name.as_str();
        if !is_key(env, name, &param.index) {
            self.arithmetic_pieces(env, param.index)?;
        }
        secret_variable(env, name)?;
        if param.op == Op::Keys {
            return Ok(keys(env.vars.get(name)));
        }
        if param.op == Op::Length {
            return Ok(vec![ShellValue::one(Seg::Token)]);
        }
        if param.op == Op::Assign {
            env.set(name, ShellValue::one(Seg::Any));
        }
        if param.op == Op::Change {
            self.cx.spend(COST_OF_A_CHANGE)?;
        }
        if param.op == Op::Change
            && let Some([value]) = env.vars.get(name).map(Vec::as_slice)
            && let (Some(text), [Piece::Text(change)]) = (value.text(), param.inner.as_slice())
            && let Some(changed) = changed(text, change)
        {
            return Ok(vec![ShellValue::lit(changed)]);
        }
        if param.op != Op::Value {
            return Ok(vec![ShellValue { segs: vec![Seg::Any], splits: !param.quoted }]);
        }
        if let Some(values) = env.vars.get(name) {
            // The name alone means the first value of an array.
            let most = if param.which == Which::First { 1 } else { values.len() };
            return Ok(values[..most.min(values.len())].to_vec());
        }
        if NUMBERS.contains(&name) {
            return Ok(vec![ShellValue::one(Seg::Token)]);
        }
        if let Some(arguments) = &env.arguments {
            if matches!(name, "@" | "*") {
                return Ok(arguments.clone());
            }
            if let Ok(number) = name.parse::<usize>()
                && number > 0
            {
                // Behind a value that may be several, nobody knows which one it is.
                let before = &arguments[..number.min(arguments.len())];
                if before.iter().any(|value| value.splits) {
                    return Ok(vec![ShellValue { segs: vec![Seg::Any], splits: true }]);
                }
                return Ok(arguments.get(number - 1).cloned().into_iter().collect());
            }
        }
        let path = match name {
            "HOME" => self.cx.policy().home.clone(),
            "TMPDIR" => self.cx.policy().tmp.clone(),
            "PWD" if !env.lost => match env.cwds.as_slice() {
                [only] => Some(only.clone()),
                _ => None,
            },
            _ => None,
        };
        let splits = !param.quoted;
        Ok(vec![path.map_or(ShellValue { segs: vec![Seg::Any], splits }, |path| {
            ShellValue::lit(path.to_string_lossy())
        })])
    }
}

/// A way to calculate in which no name is looked up.
const INSTEAD_OF_ARITHMETIC: &str =
    "use `expr \"$n\" + 1`, or compare with `[ \"$n\" -gt 3 ]`, which evaluate nothing";

/// The keys that an array may have: numbers, or any of its words if it was declared
/// before to have words as keys.
fn keys(values: Option<&Vec<ShellValue>>) -> Vec<ShellValue> {
    match values {
        Some(values) if !values.iter().any(ShellValue::is_open) => {
            [ShellValue::one(Seg::Token)].into_iter().chain(values.iter().cloned()).collect()
        }
        _ => vec![ShellValue { segs: vec![Seg::Any], splits: true }],
    }
}

/// Whether a subscript is a variable that holds a key of this very array: a number where
/// numbers are evaluated, and a word only where words are not.
fn is_key(env: &Env, array: &str, index: &[Piece]) -> bool {
    let variable = match index {
        [Piece::Param(Param { name, op: Op::Value, which: Which::First, .. })] => name,
        [Piece::Text(name)] => name,
        _ => return false,
    };
    env.keys.get(variable).is_some_and(|known| known == array)
}

/// What working a change out costs, in commands.
const COST_OF_A_CHANGE: usize = 60;

/// Longest value that a change is worked out for, in bytes.
const LONGEST_CHANGED: usize = 4096;

/// What `${name%pattern}` and its kind make of a value; `None` where it is not plain.
fn changed(value: &str, change: &str) -> Option<String> {
    if value.len() > LONGEST_CHANGED || change.contains(['\\', '[', '\'', '"', '(']) {
        return None;
    }
    if change.starts_with('-') || change.starts_with(":-") {
        return (!value.is_empty()).then(|| value.to_owned());
    }
    let end = change.starts_with('%');
    let written = change.strip_prefix(if end { '%' } else { '#' })?;
    let longest = written.strip_prefix(if end { '%' } else { '#' });
    let pattern: String = longest
        .unwrap_or(written)
        .chars()
        .map(|c| if matches!(c, '*' | '?') { c.into() } else { globset::escape(&c.to_string()) })
        .collect();
    let matcher = globset::Glob::new(&pattern).ok()?.compile_matcher();
    let mut cuts: Vec<usize> =
        value.char_indices().map(|(at, _)| at).chain([value.len()]).collect();
    if end != longest.is_some() {
        // The shortest end begins last, the longest beginning ends last.
        cuts.reverse();
    }
    let cut = cuts.into_iter().find(|at| {
        let (before, behind) = value.split_at(*at);
        matcher.is_match(if end { behind } else { before })
    });
    Some(match cut {
        Some(at) if end => value[..at].to_owned(),
        Some(at) => value[at..].to_owned(),
        None => value.to_owned(),
    })
}

/// Whether arithmetic finds a number in a value, and no name that it would look up in turn.
fn is_number(env: &Env, value: &ShellValue) -> bool {
    let named = |text: &str| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.split(|c: char| !is_name(c)).any(|name| env.vars.contains_key(name))
    };
    !value.splits
        && value.segs.iter().all(|seg| match seg {
            Seg::Lit(text) => !text.contains(['[', '$', '`']) && !named(text),
            Seg::Token => true,
            Seg::Glob(_) | Seg::Listed(_) | Seg::Any => false,
        })
}

/// Refuses arithmetic in which two operands stand side by side: that is a
/// command line, and not every shell takes it for arithmetic.
fn no_commands(text: &str) -> Result<(), Denial> {
    let operand = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let refuse = || {
        Denial::new("shell.arithmetic", "this is not an arithmetic expression")
            .instead("write it as `n=$(( n + 1 ))`")
    };
    if text.contains(';') {
        return Err(refuse());
    }
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let beside =
            words.peek().is_some_and(|next| word.ends_with(operand) && next.starts_with(operand));
        if beside {
            return Err(refuse());
        }
    }
    Ok(())
}

/// Refuses a variable that holds a secret, unless this line set it itself.
pub(super) fn secret_variable(env: &Env, name: &str) -> Result<(), Denial> {
    let own = |values: &Vec<ShellValue>| !values.iter().any(ShellValue::is_open);
    if secrets::variable(name) && !env.vars.get(name).is_some_and(own) {
        return Err(Denial::new(
            "secret.variable",
            format!("the variable {name} may hold a secret"),
        ));
    }
    Ok(())
}

/// Splits a value at its blanks, the first part joining the word at hand.
fn scatter(value: ShellValue, word: &mut ShellValue, begun: &mut bool, out: &mut Vec<ShellValue>) {
    word.splits |= value.splits;
    for seg in value.segs {
        let Seg::Lit(text) = seg else {
            *begun = true;
            word.push(seg);
            continue;
        };
        let mut first = true;
        for part in text.split([' ', '\t', '\n']) {
            if !first && *begun {
                out.push(std::mem::take(word));
                *begun = false;
            }
            first = false;
            if !part.is_empty() {
                *begun = true;
                patterns(part, word);
            }
        }
    }
}

/// Adds text in which `*`, `?` and `[` are patterns. With `extglob` so are `@(…)` and its
/// kind; what these match is not worked out, so that they may be anything.
fn patterns(text: &str, word: &mut ShellValue) {
    if ["@(", "+(", "!(", "?(", "*("].iter().any(|opens| text.contains(opens)) {
        word.push(Seg::Any);
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.find(['*', '?', '[']) {
        if at > 0 {
            word.push(Seg::Lit(rest[..at].to_owned()));
        }
        rest = &rest[at..];
        let (glob, end) = if rest.starts_with('[') {
            match bracket(rest) {
                Bracket::Plain(end) => (&rest[..end], end),
                Bracket::Classes(end) => ("?", end),
                // What follows in the word may close it.
                Bracket::Unclear | Bracket::Open => ("[", 1),
            }
        } else {
            (&rest[..1], 1)
        };
        word.push(Seg::Glob(glob.to_owned()));
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        word.push(Seg::Lit(rest.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::changed;

    #[test]
    fn ends_and_beginnings_are_cut_as_bash_does() {
        for (value, change, want) in [
            ("src/a.rs", "%.rs", "src/a"),
            ("src/a.rs", "##*/", "a.rs"),
            ("a/b/c", "#*/", "b/c"),
            ("a/b/c", "%/*", "a/b"),
            ("a/b/c", "%%/*", "a"),
            ("a.b", "%.c", "a.b"),
            ("a{b}", "%{b}", "a"),
            ("a", ":-.env", "a"),
        ] {
            assert_eq!(changed(value, change).as_deref(), Some(want), "{value} {change}");
        }
        for (value, change) in [("", ":-.env"), ("a", "/a/b"), ("a", "%[a]"), ("a", ":0:1")] {
            assert_eq!(changed(value, change), None, "{value} {change}");
        }
    }
}
