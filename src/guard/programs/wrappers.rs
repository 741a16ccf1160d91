//! Programs that run another one: looked through, or refused where what they
//! run cannot be seen.

use crate::guard::call_context::WriteKind;
use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, Seg, ShellOutput, ShellValue};

use super::builtins::dump;
use super::call::ProgramCall;
use crate::guard::tables::spec::{Does, Spec};

const NO_OPTIONS: Spec = Spec::closed(&[], "");

impl Judge<'_> {
    pub(super) fn wrapper(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        match call.name {
            "env" => self.env_wrapper(env, call),
            "command" | "builtin" => self.command_wrapper(env, call),
            "exec" => self.exec(env, call),
            "timeout" | "gtimeout" => {
                const SPEC: Spec = Spec::closed(
                    &[("-k --kill-after -s --signal", Does::Data)],
                    "--foreground --preserve-status -v --verbose -f -p",
                );
                self.through(env, call, &SPEC, 1)
            }
            "nice" => {
                const SPEC: Spec = Spec::closed(
                    &[("-n --adjustment", Does::Data)],
                    "-1 -2 -3 -4 -5 -6 -7 -8 -9 -0",
                );
                self.through(env, call, &SPEC, 0)
            }
            "ionice" => {
                const SPEC: Spec = Spec::closed(&[("-c -n", Does::Data)], "-t");
                self.through(env, call, &SPEC, 0)
            }
            "nohup" => self.through(env, call, &NO_OPTIONS, 0),
            "setsid" => {
                const SPEC: Spec = Spec::closed(&[], "-w --wait -f --fork");
                self.through(env, call, &SPEC, 0)
            }
            "cross-env" => self.cross_env(env, call),
            "xvfb-run" => self.xvfb_run(env, call),
            "chronic" | "not" => self.through(env, call, &NO_OPTIONS, 0),
            "caffeinate" => {
                const SPEC: Spec = Spec::closed(&[("-t", Does::Data)], "-d -i -m -s -u");
                self.through(env, call, &SPEC, 0)
            }
            "stdbuf" => {
                const SPEC: Spec =
                    Spec::closed(&[("-i -o -e --input --output --error", Does::Data)], "");
                self.through(env, call, &SPEC, 0)
            }
            "time" => {
                const SPEC: Spec = Spec::closed(
                    &[("-o --output", Does::Writes), ("-f --format", Does::Data)],
                    "-p -v -a --portability --verbose --append -l",
                );
                self.through(env, call, &SPEC, 0)
            }
            "flock" => {
                const SPEC: Spec = Spec::closed(&[("-w -E", Does::Data)], "-n -x -s -e -u");
                self.flock(env, call, &SPEC)
            }
            "valgrind" => {
                const SPEC: Spec = Spec::closed(
                    &[
                        (
                            "--tool --leak-check --show-leak-kinds --track-origins --error-exitcode \
                            --num-callers --trace-children",
                            Does::Data,
                        ),
                        ("--suppressions", Does::Reads),
                        (
                            "--log-file --xml-file --callgrind-out-file --cachegrind-out-file \
                            --massif-out-file",
                            Does::Writes,
                        ),
                    ],
                    "-q -v --quiet --verbose",
                );
                self.through(env, call, &SPEC, 0)
            }
            "hyperfine" => self.hyperfine(env, call),
            "xargs" => self.xargs(env, call),
            "eval" => self.eval(env, call),
            "bash" | "sh" | "dash" => self.shell(env, call),
            _ => Err(unseen(call.name)),
        }
    }

    /// `xvfb-run`: a command on a display of its own.
    fn xvfb_run(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[
                ("-n --server-num -w --wait -p --xauth-protocol", Does::Data),
                ("-e --error-file -f --auth-file", Does::Writes),
                ("-s --server-args", Does::Refused("starts the display with options")),
            ],
            "-a --auto-servernum -d --auto-display",
        );
        // What a screen looks like is no more than that.
        let own = own_words(call.words, &SPEC);
        let screen = |text: &str| {
            let text = text.strip_prefix("--server-args=").unwrap_or(text);
            text.strip_prefix("-screen ").is_some_and(|rest| {
                rest.bytes().all(|b| b.is_ascii_digit() || b == b'x' || b == b' ')
            })
        };
        let plain = |at: usize| call.words[at].text().is_some_and(screen);
        let names = |at: usize| matches!(call.words[at].text(), Some("-s" | "--server-args"));
        let dropped = |at: usize| plain(at) || names(at) && at + 1 < own && plain(at + 1);
        let kept = (0..call.words.len()).filter(|at| *at >= own || !dropped(*at));
        let words: Vec<ShellValue> = kept.map(|at| call.words[at].clone()).collect();
        self.through(env, &ProgramCall { words: &words, ..*call }, &SPEC, 0)
    }

    /// Skips the wrapper's own words and judges what it runs.
    fn through(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        spec: &Spec,
        skip: usize,
    ) -> Result<ShellOutput, Denial> {
        let own = own_words(call.words, spec);
        self.options(env, call.name, &call.words[..own], spec)?;
        let rest = &call.words[own..];
        if rest.len() < skip || rest.iter().take(skip).any(ShellValue::is_open) {
            return Err(unseen(call.name));
        }
        self.plain(env, &rest[skip..], call.stdin)
    }

    /// Judges a program by name, functions of the line passed over: a wrapper
    /// starts a file, not a function. A function of that name is walked too.
    fn plain(
        &mut self,
        env: &mut Env,
        words: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        let functions = std::mem::take(&mut env.functions);
        let judged = self.run(env, words, stdin);
        env.functions = functions;
        judged
    }

    fn env_wrapper(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[
                ("-u --unset -C --chdir", Does::Data),
                ("-S --split-string", Does::Refused("runs a line that is split once more")),
                ("-P", Does::Refused("looks for programs elsewhere")),
                ("-a --argv0", Does::Refused("runs under another name")),
            ],
            "-i --ignore-environment -v --debug -",
        );
        let own = own_words(call.words, &SPEC);
        let parsed = self.options(env, "env", &call.words[..own], &SPEC)?;
        let mut inner = env.clone();
        if let Some(folder) = parsed.value(&["-C", "--chdir"]) {
            let words = [ShellValue::lit("cd"), folder.clone()];
            self.run(&mut inner, &words, call.stdin)?;
        }
        let mut rest = &call.words[own..];
        while let Some((first, more)) = rest.split_first() {
            let head = first.head();
            if head == "-" && first.text().is_some() {
                rest = more;
                continue;
            }
            let Some((name, _)) = head.split_once('=') else { break };
            self.assigned(&inner, name, &first.tail(name.len() + 1))?;
            rest = more;
        }
        if rest.is_empty() {
            return Err(dump("env"));
        }
        self.plain(&mut inner, rest, call.stdin)
    }

    /// `cross-env NAME=VALUE … COMMAND`.
    fn cross_env(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let mut rest = call.words;
        while let Some((first, more)) = rest.split_first() {
            let Some((name, _)) = first.head().split_once('=') else { break };
            self.assigned(env, name, &first.tail(name.len() + 1))?;
            rest = more;
        }
        match rest.first() {
            None => Ok(ShellOutput::Text(String::new())),
            Some(first) if first.head().starts_with('-') => Err(unseen(call.name)),
            Some(_) => self.plain(env, rest, call.stdin),
        }
    }

    fn command_wrapper(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        let mut rest = call.words;
        while let Some((first, more)) = rest.split_first() {
            match first.text() {
                Some("-v" | "-V" | "-pv" | "-pV") => return Ok(ShellOutput::Opaque),
                Some("-p" | "--") => rest = more,
                Some(text) if text.starts_with('-') => return Err(unseen(call.name)),
                _ => break,
            }
        }
        self.plain(env, rest, call.stdin)
    }

    fn exec(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        match call.words.first() {
            // Redirections only; they were judged already.
            None => Ok(ShellOutput::Text(String::new())),
            Some(first) if first.head().starts_with('-') => Err(unseen("exec")),
            Some(_) => self.plain(env, call.words, call.stdin),
        }
    }

    fn flock(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        spec: &Spec,
    ) -> Result<ShellOutput, Denial> {
        let own = own_words(call.words, spec);
        self.options(env, "flock", &call.words[..own], spec)?;
        let Some((lock, rest)) = call.words[own..].split_first() else {
            return Err(unseen("flock"));
        };
        self.write_value(env, lock, WriteKind::Append)?;
        if rest.first().is_some_and(|word| word.head().starts_with('-')) {
            return Err(unseen("flock"));
        }
        self.plain(env, rest, call.stdin)
    }

    /// Each operand is a line of its own, and so is what runs before and after it.
    fn hyperfine(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const LINES: [&str; 6] = ["-p", "--prepare", "-c", "--cleanup", "-s", "--setup"];
        const SPEC: Spec = Spec::closed(
            &[
                ("-p --prepare -c --cleanup -s --setup", Does::Data),
                (
                    "-w --warmup -m --min-runs -M --max-runs -r --runs -n --command-name --style \
                    --sort -u --time-unit",
                    Does::Data,
                ),
                ("--export-json --export-csv --export-markdown --export-asciidoc", Does::Writes),
            ],
            "-i --ignore-failure -N --show-output",
        );
        let parsed = self.options(env, "hyperfine", call.words, &SPEC)?;
        let options = parsed.options.iter().filter(|(name, _)| LINES.contains(&name.as_str()));
        let lines = options.filter_map(|(_, value)| value.as_ref()).chain(&parsed.operands);
        for line in lines {
            let text = line.text().ok_or_else(|| unseen("hyperfine"))?;
            self.line(&mut env.clone(), text)?;
        }
        Ok(ShellOutput::Opaque)
    }

    fn eval(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let plain: Option<Vec<&str>> = call.words.iter().map(ShellValue::text).collect();
        match plain {
            Some(words) => self.line(env, &words.join(" ")),
            None => {
                Err(Denial::new("shell.opaque", "`eval` runs a line that is not known in advance")
                    .instead("write the command itself"))
            }
        }
    }

    fn shell(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let mut words = call.words;
        let mut inline = false;
        let hidden = || {
            Denial::new("shell.opaque", format!("{} runs a line that cannot be seen", call.name))
                .instead("run the command itself, or a script of the repository")
        };
        while let Some((first, rest)) = words.split_first() {
            let text = first.text().ok_or_else(hidden)?;
            match text {
                "--version" | "--help" => return Ok(ShellOutput::Opaque),
                "--" => {
                    words = rest;
                    break;
                }
                "--norc" | "--noprofile" | "--posix" | "--login" => words = rest,
                "-o" | "+o" | "-O" => words = rest.get(1..).unwrap_or_default(),
                _ if text.starts_with("--") => return Err(hidden()),
                _ if text.starts_with('-') && text.len() > 1 => {
                    let flags = &text[1..];
                    // `-i` reads start-up files, `-s` standard input.
                    if !flags.bytes().all(|flag| b"ceuxvnlfho".contains(&flag)) {
                        return Err(hidden());
                    }
                    inline |= flags.contains('c');
                    words = rest;
                    if flags.contains('o') {
                        words = words.get(1..).unwrap_or_default();
                    }
                }
                _ => break,
            }
        }
        let Some((first, rest)) = words.split_first() else { return Err(hidden()) };
        if inline {
            let line = first.text().ok_or_else(hidden)?.to_owned();
            let mut inner = env.clone();
            inner.for_a_child();
            inner.arguments = Some(rest.get(1..).unwrap_or_default().to_vec());
            inner.stdin = call.stdin.clone();
            return self.line(&mut inner, &line);
        }
        self.script(env, first)?;
        self.deny_secret_args(env, rest)?;
        Ok(ShellOutput::Opaque)
    }

    fn xargs(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[
                (
                    "-n --max-args -P --max-procs -L --max-lines -s -d --delimiter -I -J -R -E",
                    Does::Data,
                ),
                ("-a --arg-file", Does::Reads),
            ],
            "-0 --null -r --no-run-if-empty -t --verbose -x --exit -o",
        );
        let own = own_words(call.words, &SPEC);
        let parsed = self.options(env, "xargs", &call.words[..own], &SPEC)?;
        // Another file, or words that end elsewhere.
        let own_file = parsed.has(&["-a", "--arg-file", "-d", "--delimiter"]);
        let values: Vec<ShellValue> = match call.stdin {
            ShellOutput::Listing(root) if !own_file => {
                vec![ShellValue::one(Seg::Listed(root.clone()))]
            }
            ShellOutput::Tokens if !own_file => vec![ShellValue::one(Seg::Token)],
            ShellOutput::Text(text) if !own_file && !text.contains(['\'', '"', '\\']) => {
                text.split_whitespace().map(ShellValue::lit).collect()
            }
            _ => vec![ShellValue { segs: vec![Seg::Any], splits: true }],
        };
        let mut words: Vec<ShellValue> = call.words[own..].to_vec();
        if words.is_empty() {
            words.push(ShellValue::lit("echo"));
        }
        match parsed.value(&["-I", "-J"]) {
            None => words.extend(values),
            Some(mark) => {
                let mark =
                    mark.text().filter(|mark| !mark.is_empty()).ok_or_else(|| unseen("xargs"))?;
                // Each input is a run of its own.
                for value in values.iter().take(64) {
                    let replaced: Vec<ShellValue> =
                        words.iter().map(|word| replace(word, mark, value)).collect();
                    self.plain(&mut env.clone(), &replaced, &ShellOutput::Opaque)?;
                }
                return if values.len() > 64 {
                    Err(unseen("xargs"))
                } else {
                    Ok(ShellOutput::Opaque)
                };
            }
        }
        self.plain(&mut env.clone(), &words, &ShellOutput::Opaque)
    }
}

