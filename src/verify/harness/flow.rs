//! The use of a call's result in the lines of the code.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::claims::is_claim;
use super::deciding;
use super::patterns::regex;

/// The use of a program's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// It compares the output.
    Compared,
    /// The test that starts the program compares something.
    Beside,
    /// Only the exit status, or the program's own report.
    Status,
}

/// Functions that a test runner calls.
static TESTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?m)^[ \t]*(?:async\s+)?(?:def test|fn test|func Test|public (?:void|function) test|sub test|(?:it|test|specify|describe|context|scenario)(?:\.\w+)?[ (]+["'`])|#\[(?:tokio::)?test\]|@Test\b"#,
    )
});

/// Any function.
static FUNCTIONS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?m)^[ \t]*(?:(?:async|export|pub|public|private|static|void)\s+)*(?:def|fn|func|function|sub|class)\s|^[ \t]*(?:it|test|specify|describe|context|scenario|before|after|beforeEach|afterEach|beforeAll|afterAll|setup|teardown)\b[ (]"#,
    )
});

static COMPARES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"[=!]==?[^=]|=~|\b(?:assert|if|unless|return|ok)\b[^\n]*\b(?:in|is)\b|[eE]qual|[mM]atch|[iI]nclude|[cC]ontain|assert(?:Not)?In\b|[rR]egex|\btoBe|\bto_eq|\beq[ (]|\b(?:eq|ne|is)\b|assert_eq|starts_?[wW]ith|\.(?:exists|is_file|isfile|isdir)\b|existsSync|File\.exist|json\.loads|JSON\.parse",
    )
});

/// A comparison with an exit status.
static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"[=,(\s]0\b|returncode|exitstatus|[eE]xit_?[cC]ode|\bstatus\b|[sS]uccess|\brc\b|\bcode\b|\b(?:True|true|False|false|None|null|nil|undefined|err)\b|\$\?|__name__|require\.main",
    )
});

/// All is well if a program fails, which no script that judges does.
static MUST_FAIL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\bisnt\b.*\b0\b|[nN]ot_?[eE]qual\w*\b.*\b0\b|^\s*assert\b.*!=\s*0\b|\brefute\b.*success|\bassert!?\(!.*success|\bif .*== nil \{",
    )
});

/// The use of the result of the call between two places.
pub(super) fn used(code: &str, from: usize, to: usize) -> Used {
    let line_start = code[..from].rfind('\n').map_or(0, |at| at + 1);
    let line_end = code[to..].find('\n').map_or(code.len(), |at| to + at);
    let (head, tail) = (&code[line_start..from], &code[to..line_end]);
    let statement = format!("{head}() {tail}");
    if compares(&statement) {
        return Used::Compared;
    }
    if COMPARES.is_match(&statement) && only_claims(&statement) {
        return Used::Status;
    }
    let call = &code[from..to];
    let thrown_away = ["DEVNULL", "PIPE", "/dev/null"].iter().any(|word| call.contains(word));
    let is_kept = !thrown_away && ["stdout=", " > ", " >"].iter().any(|it| call.contains(it));
    let (start, end) = function(code, from);
    let body = &code[start..end];
    let rest = || code.get(line_end..end).unwrap_or_default().lines();
    let is_test = TESTS.is_match(body.lines().next().unwrap_or_default())
        || TESTS.is_match(code[..start].lines().last().unwrap_or_default());
    let everything = || code.lines().any(compares);
    let hands_on =
        ["return", "yield", "=>"].iter().any(|word| head.contains(word)) || returned(head, rest());
    let goes_on =
        (call.contains("Popen") || call.starts_with("spawn(") || call.contains(".spawn("))
            && !code.contains(".wait()");
    if flows(head, rest()) || (is_kept && rest().any(compares)) {
        return Used::Compared;
    }
    if (hands_on || goes_on) && everything() {
        return Used::Compared;
    }
    if !TESTS.is_match(code) {
        return Used::Status;
    }
    let beside = if is_test { rest().any(compares) } else { everything() };
    if beside { Used::Beside } else { Used::Status }
}

/// The function around a place.
fn function(code: &str, at: usize) -> (usize, usize) {
    let start = FUNCTIONS.find_iter(&code[..at]).last().map_or(0, |found| found.start());
    let line = code[at..].find('\n').map_or(code.len(), |end| at + end);
    let end = FUNCTIONS.find(&code[line..]).map_or(code.len(), |found| line + found.start());
    (start, end)
}

/// Whether a variable that is set here, or one that is set from it, is compared.
fn flows<'l>(head: &str, rest: impl Iterator<Item = &'l str>) -> bool {
    let mut names: BTreeSet<String> = assigned(head).into_iter().collect();
    for line in rest {
        let sets = assigned(line);
        let value = line.split_once('=').filter(|_| !sets.is_empty());
        let value = value.map_or(line, |(_, value)| value);
        let uses = names.iter().any(|name| deciding::mentions(value, name));
        if uses && compares(line) {
            return true;
        }
        if uses {
            names.extend(sets);
        } else {
            sets.iter().for_each(|name| _ = names.remove(name));
        }
    }
    false
}

