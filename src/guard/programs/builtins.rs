//! The shell's own commands, and the small programs that only print.

use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::secrets;
use crate::guard::shell::{Env, Judge, Seg, ShellOutput, ShellValue, check_assignment, subscripts};

use super::call::ProgramCall;
use super::options::parse;
use crate::guard::tables::spec::{Does, Spec};

impl Judge<'_> {
    pub(super) fn builtin(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        for word in call.words {
            subscripts(word.head())?;
        }
        let nothing = Ok(ShellOutput::Text(String::new()));
        match call.name {
            ":" | "true" | "false" | "sleep" | "wait" | "return" | "exit" | "break"
            | "continue" => nothing,
            "echo" => Ok(echoed(call.words)),
            "shift" => {
                shift(env, call.words);
                nothing
            }
            "printf" => self.printf(env, call),
            "cd" | "pushd" => self.cd(env, call),
            "popd" => {
                env.lost = true;
                nothing
            }
            "pwd" => Ok(match env.cwds.as_slice() {
                [only] if !env.lost => ShellOutput::Text(only.to_string_lossy().into_owned()),
                _ => ShellOutput::Opaque,
            }),
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(env, call),
            "trap" => self.trap(env, call),
            "unset" | "getopts" | "let" => self.sets_names(env, call),
            "set" => {
                if call.words.is_empty() {
                    return Err(dump("set"));
                }
                if call
                    .words
                    .iter()
                    .any(|word| word.head() == "--" || !word.head().starts_with(['-', '+']))
                {
                    env.arguments = Some(vec![ShellValue { segs: vec![Seg::Any], splits: true }]);
                }
                nothing
            }
            "shopt" => shopt(call),
            "read" | "mapfile" | "readarray" => self.read_builtin(env, call),
            "test" | "[" => self.test(env, call),
            "nproc" | "factor" | "arch" => Ok(ShellOutput::Tokens),
            "seq" => Ok(counted(call.words)),
            "date" => self.date(env, call),
            "hostname" => {
                if call.words.iter().any(|word| !word.head().starts_with('-')) {
                    return Err(Denial::new(
                        "system",
                        "setting the host's name changes the machine",
                    ));
                }
                Ok(ShellOutput::Opaque)
            }
            "printenv" => printenv(call),
            "ps" => {
                // `ps e` and `ps -E` print the environment of processes.
                let dumps = call.words.iter().any(|word| {
                    let text = word.head();
                    text.contains('E') || !text.starts_with('-') && text.contains('e')
                });
                if dumps { Err(dump("ps")) } else { Ok(ShellOutput::Opaque) }
            }
            "mktemp" => self.mktemp(env, call),
            "hash" if call.words.iter().any(|word| word.head().starts_with('-')) => {
                Err(Denial::new("shell.opaque", "hash can make a name mean another program"))
            }
            "basename" | "dirname" => {
                let [path, rest @ ..] = call.words else { return Ok(ShellOutput::Opaque) };
                let plain: Option<Vec<&str>> = rest.iter().map(ShellValue::text).collect();
                Ok(match (path.text(), plain.as_deref()) {
                    (Some(path), Some(ends)) if !path.is_empty() && !path.starts_with('-') => {
                        part_of(call.name, path, ends)
                    }
                    _ => ShellOutput::Opaque,
                })
            }
            "umask" | "ulimit" => Ok(ShellOutput::Tokens),
            _ => Ok(ShellOutput::Opaque),
        }
    }

    /// `unset`, `getopts` and `let`: what they set is not known afterwards.
    fn sets_names(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let set = match call.name {
            "unset" => ShellValue::lit(""),
            "let" => ShellValue::one(Seg::Token),
            _ => ShellValue::one(Seg::Any),
        };
        for word in call.words {
            self.names_variable(env, word)?;
            if call.name == "let" {
                self.arithmetic(env, word.head())?;
            }
            let name: String = word
                .head()
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            check_assignment(&name, &set)?;
            env.forget_keys(&name);
            if env.vars.contains_key(&name) || call.name == "getopts" {
                env.set(&name, ShellValue::one(Seg::Any));
            }
            // Unsetting a function lets the program of that name through again.
        }
        Ok(ShellOutput::Text(String::new()))
    }

    /// `test` and `[`: `-v` names a variable, and a pattern names files.
    fn test(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        for pair in call.words.windows(2) {
            if matches!(pair[0].text(), Some("-v" | "-R")) {
                self.names_variable(env, &pair[1])?;
            }
        }
        for word in call.words {
            if word.segs.iter().any(|seg| matches!(seg, Seg::Glob(_))) {
                self.read_value(env, word, ReadKind::Name)?;
            }
        }
        Ok(ShellOutput::Text(String::new()))
    }

    fn printf(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        if call.words.first().is_some_and(ShellValue::may_be_option)
            && call.words[0].text().is_none()
        {
            return Err(Denial::new(
                "shell.unknown-word",
                "the first word may turn out to be an option of printf",
            ));
        }
        if let [flag, name, ..] = call.words
            && flag.head().starts_with("-v")
        {
            let name = name.text().filter(|_| flag.text() == Some("-v"));
            let name = name.ok_or_else(|| {
                Denial::new("shell.unparsed", "cannot tell which variable printf sets")
            })?;
            self.names_variable(env, &ShellValue::lit(name))?;
            check_assignment(name, &ShellValue::one(Seg::Any))?;
            env.set(name, ShellValue::one(Seg::Any));
            return Ok(ShellOutput::Text(String::new()));
        }
        let plain: Option<Vec<&str>> = call.words.iter().map(ShellValue::text).collect();
        Ok(match plain.as_deref() {
            Some([only]) if !only.contains('%') && !only.replace("\\n", "").contains('\\') => {
                ShellOutput::Text(only.replace("\\n", "\n"))
            }
            Some(["%s" | "%s\\n", args @ ..]) => ShellOutput::Text(args.join("\n")),
            Some(["%s\\0", args @ ..])
                if !args.iter().any(|word| word.contains(char::is_whitespace)) =>
            {
                ShellOutput::Text(args.join("\n"))
            }
            _ => ShellOutput::Opaque,
        })
    }

    fn cd(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let words: Vec<&ShellValue> = call
            .words
            .iter()
            .filter(|word| !matches!(word.text(), Some("-P" | "-L" | "--" | "-e")))
            .collect();
        let target = match words.as_slice() {
            [] if call.name == "cd" => self
                .cx
                .policy()
                .home
                .as_ref()
                .map(|home| ShellValue::lit(home.to_string_lossy()))
                .unwrap_or_else(|| ShellValue::one(Seg::Any)),
            [one] if one.text() != Some("-") => (*one).clone(),
            [one] if one.text() == Some("-") => {
                // Back to where it was, which is one of the folders checked before or the first.
                env.also_in(std::slice::from_ref(&self.cx.policy().cwd));
                env.lost = true;
                return Ok(ShellOutput::Opaque);
            }
            _ => return Err(Denial::new("path.unknown", "cannot tell where this goes")),
        };
        if call.name == "pushd" && target.head().starts_with(['+', '-']) {
            // Another of the folders that it was in.
            env.lost = true;
            return Ok(ShellOutput::Opaque);
        }
        if target.is_open() || target.segs.iter().any(|seg| matches!(seg, Seg::Listed(_))) {
            if target.segs.iter().any(|seg| matches!(seg, Seg::Listed(_))) && !target.is_open() {
                env.lost = true;
                return Ok(ShellOutput::Text(String::new()));
            }
            return Err(Denial::new(
                "path.unknown",
                format!("cannot tell where `cd {}` goes", target.show()),
            )
            .instead("name the folder"));
        }
        let mut folders = Vec::new();
        let mut certain = true;
        for path in self.paths(env, &target)? {
            let real = self.cx.read(&path, ReadKind::Name)?;
            let within = self.cx.inside(&real.path)
                || self.cx.policy().tmp.as_ref().is_some_and(|tmp| real.path.starts_with(tmp));
            if !within {
                return Err(Denial::new(
                    "path.outside",
                    format!("{} is outside the workspace", path.display()),
                )
                .instead("stay in the workspace"));
            }
            self.cx.enterable(&real.path)?;
            certain &= real.kind == FileKind::Dir;
            folders.push(real.path);
        }
        let before = std::mem::take(&mut env.cwds);
        env.also_in(&folders);
        env.unsure = if certain { Vec::new() } else { before };
        Ok(ShellOutput::Text(String::new()))
    }

    /// What a trap runs is a line, of which nobody knows when it runs. No function is
    /// followed in it: it may be another one by then.
    fn trap(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let words = call.words.strip_prefix(&[ShellValue::lit("--")]).unwrap_or(call.words);
        let unknown = || {
            Denial::new("shell.opaque", "cannot tell what the trap runs")
                .instead("write what it runs in single quotes: `trap 'echo stopped' EXIT`")
        };
        let Some((body, signals)) = words.split_first() else { return Ok(ShellOutput::Opaque) };
        match body.text().ok_or_else(unknown)? {
            "-p" | "-l" | "-P" => return Ok(ShellOutput::Opaque),
            "-" | "" => {}
            text if text.starts_with('-') => return Err(unknown()),
            _ if signals.is_empty() => {}
            text => {
                self.line(&mut env.some_time(), text)?;
                self.set_trap(text.to_owned());
            }
        }
        Ok(ShellOutput::Text(String::new()))
    }

    fn date(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const DATE: Spec = Spec::open(&[
            ("-d --date -r --reference -v", Does::Data),
            ("-f --file", Does::Reads),
            ("-s --set", Does::Refused("sets the clock")),
        ]);
        let parsed = self.options(env, "date", call.words, &DATE)?;
        let plain = |format: &str| {
            let mut after_percent = false;
            format.chars().all(|c| {
                let fine = if after_percent {
                    "YmdHMSFTsjVyuINZzb".contains(c)
                } else {
                    matches!(c, '%' | '-' | '_' | ':' | '.' | 'T' | 'Z' | ' ')
                };
                after_percent = !after_percent && c == '%';
                fine
            })
        };
        Ok(match parsed.operands.as_slice() {
            [format]
                if format.text().and_then(|text| text.strip_prefix('+')).is_some_and(plain) =>
            {
                ShellOutput::Tokens
            }
            _ => ShellOutput::Opaque,
        })
    }

    fn mktemp(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const MKTEMP: Spec =
            Spec::closed(&[("--suffix", Does::Data)], "-d -q -u -t --directory --quiet");
        let parsed = parse("mktemp", call.words, &MKTEMP)?;
        for template in &parsed.operands {
            let relative = template.text().is_some_and(|text| !text.contains('/'));
            if !(relative && parsed.has(&["-t"])) {
                self.write_value(env, template, crate::guard::call_context::WriteKind::Change)?;
            }
        }
        Ok(match (&self.cx.policy().tmp, parsed.operands.is_empty()) {
            (Some(tmp), true) => {
                ShellOutput::Text(tmp.join("tmp.XXXXXXXXXX").to_string_lossy().into_owned())
            }
            _ => ShellOutput::Opaque,
        })
    }
}

