//! Programs that read files and print: what their options and operands name.

use crate::guard::judge::{Judge, Read};
use crate::guard::refusal::Refusal;
use crate::guard::shell::{Env, Seg, Stream, Value};

mod table;

use super::Call;
use super::options::{Does, Parsed, Spec, lists};
use Does::{Data, Refused};
use table::Operands;
pub(super) use table::{READERS, Reader};

impl Judge<'_> {
    pub(super) fn reads(
        &mut self,
        env: &mut Env,
        call: &Call<'_>,
        reader: &Reader,
    ) -> Result<Stream, Refusal> {
        let jq = matches!(call.name, "jq" | "gojq" | "jaq");
        let words = if jq { self.jq_words(env, call)? } else { call.words.to_vec() };
        let call = &Call { name: call.name, words: &words, stdin: call.stdin };
        if matches!(call.name, "less" | "more") {
            let harmless = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'G');
            let runs = |word: &Value| word.head().strip_prefix('+').is_some_and(|c| !harmless(c));
            if call.words.iter().any(runs) {
                let why = format!("{} +COMMAND runs commands of its own", call.name);
                return Err(Refusal::new("program.option", why).instead("`cat FILE`"));
            }
        }
        let sums = call.name.ends_with("sum") || call.name.starts_with("md5");
        // `-c`, `-C` and `-f` mean something harmless to the others in the row of names.
        let listing = reader.operands == Operands::Names;
        let parsed = if listing && !sums && call.name != "file" && call.name != "wc" {
            super::options::parse(call.name, call.words, &Spec::open(list_options(call.name)))?
        } else if listing && call.name == "wc" {
            self.options(
                env,
                call.name,
                call.words,
                &Spec::open(&[("--files0-from", Refused("reads files that are not named here"))]),
            )?
        } else if reader.operands == Operands::Files
            && matches!(call.name, "cat" | "tac" | "nl" | "rev" | "zcat" | "strings")
        {
            self.options(
                env,
                call.name,
                call.words,
                &Spec::open(if call.name == "nl" { NL } else { &[] }),
            )?
        } else {
            self.options(env, call.name, call.words, &reader.spec)?
        };
        if lists(reader.names, "tar") {
            // Without `-t` it packs or unpacks, also in the old way of writing `tar xf`.
            let lists = parsed.has(&["-t", "--list"])
                && parsed.operands.iter().all(|operand| operand.text().is_some());
            let old = call.words.first().and_then(Value::text).is_some_and(|first| {
                first.contains('t') && first.bytes().all(|letter| b"tvzjJf".contains(&letter))
            });
            if !lists && !old {
                return Err(Refusal::new(
                    "program.option",
                    "tar packs or unpacks files that are not named here",
                )
                .instead("list it: `tar -tf FILE`"));
            }
            self.each(env, &parsed.operands, Read::Name)?;
        }
        match reader.operands {
            Operands::Files => self.each(env, &parsed.operands, Read::Content)?,
            Operands::Trees => self.each(env, &parsed.operands, Read::Tree)?,
            // A sum of a short secret tells the secret.
            Operands::Names if sums => self.each(env, &parsed.operands, Read::Content)?,
            Operands::Names => self.each(env, &parsed.operands, Read::Name)?,
            Operands::Data => {}
            Operands::ThenOutput => {
                for (index, operand) in parsed.operands.iter().enumerate() {
                    if index == 1 {
                        self.write_value(env, operand, crate::guard::judge::Write::Change)?;
                    } else {
                        self.read_value(env, operand, Read::Content)?;
                    }
                }
            }
            Operands::PatternThenFiles => return self.search(env, call, &parsed),
        }
        if reader.filter && parsed.operands.is_empty() {
            return Ok(filtered(call.stdin));
        }
        Ok(match call.name {
            "wc" => Stream::Tokens,
            "cat" if parsed.operands.is_empty() => call.stdin.clone(),
            "ls" => self.listing(env, &parsed),
            _ => Stream::Opaque,
        })
    }

    /// Takes jq's own named arguments out: data stays, files are checked.
    fn jq_words(&mut self, env: &Env, call: &Call<'_>) -> Result<Vec<Value>, Refusal> {
        let mut words = Vec::new();
        let mut rest = call.words.iter();
        while let Some(word) = rest.next() {
            match word.text() {
                Some("--arg" | "--argjson") => {
                    rest.nth(1);
                }
                Some("--slurpfile" | "--rawfile" | "--argfile") => {
                    rest.next();
                    if let Some(file) = rest.next() {
                        self.read_value(env, file, Read::Content)?;
                    }
                }
                Some("--args" | "--jsonargs") => break,
                _ => words.push(word.clone()),
            }
        }
        Ok(words)
    }

    fn each(&mut self, env: &Env, operands: &[Value], read: Read) -> Result<(), Refusal> {
        operands.iter().try_for_each(|operand| {
            if operand.text() == Some("-") { Ok(()) } else { self.read_value(env, operand, read) }
        })
    }

    fn search(
        &mut self,
        env: &mut Env,
        call: &Call<'_>,
        parsed: &Parsed,
    ) -> Result<Stream, Refusal> {
        let mut operands = parsed.operands.as_slice();
        let has_pattern = parsed.has(&[
            "-e",
            "--regexp",
            "-f",
            "--file",
            "--from-file",
            "--files",
            "--type-list",
        ]);
        if !has_pattern && !operands.is_empty() {
            if matches!(call.name, "jq" | "gojq" | "jaq" | "yq") {
                // Their first word is a program of its own.
                filter_program(&operands[0])?;
            }
            operands = &operands[1..];
        }
        let git_aware = matches!(call.name, "rg" | "ripgrep" | "ag" | "ack" | "fd" | "fdfind");
        let greps = call.name.ends_with("grep");
        let recursive = git_aware
            || greps && parsed.has(&["-r", "-R", "--recursive", "--dereference-recursive"])
            || greps
                && parsed.value(&["-d", "--directories"]).and_then(Value::text) == Some("recurse");
        let names_only = matches!(call.name, "fd" | "fdfind");
        let guarded = git_aware && !unhides(call.name, parsed) || includes(parsed);
        let how = match (names_only, recursive, guarded) {
            (true, _, _) => Read::Name,
            (false, true, false) => Read::Tree,
            (false, _, _) => Read::Content,
        };
        if !narrowed(parsed) {
            return Err(Refusal::new(
                "secret.file",
                "the search is aimed at files that may hold secrets",
            ));
        }
        if recursive && operands.is_empty() && !(git_aware && *call.stdin != Stream::Opaque) {
            for cwd in env.cwds.clone() {
                self.read(&cwd, how)?;
            }
        }
        // A search for a word in tracked files is `git grep` under another name.
        let word = |value: &Value| value.text().is_some_and(|text| alphanumerics(text) >= 3);
        let aimed = greps && !has_pattern && parsed.operands.first().is_some_and(word);
        let unsifted = if aimed { std::mem::take(&mut self.unsifted) } else { Default::default() };
        let judged = self.each(env, operands, how);
        self.unsifted.extend(unsifted);
        judged?;
        let lists =
            parsed.has(&["-l", "--files-with-matches", "-L", "--files-without-match", "--files"])
                || names_only;
        if lists {
            return Ok(self.root_of(env, operands));
        }
        if parsed.has(&["-c", "--count"]) && operands.len() <= 1 && !recursive {
            return Ok(Stream::Tokens);
        }
        if operands.is_empty() && !recursive && !parsed.has(&["-o", "--only-matching"]) {
            return Ok(filtered(call.stdin));
        }
        Ok(Stream::Opaque)
    }

    /// What a listing of these operands prints: paths below one folder.
    pub(super) fn root_of(&mut self, env: &Env, operands: &[Value]) -> Stream {
        if env.lost {
            return Stream::Opaque;
        }
        let [cwd] = env.cwds.as_slice() else { return Stream::Opaque };
        let root = match operands {
            [] => cwd.clone(),
            [one] => match one.text() {
                Some(text) => cwd.join(text),
                None => self.policy.workspace.clone(),
            },
            _ => self.policy.workspace.clone(),
        };
        match self.resolve(&root) {
            Ok(real) if self.inside(&real.path) => Stream::Listing(real.path),
            _ => Stream::Opaque,
        }
    }

    fn listing(&mut self, env: &Env, parsed: &Parsed) -> Stream {
        let plain = parsed
            .options
            .iter()
            .all(|(name, _)| matches!(name.as_str(), "-1" | "-d" | "-t" | "-r" | "-S" | "-v"));
        let patterns = parsed
            .operands
            .iter()
            .all(|operand| operand.segs.iter().any(|seg| matches!(seg, Seg::Glob(_))));
        // `ls` of a folder prints bare names; only patterns print paths that can be used as they are.
        if plain
            && patterns
            && !parsed.operands.is_empty()
            && self.each(env, &parsed.operands, Read::Content).is_ok()
        {
            self.root_of(env, &[])
        } else {
            Stream::Opaque
        }
    }
}