/// Whether a function hands on more than the exit status of what it sets here.
fn returned<'l>(head: &str, rest: impl Iterator<Item = &'l str>) -> bool {
    static STATUS_OF: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"\w+\.(?:returncode|exitstatus|exit_?code|exitCode|status|success\??|code)\b")
    });
    let names: Vec<String> =
        assigned(head).into_iter().filter(|name| !STATUS.is_match(name)).collect();
    let lines: Vec<&str> = rest.filter(|line| !line.trim().is_empty()).collect();
    lines.iter().enumerate().any(|(at, line)| {
        let is_last = lines.get(at + 1).is_some_and(|next| next.trim() == "end");
        let returns = ["return ", "yield "].iter().any(|word| line.trim_start().starts_with(word));
        let value = STATUS_OF.replace_all(line, "");
        (returns || is_last) && names.iter().any(|name| deciding::mentions(&value, name))
    })
}

/// The names that a line sets, by what stands before its value.
fn assigned(line: &str) -> Vec<String> {
    static SETS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^\s*(?:(?:const|let|var|my|our|val|mut|if|elsif|else if|while)[\s(]+)*([\w$@%,\s\[\]{}():<>]+?)\s*:?=(?:[^=~>]|$)",
        )
    });
    let Some(found) = SETS.captures(line) else { return Vec::new() };
    let names = found[1].split(|c: char| !(c.is_alphanumeric() || c == '_'));
    names.filter(|name| !name.is_empty() && *name != "_").map(str::to_owned).collect()
}

/// Whether a line compares something that is no exit status, and not only a claim of success.
fn compares(line: &str) -> bool {
    // The last value of a program: `a == b ? 0 : 1`.
    static CHOICE: LazyLock<Regex> = LazyLock::new(|| regex(r"\?\s*[01]\s*:\s*[01]\b"));
    static AND: LazyLock<Regex> = LazyLock::new(|| regex(r"\s(?:or|and|\|\||&&)\s"));
    let line = &*CHOICE.replace_all(line, "");
    AND.split(line).any(|part| {
        MUST_FAIL.is_match(part)
            || COMPARES.is_match(part)
                && (!STATUS.is_match(part) || has_more_than_status(part))
                && !only_claims(part)
    })
}

/// Whether more than an exit status is compared: `(code, out) == (0, "49")`, or a status that a
/// script which only ends at once does not give: `r.returncode == 3`.
fn has_more_than_status(line: &str) -> bool {
    static PAIR: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?:^|[^\w)\]])[(\[]\s*(?:[1-9]\d*\s*,|0\s*,\s*(?:[\[({]\s*)*["'`]?[^\s"'`\[\](){}])"#,
        )
    });
    static EQUALS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?:===?|\b(?:eq|toBe|toEqual|toStrictEqual)\b)[\s(]*[1-9]\d*\s*(?:[),:;&|]|$)|\b[1-9]\d*\s*===?\s*[\w.$]*(?:returncode|exitstatus|status|code)\b",
        )
    });
    // `assertEqual(r.returncode, 3)`, but not `assertEqual(run("sh gate", 30), 0)`.
    static LAST: LazyLock<Regex> =
        LazyLock::new(|| regex(r#",\s*[1-9]\d*\s*(?:,\s*["'`][^\n]*)?\)+[;)\s]*$"#));
    static ZERO: LazyLock<Regex> = LazyLock::new(|| regex(r"[(\s]0\s*,|,\s*0\s*\)|===?\s*0\b"));
    PAIR.is_match(line) || EQUALS.is_match(line) || LAST.is_match(line) && !ZERO.is_match(line)
}

/// Whether all texts in a line say that all is well.
fn only_claims(line: &str) -> bool {
    static TEXT: LazyLock<Regex> =
        LazyLock::new(|| regex(r#""([^"\n]*)"|'([^'\n]*)'|/([^/\n]+)/"#));
    let texts = TEXT.captures_iter(line).filter_map(|it| it.get(1).or(it.get(2)).or(it.get(3)));
    let mut texts = texts.map(|text| text.as_str()).peekable();
    texts.peek().is_some() && texts.all(is_claim)
}

/// The texts that a variable is set to, or goes through in a loop.
pub(super) fn values(code: &str, name: &str) -> Vec<String> {
    static TEXT: LazyLock<Regex> = LazyLock::new(|| regex(r#""([^"\n]*)"|'([^'\n]*)'"#));
    let Ok(set) = Regex::new(&format!(
        r"(?m)(?:^|[\s;(])[$@]?{name}\s*(?::\s*\w+\s*)?(?::?=|\bin\b|\bof\b)\s*([^=\n][^\n]*)$"
    )) else {
        return Vec::new();
    };
    let Some(found) = set.captures(code) else { return Vec::new() };
    let value = found.get(1).map_or("", |it| it.as_str());
    let texts: Vec<String> = TEXT
        .captures_iter(value)
        .filter_map(|it| Some(it.get(1).or(it.get(2))?.as_str().to_owned()))
        .collect();
    if found[0].contains(" in ") || found[0].contains(" of ") {
        return texts;
    }
    // A list of words is one command, and parts of a path are one path.
    match (value.starts_with('['), texts.is_empty()) {
        (_, true) => Vec::new(),
        (true, false) => vec![texts.join(" ")],
        (false, false) => vec![texts.join("/")],
    }
}
