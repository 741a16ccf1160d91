//! Assertions and their opposites, by language.
//!
//! Invariant: a condition is changed only where it fails one way.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::arguments::arguments;
use super::contained::other_text;
use super::opposites::{CONTAINS, OF_TWO, opposite_of, plain_name};
use super::patterns::regex;

/// A change of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flip {
    /// What is replaced.
    pub(super) at: Range<usize>,
    /// By what.
    pub(super) text: String,
}

/// The changes of all assertions that can be understood.
pub(super) fn find(ending: &str, code: &str) -> Vec<Flip> {
    let mut found = named(ending, code);
    found.extend(conditions(ending, code));
    found.extend(chains(code));
    found.extend(failing_branches(ending, code));
    found.extend(modified(ending, code));
    found
}

/// Assertions by name.
fn named(ending: &str, code: &str) -> Vec<Flip> {
    static CALL: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(\.?\b(?:assert\w+!?|refute\w*|(?:EXPECT|ASSERT|TEST_ASSERT|CHECK|REQUIRE)(?:_\w+)?|is|isnt))[ \t]*(\(|[ \t])",
            r"|\b(?:assert|require|Assert|t|chai\.assert)(\.\w+)[ \t]*(\()",
        ))
    });
    let mut found = Vec::new();
    for call in CALL.captures_iter(code) {
        let (Some(name), Some(open)) = (call.get(1).or(call.get(3)), call.get(2).or(call.get(4)))
        else {
            continue;
        };
        let mut range = name.range();
        // `self.assertEqual`, `this->assertSame`
        if call.get(1).is_some() && name.as_str().starts_with('.') {
            range.start += 1;
        }
        let name = &code[range.clone()];
        if name == "is" && !matches!(ending, "pl" | "t") {
            continue;
        }
        let name = plain_name(name);
        let is_call = open.as_str() == "(";
        if !is_call && ending != "rb" {
            continue;
        }
        if let Some(flip) = raising(ending, code, name, open.start()) {
            found.push(flip);
            continue;
        }
        if OF_TWO.contains(&name) || CONTAINS.contains(&name) {
            let of_two = match is_call {
                true => arguments(code, open.start()).map(|(all, _)| all),
                false => Some(of_line(code, open.start())),
            };
            let of_two = of_two.as_deref().map(|all| match all {
                // Go's frameworks take the test first.
                [test, rest @ ..] if &code[test.clone()] == "t" => rest,
                all => all,
            });
            if let Some([one, two]) = of_two
                && let Some(flip) = other_value(code, one).or_else(|| other_value(code, two))
            {
                found.push(flip);
                continue;
            }
        }
        if let Some((at, holds)) = asserted(code, name, open.start())
            && let Some(text) = other_text(ending, &code[at.clone()], holds)
        {
            found.push(Flip { at, text });
            continue;
        }
        if let Some(opposite) = opposite_of(name) {
            found.push(Flip { at: range, text: opposite.to_owned() });
        }
    }
    found
}

/// The condition of `assertTrue` and the like, and whether it is said to hold.
fn asserted(code: &str, name: &str, open: usize) -> Option<(Range<usize>, bool)> {
    let holds = match name {
        "assertTrue" | ".True" | ".IsTrue" | "EXPECT_TRUE" | "ASSERT_TRUE" => true,
        "assertFalse" | ".False" | ".IsFalse" | "EXPECT_FALSE" | "ASSERT_FALSE" => false,
        _ => return None,
    };
    let (all, _) = arguments(code, open)?;
    let condition = all.into_iter().find(|it| code[it.clone()].contains('('))?;
    Some((condition, holds))
}

/// The arguments of a call without parentheses, as in Ruby: the rest of the line.
fn of_line(code: &str, at: usize) -> Vec<Range<usize>> {
    let end = code[at..].find(['\n', '}', ';']).map_or(code.len(), |end| at + end);
    let within = format!("({})", &code[at..end]);
    let parts = arguments(&within, 0).map(|(parts, _)| parts).unwrap_or_default();
    parts.into_iter().map(|part| at + part.start - 1..at + part.end - 1).collect()
}

/// Another exception is expected.
fn raising(ending: &str, code: &str, name: &str, open: usize) -> Option<Flip> {
    let other = match (name, ending) {
        ("assertRaises" | "assertRaisesRegex", "py") => "SystemError",
        ("assertThrows" | "assertThrowsExactly", "java") => "StackOverflowError.class",
        ("assert_raises", "rb") => "SystemStackError",
        _ => return None,
    };
    let (all, _) = arguments(code, open)?;
    Some(Flip { at: all.first()?.clone(), text: other.to_owned() })
}