fn alphanumerics(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

const NL: &[(&str, Does)] = &[("-b -d -f -h -i -l -n -s -v -w", Data)];

fn list_options(name: &str) -> &'static [(&'static str, Does)] {
    match name {
        "ls" | "gls" | "exa" | "eza" | "lsd" => &[("-I --ignore --hide -w -T -L --color", Data)],
        "du" => &[("-d --max-depth -t --exclude -B", Data)],
        "df" => &[("-B -t -x", Data)],
        "stat" => &[("-c --format --printf -f -t", Data)],
        _ => &[],
    }
}

/// Some of the lines of what comes in.
fn filtered(stdin: &Stream) -> Stream {
    match stdin {
        Stream::Text(text) | Stream::Lines(text) => Stream::Lines(text.clone()),
        other => other.clone(),
    }
}

/// Whether options make a search look into hidden and ignored files.
fn unhides(program: &str, parsed: &Parsed) -> bool {
    match program {
        "rg" | "ripgrep" => parsed.has(&[
            "--hidden",
            "-.",
            "-u",
            "--unrestricted",
            "--no-ignore",
            "--no-ignore-vcs",
            "--no-ignore-dot",
        ]),
        "ag" | "ack" => {
            parsed.has(&["--hidden", "-u", "--unrestricted", "-a", "--all-types", "--all-text"])
        }
        _ => false,
    }
}

