//! Calls in code that start a program, as lines of shell.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::flow::{self, Used};

/// A program that code starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartedProgram {
    /// The line of shell that would start it.
    pub(super) line: String,
    /// The folder that the call names.
    pub(super) folder: Option<String>,
    /// The use of the result.
    pub(super) used: Used,
}

/// The languages that are read, by the names of their calls.
struct Starters {
    /// Calls whose words are a command.
    commands: LazyLock<Regex>,
    /// Calls whose first text is a file in the same language.
    files: LazyLock<Regex>,
    /// The program that runs such a file.
    program: &'static str,
    /// Text in backticks is a command.
    backticks: bool,
}

static PYTHON: Starters = Starters {
    commands: LazyLock::new(|| {
        calling(
            r"(?:\w+\.)?(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|os\.(?:system|popen|exec[lv]\w*|spawn\w*|posix_spawnp?)|pexpect\.(?:run|spawn)|(?:asyncio\.)?create_subprocess_(?:exec|shell)|sh|shell|system|execute",
        )
    }),
    files: LazyLock::new(|| calling(r"(?:runpy\.)?run_path|exec|execfile")),
    program: "python3",
    backticks: false,
};
static NODE: Starters = Starters {
    commands: LazyLock::new(|| {
        calling(
            r"(?:\w+\.)?(?:exec|execSync|execFile|execFileSync|spawn|spawnSync|execa|execaSync|execaCommand|execaCommandSync)|(?:new\s+)?Deno\.Command|run|sh|shell",
        )
    }),
    files: LazyLock::new(|| {
        calling(r"(?:\w+\.)?fork|eval|vm\.run\w+|new\s+(?:\w+\.)?(?:Worker|Script)")
    }),
    program: "node",
    backticks: false,
};
static RUBY: Starters = Starters {
    commands: LazyLock::new(|| {
        calling(r"(?:Kernel\.|Process\.)?(?:system|exec|spawn)|Open3\.\w+|IO\.popen|sh|run")
    }),
    files: LazyLock::new(|| calling(r"load|eval|instance_eval")),
    program: "ruby",
    backticks: true,
};
static PERL: Starters = Starters {
    commands: LazyLock::new(|| calling(r"system|exec|qx|capture|run")),
    files: LazyLock::new(|| calling(r"do")),
    program: "perl",
    backticks: true,
};
static PHP: Starters = Starters {
    commands: LazyLock::new(|| calling(r"system|exec|passthru|shell_exec|proc_open|popen|run")),
    files: LazyLock::new(|| calling(r"eval")),
    program: "php",
    backticks: true,
};
static LUA: Starters = Starters {
    commands: LazyLock::new(|| calling(r"os\.execute|io\.popen")),
    files: LazyLock::new(|| calling(r"dofile|loadfile")),
    program: "lua",
    backticks: false,
};
static COMPILED: Starters = Starters {
    commands: LazyLock::new(|| {
        calling(
            r"(?:new\s+)?ProcessBuilder|exec\.Command(?:Context)?|\w+\.exec|(?:std::process::)?Command::new",
        )
    }),
    files: LazyLock::new(|| calling(r"runs no file")),
    program: "",
    backticks: false,
};

/// The row of a language: an extension, or the words of a first line.
fn starters(language: &str) -> Option<&'static Starters> {
    let names = |parts: &[&str]| parts.iter().any(|part| language.contains(part));
    Some(match language {
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "tsx" | "jsx" => &NODE,
        "rb" | "rake" => &RUBY,
        "pl" | "pm" | "t" => &PERL,
        "go" | "java" | "kt" | "rs" | "groovy" | "scala" => &COMPILED,
        _ if language.starts_with("py") || names(&["python"]) => &PYTHON,
        _ if names(&["node", "deno", "bun"]) => &NODE,
        _ if names(&["ruby"]) => &RUBY,
        _ if names(&["perl"]) => &PERL,
        _ if names(&["php"]) => &PHP,
        _ if names(&["lua"]) => &LUA,
        _ => return None,
    })
}

