//! Programs that read files and print: what their options and operands name.

use crate::guard::call_context::{COST_OF_A_GLOB, ReadKind};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::secrets;
use crate::guard::shell::{Env, Judge, Seg, ShellOutput, ShellValue, widened};

mod archive;

use std::path::{Path, PathBuf};

use super::call::ProgramCall;
use super::options::Parsed;
use crate::guard::tables::readers::{Operands, Reader};
use crate::guard::tables::spec::{Does, Spec, lists};
use Does::{Data, Refused};

impl Judge<'_> {
    pub(super) fn reads(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        reader: &Reader,
    ) -> Result<ShellOutput, Denial> {
        let jq = matches!(call.name, "jq" | "gojq" | "jaq");
        let words = if jq { self.jq_words(env, call)? } else { call.words.to_vec() };
        let call = &ProgramCall { name: call.name, words: &words, stdin: call.stdin };
        if lists(reader.names, "tar") && archive::packs(call.words) {
            return self.packed(env, call);
        }
        if matches!(call.name, "less" | "more") {
            let harmless = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'G');
            let runs =
                |word: &ShellValue| word.head().strip_prefix('+').is_some_and(|c| !harmless(c));
            if call.words.iter().any(runs) {
                let why = format!("{} +COMMAND runs commands of its own", call.name);
                return Err(Denial::new("program.option", why).instead("`cat FILE`"));
            }
        }
        let sums = is_sum(call.name);
        let parsed = self.reader_options(env, call, reader)?;
        if lists(reader.names, "tar") {
            archive::only_lists(call.words, &parsed)?;
            self.each(env, &parsed.operands, ReadKind::Name)?;
        }
        match reader.operands {
            Operands::Files => self.each(env, &parsed.operands, ReadKind::Content)?,
            Operands::Trees => self.each(env, &parsed.operands, ReadKind::Tree)?,
            // A sum of a short secret tells the secret.
            Operands::Names if sums => self.each(env, &parsed.operands, ReadKind::Content)?,
            Operands::Names => self.each(env, &parsed.operands, ReadKind::Name)?,
            Operands::Data => {}
            Operands::ThenOutput => {
                for (index, operand) in parsed.operands.iter().enumerate() {
                    if index == 1 {
                        self.write_value(
                            env,
                            operand,
                            crate::guard::call_context::WriteKind::Change,
                        )?;
                    } else {
                        self.read_value(env, operand, ReadKind::Content)?;
                    }
                }
            }
            Operands::PatternThenFiles => return self.search(env, call, &parsed),
        }
        let empty = |operand: &ShellValue| operand.text() == Some("/dev/null");
        let files = matches!(reader.operands, Operands::Files | Operands::ThenOutput);
        let reads_nothing = match parsed.operands.as_slice() {
            [] => call.stdin.is_empty(),
            // The operands of `tr` are no files.
            operands => operands.iter().all(empty) || call.name == "tr" && call.stdin.is_empty(),
        };
        let none = parsed.value(&["-n", "--lines", "-c", "--bytes"]).and_then(ShellValue::text);
        let takes_none =
            matches!(call.name, "head" | "ghead" | "tail" | "gtail") && none == Some("0");
        // What reads nothing prints nothing, but dumps tell where it ends.
        if files && reads_nothing && !matches!(call.name, "od" | "hexdump" | "hd") || takes_none {
            return Ok(ShellOutput::Text(String::new()));
        }
        if reader.filter && parsed.operands.is_empty() {
            // Part of a line names another file.
            let cut = parsed.has(&["-c", "--bytes"]) && call.name != "uniq";
            return Ok(if cut { ShellOutput::Opaque } else { filtered(call.stdin) });
        }
        Ok(match call.name {
            "wc" if parsed.operands.is_empty() => ShellOutput::Tokens,
            "cat" if parsed.operands.is_empty() => call.stdin.clone(),
            "ls" => self.listing(env, &parsed),
            _ => ShellOutput::Opaque,
        })
    }

    /// Judges the options of a reader, with the table that fits its name.
    fn reader_options(
        &mut self,
        env: &Env,
        call: &ProgramCall<'_>,
        reader: &Reader,
    ) -> Result<Parsed, Denial> {
        let sums = is_sum(call.name);
        // `-c`, `-C` and `-f` mean something harmless to the others in the row of names.
        let listing = reader.operands == Operands::Names;
        if listing && !sums && call.name != "file" && call.name != "wc" {
            let spec = Spec::open(list_options(call.name));
            let parsed = super::options::parse(call.name, call.words, &spec)?;
            for (name, _) in &parsed.options {
                if let Some((_, Refused(why))) = spec.find(name) {
                    let why = format!("{} {name} {why}", call.name);
                    return Err(Denial::new("program.option", why));
                }
            }
            Ok(parsed)
        } else if listing && call.name == "wc" {
            self.options(
                env,
                call.name,
                call.words,
                &Spec::open(&[("--files0-from", Refused("reads files that are not named here"))]),
            )
        } else if reader.operands == Operands::Files
            && matches!(call.name, "cat" | "tac" | "nl" | "rev" | "zcat" | "strings")
        {
            self.options(
                env,
                call.name,
                call.words,
                &Spec::open(if call.name == "nl" { NL } else { &[] }),
            )
        } else {
            self.options(env, call.name, call.words, &reader.spec)
        }
    }

    /// Takes jq's own named arguments out: data stays, files are checked.
    fn jq_words(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<Vec<ShellValue>, Denial> {
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
                        self.read_value(env, file, ReadKind::Content)?;
                    }
                }
                Some("--args" | "--jsonargs") => break,
                _ => words.push(word.clone()),
            }
        }
        Ok(words)
    }

    fn each(&mut self, env: &Env, operands: &[ShellValue], read: ReadKind) -> Result<(), Denial> {
        operands.iter().try_for_each(|operand| {
            if operand.text() == Some("-") { Ok(()) } else { self.read_value(env, operand, read) }
        })
    }

    fn search(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        parsed: &Parsed,
    ) -> Result<ShellOutput, Denial> {
        let mut operands = parsed.operands.as_slice();
        let filters = matches!(call.name, "jq" | "gojq" | "jaq" | "yq");
        // `-e` of those is about their exit code, and `-f` of yq about a file's front.
        let has_pattern = match call.name {
            "yq" => parsed.has(&["--from-file"]),
            _ if filters => parsed.has(&["-f", "--from-file"]),
            _ => parsed.has(&["-e", "--regexp", "-f", "--file", "--files", "--type-list"]),
        };
        if call.name == "yq" {
            // A program that is no file may stand behind a command or an option's value.
            let verb =
                |word: &ShellValue| matches!(word.text(), Some("e" | "eval" | "ea" | "eval-all"));
            operands = &operands[usize::from(operands.first().is_some_and(verb))..];
            let program = |word: &&ShellValue| word.show().contains(['(', '|', '$']);
            operands.iter().filter(program).try_for_each(filter_program)?;
            if let Some(text) = operands.first().and_then(ShellValue::text) {
                self.read_if_file(env, text)?;
            }
        }
        if !has_pattern && !operands.is_empty() {
            if filters {
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
                && parsed.options.iter().any(|(name, value)| {
                    // Any beginning of `recurse` will do.
                    matches!(name.as_str(), "-d" | "--directories")
                        && !value
                            .as_ref()
                            .and_then(ShellValue::text)
                            .is_some_and(|how| lists("read skip", how))
                });
        let names_only = matches!(call.name, "fd" | "fdfind");
        // A glob that says which files are searched takes hidden and ignored ones along.
        let lifts = git_aware && !names_only && self.includes_secret(env, parsed, operands);
        let guarded = git_aware && !lifts && !unhides(call.name, parsed)
            || greps && self.includes_no_secret(env, parsed, operands);
        let how = match (names_only, recursive, guarded) {
            (true, _, _) => ReadKind::Name,
            (false, true, false) => ReadKind::Tree,
            (false, _, _) => ReadKind::Content,
        };
        self.cx.spend(globs(parsed).count() * COST_OF_A_GLOB)?;
        if !narrowed(parsed) {
            return Err(Denial::new(
                "secret.file",
                "the search is aimed at files that may hold secrets",
            ));
        }
        if recursive && operands.is_empty() && !(git_aware && *call.stdin != ShellOutput::Opaque) {
            for cwd in env.cwds.clone() {
                self.cx.read(&cwd, how)?;
            }
        }
        // A search for a word in tracked files is `git grep` under another name.
        let word = |value: &ShellValue| value.text().is_some_and(|text| alphanumerics(text) >= 3);
        let aimed = greps && !has_pattern && parsed.operands.first().is_some_and(word);
        let unsifted = if aimed { self.cx.take_unsifted() } else { Default::default() };
        let judged = self.each(env, operands, how);
        self.cx.put_unsifted(unsifted);
        judged?;
        let names_files =
            parsed.has(&["-l", "--files-with-matches", "-L", "--files-without-match", "--files"])
                || names_only;
        if names_files {
            return Ok(self.root_of(env, operands));
        }
        let bare = |(name, _): &(String, Option<ShellValue>)| {
            lists("-c --count -i -v -w -x -E -F -P -e -s -h", name)
        };
        if parsed.has(&["-c", "--count"])
            && operands.len() <= 1
            && !recursive
            && parsed.options.iter().all(bare)
        {
            return Ok(ShellOutput::Tokens);
        }
        if operands.is_empty() && !recursive && !parsed.has(&["-o", "--only-matching"]) {
            return Ok(filtered(call.stdin));
        }
        Ok(ShellOutput::Opaque)
    }

    /// Judges the read of a word that is a program for `yq`, unless a file of that name exists.
    fn read_if_file(&mut self, env: &Env, text: &str) -> Result<(), Denial> {
        for path in env.cwds.iter().map(|cwd| cwd.join(text)).collect::<Vec<_>>() {
            if self.cx.resolve(&path)?.kind == FileKind::File {
                self.cx.read(&path, ReadKind::Content)?;
            }
        }
        Ok(())
    }

    /// Whether an `--include` says which files are searched, and none of them is a secret.
    fn includes_no_secret(&mut self, env: &Env, parsed: &Parsed, operands: &[ShellValue]) -> bool {
        let globs: Vec<String> = includes(parsed).map(ShellValue::show).collect();
        // `*` says nothing.
        if globs.is_empty() || globs.iter().any(|glob| alphanumerics(glob) == 0) {
            return false;
        }
        !self.meets_secret(env, operands, |path| {
            let name = path.file_name().unwrap_or_default();
            globs.iter().any(|glob| fits(glob, Path::new(name)))
        })
    }

    /// Whether a secret that is there fits a glob of the files that are searched.
    fn includes_secret(&mut self, env: &Env, parsed: &Parsed, operands: &[ShellValue]) -> bool {
        let all: Vec<String> = globs(parsed).map(ShellValue::show).collect();
        let wanted: Vec<&String> = all.iter().filter(|glob| !glob.starts_with('!')).collect();
        if wanted.is_empty() {
            return false;
        }
        self.meets_secret(env, operands, |path| wanted.iter().any(|glob| names(glob, path)))
    }

    /// Whether a secret that is there below one of these folders is meant; below where one
    /// stands, if there are none.
    pub(in crate::guard::programs) fn meets_secret(
        &mut self,
        env: &Env,
        roots: &[ShellValue],
        means: impl Fn(&Path) -> bool,
    ) -> bool {
        let here = [ShellValue::lit(".")];
        let roots = if roots.is_empty() { &here } else { roots };
        roots.iter().any(|root| {
            let shown = PathBuf::from(root.show());
            let Ok(folders) = self.paths(env, root) else { return true };
            folders.iter().any(|folder| {
                self.cx
                    .entries(folder)
                    .secrets
                    .iter()
                    .any(|entry| means(&shown.join(entry.strip_prefix(folder).unwrap_or(entry))))
            })
        })
    }

    /// What a listing of these operands prints: paths below one folder.
    pub(super) fn root_of(&mut self, env: &Env, operands: &[ShellValue]) -> ShellOutput {
        if env.lost {
            return ShellOutput::Opaque;
        }
        let [cwd] = env.cwds.as_slice() else { return ShellOutput::Opaque };
        let root = match operands {
            [] => cwd.clone(),
            [one] => match one.text() {
                Some(text) => cwd.join(text),
                None => self.cx.policy().workspace.clone(),
            },
            _ => self.cx.policy().workspace.clone(),
        };
        match self.cx.resolve(&root) {
            Ok(real) if self.cx.inside(&real.path) => ShellOutput::Listing(real.path),
            _ => ShellOutput::Opaque,
        }
    }

    fn listing(&mut self, env: &Env, parsed: &Parsed) -> ShellOutput {
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
            && self.each(env, &parsed.operands, ReadKind::Content).is_ok()
        {
            self.root_of(env, &[])
        } else {
            ShellOutput::Opaque
        }
    }
}

/// Does a program of this name print checksums?
fn is_sum(name: &str) -> bool {
    name.ends_with("sum") || name.starts_with("md5")
}

fn alphanumerics(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

const NL: &[(&str, Does)] = &[("-b -d -f -h -i -l -n -s -v -w", Data)];

fn list_options(name: &str) -> &'static [(&'static str, Does)] {
    match name {
        "ls" | "gls" | "exa" | "eza" | "lsd" => &[("-I --ignore --hide -w -T -L --color", Data)],
        "du" => &[
            ("-d --max-depth -t --exclude -B", Data),
            ("--files0-from", Refused("reads files that are not named here")),
        ],
        "df" => &[("-B -t -x", Data)],
        "stat" => &[("-c --format --printf -f -t", Data)],
        _ => &[],
    }
}

