//! What the code of a check demands of the work: values of functions, of output, and of files.
//!
//! Invariant: pure. Statements are read in order, since a name may get a second value.

use std::sync::LazyLock;

use regex::Regex;

use super::inline_code::InlineCode;
use super::languages::Language;
use super::operands::{expression, inside, operand_after, operand_before, parts, statements};
use super::scope::{Bound, Scope, Subject, ValueOrigin, sample};
use super::wanted::{Step, Wanted};

/// A part of the work, and the value that it must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AskedValue {
    pub(super) subject: Subject,
    pub(super) wanted: Wanted,
}

/// Everything that the code asks for.
pub(super) fn demands(code: &InlineCode) -> Vec<AskedValue> {
    let scope = Scope::new(code.language);
    let mut it = Reading { language: code.language, scope, helper: None, found: Vec::new() };
    for (statement, rest) in statements(&code.code) {
        it.binding(statement, rest);
        it.calls(statement, rest);
        it.comparisons(statement, rest);
        it.truth(statement, rest);
        it.mentions(statement);
    }
    it.found
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// Does a branch end the check in failure?
fn fails(rest: &str) -> bool {
    static FAILS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\bexit\(?\s*[1-9(]|process\.exit|\bthrow\b|\braise\b|\bfail|\bFatal|\.Error|\bdie\b|\bpanic|\babort|errors?\.(?:append|push)|return (?:1|false|False)\b",
        )
    });
    let near: String = rest.chars().take(160).collect();
    FAILS.is_match(&near)
}

/// A reader in the middle of some code.
struct Reading {
    language: Language,
    scope: Scope,
    /// The function whose body is read.
    helper: Option<String>,
    found: Vec<AskedValue>,
}

impl Reading {
    fn ask(&mut self, subject: Subject, mut wanted: Wanted) {
        let path = subject.path.clone();
        if path.last() == Some(&Step::Length) && !matches!(wanted, Wanted::Raw(_) | Wanted::Any) {
            wanted = Wanted::Any;
        }
        let wanted = Wanted::at(&path, wanted);
        self.found.push(AskedValue { subject, wanted });
    }