/// Whether an `--include` says which files are searched.
fn includes(parsed: &Parsed) -> bool {
    parsed.has(&["--include"])
}

/// Whether no glob of the search is aimed at secrets.
fn narrowed(parsed: &Parsed) -> bool {
    parsed
        .options
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "--include" | "-g" | "--glob" | "--iglob"))
        .filter_map(|(_, value)| value.as_ref())
        .all(|value| {
            // Left unquoted, the shell leaves it as it is, or no file would be called so.
            let shown = value.show();
            !value.is_open() && (shown.starts_with('!') || !aims_at_secrets(&shown))
        })
}

/// Whether a glob spells part of a secret's name.
pub(in crate::guard::programs) fn aims_at_secrets(glob: &str) -> bool {
    let last = glob.rsplit('/').next().unwrap_or(glob);
    if last.chars().filter(|c| c.is_alphanumeric()).count() == 0 {
        return last.starts_with('.');
    }
    globset::GlobBuilder::new(last).case_insensitive(true).build().map_or(true, |glob| {
        let matcher = glob.compile_matcher();
        crate::guard::secrets::EXAMPLES.iter().any(|name| matcher.is_match(name))
    })
}

/// Refuses a jq or yq program that reads the environment or other files.
fn filter_program(program: &Value) -> Result<(), Refusal> {
    let Some(text) = program.text() else {
        return Err(Refusal::new("shell.unknown-word", "the filter is not known"));
    };
    let words =
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '.'));
    for word in words {
        if matches!(
            word,
            "env"
                | "$ENV"
                | "strenv"
                | "envsubst"
                | "load"
                | "load_str"
                | "include"
                | "import"
                | "$__prog_args"
                | "system"
        ) || word.starts_with("$ENV.")
            || word.starts_with("env.")
        {
            return Err(Refusal::new(
                "env.dump",
                "the filter reads the environment or other files",
            ));
        }
    }
    Ok(())
}
