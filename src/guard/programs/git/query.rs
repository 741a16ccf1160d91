//! The git commands that only look.

use std::path::Path;

use crate::guard::call_context::{COST_OF_A_GLOB, ReadKind, secret};
use crate::guard::denial::Denial;
use crate::guard::programs::call::ProgramCall;
use crate::guard::programs::options::{Parsed, parse};
use crate::guard::secrets;
use crate::guard::shell::{Env, Judge, Seg, ShellOutput, ShellValue};
use crate::guard::tables::spec::{Does, Spec, lists};

use Does::{Data, FlagRefused, Reads, Refused, Writes};

const RUNS: &str = "runs a program";

/// Options of git's looking commands that do more than look.
const LOOKS: Spec = Spec::open(&[
    ("--output", Writes),
    ("--ext-diff --textconv", FlagRefused(RUNS)),
    ("--open-files-in-pager --exec --upload-pack", Refused(RUNS)),
    ("--contents --ignore-revs-file --pathspec-from-file --exclude-from", Reads),
    ("--remote", Refused("talks to a remote")),
    ("--show-signature", FlagRefused("runs gpg")),
    (
        "--path-format -n --max-count --skip --since --after --until --before --author \
                --committer --grep --format --pretty --date -L -S -G -U --unified --diff-filter --stat \
                --color --word-diff --decorate --abbrev --sort -I --inter-hunk-context",
        Data,
    ),
]);

/// Options that take a value only when it is attached, as in `--stat=100`.
const ATTACHED: &str = "--stat --color --word-diff --decorate --abbrev --pretty --format --unified --since \
            --until --after --before --author --committer --grep --date --max-count --skip \
            --diff-filter --sort --output-indicator-new";