    /// Names that a statement gives a value.
    fn binding(&mut self, statement: &str, rest: &str) {
        static WITH: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"^\s*with\s+(?<value>.+?)\s+as\s+(?<name>\w+)\s*:"));
        static EACH: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r"\bfor\s*\(?\s*(?:const\s+|let\s+|var\s+)?(?<name>\w+)\s+(?:in|of)\s+")
        });
        static ALL: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?<list>\[[^\]\n]*\]|%w[\[({][^\n]*?[\])}]|\w+)\.(?:every|forEach|filter|find|some|each|all\?|reject|select|map)\s*(?:\(\s*\(?(?<arrow>\w+)\)?\s*=>|(?:\{|do)\s*\|(?<block>\w+)\|)",
            )
        });
        static PULLED: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"\b(?:const|let|var)\s+\{(?<names>[^}]*)\}\s*=\s*"));
        static PAIR: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r"(?:^\s*|\b(?:if|let|const)\s+\(?)(?<names>\w+(?:\s*,\s*\w+)+)\)?\s*:?=\s*")
        });
        static ONE: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?:^\s*(?:if\s+)?|^\s*(?:[A-Za-z][\w<>\[\]]*[*& ]+)+|\b(?:const|let|var|my|let mut)\s+|[{(]\s*)(?:self\.|this\.|[$@])?(?<name>\w+)(?:\s*:\s*[\w<>&' \[\]]+)?\s*(?:(?<new>:=)|=)(?:\s|[^=~>])",
            )
        });
        static LOADED: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"^\s*(?<name>\w+)\.(?:read|load_file)\((?<file>.*)\)"));
        if self.is_arrow(statement, rest) {
            return;
        }
        if let Some(it) = ALL.captures(statement)
            && let (Some(list), Some(name)) =
                (self.scope.list(&it["list"]), it.name("arrow").or(it.name("block")))
        {
            self.scope.bind(name.as_str(), Some(Bound::Each(list)));
        }
        if let Some(it) = WITH.captures(statement) {
            let value = self.scope.read(&it["value"]);
            self.scope.bind(&it["name"], value);
        } else if let Some(it) = EACH.captures(statement) {
            let end = it.get(0).map_or(0, |all| all.end());
            let list = operand_after(&rest[end..]);
            let value = match (self.scope.list(list), self.scope.read(list)) {
                (Some(texts), _) => Some(Bound::Each(texts)),
                (None, Some(Bound::Of(mut subject))) => {
                    subject.path.push(Step::Index(0));
                    Some(Bound::Of(subject))
                }
                _ => None,
            };
            self.scope.bind(&it["name"], value);
        } else if let Some(it) = LOADED.captures(statement) {
            let origin = ValueOrigin::File(self.scope.words(&it["file"]));
            let value = Subject { origin, path: Vec::new(), is_parsed: true };
            self.scope.bind(&it["name"], Some(Bound::Of(value)));
        } else if let Some(it) = PULLED.captures(statement) {
            let end = it.get(0).map_or(0, |all| all.end());
            let Some(Bound::Of(whole)) = self.scope.read(expression(&rest[end..])) else { return };
            for name in it["names"].split(',').filter_map(|name| name.split([':', '=']).next()) {
                let mut part = whole.clone();
                part.path.push(Step::Key(name.trim().to_owned()));
                self.scope.bind(name.trim(), Some(Bound::Of(part)));
            }
        } else if let Some(it) = PAIR.captures(statement) {
            let end = it.get(0).map_or(0, |all| all.end());
            let value = self.scope.read(operand_of(&rest[end..]));
            for (at, name) in it["names"].split(',').map(str::trim).enumerate() {
                let part = match (&value, self.language) {
                    (Some(Bound::Of(_)), Language::Go) if at > 0 => None,
                    (Some(Bound::Of(whole)), Language::Go) => Some(Bound::Of(whole.clone())),
                    (Some(Bound::Of(whole)), _) => {
                        let mut part = whole.clone();
                        part.path.push(Step::Index(at));
                        Some(Bound::Of(part))
                    }
                    _ => None,
                };
                self.scope.bind(name, part);
            }
        } else if let Some(it) = ONE.captures(statement) {
            let end = it.get(0).map_or(0, |all| all.end()).saturating_sub(1);
            let value = self.scope.read(operand_of(&rest[end..]));
            self.scope.bind(&it["name"], value);
        }
    }

    /// Functions, and what they return. Is it one without a body of statements?
    fn is_arrow(&mut self, statement: &str, rest: &str) -> bool {
        static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"^\s*(?:export\s+)?(?:async\s+)?(?:def|function|func|fn|sub)\s+(?:self\.)?(?<name>\w+)",
            )
        });
        static ARROW: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"\b(?:const|let|var)\s+(?<name>\w+)\s*=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*=>\s*",
            )
        });
        static RETURN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\breturn\s+"));
        if let Some(it) = FUNCTION.captures(statement) {
            self.helper = Some(it["name"].to_owned());
        }
        if let Some(it) = ARROW.captures(statement) {
            let body = &rest[it[0].len() + statement.find(&it[0]).unwrap_or_default()..];
            self.helper = Some(it["name"].to_owned());
            if !body.starts_with('{') {
                self.helped(expression(body));
            }
            return true;
        }
        if let Some(at) = RETURN.find(statement) {
            self.helped(expression(&rest[at.end()..]));
        }
        false
    }

    /// The result of the function that is read.
    fn helped(&mut self, value: &str) {
        if let Some(Bound::Of(subject)) = self.scope.read(value)
            && let Some(name) = self.helper.clone()
            && matches!(subject.origin, ValueOrigin::Output(_) | ValueOrigin::File(_))
        {
            self.scope.bind(&name, Some(Bound::Helper(subject)));
        }
    }

    /// Functions that compare: `assertEqual(sq(7), 49)`, `expect(sq(7)).toBe(49)`.
    fn calls(&mut self, statement: &str, rest: &str) {
        static CALL: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"(?<name>[A-Za-z_]\w*)!?(?:(?<open>\()|[ ])"));
        static MATCHER: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"^\s*\)?\.(?:to|resolves\.to)(?:\.(?:be|have|deep))*[. ]?(?<name>\w*)(?<open>[( ])?",
            )
        });
        for it in CALL.captures_iter(statement) {
            let end = it.get(0).map_or(0, |all| all.end());
            let is_open = it.name("open").is_some();
            let inner = if is_open { inside(&rest[end..]) } else { expression(&rest[end..]) };
            let name = it["name"].to_lowercase().replace('_', "");
            if name == "expect" && is_open {
                let after = rest.get(end + inner.len()..).unwrap_or_default();
                let Some(matcher) = MATCHER.captures(after) else { continue };
                let behind = &after[matcher[0].len()..];
                let wanted = match matcher.name("open").map(|open| open.as_str()) {
                    Some("(") => inside(behind),
                    _ => expression(behind),
                };
                let wanted = wanted.trim_start_matches("eq(").trim_start_matches("eq ");
                let wanted = wanted.trim_end_matches(')');
                self.matched(&matcher["name"].to_lowercase(), inner, wanted);
                continue;
            }
            let args = parts(inner);
            if is_equality(&name) && args.len() > 1 {
                let args = if args[0] == "t" && args.len() > 2 { &args[1..] } else { &args[..] };
                self.equal(args[0], args[1]);
            } else if name.starts_with("assert") || name.starts_with("expect") {
                self.asserted(&name, &args);
            }
        }
    }

    /// A matcher of `expect`.
    fn matched(&mut self, matcher: &str, value: &str, wanted: &str) {
        match matcher {
            "tohavelength" | "havelength" | "length" | "lengthof" => {
                if let Some(Bound::Of(mut subject)) = self.scope.read(value) {
                    subject.path.push(Step::Length);
                    self.ask(subject, Wanted::Raw(wanted.trim().to_owned()));
                }
            }
            "contain" | "include" | "match" => self.holds(wanted, value),
            "betruthy" | "bedefined" | "true" | "ok" | "exist" => self.is(value, true),
            "befalsy" | "false" => self.is(value, false),
            _ => self.equal(value, wanted),
        }
    }

    /// Other assertions, by their names.
    fn asserted(&mut self, name: &str, args: &[&str]) {
        match (name, args) {
            (
                "assertin" | "assertcontains" | "assertincludes" | "assertregex" | "assertmatch"
                | "assertmatches",
                [one, other, ..],
            ) => {
                self.holds(one, other);
                self.holds(other, one);
            }
            ("assertlen" | "assertcount", [one, other, ..]) => {
                for (value, length) in [(one, other), (other, one)] {
                    if let Some(Bound::Of(mut subject)) = self.scope.read(value)
                        && length.parse::<usize>().is_ok()
                    {
                        subject.path.push(Step::Length);
                        self.ask(subject, Wanted::Raw((*length).to_owned()));
                    }
                }
            }
            ("assertgreater" | "assertgreaterequal", [one, other, ..]) => self.more(one, other),
            ("asserttrue" | "assertnotnull" | "assertisnotnone" | "assertnotnil", [one, ..]) => {
                self.is(one, true);
            }
            ("assertfalse", [one, ..]) => self.is(one, false),
            ("assertisnone" | "assertnull" | "assertnil", [one, ..]) => self.equal(one, "None"),
            ("assert", [one, ..]) => self.is(one, true),
            _ => {}
        }
    }

    /// `==` and the like.
    fn comparisons(&mut self, statement: &str, rest: &str) {
        static OPERATOR: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"===|!==|==|!=|>=| > | not in | in | eq | ne | =~ "));
        let trimmed = statement.trim_start();
        let is_assert = trimmed.starts_with("assert");
        let is_branch =
            ["if", "} else if", "elif", "unless", "("].iter().any(|head| trimmed.starts_with(head));
        for operator in OPERATOR.find_iter(statement) {
            let one = operand_before(&statement[..operator.start()]);
            let other = operand_after(&rest[operator.end()..]);
            let is_equal = !matches!(operator.as_str(), "!=" | "!==" | " not in " | " ne ");
            let fails = is_branch && fails(&rest[operator.end()..]) && !trimmed.contains(" ? ");
            // `if x == 0: fail()`, and `assert x != 0`.
            if (is_equal && fails) || (!is_equal && is_assert) {
                continue;
            }
            match operator.as_str() {
                " in " | " not in " => self.holds(one, other),
                " =~ " => self.holds(other, one),
                ">=" | " > " => self.more(one, other),
                _ => self.equal(one, other),
            }
        }
    }

    /// `assert x`, `if not x: fail()`, `if (!x) fail()`.
    fn truth(&mut self, statement: &str, rest: &str) {
        static HEAD: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"^\s*(?:\}\s*)?(?:for\b.*\)\s*)?(?:(?<assert>assert\s+)|(?:if|unless)\s*(?<not>\(?\s*(?:not\s+|!)))",
            )
        });
        static OR: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bor (?:exit|abort|raise|die)\b"));
        if OR.is_match(statement) {
            self.is(operand_before(OR.split(statement).next().unwrap_or_default()), true);
        }
        let Some(it) = HEAD.captures(statement) else { return };
        let end = it.get(0).map_or(0, |all| all.end());
        let operand = operand_after(&rest[end..]);
        let is_compared = ["==", "!=", " in ", " > ", " < ", ">=", "<="];
        if is_compared.iter().any(|operator| operand.contains(operator)) {
            return;
        }
        if it.name("assert").is_some() {
            let is_negative = operand.starts_with("not ");
            self.is(operand, !is_negative);
        } else if fails(&rest[end..]) {
            self.is(operand, true);
        }
    }

    /// Parts of files and of output that the code takes, whatever it does with them.
    fn mentions(&mut self, statement: &str) {
        static PART: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r#"[$@]?\b[A-Za-z_]\w*(?:\[[^\]\n]*\]|\??\.\w+\??(?:\([^()\n]*\))?)+"#)
        });
        let taken: Vec<&str> = PART.find_iter(statement).map(|part| part.as_str()).collect();
        self.each(&taken, statement);
        for part in taken.into_iter().chain([statement]) {
            if let Some(Bound::Of(subject)) = self.scope.read(part)
                && !subject.path.is_empty()
                && matches!(subject.origin, ValueOrigin::Output(_) | ValueOrigin::File(_))
                && subject.path.last() != Some(&Step::Length)
            {
                self.ask(subject, Wanted::Any);
            }
        }
    }

    /// Questions with the name of a loop: `words.every(w => text.includes(w))`.
    fn each(&mut self, taken: &[&str], statement: &str) {
        const WANTS: [&str; 6] = [".every(", ".all?", "all(", ".reject", "unless ", "!"];
        for part in taken {
            let arguments = part.rsplit_once('(').map_or("", |(_, inner)| inner);
            let name = arguments.trim_end_matches(')');
            if matches!(self.scope.get(name), Some(Bound::Each(_)))
                && WANTS.iter().any(|word| statement.contains(word))
                && let Some(Bound::Asks(subject, wanted)) = self.scope.read(part)
            {
                self.ask(subject, wanted);
            }
        }
    }

    /// Two operands of which one is a literal.
    fn equal(&mut self, one: &str, other: &str) {
        for (value, literal) in [(one, other), (other, one)] {
            let Some(literal) = self.scope.literal(literal) else { continue };
            match self.scope.read(value) {
                Some(Bound::Of(subject)) => self.ask(subject, Wanted::Raw(literal)),
                Some(Bound::Asks(subject, wanted)) if !["false", "False"].contains(&&*literal) => {
                    self.ask(subject, wanted);
                }
                _ => {}
            }
        }
    }

    /// A text, or a pattern, in a value.
    fn holds(&mut self, part: &str, value: &str) {
        let is_pattern = part.starts_with('/') || part.starts_with("r'") || part.starts_with("r\"");
        let found = match is_pattern {
            true => sample(part).map(|text| vec![text]),
            false => self.scope.texts(part),
        };
        if let (Some(found), Some(Bound::Of(subject))) = (found, self.scope.read(value)) {
            self.ask(subject, Wanted::Parts(found));
        }
    }

    /// A value above a number.
    fn more(&mut self, value: &str, number: &str) {
        let number = number.trim().parse::<i64>().ok().and_then(|it| it.checked_add(1));
        if let (Some(number), Some(Bound::Of(subject))) = (number, self.scope.read(value)) {
            self.ask(subject, Wanted::Raw(number.to_string()));
        }
    }

    /// A value that is true or not.
    fn is(&mut self, value: &str, is_true: bool) {
        match self.scope.read(value) {
            Some(Bound::Asks(subject, wanted)) if is_true => self.ask(subject, wanted),
            Some(Bound::Of(subject)) => {
                let wanted = match (subject.origin.is_code(), is_true) {
                    (false, _) => Wanted::Any,
                    (true, true) if !self.language.is_compiled() => Wanted::Any,
                    (true, true) => Wanted::Raw("true".to_owned()),
                    (true, false) => Wanted::Raw("false".to_owned()),
                };
                self.ask(subject, wanted);
            }
            _ => {}
        }
    }
}