/// How many words at the front are the wrapper's own options.
pub(super) fn own_words(words: &[ShellValue], spec: &Spec) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let head = word.head();
        if word.text() == Some("--") {
            return at + 1;
        }
        if !head.starts_with('-') || head == "-" {
            return at;
        }
        at += 1;
        let takes = |option: &str| {
            spec.find(option).is_some_and(|(_, does)| !matches!(does, Does::FlagRefused(_)))
        };
        if head.starts_with("--") {
            at += usize::from(!head.contains('=') && takes(head));
            continue;
        }
        // The first letter that takes a value takes the rest, or the next word.
        let letters: Vec<char> = head.chars().skip(1).collect();
        let taking = letters.iter().position(|letter| takes(&format!("-{letter}")));
        at += usize::from(
            taking.is_some_and(|place| place + 1 == letters.len() && word.text().is_some()),
        );
    }
    at.min(words.len())
}

fn replace(word: &ShellValue, mark: &str, value: &ShellValue) -> ShellValue {
    let mut out = ShellValue { segs: Vec::new(), splits: word.splits };
    for seg in &word.segs {
        match seg {
            Seg::Lit(text) => {
                for (index, part) in text.split(mark).enumerate() {
                    if index > 0 {
                        // One input is one word, whatever is in it.
                        value.segs.iter().cloned().for_each(|seg| out.push(seg));
                    }
                    if !part.is_empty() {
                        out.push(Seg::Lit(part.to_owned()));
                    }
                }
            }
            other => out.push(other.clone()),
        }
    }
    out
}

fn unseen(program: &str) -> Denial {
    Denial::new("shell.opaque", format!("cannot see what {program} runs"))
        .instead("run the command itself")
}