impl Judge<'_> {
    pub(super) fn git_query(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Option<Result<ShellOutput, Denial>> {
        Some(match call.name {
            "status" | "log" | "show" | "diff" | "blame" | "annotate" | "shortlog" | "describe"
            | "rev-list" | "ls-files" | "ls-tree" | "cat-file" | "name-rev" | "merge-base"
            | "cherry" | "range-diff" | "diff-tree" | "diff-index" | "diff-files"
            | "for-each-ref" | "show-ref" | "show-branch" | "count-objects" | "fsck"
            | "whatchanged" | "version" | "check-ignore" | "check-attr" | "check-mailmap"
            | "check-ref-format" | "verify-commit" | "verify-tag" | "help" | "grep"
            | "rev-parse" | "merge-tree" | "patch-id" | "stripspace" | "interpret-trailers" => {
                self.looks(env, call)
            }
            "branch" | "tag" => self.lists(call, LISTS),
            "remote" => {
                self.words_only(call, &["-v", "--verbose", "show", "get-url", "-n"], "git.config")
            }
            "stash" => {
                let loses =
                    |word: &ShellValue| matches!(word.text(), None | Some("drop" | "clear"));
                let lost = call.words.iter().any(loses);
                let rule = if lost { "git.destructive" } else { "git.stash" };
                self.first_word(call, &["list", "show"], rule).and_then(|_| {
                    self.looks(env, &ProgramCall { words: &call.words[1..], ..*call })
                })
            }
            "reflog" => self.first_word(call, &["show", "exists", "HEAD"], "git.destructive"),
            "worktree" => self.first_word(call, &["list"], "git.branch"),
            "notes" => self.first_word(call, &["list", "show"], "git.internals"),
            "config" => self.config(call),
            // With more than one name they write.
            "symbolic-ref" => self.names_one(env, call, "-q --quiet --short --no-recurse"),
            "hash-object" => self.names_one(env, call, ""),
            // It applies nothing where it is asked to look.
            "apply"
                if call.words.first().is_some_and(|word| {
                    matches!(word.text(), Some("--check" | "--stat" | "--numstat" | "--summary"))
                }) =>
            {
                self.names_one(env, call, "--check --stat --numstat --summary")
            }
            "apply" => Err(Denial::new("git.opaque", "it writes files that the guard cannot see")
                .instead("use the edit tool, or look with `git apply --stat FILE`")),
            "var" => {
                let idents = "GIT_AUTHOR_IDENT GIT_COMMITTER_IDENT GIT_DEFAULT_BRANCH GIT_EDITOR";
                let asks = |word: &ShellValue| word.text().is_some_and(|name| lists(idents, name));
                if call.words.len() == 1 && call.words.iter().all(asks) {
                    Ok(ShellOutput::Opaque)
                } else {
                    Err(Denial::new("git.config", "git var prints how git is set up")
                        .instead("`git var GIT_AUTHOR_IDENT`"))
                }
            }
            _ => return None,
        })
    }

    fn looks(&mut self, env: &mut Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let words: Vec<ShellValue> = call
            .words
            .iter()
            .map(|word| match word.text() {
                // LayerSettings apart, the next word is not its value.
                Some(text) if lists(ATTACHED, text) && takes_only_attached(text, call.name) => {
                    ShellValue::lit(format!("{text}="))
                }
                _ => word.clone(),
            })
            .collect();
        if call.name == "grep" {
            let pager = words.iter().any(|word| {
                let head = word.head();
                let shortened =
                    |option: &str, least: &str| option.starts_with(head) && head.starts_with(least);
                head.starts_with("-O")
                    || head.starts_with("--open")
                    || shortened("--no-index", "--no-i")
                    || shortened("--untracked", "--unt")
            });
            if pager {
                return Err(Denial::new(
                    "git.option",
                    "this option of git grep runs a pager or leaves the tracked files",
                )
                .instead("run git grep without it"));
            }
        }
        if call.name == "help"
            && words.iter().any(|word| matches!(word.head(), "-w" | "--web" | "-i" | "--info"))
        {
            return Err(Denial::new("git.option", "it starts a browser or a reader"));
        }
        let outside = words.iter().any(|word| word.text() == Some("--no-index"));
        if call.name == "diff" && outside {
            if words.iter().any(|word| word.head().starts_with("--out")) {
                return Err(Denial::new("git.option", "it writes a file; use `diff`"));
            }
            // It is `diff` under another name.
            let files: Vec<ShellValue> = std::iter::once(ShellValue::lit("diff"))
                .chain(words.iter().filter(|word| !word.head().starts_with('-')).cloned())
                .collect();
            self.run(env, &files, call.stdin)?;
        }
        if matches!(call.name, "interpret-trailers")
            && words.iter().any(|word| word.head().starts_with("--in"))
        {
            return Err(Denial::new("git.option", "it changes files in place"));
        }
        let parsed = match call.name {
            // Letters mean other things here.
            "grep" | "ls-files" | "ls-tree" | "status" | "show-ref" | "rev-parse" | "describe"
            | "cat-file" | "shortlog" | "check-ignore" | "blame" | "annotate" => self.options(
                env,
                call.name,
                &words,
                match call.name {
                    "grep" => &GREP,
                    "blame" | "annotate" => &BLAME,
                    _ => &SHORT,
                },
            )?,
            _ => self.options(env, call.name, &words, &LOOKS)?,
        };
        let mut operands = parsed.operands.as_slice();
        if call.name == "grep" && !parsed.has(&["-e", "-f"]) {
            operands = operands.get(1..).unwrap_or_default();
        }
        for operand in operands {
            self.revision_or_path(env, operand)?;
        }
        Ok(self.printed(env, call, &parsed))
    }

    /// Refuses what names a secret, by path or inside a commit, or lies outside.
    pub(super) fn revision_or_path(
        &mut self,
        env: &Env,
        operand: &ShellValue,
    ) -> Result<(), Denial> {
        let Some(text) = operand.text() else {
            if operand.is_open() {
                return Err(Denial::new(
                    "path.unknown",
                    format!("cannot tell what `{}` names", operand.show()),
                )
                .instead("name the file or the commit"));
            }
            return if operand.segs.iter().any(|seg| matches!(seg, Seg::Glob(_))) {
                self.read_value(env, operand, ReadKind::Content)
            } else {
                Ok(())
            };
        };
        let magic = text.strip_prefix(':').map(|rest| rest.trim_start_matches(['/', '!', '^']));
        let named = match text.split_once(':') {
            Some((_, path)) if magic.is_none_or(|rest| !rest.starts_with('(')) => {
                path.trim_start_matches(['/', '!', '^', ':'])
            }
            Some(_) => text.rsplit(')').next().unwrap_or(text),
            None => text,
        };
        let excluded =
            text.starts_with(":!") || text.starts_with(":^") || text.starts_with(":(exclude");
        if named.contains(['*', '?']) {
            self.cx.spend(COST_OF_A_GLOB)?;
        }
        if !excluded
            && (secrets::path(Path::new(named))
                || named.contains(['*', '?']) && super::super::readers::aims_at_secrets(named))
        {
            return Err(secret(Path::new(named)));
        }
        if text.starts_with(['/', '~', '.']) && !text.contains(':') && !text.starts_with("..") {
            return self.read_value(env, operand, ReadKind::Content);
        }
        if text.starts_with("../") {
            return self.read_value(env, operand, ReadKind::Name);
        }
        Ok(())
    }

    fn printed(&mut self, env: &Env, call: &ProgramCall<'_>, parsed: &Parsed) -> ShellOutput {
        let names = parsed.has(&["--name-only", "-l", "--files-with-matches"]);
        match call.name {
            // Any other option may list what is not tracked, or more than names.
            "ls-files"
                if parsed.options.iter().all(|(name, _)| {
                    lists(
                        "-z -c --cached -m --modified -d --deleted --full-name --error-unmatch \
                        --exclude-standard --deduplicate --recurse-submodules",
                        name,
                    )
                }) =>
            {
                self.tracked(env, &parsed.operands)
            }
            "grep" if names && parsed.operands.len() <= 1 => self.tracked(env, &[]),
            "diff" if names && parsed.operands.iter().all(|word| !word.head().contains('/')) => {
                self.tracked(env, &[])
            }
            "rev-parse" => match call.words {
                [one] if one.text() == Some("--show-toplevel") => {
                    ShellOutput::Text(self.cx.policy().workspace.to_string_lossy().into_owned())
                }
                [one] if one.text() == Some("HEAD") => ShellOutput::Tokens,
                // It prints one hash or nothing, as long as it is asked for nothing else.
                words
                    if words.iter().any(|word| word.head().starts_with("--short"))
                        && words.iter().all(|word| {
                            let name = word.head().split('=').next().unwrap_or_default();
                            !name.starts_with('-') || lists("--short --verify -q --quiet", name)
                        }) =>
                {
                    ShellOutput::Tokens
                }
                _ => ShellOutput::Opaque,
            },
            "rev-list" if parsed.has(&["--count"]) => ShellOutput::Tokens,
            _ => ShellOutput::Opaque,
        }
    }

    /// Commands that only look as long as they get one name and these flags.
    fn names_one(
        &mut self,
        env: &Env,
        call: &ProgramCall<'_>,
        flags: &'static str,
    ) -> Result<ShellOutput, Denial> {
        let parsed = parse(call.name, call.words, &Spec::closed(&[], flags))?;
        let [name] = parsed.operands.as_slice() else {
            return Err(Denial::new(
                "git.internals",
                format!("git {} with more than one name changes git's own data", call.name),
            ));
        };
        if call.name != "symbolic-ref" {
            self.read_value(env, name, ReadKind::Content)?;
        }
        Ok(ShellOutput::Opaque)
    }

    /// `git branch` and `git tag`, as far as they list.
    fn lists(
        &mut self,
        call: &ProgramCall<'_>,
        flags: &'static str,
    ) -> Result<ShellOutput, Denial> {
        let refuse = |what: &str| {
            let loses = what.starts_with('-') && what.contains(['D', 'f', 'M', 'C', 'd']);
            Denial::new(
                if loses { "git.destructive" } else { "git.branch" },
                format!("git {} {what} makes, moves or removes a name", call.name),
            )
            .instead(format!("list them: `git {} --list`", call.name))
        };
        let mut listing = call.words.is_empty();
        for word in call.words {
            let text = word.text().ok_or_else(|| refuse("…"))?;
            let name = text.split('=').next().unwrap_or(text);
            let lines = call.name == "tag"
                && name.strip_prefix("-n").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
            if lists(flags, name) || lines {
                listing = true;
            } else if text.starts_with('-') || !listing {
                return Err(refuse(text));
            }
        }
        // `git branch -v name` would make a branch: names need an option that lists.
        let names = call.words.iter().any(|word| !word.head().starts_with('-'));
        let filters = call.words.iter().any(|word| {
            let name = word.head().split('=').next().unwrap_or_default();
            matches!(
                name,
                "--list"
                    | "-l"
                    | "--contains"
                    | "--no-contains"
                    | "--merged"
                    | "--no-merged"
                    | "--points-at"
                    | "--sort"
                    | "--format"
                    | "-n"
            )
        });
        if names && !filters { Err(refuse("NAME")) } else { Ok(ShellOutput::Opaque) }
    }

    fn words_only(
        &mut self,
        call: &ProgramCall<'_>,
        words: &[&str],
        rule: &'static str,
    ) -> Result<ShellOutput, Denial> {
        // `git remote -v update` updates.
        let flags = |word: &&ShellValue| matches!(word.text(), Some("-v" | "--verbose"));
        let behind = call.words.iter().skip_while(flags).map(ShellValue::text).next();
        let first = call.words.first().and_then(ShellValue::text);
        let first = behind.unwrap_or(first);
        if call.words.is_empty() || first.is_some_and(|first| words.contains(&first)) {
            let network = first == Some("show")
                && !call.words.iter().any(|word| word.text() == Some("-n"))
                && call.words.len() > 1;
            return if network {
                Err(Denial::new("git.network", "git remote show asks the remote")
                    .instead("`git remote -v`"))
            } else {
                Ok(ShellOutput::Opaque)
            };
        }
        Err(Denial::new(rule, format!("git {} changes more than it shows", call.name))
            .instead("`git remote -v`"))
    }

    fn first_word(
        &mut self,
        call: &ProgramCall<'_>,
        words: &[&str],
        rule: &'static str,
    ) -> Result<ShellOutput, Denial> {
        match call.words.first() {
            Some(first) if first.text().is_some_and(|text| words.contains(&text)) => {
                Ok(ShellOutput::Opaque)
            }
            None if call.name == "reflog" => Ok(ShellOutput::Opaque),
            // `git reflog -5` shows; what deletes is a word of its own.
            Some(first) if call.name == "reflog" && first.head().starts_with('-') => {
                self.first_word(&ProgramCall { words: &call.words[1..], ..*call }, words, rule)
            }
            _ => Err(Denial::new(rule, format!("git {} changes what is kept", call.name))
                .instead("commit instead: `git add -A && git commit -m '…'`")),
        }
    }

    fn config(&mut self, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[("--default --type", Data)],
            "--get --get-all --local --bool --int --path -z --null --show-origin --show-scope \
            --name-only",
        );
        let refuse = || {
            Denial::new(
                "git.config",
                "git config changes how git works, or prints what may hold a token",
            )
            .instead("read one value: `git config --get user.name`")
        };
        let verb = call.words.first().and_then(ShellValue::text).unwrap_or_default();
        let lists_names = matches!(verb, "list" | "-l" | "--list" | "--name-only")
            && call.words.iter().any(|word| word.text() == Some("--name-only"))
            && call.words.iter().any(|word| matches!(word.text(), Some("list" | "-l" | "--list")))
            && call
                .words
                .iter()
                .all(|word| word.text().is_some_and(|word| lists(LISTS_NAMES, word)));
        if lists_names {
            return Ok(ShellOutput::Opaque);
        }
        let (searches, words): (Vec<_>, Vec<_>) =
            call.words.iter().partition(|word| word.text() == Some("--get-regexp"));
        let words: Vec<ShellValue> = words.into_iter().cloned().collect();
        let parsed = parse("git config", &words, &SPEC).map_err(|_| refuse())?;
        let name = match parsed.operands.as_slice() {
            [verb, name] if verb.text() == Some("get") => name,
            [name] => name,
            _ => return Err(refuse()),
        };
        let name = name.text().ok_or_else(refuse)?.to_lowercase();
        let tells = [
            "token",
            "extraheader",
            "password",
            "credential",
            "helper",
            "secret",
            "http.",
            "sendemail",
            "insteadof",
        ];
        // A search shows whatever it fits: only one that begins with a section is known.
        let section = name.trim_start_matches('^').split(['.', '\\']).next().unwrap_or_default();
        let known = lists(SECTIONS, section);
        let fine = if searches.is_empty() { name.contains('.') } else { known };
        if !fine || tells.iter().any(|word| name.contains(word)) {
            Err(refuse())
        } else {
            Ok(ShellOutput::Opaque)
        }
    }
}