/// Some of the lines of what comes in.
fn filtered(stdin: &ShellOutput) -> ShellOutput {
    match stdin {
        ShellOutput::Text(text) | ShellOutput::Lines(text) => ShellOutput::Lines(text.clone()),
        other => other.clone(),
    }
}

/// Whether options make a search look into hidden and ignored files.
fn unhides(program: &str, parsed: &Parsed) -> bool {
    match program {
        "rg" | "ripgrep" => {
            parsed.has(&["--hidden", "-.", "-u", "--unrestricted"])
                || parsed.options.iter().any(|(name, _)| name.starts_with("--no-ignore"))
        }
        "ag" | "ack" => {
            parsed.has(&["--hidden", "-u", "--unrestricted", "-a", "--all-types", "--all-text"])
        }
        _ => false,
    }
}

/// The globs of the files that are searched.
fn includes(parsed: &Parsed) -> impl Iterator<Item = &ShellValue> {
    parsed
        .options
        .iter()
        .filter(|(name, _)| name == "--include")
        .filter_map(|(_, glob)| glob.as_ref())
}

/// Whether no glob of the search is aimed at secrets.
fn narrowed(parsed: &Parsed) -> bool {
    globs(parsed).all(|value| {
        // Left unquoted, the shell leaves it as it is, or no file would be called so.
        let shown = value.show();
        !value.is_open() && (shown.starts_with('!') || !aims_at_secrets(&shown))
    })
}

