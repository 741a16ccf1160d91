//! `sed`: its script is read far enough to know what it writes, reads and runs.

use crate::guard::call_context::{ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, ShellOutput, ShellValue};

use super::call::ProgramCall;
use crate::guard::tables::spec::{Does, Spec};

/// What a script does beside printing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Effects {
    reads: Vec<String>,
    writes: Vec<String>,
}

fn unclear() -> Denial {
    Denial::new("program.script", "cannot parse the sed script")
        .instead("use plain `s/…/…/`, `p` and `d` commands, or the edit tool")
}

impl Judge<'_> {
    pub(super) fn sed(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[("-e --expression -l --line-length", Does::Data), ("-f --file", Does::Reads)],
            "-n -r -E -s -u -z -i --quiet --silent --regexp-extended --separate --unbuffered \
            --null-data --in-place --posix --debug --sandbox --version --help",
        );
        // `-i` takes an attached suffix, never the next word; BSD's `-i ''` is an empty operand.
        let mut in_place = false;
        let mut words = Vec::new();
        for (index, word) in call.words.iter().enumerate() {
            let head = word.head();
            if let Some(suffix) = head.strip_prefix("--in-place") {
                in_place = true;
                // A suffix with `*` or `/` names the copy's place.
                if suffix.contains(['/', '*']) || word.text().is_none() {
                    return Err(unclear());
                }
            } else if let Some(flags) =
                head.strip_prefix('-').filter(|flags| !flags.starts_with('-') && !flags.is_empty())
                && let Some(place) = flags.find('i')
                && flags[..place].chars().all(|c| "nrEsuz".contains(c))
            {
                in_place = true;
                let suffix = &flags[place + 1..];
                if suffix.contains(['/', '*']) || word.text().is_none() {
                    return Err(unclear());
                }
                if place > 0 {
                    words.push(ShellValue::lit(format!("-{}", &flags[..place])));
                }
            } else if in_place
                && word.text() == Some("")
                && index > 0
                && call.words[index - 1].text() == Some("-i")
            {
            } else {
                words.push(word.clone());
            }
        }
        let parsed = self.options(env, "sed", &words, &SPEC)?;
        let mut operands = parsed.operands.as_slice();
        let mut scripts: Vec<&ShellValue> = parsed
            .options
            .iter()
            .filter(|(name, _)| matches!(name.as_str(), "-e" | "--expression"))
            .filter_map(|(_, value)| value.as_ref())
            .collect();
        if parsed.has(&["-f", "--file"]) {
            let file = parsed.value(&["-f", "--file"]).cloned().unwrap_or_default();
            self.script(env, &file)?;
        } else if scripts.is_empty()
            && let Some((script, rest)) = operands.split_first()
        {
            scripts.push(script);
            operands = rest;
        }
        for script in scripts {
            // Unknown values inside a script could be commands of sed.
            let text =
                script.text().map(str::to_owned).or_else(|| shown(script)).ok_or_else(unclear)?;
            let effects = effects(&text).ok_or_else(unclear)?;
            if in_place && matches!(text.trim(), "d" | "1,$d" | "0,$d") {
                for operand in operands {
                    self.kept(env, operand)?;
                }
            }
            for file in effects.reads {
                self.read_value(env, &ShellValue::lit(file), ReadKind::Content)?;
            }
            for file in effects.writes {
                self.write_value(env, &ShellValue::lit(file), WriteKind::Change)?;
            }
        }
        for operand in operands {
            if in_place {
                self.write_value(env, operand, WriteKind::Change)?;
            }
            self.read_value(env, operand, ReadKind::Content)?;
        }
        if operands.is_empty() && call.stdin.is_empty() {
            return Ok(ShellOutput::Text(String::new()));
        }
        Ok(ShellOutput::Opaque)
    }
}

/// A script whose only unknown parts are numbers or dates.
fn shown(script: &ShellValue) -> Option<String> {
    use crate::guard::shell::Seg;
    script
        .segs
        .iter()
        .map(|seg| match seg {
            Seg::Lit(text) => Some(text.as_str()),
            Seg::Token => Some("0"),
            Seg::Glob(_) | Seg::Listed(_) | Seg::Any => None,
        })
        .collect()
}