/// `shopt`: options that do not change what a line means.
fn shopt(call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
    let fine = [
        "-s",
        "-u",
        "-q",
        "nullglob",
        "globstar",
        "extglob",
        "failglob",
        "dotglob",
        "nocaseglob",
        "nocasematch",
        "inherit_errexit",
        "lastpipe",
        "pipefail",
        "-o",
    ];
    let text = |word: &ShellValue| word.text().is_some_and(|text| fine.contains(&text));
    if !call.words.iter().all(text) {
        return Err(Denial::new("shell.opaque", "this shell option changes how lines are read"));
    }
    if call.words.iter().any(|word| matches!(word.text(), Some("dotglob" | "lastpipe"))) {
        return Err(Denial::new(
            "shell.opaque",
            "this shell option changes what patterns and pipes mean",
        ));
    }
    let sets = |word: &ShellValue| matches!(word.text(), Some("-s" | "-u" | "-q"));
    let nothing = ShellOutput::Text(String::new());
    Ok(if call.words.iter().any(sets) { nothing } else { ShellOutput::Opaque })
}

/// `printenv`: only variables that are named and hold no secret.
fn printenv(call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
    let names: Vec<&str> = call
        .words
        .iter()
        .filter_map(ShellValue::text)
        .filter(|name| !name.starts_with('-'))
        .collect();
    if names.is_empty()
        || names.len() != call.words.iter().filter(|word| !word.head().starts_with('-')).count()
    {
        return Err(dump("printenv"));
    }
    if names.iter().any(|name| secrets::variable(name)) {
        return Err(Denial::new("secret.variable", "the variable may hold a secret"));
    }
    Ok(ShellOutput::Opaque)
}