/// The globs that say which files a search looks into.
fn globs(parsed: &Parsed) -> impl Iterator<Item = &ShellValue> {
    let options = parsed.options.iter();
    let names = options
        .filter(|(name, _)| matches!(name.as_str(), "--include" | "-g" | "--glob" | "--iglob"));
    names.filter_map(|(_, value)| value.as_ref())
}

/// Whether a glob, in which `*` also stands for slashes, fits a path; one that is not
/// understood fits everything.
pub(in crate::guard::programs) fn fits(glob: &str, path: &Path) -> bool {
    globset::GlobBuilder::new(&widened(glob))
        .case_insensitive(true)
        .build()
        .map_or(true, |glob| glob.compile_matcher().is_match(path))
}

/// Whether a glob that says which files are searched fits one of them: without a slash by
/// its name, else by its path.
pub(in crate::guard) fn names(glob: &str, path: &Path) -> bool {
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    let path = path.strip_prefix("./").unwrap_or(path);
    let name = Path::new(path.file_name().unwrap_or_default());
    fits(glob, if glob.contains('/') { path } else { name })
}

/// Whether a glob spells part of a secret's name.
pub(in crate::guard) fn aims_at_secrets(glob: &str) -> bool {
    let glob = widened(glob);
    let last = glob.rsplit('/').next().unwrap_or(&glob);
    if last.chars().filter(|c| c.is_alphanumeric()).count() == 0 {
        return last.starts_with('.');
    }
    if secrets::file_name(&last.replace(['*', '?'], "x")) {
        return true;
    }
    globset::GlobBuilder::new(last).case_insensitive(true).build().map_or(true, |glob| {
        let matcher = glob.compile_matcher();
        secrets::EXAMPLES.iter().any(|name| matcher.is_match(name))
    })
}

/// Refuses a jq or yq program that reads the environment or other files.
fn filter_program(program: &ShellValue) -> Result<(), Denial> {
    let Some(text) = program.text() else {
        return Err(Denial::new("shell.unknown-word", "cannot tell what the filter is"));
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
            return Err(Denial::new("env.dump", "the filter reads the environment or other files"));
        }
    }
    Ok(())
}