/// Reads a script; `None` where it is not understood or runs something.
fn effects(script: &str) -> Option<Effects> {
    let mut effects = Effects::default();
    let mut at = Cursor { text: script, at: 0 };
    loop {
        at.skip(|c| c.is_whitespace() || c == ';');
        if at.rest().is_empty() {
            return Some(effects);
        }
        address(&mut at)?;
        at.skip(char::is_whitespace);
        if at.peek() == Some(',') {
            at.next();
            at.skip(char::is_whitespace);
            address(&mut at)?;
        }
        at.skip(|c| c.is_whitespace() || c == '!');
        match at.next()? {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x'
            | 'z' | 'F' => {}
            '#' => at.line(),
            'q' | 'Q' | 'l' | 'L' => at.skip(|c| c.is_ascii_digit() || c == ' '),
            'b' | 't' | 'T' | ':' => at.skip(|c| c != ';' && c != '\n' && c != '}'),
            'a' | 'i' | 'c' => at.text_block(),
            'r' | 'R' => effects.reads.push(at.rest_of_line()),
            'w' | 'W' => effects.writes.push(at.rest_of_line()),
            'y' => {
                let delimiter = at.next()?;
                at.until(delimiter)?;
                at.until(delimiter)?;
            }
            's' => {
                let delimiter = at.next()?;
                if matches!(delimiter, '\n' | '\\' | '[' | ']') {
                    return None;
                }
                at.pattern(delimiter)?;
                at.until(delimiter)?;
                while let Some(flag) = at.peek() {
                    match flag {
                        'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {
                            at.next();
                        }
                        'w' => {
                            at.next();
                            effects.writes.push(at.rest_of_line());
                        }
                        ';' | '}' | '\n' | ' ' | '\t' | '#' => break,
                        // `e` runs what the line became.
                        _ => return None,
                    }
                }
            }
            _ => return None,
        }
    }
}

fn address(at: &mut Cursor<'_>) -> Option<()> {
    match at.peek() {
        Some('0'..='9' | '$' | '+' | '~') => {
            at.skip(|c| c.is_ascii_digit() || matches!(c, '$' | '~' | '+'))
        }
        Some('/') => {
            at.next();
            at.pattern('/')?;
            at.skip(|c| c == 'I' || c == 'M');
        }
        Some('\\') => {
            at.next();
            let delimiter = at.next()?;
            at.pattern(delimiter)?;
            at.skip(|c| c == 'I' || c == 'M');
        }
        _ => {}
    }
    Some(())
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl Cursor<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&fits) {
            self.next();
        }
    }

    fn line(&mut self) {
        self.skip(|c| c != '\n');
    }

    fn rest_of_line(&mut self) -> String {
        let line = self.rest().split('\n').next().unwrap_or_default().trim().to_owned();
        self.line();
        line
    }

    /// Text of `a`, `i`, `c`: to the end of the line, further if that ends in a backslash.
    fn text_block(&mut self) {
        loop {
            let line = self.rest_of_line();
            self.next();
            if !line.ends_with('\\') || self.rest().is_empty() {
                return;
            }
        }
    }

    /// Behind the delimiter that ends a pattern. A delimiter inside brackets is
    /// read differently by different seds, so it is not understood.
    fn pattern(&mut self, delimiter: char) -> Option<()> {
        loop {
            match self.next()? {
                '\\' => {
                    self.next()?;
                }
                '[' => {
                    if self.peek() == Some('^') {
                        self.next();
                    }
                    let mut first = true;
                    loop {
                        match self.next()? {
                            ']' if !first => break,
                            c if c == delimiter => return None,
                            _ => first = false,
                        }
                    }
                }
                c if c == delimiter => return Some(()),
                _ => {}
            }
        }
    }

    /// Behind the next delimiter that is not escaped.
    fn until(&mut self, delimiter: char) -> Option<()> {
        loop {
            match self.next()? {
                '\\' => {
                    self.next()?;
                }
                c if c == delimiter => return Some(()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_scripts_have_no_effects() {
        for script in [
            "s/foo/bar/g",
            "1,80p",
            "/a/,/b/d",
            "s|a|b|;s,c,d,2",
            "$!N;P;D",
            "/x/{s/a/b/;p}",
            "2i\\\nnew line",
            "a\\ text",
            "y/abc/def/",
            "/^#/d",
            "1~2p",
        ] {
            assert_eq!(effects(script), Some(Effects::default()), "{script}");
        }
    }

    #[test]
    fn files_are_found_and_commands_refused() {
        assert_eq!(effects("s/a/b/w /etc/x").expect("read").writes, ["/etc/x"]);
        assert_eq!(effects("w out.txt").expect("read").writes, ["out.txt"]);
        assert_eq!(effects("/x/r .env").expect("read").reads, [".env"]);
        for script in ["e rm -rf src", "1e id", "s/.*/id/e", "s/a/b/ge", "k", "s/[/x/;#]/id/e"] {
            assert_eq!(effects(script), None, "{script}");
        }
    }
}