/// Another value in place of a number or a text; none if it is neither.
pub(super) fn other_value(code: &str, at: &Range<usize>) -> Option<Flip> {
    let whole = &code[at.clone()];
    let value = whole.trim();
    let start = at.start + (whole.len() - whole.trim_start().len());
    let at = start..start + value.len();
    let text = other(value)?;
    Some(Flip { at, text })
}

fn other(value: &str) -> Option<String> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^[\w\s()+*$%-]*(?:\d|\w\s*[*+]\s*\$?\w)[\w\s()+*$%-]*$"));
    static FRACTION: LazyLock<Regex> = LazyLock::new(|| regex(r"^-?\d+\.\d+$"));
    static TEXT: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.){2,}')$"#));
    static CALL: LazyLock<Regex> = LazyLock::new(|| regex(r"\w\s*\("));
    static LIST: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r#"^((?:&?\[|\(|vec!\[)(?:[^()\[\]"']|"[^"\\]*"|'[^'\\]*'|[()\[\]])*?[,(\[]\s*)"#,
            r#"(-?\d+(?:\.\d+)?|"[^"\\]*"|'[^'\\]{2,}')(,?\s*[)\]]+)$"#,
        ))
    });
    static ROUNDED: LazyLock<Regex> = LazyLock::new(|| regex(r"\d[eE]\d|\d{15}"));
    // One more is the same number there.
    if value.matches('(').count() != value.matches(')').count() || ROUNDED.is_match(value) {
        return None;
    }
    if FRACTION.is_match(value) {
        return Some(format!("({value}) + 1.0"));
    }
    if NUMBER.is_match(value) && !CALL.is_match(value) && value.contains(char::is_alphanumeric) {
        return Some(format!("({value}) + 1"));
    }
    if let Some(list) = LIST.captures(value).filter(|_| !CALL.is_match(value)) {
        return other(&list[2]).map(|last| format!("{}{last}{}", &list[1], &list[3]));
    }
    TEXT.is_match(value).then(|| {
        let (text, quote) = value.split_at(value.len() - 1);
        format!("{text}~{quote}")
    })
}

/// Assertions of a condition: `assert x == y`, `assert!(…)`, `assert.ok(…)`.
fn conditions(ending: &str, code: &str) -> Vec<Flip> {
    static CALL: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?:^|[^\w.:])(?:assert|assert!|(?:console\.|t\.)?assert|assert\.ok|t\.ok|ok|t\.true|expect|REQUIRE|CHECK)[ \t]*(\()",
        )
    });
    static STATEMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^[ \t]*assert\b[ \t]*"));
    let mut found = Vec::new();
    if matches!(ending, "py" | "rb" | "java" | "kt" | "groovy") {
        for head in STATEMENT.find_iter(code) {
            // A call of more than one argument would be a pair in Python.
            if ending != "py" && code[head.end()..].starts_with('(') {
                continue;
            }
            let end = end_of_statement(code, head.end());
            let within = format!("({})", &code[head.end()..end]);
            let Some((parts, _)) = arguments(&within, 0) else { continue };
            let Some(first) = parts.first() else { continue };
            let first = head.end() + first.start - 1..head.end() + first.end - 1;
            found.extend(negated(ending, code, first));
        }
    }
    if ending == "py" {
        return found;
    }
    for call in CALL.captures_iter(code) {
        let Some(open) = call.get(1) else { continue };
        let name = &call[0];
        if name.contains("ok")
            && !name.contains("t.")
            && !name.contains("assert.ok")
            && !matches!(ending, "pl" | "t")
        {
            continue;
        }
        if name.contains("expect") {
            continue;
        }
        let Some((all, _)) = arguments(code, open.start()) else { continue };
        if let Some(first) = all.first() {
            found.extend(negated(ending, code, first.clone()));
        }
    }
    found
}

/// The end of a statement: of its line, or of the line where its parentheses close.
fn end_of_statement(code: &str, from: usize) -> usize {
    let mut end = from;
    for line in code[from..].split_inclusive('\n') {
        end += line.len();
        let text = &code[from..end];
        let count = |signs: [char; 3]| text.matches(signs).count();
        if count(['(', '[', '{']) <= count([')', ']', '}']) && !text.trim_end().ends_with('\\') {
            break;
        }
    }
    from + code[from..end].trim_end().trim_end_matches(';').len()
}