/// What makes `git config` show names and no values.
const LISTS_NAMES: &str = "list -l --list --name-only --local -z --null --show-scope --show-origin";

/// Sections of git's settings that hold no tokens.
const SECTIONS: &str = "user core branch color diff merge log status commit tag push pull fetch rebase \
            alias init format i18n column advice apply blame grep rerere gc pack index feature";

const LISTS: &str = "-a --all -r --remotes -v -vv --verbose -l --list --show-current --contains --no-contains \
            --merged --no-merged --points-at --sort --format --column --no-column --color --no-color \
            -i --ignore-case --abbrev -n";

const GREP: Spec = Spec::open(&[
    (
        "-e -m --max-count -A -B -C --after-context --before-context --context --max-depth \
                --threads",
        Data,
    ),
    ("-f", Reads),
    ("--textconv --ext-grep", FlagRefused(RUNS)),
    ("-O --open-files-in-pager", Refused(RUNS)),
]);

const BLAME: Spec = Spec::open(&[
    ("-L --ignore-rev --date --since --abbrev", Data),
    ("--contents --ignore-revs-file -S", Reads),
    ("--textconv", FlagRefused(RUNS)),
]);

const SHORT: Spec = Spec::open(&[
    ("--textconv --filters", FlagRefused(RUNS)),
    ("--exclude-from -X --pathspec-from-file", Reads),
    (
        "--exclude -x --format --abbrev --match --resolve-git-dir --git-path --prefix --default \
                --since --until",
        Data,
    ),
    ("--batch-command --stdin", FlagRefused("reads what is not named here")),
    ("--output", Writes),
    ("--parseopt --sq-quote", FlagRefused("is for scripts")),
]);

fn takes_only_attached(option: &str, command: &str) -> bool {
    matches!(
        option,
        "--stat" | "--color" | "--word-diff" | "--decorate" | "--abbrev" | "--pretty" | "--unified"
    ) || option == "--format" && command == "status"
}