/// The value of an assignment, which a condition may follow.
fn operand_of(rest: &str) -> &str {
    let value = expression(rest);
    value.split("; ").next().unwrap_or(value)
}

/// Does a function of this name compare its first two arguments?
fn is_equality(name: &str) -> bool {
    let is_word = ["is", "eq", "isdeeply", "deepequal", "asserteq"].contains(&name);
    let ends = ["equal", "equals", "same", "exactly", "equalcanonicalizing"];
    !name.contains("not")
        && (is_word || ends.iter().any(|end| name.ends_with(end)) || name.ends_with("almostequal"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn of(language: Language, code: &str) -> Vec<(ValueOrigin, Wanted)> {
        let code =
            InlineCode { language, code: code.to_owned(), folder: PathBuf::new(), is_inline: true };
        demands(&code).into_iter().map(|it| (it.subject.origin, it.wanted)).collect()
    }

    fn raw(text: &str) -> Wanted {
        Wanted::Raw(text.to_owned())
    }

    #[test]
    fn values_of_functions_are_found() {
        let call = |name: &str| ValueOrigin::Call(name.to_owned());
        for (language, code, function, wanted) in [
            (Language::Python, "s = app.sq(7)\nself.assertEqual(s, 49)", "sq", raw("49")),
            (Language::Python, "assert sq(7) == 49", "sq", raw("49")),
            (Language::Python, "want = [1, 2]\nassert want == f('a, b')", "f", raw("[1, 2]")),
            (Language::Python, "c = Cart()\nc.add(1)\nassert c.total() == 10", "total", raw("10")),
            (Language::Python, "if sq(7) != 49:\n    sys.exit(1)", "sq", raw("49")),
            (Language::Python, "self.assertTrue(ok(1))", "ok", Wanted::Any),
            (Language::Node, "const s = sq(7);\nassert.strictEqual(s, 49);", "sq", raw("49")),
            (Language::Node, "expect(await sq(7)).toBe(49)", "sq", raw("49")),
            (
                Language::Node,
                "test('x', () => { const s = sq(7); eq(s, '49') })",
                "sq",
                raw("'49'"),
            ),
            (Language::Node, "process.exit(sq(3) === 9 ? 0 : 1)", "sq", raw("9")),
            (Language::Ruby, "assert_equal 49, sq(7)", "sq", raw("49")),
            (Language::Ruby, "expect(sq(7)).to eq(49)", "sq", raw("49")),
            (Language::Ruby, "c = Cart.new\nassert_equal 30, c.total", "total", raw("30")),
            (Language::C, "int r = sq(7);\nassert(r == 49);", "sq", raw("49")),
            (Language::Go, "if got := Sq(7); got != 49 {\n\tt.Fatal(got)\n}", "Sq", raw("49")),
            (Language::Go, "got := V()\nwant := \"1\"\nif got != want {\n", "V", raw("\"1\"")),
            (Language::Rust, "assert_eq!(a::sq(7), 49);", "sq", raw("49")),
            (
                Language::Rust,
                "assert!(a::run(\"x\").is_ok());",
                "run",
                raw("Ok(Default::default())"),
            ),
        ] {
            assert_eq!(of(language, code), [(call(function), wanted)], "{code}");
        }
        let file = || ValueOrigin::File(vec!["a.py".to_owned()]);
        let words = Wanted::Parts(vec!["retry".to_owned(), "again".to_owned()]);
        for (language, code) in [
            (
                Language::Python,
                "s = Path('a.py').read_text()\nfor w in ('retry', 'again'):\n    if w not in s:\n        sys.exit(w)",
            ),
            (
                Language::Python,
                "WORDS = ['retry', 'again']\ns = open('a.py').read()\nassert all(w in s for w in WORDS)",
            ),
            (
                Language::Python,
                "s = open('a.py').read()\nmissing = [w for w in ['retry', 'again'] if w not in s]",
            ),
            (
                Language::Node,
                "const s = fs.readFileSync('a.py');\nfor (const w of ['retry', 'again']) if (!s.includes(w)) process.exit(1);",
            ),
            (
                Language::Node,
                "const s = fs.readFileSync('a.py');\nassert(['retry', 'again'].every(w => s.includes(w)));",
            ),
            (
                Language::Ruby,
                "s = File.open('a.py').read\n%w[retry again].each { |w| abort w unless s.include?(w) }",
            ),
        ] {
            let found = of(language, code);
            assert!(found.contains(&(file(), words.clone())), "{code}: {found:?}");
        }
        let bad = "s = open('a.py').read()\nfor w in ('eval', 'exec'):\n    if w in s:\n        sys.exit(w)";
        assert_eq!(of(Language::Python, bad), [], "{bad}");
        for code in ["assert all(sq(n) == n * n for n in range(9))", "print(sq(7))", "x = sq(7)"] {
            assert_eq!(of(Language::Python, code), [], "{code}");
        }
    }

    #[test]
    fn values_of_files_and_of_output_are_found() {
        let json = |language, code| {
            let found = of(language, code)
                .into_iter()
                .map(|it| it.1)
                .reduce(|a, b| a.merged(b).unwrap_or_else(|| panic!("a conflict: {code}")));
            found.and_then(|it| it.json()).unwrap_or_default().to_string()
        };
        for (language, code, wanted) in [
            (
                Language::Python,
                "import yaml\nd = yaml.safe_load(open('c.yml'))\nassert d['a']['b'] == 3\nassert 'x' in d",
                r#"{"a":{"b":3},"x":1}"#,
            ),
            (
                Language::Python,
                "c = configparser.ConfigParser()\nc.read('a.ini')\np = c['server']['port']",
                r#"{"server":{"port":1}}"#,
            ),
            (
                Language::Node,
                "const out = execFileSync('node', ['cli.js', 'x']).toString();\nconst d = JSON.parse(out);\nassert.equal(d.total, 3);\nassert.equal(d.items.length, 2);",
                r#"{"items":[1,1],"total":3}"#,
            ),
            (
                Language::Ruby,
                "d = YAML.load_file('c.yml')\nexit 1 unless d['a']['b']",
                r#"{"a":{"b":1}}"#,
            ),
            (
                Language::Python,
                "with open('p.json') as f:\n    d = json.load(f)\nfor row in d['rows']:\n    assert row['price']",
                r#"{"rows":[{"price":1}]}"#,
            ),
        ] {
            assert_eq!(json(language, code), wanted, "{code}");
        }
        let report = "const { execFileSync } = require('child_process');\nconst assert = require('assert');\nconst out = JSON.parse(execFileSync('node', ['report.js', '--json'], { encoding: 'utf8' }));\nassert.strictEqual(out.total, 3);\nassert.deepStrictEqual(out.items, ['a', 'b']);\n";
        assert_eq!(json(Language::Node, report), r#"{"items":["a","b"],"total":3}"#);
        let run = "def run(*a):\n    return subprocess.run([sys.executable, 'tool.py', *a]).stdout\n\nassert run('x').strip() == 'y'";
        let words = ["tool.py", "x"].map(str::to_owned).to_vec();
        assert_eq!(of(Language::Python, run), [(ValueOrigin::Output(words), raw("'y'"))]);
    }
}
