//! `awk`: a program text is let through if it neither runs, writes nor reads
//! anything by itself.

use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, ShellOutput};

use super::call::ProgramCall;
use crate::guard::tables::spec::{Does, Spec};

impl Judge<'_> {
    pub(super) fn awk(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[
                ("-F --field-separator -v --assign", Does::Data),
                ("-f --file", Does::Reads),
                ("-i", Does::Refused("loads a library, `inplace` among them")),
                ("--include -l --load", Does::Refused("loads a library")),
                ("-E --exec", Does::Refused("runs a file")),
                ("-e --source", Does::Refused("adds to the program")),
            ],
            "--posix --version -V --re-interval --csv -k",
        );
        let parsed = self.options(env, "awk", call.words, &SPEC)?;
        let mut operands = parsed.operands.as_slice();
        if let Some(file) = parsed.value(&["-f", "--file"]) {
            let file = file.clone();
            self.script(env, &file)?;
        } else if let Some((program, rest)) = operands.split_first() {
            let text = program.text().ok_or_else(|| {
                Denial::new("program.script", "cannot tell what the awk program is")
            })?;
            harmless(text).map_err(|why| {
                Denial::new("program.script", format!("the awk program {why}"))
                    .instead("print from awk, and redirect or pipe in the shell")
            })?;
            operands = rest;
        }
        for operand in operands {
            // `name=value` between the files sets a variable.
            let head = operand.head();
            let sets = head.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            });
            if !sets && operand.text() != Some("-") {
                self.read_value(env, operand, ReadKind::Content)?;
            }
        }
        Ok(ShellOutput::Opaque)
    }
}

/// Says what an awk program does that cannot be let through.
fn harmless(program: &str) -> Result<(), &'static str> {
    let mut chars = program.chars().peekable();
    let mut word = String::new();
    // The last word, the last character that is no blank, and the very last one.
    let mut before = String::new();
    let (mut last, mut previous) = (' ', ' ');
    // Whether `++` or `--` was last; of open parentheses, and of the last that was closed,
    // whether they hold a condition.
    let mut counts = false;
    let mut conditions = Vec::new();
    let mut condition = false;
    let mut printing = false;
    let mut depth = 0_usize;
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() || c == '_' || c == '@' {
            word.push(c);
            (last, previous, counts) = (c, c, false);
            continue;
        }
        match word.as_str() {
            "system" | "@include" | "@load" | "@namespace" => {
                return Err("runs or loads something");
            }
            "getline" | "ARGV" | "ARGC" => return Err("reads files by itself"),
            "ENVIRON" | "PROCINFO" => return Err("reads the environment"),
            "print" | "printf" => {
                printing = true;
                depth = 0;
            }
            _ if word.starts_with('@') => return Err("calls a function that is not known"),
            _ => {}
        }
        if !word.is_empty() {
            before = std::mem::take(&mut word);
        }
        match c {
            '"' => skip(&mut chars, '"')?,
            '/' if !counts && begins_pattern(last, &before, condition) => {
                skip(&mut chars, '/')?;
                // A pattern is a value.
                (last, previous) = (']', ']');
                continue;
            }
            '#' => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            '(' => {
                depth += 1;
                let asks = matches!(before.as_str(), "if" | "while" | "for");
                conditions.push(asks && last.is_alphanumeric());
            }
            ')' => {
                depth = depth.saturating_sub(1);
                condition = conditions.pop().unwrap_or_default();
            }
            // Behind these a statement goes on in the next line.
            '\n' if matches!(last, ',' | '\\' | '&' | '|') => {}
            ';' | '}' | '\n' => printing = false,
            '|' if chars.peek() == Some(&'|') => {
                chars.next();
            }
            '|' => return Err("pipes into another program"),
            '>' if printing && depth == 0 => {
                let rest: String = chars.clone().collect();
                let target = rest.trim_start_matches(['>', ' ']);
                if !target.starts_with("\"/dev/stderr\"") && !target.starts_with("\"/dev/stdout\"")
                {
                    return Err("writes a file");
                }
            }
            _ => {}
        }
        if !c.is_whitespace() {
            counts = matches!(c, '+' | '-') && c == previous;
            last = c;
        }
        previous = c;
    }
    match word.as_str() {
        "system" | "getline" | "ENVIRON" | "PROCINFO" => Err("runs or reads something"),
        _ => Ok(()),
    }
}

/// Whether a slash begins a pattern: no value stands before it.
fn begins_pattern(last: char, word: &str, condition: bool) -> bool {
    const VERBS: [&str; 9] =
        ["print", "printf", "return", "in", "else", "do", "case", "exit", "delete"];
    match last {
        _ if last.is_alphanumeric() || last == '_' => VERBS.contains(&word),
        ')' => condition,
        ']' | '"' => false,
        _ => true,
    }
}

fn skip(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    end: char,
) -> Result<(), &'static str> {
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == end {
            return Ok(());
        } else if c == '[' && end == '/' {
            // Awks differ in what a slash means between brackets.
            chars.next_if_eq(&'^');
            let mut first = true;
            loop {
                match chars.next() {
                    Some(']') if !first => break,
                    Some('/' | '"') | None => {
                        return Err("has a pattern that cannot be told apart");
                    }
                    Some(_) => first = false,
                }
            }
        }
    }
    Err("has an open string or pattern")
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn what_only_prints_passes() {
        for program in [
            "{print $1}",
            "$3 > 10 {print $0}",
            "/foo|bar/ {n++} END {print n}",
            "NR>=10 && NR<=20",
            "{ if (a > b || c) print \"x > y | z\" }",
            "{print (a > b)}",
            "BEGIN{FS=\",\"} {sum+=$2/3} END{print sum}",
            "{print > \"/dev/stderr\"}",
            "{print $1 / 2, (a + b) / 2}",
            "{ n++ } END { print n / NR, n++ / 2, (n) / 2 \"ms\" }",
            "{ print $1, # the \\\"name\n$2 }",
            "{ print /x/ ? \"a\" : \"b\" }",
            "$1 ~ /a/ && /b \\/ \"c/ { print }",
        ] {
            assert_eq!(harmless(program), Ok(()), "{program}");
        }
    }

    #[test]
    fn what_runs_writes_or_reads_is_refused() {
        for program in [
            "BEGIN{system(\"id\")}",
            "{print > \"f\"}",
            "{print | \"sh\"}",
            "{\"id\" | getline x}",
            "BEGIN{while((getline l < \".env\")>0)print l}",
            "BEGIN{print ENVIRON[\"X\"]}",
            "{printf \"%s\", $1 >> \"f\"}",
            "@load \"x\"",
            "BEGIN{f=\"system\"; @f(\"id\")}",
            "BEGIN { system (\"id\") }",
            "{ x = a / system(\"id\") / b }",
            "{ n++ / system(\"id\") / 1 }",
            "{ /a/ / system(\"id\") / 1 }",
            "{ print /\"/ > \"f\"; print /\"/ }",
            "{ print $/\"/ > \"f\"; print $/\"/ }",
            "{ if (x) /\"/; print > \"f\"; y = /\"/ }",
            "{ print $1 \\\n > \"f\" }",
            "{ print \"a\",\n\"b\" > \"f\" }",
            "{ print \"a\", # x\n\"b\" > \"f\" }",
        ] {
            assert!(harmless(program).is_err(), "{program}");
        }
    }
}