/// A program that code starts.
pub(super) fn starts(language: &str, code: &str) -> Vec<StartedProgram> {
    let Some(row) = starters(language) else { return Vec::new() };
    let code = without_comments(code);
    let mut helpers: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for call in calls(row, &code) {
        let words = words(&call.arguments);
        if let Some(name) = enclosing(&code[..call.from])
            && words.iter().any(|word| is_variable(word))
        {
            let before = words.iter().take_while(|word| !is_variable(word));
            helpers.insert(name, before.cloned().collect::<Vec<_>>().join(" "));
        }
        found.extend(start(row, &code, &call, &words));
    }
    for (name, before) in helpers {
        // `run(` is known already.
        if before.is_empty() && row.commands.is_match(&format!(" {name}(")) {
            continue;
        }
        for call in calls_of(&calling(&name), &code) {
            let mut words = words(&call.arguments);
            if !words.iter().all(|word| is_variable(word)) {
                words.splice(0..0, (!before.is_empty()).then(|| before.clone()));
                found.extend(start(row, &code, &call, &words));
            }
        }
    }
    found
}

/// Whether a word is nothing but a value that the text does not show.
fn is_variable(word: &str) -> bool {
    let name = word.strip_prefix('$');
    name.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Lines of comments are blank; everything keeps its line.
fn without_comments(code: &str) -> String {
    let is_comment = |line: &str| {
        let line = line.trim_start();
        line.starts_with("//") || (line.starts_with('#') && !line.starts_with("#["))
    };
    let lines = code.lines().map(|line| if is_comment(line) { "" } else { line });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// A call in code.
struct Call {
    from: usize,
    to: usize,
    arguments: String,
    /// It runs a file of its own language.
    runs_file: bool,
}

fn calls(row: &Starters, code: &str) -> Vec<Call> {
    let mut found = calls_of(&row.commands, code);
    for mut call in calls_of(&row.files, code) {
        // `exec(open("x").read())` runs a file, `exec("x = 1")` does not.
        let reads = ["open", "read", "Read"].iter().any(|word| call.arguments.contains(word));
        let named = &code[call.from..call.to];
        let evaluates =
            ["exec", "eval", "instance_eval", "vm."].iter().any(|it| named.starts_with(it));
        if !evaluates || reads {
            found.retain(|other| other.from != call.from);
            call.runs_file = true;
            found.push(call);
        }
    }
    if row.backticks {
        static TICKS: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"`([^`\n]+)`|(?:%x|\bqx)\s*[({\[]([^)}\]\n]+)").expect("valid")
        });
        found.extend(TICKS.captures_iter(code).filter_map(|it| {
            let (all, text) = (it.get(0)?, it.get(1).or(it.get(2))?);
            let arguments = format!("\"{}\"", text.as_str().replace('"', "'"));
            Some(Call { from: all.start(), to: all.end(), arguments, runs_file: false })
        }));
    }
    found
}

/// A pattern of calls, by one of their names.
fn calling(names: &str) -> Regex {
    let before = r#"(?:^|[^\w.@$"'/-]|\)\.)"#;
    let pattern = format!(r#"{before}(?P<name>{names})(?P<open>\s*\(|[ \t]+["'])"#);
    Regex::new(&pattern).expect("a valid pattern")
}

fn calls_of(pattern: &Regex, code: &str) -> Vec<Call> {
    pattern
        .captures_iter(code)
        .filter_map(|found| {
            let (name, open) = (found.name("name")?, found.name("open")?);
            let (from, to) = if open.as_str().ends_with('(') {
                (open.end(), closing(code, open.end()))
            } else {
                let from = open.end() - 1;
                (from, code[from..].find('\n').map_or(code.len(), |at| from + at))
            };
            let mut to = to;
            // `Command::new("sh").arg("gate")`
            if name.as_str().ends_with("::new") {
                to = code[from..].find(';').map_or(to, |at| from + at);
            }
            let arguments = code.get(from..to)?.to_owned();
            Some(Call { from: name.start(), to, arguments, runs_file: false })
        })
        .collect()
}

/// The place of the bracket that ends a call, or the end.
fn closing(code: &str, from: usize) -> usize {
    let mut depth = 1;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in code[from..].char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match (quote, c) {
            (_, '\\') => escaped = true,
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return from + at;
                }
            }
            (None, _) => {}
        }
    }
    code.len()
}

fn start(row: &Starters, code: &str, call: &Call, words: &[String]) -> Vec<StartedProgram> {
    static FOLDER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"\b(?:cwd|chdir)\s*(?:=>?|:)\s*["']([^"']+)["']"#).expect("valid")
    });
    let folder = FOLDER.captures(&call.arguments).map(|it| it[1].to_owned());
    let used = flow::used(code, call.from, call.to);
    let known = |words: &Vec<String>| !words.iter().all(|word| is_variable(word));
    let lines = resolved(words, code).into_iter().filter(known).map(|words| {
        if call.runs_file {
            return format!("{} {}", row.program, quoted(words.first().map_or("", String::as_str)));
        }
        match words.as_slice() {
            // A whole line of shell.
            [first, ..] if first.contains(char::is_whitespace) => first.clone(),
            all => all.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        }
    });
    lines.map(|line| StartedProgram { line, folder: folder.clone(), used }).collect()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./$=:@%+,{}".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "")) }
}