/// The opposite of a condition, or one with another value.
fn negated(ending: &str, code: &str, at: Range<usize>) -> Option<Flip> {
    let condition = &code[at.clone()];
    if condition.trim().is_empty() {
        return None;
    }
    if let Some(text) = compared(condition, "==").or_else(|| other_text(ending, condition, true)) {
        return Some(Flip { at, text });
    }
    let not = if ending == "py" { " not " } else { "!" };
    let text = format!("{not}({})", condition.trim());
    Some(Flip { at, text })
}

/// `a == (b) + 1`, if a condition is `a == b` with a number or a text.
fn compared(condition: &str, sign: &str) -> Option<String> {
    let signs = [format!("{sign}="), sign.to_owned()];
    let (one, sign, two) = signs.iter().find_map(|sign| {
        let (one, two) = condition.split_once(sign.as_str())?;
        Some((one, sign, two))
    })?;
    let several = ["&&", "||", " and ", " or ", "==", "!=", " for ", "?"];
    if several.iter().any(|word| one.contains(word) || two.contains(word)) {
        return None;
    }
    let (other, tail) = (other(two.trim())?, &two[two.trim_end().len()..]);
    Some(format!("{one}{sign} {other}{tail}"))
}

/// `expect(a).toBe(b)`, `expect(a).to eq(b)`.
fn chains(code: &str) -> Vec<Flip> {
    static TO: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\)\s*(?:\.(?:resolves|rejects))?((?:\.not)?\.to)([A-Z]\w*\(|\.|[ \t])|\)\.((?:not_to|to_not))[ \t]",
        )
    });
    let mut found = Vec::new();
    for chain in TO.captures_iter(code) {
        let line = code[..chain.get(0).map_or(0, |it| it.end())].rsplit('\n').take(6);
        if !line.into_iter().any(|line| line.contains("expect")) {
            continue;
        }
        if let Some(not) = chain.get(3) {
            found.push(Flip { at: not.range(), text: "to".to_owned() });
            continue;
        }
        let (Some(to), Some(next)) = (chain.get(1), chain.get(2)) else { continue };
        if matches!(next.as_str(), "Be(" | "Equal(" | "StrictEqual(" | "Contain(" | "Include(")
            && !to.as_str().contains("not")
            && let Some((all, _)) = arguments(code, next.end() - 1)
            && let Some(flip) = all.first().and_then(|value| other_value(code, value))
        {
            found.push(flip);
            continue;
        }
        let text = match (to.as_str(), next.as_str()) {
            (".not.to", ".") => ".to".to_owned(),
            (".to", ".") if code[next.end()..].starts_with("not.") => {
                let at = to.start()..next.end() + "not.".len();
                found.push(Flip { at, text: ".to.".to_owned() });
                continue;
            }
            (".to", ".") => ".to.not".to_owned(),
            (".to", " " | "\t") => ".not_to".to_owned(),
            (".not.to", _) => ".to".to_owned(),
            _ => ".not.to".to_owned(),
        };
        found.push(Flip { at: to.range(), text });
    }
    found
}

/// Conditions with a failure on one side: `if (a !== b) throw`, `die unless a == b`.
fn failing_branches(ending: &str, code: &str) -> Vec<Flip> {
    static IF: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)(?:^|[^\w$@.])if[ \t]*(\()"));
    static OPEN_IF: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?m)^[ \t]*if[ \t]+(?:[^;\n]*;[ \t]*)?([^;{\n]+?)[ \t]*(?:\{|:[ \t]*$)")
    });
    static AFTER: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?m)\b(?:die|raise|abort|exit|fail)\b[^;\n]*?[ \t](unless|if)[ \t]+([^;\n}]+)")
    });
    let fails = |from: usize| {
        let rest: String = code[from..].chars().take(300).collect();
        let body = rest.trim_start();
        match body.strip_prefix('{') {
            Some(inner) => only_fails(&inner[..inner.find('}').unwrap_or(inner.len())]),
            None => only_fails(&body[..body.find([';', '\n']).unwrap_or(body.len())]),
        }
    };
    let mut found = Vec::new();
    match ending {
        "go" | "py" | "rs" => {
            for head in OPEN_IF.captures_iter(code) {
                let (Some(whole), Some(condition)) = (head.get(0), head.get(1)) else { continue };
                let from = if ending == "py" { whole.end() } else { whole.end() - 1 };
                let is_pattern = condition.as_str().trim_start().starts_with("let ");
                if is_pattern || !fails(from) {
                    continue;
                }
                found.extend(negated_failure(ending, code, condition.range()));
            }
        }
        _ => {
            for head in IF.captures_iter(code) {
                let Some(open) = head.get(1) else { continue };
                let Some((_, close)) = arguments(code, open.start()) else { continue };
                if fails(close + 1) {
                    found.extend(negated_failure(ending, code, open.end()..close));
                }
            }
        }
    }
    if matches!(ending, "rb" | "pl" | "t" | "pm") {
        for it in AFTER.captures_iter(code) {
            let (Some(word), Some(condition)) = (it.get(1), it.get(2)) else { continue };
            let value = (word.as_str() == "unless").then(|| compared(condition.as_str(), "=="));
            match value.flatten() {
                Some(text) => found.push(Flip { at: condition.range(), text }),
                None => {
                    let other = if word.as_str() == "if" { "unless" } else { "if" };
                    found.push(Flip { at: word.range(), text: other.to_owned() });
                }
            }
        }
    }
    found
}