/// The denial for printing the whole environment.
pub(super) fn dump(program: &str) -> Denial {
    Denial::new("env.dump", format!("{program} prints the environment, which holds secrets"))
        .instead("print the one variable that is needed, such as `echo \"$LANG\"`")
}

/// What `basename` and `dirname` print of one path.
fn part_of(program: &str, path: &str, ends: &[&str]) -> ShellOutput {
    let trimmed = path.trim_end_matches('/');
    let (folder, name) = trimmed.rsplit_once('/').unwrap_or((".", trimmed));
    match (program, ends) {
        _ if trimmed.is_empty() => ShellOutput::Text("/".to_owned()),
        ("dirname", []) if folder.is_empty() => ShellOutput::Text("/".to_owned()),
        ("dirname", []) => ShellOutput::Text(folder.to_owned()),
        ("basename", []) => ShellOutput::Text(name.to_owned()),
        ("basename", [end]) if *end != name => {
            ShellOutput::Text(name.strip_suffix(end).unwrap_or(name).to_owned())
        }
        _ => ShellOutput::Opaque,
    }
}

/// What `echo` prints. Shells differ in their options beside `-n` and in what a backslash
/// means.
fn echoed(words: &[ShellValue]) -> ShellOutput {
    let plain: Option<Vec<&str>> = words.iter().map(ShellValue::text).collect();
    let Some(plain) = plain else {
        let tokens = words.iter().all(ShellValue::is_token);
        return if tokens { ShellOutput::Tokens } else { ShellOutput::Opaque };
    };
    let option = |word: &str| {
        word.strip_prefix('-').is_some_and(|letters| {
            !letters.is_empty() && letters.bytes().all(|letter| b"neE".contains(&letter))
        })
    };
    let (ends, rest) = match plain.as_slice() {
        ["-n", rest @ ..] => ("", rest),
        rest => ("\n", rest),
    };
    let text = rest.join(" ");
    match rest.first() {
        Some(word) if option(word) => ShellOutput::Opaque,
        _ if text.contains('\\') => ShellOutput::Opaque,
        // A line break alone is something, too.
        _ if text.is_empty() => ShellOutput::Text(ends.to_owned()),
        _ => ShellOutput::Text(text),
    }
}

/// What `seq` prints: numbers, unless an option or a word says how to write them.
fn counted(words: &[ShellValue]) -> ShellOutput {
    let number = |word: &ShellValue| {
        word.segs == [Seg::Token]
            || word.text().is_some_and(|text| {
                !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    // Behind a number no word is an option.
    match words.split_first() {
        Some((first, _)) if number(first) => ShellOutput::Tokens,
        _ => ShellOutput::Opaque,
    }
}

/// Drops the first arguments of a function or a nested shell.
fn shift(env: &mut Env, words: &[ShellValue]) {
    let Some(arguments) = &mut env.arguments else { return };
    let count = match words {
        [] => Some(1),
        [word] => word.text().and_then(|text| text.parse::<usize>().ok()),
        _ => None,
    };
    let whole = !arguments.iter().any(ShellValue::is_open);
    match count.filter(|count| whole && *count <= arguments.len()) {
        Some(count) => drop(arguments.drain(..count)),
        None => *arguments = vec![ShellValue { segs: vec![Seg::Any], splits: true }],
    }
}