/// The words with the values of variables that the code sets to texts.
fn resolved(words: &[String], code: &str) -> Vec<Vec<String>> {
    let open = words.iter().find_map(|word| {
        let name = word.strip_prefix('$')?;
        let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
        let values = flow::values(code, &name[..end]);
        (!values.is_empty()).then(|| (format!("${}", &name[..end]), values))
    });
    let Some((name, values)) = open else { return vec![words.to_vec()] };
    let with = |value: &String| words.iter().map(|word| word.replacen(&name, value, 1)).collect();
    values.iter().take(20).map(with).collect()
}

/// The words of a call: its texts, and `$NAME` for anything else.
fn words(arguments: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let chars: Vec<char> = arguments.chars().collect();
    let (mut at, mut glue) = (0, None);
    // Brackets of calls that join parts of a path.
    let mut joins: Vec<bool> = Vec::new();
    let mut add = |text: String, glue: &mut Option<&str>| match (glue.take(), words.last_mut()) {
        (Some(between), Some(last)) => last.push_str(&format!("{between}{text}")),
        _ => words.push(text),
    };
    while let Some(c) = chars.get(at).copied() {
        at += 1;
        match c {
            '"' | '\'' | '`' => {
                let end = chars[at..]
                    .iter()
                    .position(|other| *other == c)
                    .map_or(chars.len(), |n| at + n);
                let text: String = chars[at..end].iter().collect();
                add(interpolated(&text), &mut glue);
                at = end + 1;
            }
            '(' => joins.push(false),
            ')' => {
                joins.pop();
            }
            ',' => glue = joins.last().filter(|joins| **joins).map(|_| "/"),
            '+' => glue = Some(""),
            '/' => glue = Some("/"),
            // Options of the call.
            '{' if !arguments.contains("args") => break,
            _ if c.is_alphabetic() || "_$@".contains(c) => {
                let inside = |c: &&char| c.is_alphanumeric() || "_.:".contains(**c);
                let rest: String = chars[at..].iter().take_while(inside).collect();
                at += rest.chars().count();
                let name = format!("{c}{rest}");
                let next = chars[at..].iter().find(|c| !c.is_whitespace());
                match (name.as_str(), next) {
                    ("f" | "b" | "r" | "rb" | "u", Some('"' | '\'')) => {}
                    ("args" | "args:", _) => {}
                    (_, Some('=')) => break,
                    (_, _) if name.ends_with(':') => break,
                    (_, Some('(')) => {
                        let ends = ["join", "resolve", "joinpath"];
                        joins.push(ends.iter().any(|end| name.ends_with(end)));
                        while chars.get(at).is_some_and(|c| *c != '(') {
                            at += 1;
                        }
                        at += 1;
                    }
                    _ => add(named(&name), &mut glue),
                }
            }
            _ => {}
        }
    }
    words
}

/// The value of a name.
fn named(name: &str) -> String {
    match name {
        "sys.executable" => "python3".to_owned(),
        "process.execPath" | "process.argv0" => "node".to_owned(),
        "RbConfig.ruby" | "Gem.ruby" => "ruby".to_owned(),
        "PHP_BINARY" => "php".to_owned(),
        "$^X" => "perl".to_owned(),
        _ => format!("${}", name.trim_start_matches(['$', '@']).replace(['.', ':'], "_")),
    }
}

/// A text with `$NAME` for values inside.
fn interpolated(text: &str) -> String {
    static INSIDE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[#$]?\{\s*([A-Za-z_][\w]*)[^}]*\}").expect("valid"));
    INSIDE.replace_all(text, "$$$1").into_owned()
}

/// The function around a place, if it is none that a runner calls.
fn enclosing(before: &str) -> Option<String> {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^[ \t]*(?:async\s+|export\s+|pub\s+)*(?:def|function|sub|func|fn)\s+(\w+)|(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:\([^)\n]*\)|\w+)\s*=>")
            .expect("valid")
    });
    let found = HEAD.captures_iter(before).last()?;
    let name = found.get(1).or(found.get(2))?.as_str();
    (!name.to_lowercase().starts_with("test")).then(|| name.to_owned())
}