/// Whether a block does no more than fail, with a message.
fn only_fails(body: &str) -> bool {
    static FAILS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^(?:(?:throw|raise|die|abort|panic!?|[\w.:]*_?[eE]xit\s*\(?\s*(?:[1-9]|-1|EXIT_FAILURE)|[\w.]*exitCode\s*=\s*[1-9]|return\s+(?:1|-1|EXIT_FAILURE)|[\w.:]*[fF]ail\w*|(?:t|T|tb)\.(?:Error|Fatal)f?)\b)",
        )
    });
    static SAYS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^(?:print\w*|echo|console\.\w+|f?printf|fwrite|fputs|puts|warn|fmt\.Print\w*|(?:t|b)\.Log\w*|System\.(?:err|out)\.\w+|e?println!)\b|^std::c(?:err|out)\b|^(?:t|tb)\.Helper\(|^//|^#",
        )
    });
    let mut statements = body.split([';', '\n']).map(str::trim).filter(|it| !it.is_empty());
    let mut ends = statements.clone().filter(|it| FAILS.is_match(it));
    ends.next().is_some() && statements.all(|it| FAILS.is_match(it) || SAYS.is_match(it))
}

/// The opposite of a condition of a failure, or one with another value.
fn negated_failure(ending: &str, code: &str, at: Range<usize>) -> Option<Flip> {
    let condition = &code[at.clone()];
    // `if __name__ == "__main__": sys.exit(main())`
    if ["__name__", "require.main", "__FILE__", "import.meta"]
        .iter()
        .any(|it| condition.contains(it))
    {
        return None;
    }
    if let Some(text) = compared(condition, "!=").or_else(|| other_text(ending, condition, false)) {
        return Some(Flip { at, text });
    }
    let text = inverted(condition).or_else(|| negated_only(ending, condition))?;
    Some(Flip { at, text })
}

/// `d <= eps` for `d > eps`: neither holds if `d` is no number.
fn inverted(condition: &str) -> Option<String> {
    static ORDER: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^([^<>=!&|?;]+) (>|<|>=|<=) ([^<>=!&|?;]+)$"));
    let found = ORDER.captures(condition)?;
    let sign = match &found[2] {
        ">" => "<=",
        "<" => ">=",
        ">=" => "<",
        _ => ">",
    };
    let several = [" and ", " or ", "not "].iter().any(|word| condition.contains(word));
    (!several).then(|| format!("{} {sign} {}", &found[1], &found[3]))
}

fn negated_only(ending: &str, condition: &str) -> Option<String> {
    let condition = condition.trim();
    let not = if ending == "py" { "not " } else { "!" };
    (!condition.is_empty()).then(|| format!("{not}({condition})"))
}

/// What makes a test expect a failure.
fn modified(ending: &str, code: &str) -> Vec<Flip> {
    static PANICS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"#\[should_panic(?:\([^)]*\)|\s*=[^\]]*)?\]"));
    static RAISES: LazyLock<Regex> = LazyLock::new(|| regex(r"\bpytest\.raises\(([\w.]+)"));
    match ending {
        "rs" => {
            let found = PANICS.find_iter(code);
            found.map(|it| Flip { at: it.range(), text: String::new() }).collect()
        }
        "py" => {
            let found = RAISES.captures_iter(code).filter_map(|it| it.get(1));
            found.map(|it| Flip { at: it.range(), text: "SystemError".to_owned() }).collect()
        }
        _ => Vec::new(),
    }
}
