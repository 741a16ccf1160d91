//! The git commands that change something and are part of honest work: staging,
//! committing, moving.

use std::path::{Path, PathBuf};

use crate::guard::call_context::{ReadKind, secret};
use crate::guard::denial::Denial;
use crate::guard::programs::call::ProgramCall;
use crate::guard::programs::options::parse;
use crate::guard::secrets;
use crate::guard::shell::{Env, Judge, Seg, ShellOutput, ShellValue};
use crate::guard::tables::spec::{Does, Spec};

use Does::{Data, FlagRefused, Reads, Refused};

const WAITS: &str = "waits for somebody at the keyboard";

impl Judge<'_> {
    pub(super) fn git_change(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Option<Result<ShellOutput, Denial>> {
        Some(match call.name {
            "add" | "stage" => self.add(env, call),
            "commit" => self.commit(env, call),
            "mv" => self.git_move(env, call),
            "reset" => self.reset(env, call),
            "restore" => self.restore(env, call),
            _ => return None,
        })
    }

    fn add(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[
                ("--chmod", Data),
                ("--pathspec-from-file", Refused("stages what is not named here")),
                ("-p --patch -i --interactive -e --edit", FlagRefused(WAITS)),
            ],
            "-A --all -u --update -v --verbose -n --dry-run -f --force -N --intent-to-add \
            --renormalize --refresh --ignore-errors --ignore-missing --no-all --ignore-removal \
            --sparse --no-warn-embedded-repo",
        );
        let parsed = self.options(env, "git add", call.words, &SPEC)?;
        let every = parsed.has(&["-A", "--all", "-u", "--update"]) && parsed.operands.is_empty();
        if every {
            self.bulk("git add of everything")?;
        }
        for operand in &parsed.operands {
            self.staged(env, operand, "git add")?;
        }
        if parsed.has(&["-f", "--force"]) {
            // What is ignored is taken along, and that is where secrets lie.
            let all = [ShellValue::lit(".")];
            let operands = if parsed.operands.is_empty() { &all } else { &*parsed.operands };
            for operand in operands {
                self.read_value(env, operand, ReadKind::Tree)?;
            }
        }
        Ok(ShellOutput::Opaque)
    }

    /// Refuses staging in bulk while the human has unfinished work in the tree.
    fn bulk(&self, what: &str) -> Result<(), Denial> {
        match self.cx.policy().human.first() {
            None => Ok(()),
            Some(human) => Err(Denial::new(
                "human.work",
                format!("{what} would take the human's unfinished {} along", self.shown(human)),
            )
            .instead("stage your own files by name: `git add FILE …`, then `git commit -m '…'`")),
        }
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.cx.policy().workspace).unwrap_or(path).display().to_string()
    }

    /// Judges one pathspec of what is staged.
    fn staged(&mut self, env: &Env, operand: &ShellValue, what: &str) -> Result<(), Denial> {
        if operand.is_open() || operand.segs.iter().any(|seg| matches!(seg, Seg::Listed(_))) {
            self.bulk(what)?;
            return if operand.is_open() {
                Err(Denial::new(
                    "path.unknown",
                    format!("cannot tell what `{}` stages", operand.show()),
                )
                .instead("name the files"))
            } else {
                Ok(())
            };
        }
        let text = operand.text().map(str::to_owned).unwrap_or_else(|| operand.show());
        if text.starts_with(':') {
            self.bulk(what)?;
            let named = text.trim_start_matches([':', '/', '!', '^']);
            let excluded =
                text.starts_with(":!") || text.starts_with(":^") || text.starts_with(":(exclude)");
            return if !excluded && secrets::path(Path::new(named)) {
                Err(secret(Path::new(named)))
            } else {
                Ok(())
            };
        }
        // Git matches patterns itself, at any depth.
        if text.contains(['*', '?', '[']) {
            self.bulk(what)?;
            if super::super::readers::aims_at_secrets(&text) {
                return Err(secret(Path::new(&text)));
            }
        }
        for path in self.paths(env, operand)? {
            if secrets::path(&path) {
                return Err(secret(&path));
            }
            let real = self.cx.resolve(path.parent().unwrap_or(&path))?.path;
            let own = match path.file_name() {
                Some(name) if !text.ends_with("..") => real.join(name),
                _ => self.cx.resolve(&path)?.path,
            };
            let own = if text == "." || text.ends_with("/.") {
                self.cx.resolve(&path)?.path
            } else {
                own
            };
            if !self.cx.inside(&own) {
                return Err(Denial::new(
                    "path.outside",
                    format!("{text} is outside the workspace"),
                ));
            }
            let human: Option<PathBuf> = self
                .cx
                .policy()
                .human
                .iter()
                .find(|human| human.starts_with(&own) || own.starts_with(human))
                .cloned();
            if let Some(human) = human {
                return Err(Denial::new(
                    "human.work",
                    format!("{} is the human's own unfinished work", self.shown(&human)),
                )
                .instead("stage your own files by name"));
            }
        }
        Ok(())
    }

    fn commit(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[
                (
                    "-m --message --author --date --cleanup --trailer -C --reuse-message --untracked-files",
                    Data,
                ),
                ("-F --file", Reads),
                ("-t --template -c --reedit-message", Refused(WAITS)),
                ("-e --edit -p --patch --interactive", FlagRefused(WAITS)),
                ("--pathspec-from-file", Refused("commits what is not named here")),
                (
                    "--amend",
                    FlagRefused(
                        "rewrites history, and the run proves its commits by it; make a new commit",
                    ),
                ),
                ("--fixup --squash", Refused("is for rewriting history; make a plain commit")),
                ("-n --no-verify", FlagRefused("skips the repository's own hooks; let them run")),
            ],
            "-a --all -q --quiet -v --verbose -s --signoff --no-signoff --allow-empty \
            --allow-empty-message --no-edit --dry-run --short --porcelain --branch --long -z --null \
            -o --only -i --include --no-gpg-sign --no-post-rewrite --status --no-status -u \
            --reset-author --verify",
        );
        // `-F -` reads the standard input.
        let words: Vec<ShellValue> = call
            .words
            .iter()
            .map(|word| {
                if word.text() == Some("-") { ShellValue::lit("/dev/stdin") } else { word.clone() }
            })
            .collect();
        let parsed = self.options(env, "git commit", &words, &SPEC)?;
        if parsed.has(&["-a", "--all"]) {
            self.bulk("git commit of everything")?;
        }
        for operand in &parsed.operands {
            self.staged(env, operand, "git commit")?;
        }
        let says = [
            "-m",
            "--message",
            "-F",
            "--file",
            "-C",
            "--reuse-message",
            "--dry-run",
            "--short",
            "--porcelain",
            "--allow-empty-message",
            "--no-edit",
            "--long",
        ];
        if !parsed.has(&says) {
            return Err(Denial::new(
                "git.option",
                "git commit without a message waits in an editor",
            )
            .instead("`git commit -m '…'`"));
        }
        Ok(ShellOutput::Opaque)
    }

    fn git_move(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let parsed = parse(
            "git mv",
            call.words,
            &Spec::closed(&[], "-f -k -n -v --force --dry-run --verbose"),
        )?;
        let words: Vec<ShellValue> =
            std::iter::once(ShellValue::lit("--")).chain(parsed.operands).collect();
        self.run(
            &mut env.clone(),
            &std::iter::once(ShellValue::lit("mv")).chain(words).collect::<Vec<_>>(),
            call.stdin,
        )
    }

    /// Unstaging keeps every file as it is; anything else throws work away.
    fn reset(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let refuse = || {
            Denial::new("git.destructive", "git reset beyond unstaging throws work or commits away")
                .instead("unstage with `git reset -- FILE`, or commit a change that fixes it")
        };
        let parsed = parse("git reset", call.words, &Spec::closed(&[], "-q --quiet --mixed -N"))
            .map_err(|_| refuse())?;
        let (revisions, paths) = parsed.operands.split_at(parsed.before_dashes);
        for (index, operand) in revisions.iter().enumerate() {
            let text = operand.text().ok_or_else(refuse)?;
            if text == "HEAD" && index == 0 {
                continue;
            }
            // Without `--` git takes a first word that names a commit for one.
            let path = env.cwds.first().map(|cwd| cwd.join(text)).unwrap_or_default();
            if index == 0 && self.cx.resolve(&path)?.kind == crate::guard::files::FileKind::Missing
            {
                return Err(refuse());
            }
        }
        for path in paths {
            self.read_value(env, path, ReadKind::Name)?;
        }
        Ok(ShellOutput::Opaque)
    }

    fn restore(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        let refuse = || {
            Denial::new("git.destructive", "git restore throws uncommitted work away").instead(
                "unstage with `git restore --staged FILE`, or fix the file with the edit tool",
            )
        };
        let parsed = parse("git restore", call.words, &Spec::closed(&[], "-S --staged -q --quiet"))
            .map_err(|_| refuse())?;
        if !parsed.has(&["-S", "--staged"]) {
            return Err(refuse());
        }
        for operand in &parsed.operands {
            self.read_value(env, operand, ReadKind::Name)?;
        }
        Ok(ShellOutput::Opaque)
    }
}
