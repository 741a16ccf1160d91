//! Programs that change files: what they read, what they write, where.

use std::path::PathBuf;

use crate::guard::call_context::{COST_OF_AN_ENTRY, ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::shell::{Env, Judge, Seg, ShellOutput, ShellValue};

use super::call::ProgramCall;
use super::options::Parsed;
use crate::guard::tables::spec::{Does, Spec};

use Does::{Data, FlagRefused, Refused};

impl Judge<'_> {
    pub(super) fn writer(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        let stream = match call.name {
            "tee" => return self.tee(env, call),
            "cp" | "gcp" => self.copy(env, call),
            "mv" | "gmv" => self.rename(env, call),
            "ln" => self.link(env, call),
            "mkdir" | "touch" | "truncate" | "dos2unix" | "unix2dos" => self.make(env, call),
            "gzip" | "bzip2" | "xz" => return self.compress(env, call),
            "split" => self.parts(env, call),
            _ => self.chmod(env, call),
        }?;
        // `-v` and `chmod -c` print the names.
        let says =
            |word: &ShellValue| word.head().starts_with('-') && word.show().contains(['v', 'c']);
        Ok(if call.words.iter().any(says) { ShellOutput::Opaque } else { stream })
    }

    fn tee(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec =
            Spec::closed(&[], "-a -i -p --append --ignore-interrupts --output-error");
        let parsed = self.options(env, "tee", call.words, &SPEC)?;
        let how =
            if parsed.has(&["-a", "--append"]) { WriteKind::Append } else { WriteKind::Change };
        for operand in &parsed.operands {
            if call.stdin.is_empty() && how == WriteKind::Change {
                self.kept(env, operand)?;
            }
            self.write_value(env, operand, how)?;
        }
        Ok(call.stdin.clone())
    }

    /// A compressed copy beside a file, as long as the file stays.
    fn compress(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[("-T --threads", Data)],
            "-k --keep -c --stdout --to-stdout -l --list -t --test -v --verbose -q --quiet -n --no-name \
            -1 -2 -3 -4 -5 -6 -7 -8 -9 --fast --best --version --help",
        );
        let parsed = self.options(env, call.name, call.words, &SPEC)?;
        let shows = ["-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"];
        let shows = parsed.has(&shows) || parsed.has(&["--version", "--help"]);
        if !shows && !parsed.operands.is_empty() && !parsed.has(&["-k", "--keep"]) {
            let why = format!("{} removes the file that it compresses", call.name);
            return Err(Denial::new("program.delete", why)
                .instead(format!("keep it: `{} -k FILE`", call.name)));
        }
        let ending = match call.name {
            "gzip" => ".gz",
            "bzip2" => ".bz2",
            _ => ".xz",
        };
        for operand in &parsed.operands {
            if operand.text() == Some("-") {
                continue;
            }
            self.read_value(env, operand, ReadKind::Content)?;
            if !shows {
                for path in self.paths(env, operand)? {
                    let target = format!("{}{ending}", path.display());
                    self.cx.write(std::path::Path::new(&target), WriteKind::Change)?;
                }
            }
        }
        Ok(ShellOutput::Opaque)
    }

    /// Parts of a file, under names that begin with a given one.
    fn parts(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[
                ("-l --lines -b --bytes -n --number -C --line-bytes -t --separator", Data),
                ("--filter", Refused("runs a program")),
            ],
            "-d -x -e -u --numeric-suffixes --hex-suffixes --elide-empty-files --unbuffered --verbose",
        );
        let parsed = self.options(env, "split", call.words, &SPEC)?;
        let (source, prefix) = match parsed.operands.as_slice() {
            [source, prefix] => (Some(source), Some(prefix)),
            others => (others.first(), None),
        };
        if let Some(source) = source.filter(|source| source.text() != Some("-")) {
            self.read_value(env, source, ReadKind::Content)?;
        }
        // Two letters are added to the name: they must not make it another one.
        let name = prefix.and_then(ShellValue::text).filter(|name| name.ends_with(['-', '_']));
        let Some(name) = name else {
            return Err(Denial::new("path.unknown", "cannot tell which files the parts would be")
                .instead("let the name of the parts end in `-`, as in `split -l 100 FILE part-`"));
        };
        self.write_value(env, &ShellValue::lit(format!("{name}aa")), WriteKind::Change)?;
        Ok(ShellOutput::Opaque)
    }

    fn make(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::open(&[
            ("-m --mode -d --date -t -r --reference -s --size -A --time", Data),
            ("-n --newfile", FlagRefused("writes to another file")),
            ("-Z --context", FlagRefused("sets a security context")),
        ]);
        let parsed = self.options(env, call.name, call.words, &SPEC)?;
        let how = if call.name == "touch" { WriteKind::Append } else { WriteKind::Change };
        let grows = |size: &ShellValue| size.head().starts_with(['+', '>']);
        if call.name == "truncate" && !parsed.value(&["-s", "--size"]).is_some_and(grows) {
            for operand in &parsed.operands {
                self.kept(env, operand)?;
            }
        }
        for operand in &parsed.operands {
            // Only a file that is there is protected from a touch of the task's own log.
            self.write_value(env, operand, how)?;
        }
        Ok(ShellOutput::Text(String::new()))
    }

    /// Refuses to empty what is there: that is deleting it under another name.
    pub(in crate::guard) fn kept(&mut self, env: &Env, target: &ShellValue) -> Result<(), Denial> {
        if target.is_open() || target.segs.iter().any(|seg| matches!(seg, Seg::Listed(_))) {
            return Err(emptied(&target.show()));
        }
        for path in self.paths(env, target)? {
            let log = path.extension().is_some_and(|end| end == "log" || end == "tmp");
            if !log && !path.starts_with("/dev") && self.cx.resolve(&path)?.kind == FileKind::File {
                return Err(emptied(&target.show()));
            }
        }
        Ok(())
    }

    /// Where copies or moved files end up: the target, or names below it.
    fn targets(
        &mut self,
        env: &Env,
        parsed: &Parsed,
    ) -> Result<(Vec<ShellValue>, Vec<PathBuf>, bool), Denial> {
        let mut operands = parsed.operands.clone();
        let target = match parsed.value(&["-t", "--target-directory"]) {
            Some(target) => target.clone(),
            None => {
                operands.pop().ok_or_else(|| Denial::new("shell.unparsed", "there is no target"))?
            }
        };
        if target.is_open() || target.segs.iter().any(|seg| matches!(seg, Seg::Listed(_))) {
            return Err(Denial::new(
                "path.unknown",
                format!("cannot tell where `{}` is", target.show()),
            )
            .instead("name the target"));
        }
        if env.lost && !target.head().starts_with('/') {
            return Err(Denial::new(
                "path.unknown",
                "cannot tell in which folder this would write",
            ));
        }
        let paths = self.paths(env, &target)?;
        let mut below = parsed.has(&["-t", "--target-directory"])
            || operands.len() > 1
            || target.head().ends_with('/');
        for path in &paths {
            below |= self.cx.resolve(path)?.kind == FileKind::Dir
                && !parsed.has(&["-T", "--no-target-directory"]);
        }
        Ok((operands, paths, below))
    }

    fn place(
        &mut self,
        env: &Env,
        source: &ShellValue,
        targets: &[PathBuf],
        below: bool,
        how: WriteKind,
    ) -> Result<(), Denial> {
        for target in targets {
            if !below {
                self.cx.write(target, how)?;
                continue;
            }
            if source.is_open() || source.segs.iter().any(|seg| matches!(seg, Seg::Listed(_))) {
                return Err(Denial::new("path.unknown", "cannot tell which file this would write"));
            }
            for path in self.paths(env, source)? {
                match path.file_name() {
                    // `dir/.` and `..` put their content into the target itself.
                    Some(name)
                        if !source.show().ends_with("/.") && !source.show().ends_with("..") =>
                    {
                        self.cx.write(&target.join(name), how)?;
                    }
                    _ => {
                        self.cx.resolve(&target.join("x"))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn copy(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[
                ("-t --target-directory -S --suffix", Data),
                ("-s --symbolic-link -l --link", FlagRefused("makes links")),
            ],
            "-r -R -a -p -f -i -n -v -u -T -d -L -P -b -x -H -c --recursive --archive --preserve \
            --force --interactive --no-clobber --verbose --update --no-target-directory --backup \
            --reflink --no-dereference --dereference --sparse",
        );
        let parsed = self.options(env, call.name, call.words, &SPEC)?;
        let (sources, targets, below) = self.targets(env, &parsed)?;
        let recursive = parsed.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
        for source in &sources {
            self.read_value(
                env,
                source,
                if recursive { ReadKind::Tree } else { ReadKind::Content },
            )?;
            if source.text() == Some("/dev/null") {
                for target in targets.iter().filter(|_| !below) {
                    self.kept(env, &ShellValue::lit(target.to_string_lossy()))?;
                }
            }
            self.place(env, source, &targets, below, WriteKind::Change)?;
            if recursive {
                self.copied_tree(env, source, &targets, below)?;
            }
        }
        Ok(ShellOutput::Text(String::new()))
    }

    /// A copied folder writes everything that is in it.
    fn copied_tree(
        &mut self,
        env: &Env,
        source: &ShellValue,
        targets: &[PathBuf],
        below: bool,
    ) -> Result<(), Denial> {
        for path in self.paths(env, source)? {
            let real = self.cx.resolve(&path)?;
            if real.kind != FileKind::Dir {
                continue;
            }
            let tree = self.cx.entries(&real.path);
            self.cx.spend(tree.paths.len() * COST_OF_AN_ENTRY)?;
            if !tree.all {
                return Err(Denial::new("path.too-large", "the folder is too large to check")
                    .instead("copy its parts one by one"));
            }
            let contents = source.show().ends_with("/.")
                || source.show().ends_with("..")
                || source.show() == ".";
            for target in targets {
                let base = match path.file_name() {
                    Some(name) if below && !contents => target.join(name),
                    _ => target.clone(),
                };
                for entry in &tree.paths {
                    if self.cx.kind(entry) == FileKind::File
                        && let Ok(relative) = entry.strip_prefix(&real.path)
                    {
                        self.cx.write(&base.join(relative), WriteKind::Change)?;
                    }
                    if matches!(self.cx.kind(entry), FileKind::Link(_)) {
                        return Err(Denial::new("path.symlink", "the folder holds symbolic links"));
                    }
                }
            }
        }
        Ok(())
    }

    fn rename(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[("-t --target-directory -S --suffix", Data)],
            "-f -i -n -v -u -T -b --force --interactive --no-clobber --verbose --update \
            --no-target-directory --backup",
        );
        let parsed = self.options(env, call.name, call.words, &SPEC)?;
        let (sources, targets, below) = self.targets(env, &parsed)?;
        if let Some(device) = targets.iter().find(|target| target.starts_with("/dev")) {
            return Err(emptied(&format!("what is moved to {}", device.display())));
        }
        for source in &sources {
            self.read_value(env, source, ReadKind::Content)?;
            self.write_value(env, source, WriteKind::Move)?;
            self.place(env, source, &targets, below, WriteKind::Change)?;
        }
        Ok(ShellOutput::Text(String::new()))
    }

    fn link(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[],
            "-s -f -n -v -r -T --symbolic --force --no-dereference --verbose --relative \
            --no-target-directory",
        );
        let parsed = self.options(env, "ln", call.words, &SPEC)?;
        let refuse = |why: &str| Denial::new("path.link", why.to_owned()).instead("copy the file");
        if !parsed.has(&["-s", "--symbolic"]) {
            return Err(refuse(
                "a hard link gives a file a second name that the guard cannot follow",
            ));
        }
        let [target, place] = parsed.operands.as_slice() else {
            return Err(refuse("a link needs one target and one name"));
        };
        let (Some(target_text), Some(_)) = (target.text(), place.text()) else {
            return Err(refuse("cannot tell what is linked"));
        };
        for path in self.paths(env, place)? {
            let mut path = path;
            if self.cx.resolve(&path)?.kind == FileKind::Dir {
                let name = PathBuf::from(target_text);
                path = path.join(name.file_name().ok_or_else(|| refuse("a link needs a name"))?);
            }
            let folder = path.parent().unwrap_or(&path).to_owned();
            let pointed = folder.join(target_text);
            let real = self.cx.read(&pointed, ReadKind::Content)?;
            if !self.cx.inside(&real.path) {
                return Err(refuse("the link would point out of the workspace"));
            }
            self.cx.protected(&real.path, WriteKind::Move)?;
            let written = self.cx.write(&path, WriteKind::Change)?;
            self.cx.note_link(written);
        }
        Ok(ShellOutput::Text(String::new()))
    }

    fn chmod(&mut self, env: &Env, call: &ProgramCall<'_>) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[("--reference", Refused("copies a mode that is not known"))],
            "-v -c -f -R --recursive --verbose --changes --silent",
        );
        // A mode may begin with a dash: `chmod -x file`.
        let minus = |word: &&ShellValue| {
            matches!(word.text(), Some("-x" | "-w" | "-r" | "-rw" | "-wx" | "-rx" | "-rwx"))
        };
        let lowered: Vec<ShellValue> = call
            .words
            .iter()
            .map(|word| if minus(&word) { ShellValue::lit("a-x") } else { word.clone() })
            .collect();
        let parsed = self.options(env, "chmod", &lowered, &SPEC)?;
        let Some((mode, files)) = parsed.operands.split_first() else {
            return Err(Denial::new("shell.unparsed", "there is no mode"));
        };
        let fine = mode.text().is_some_and(is_ordinary_mode);
        if !fine {
            return Err(Denial::new(
                "privilege",
                format!("the mode {} opens files to everyone or raises privileges", mode.show()),
            )
            .instead("use `chmod +x FILE` or `chmod 644 FILE`"));
        }
        for file in files {
            self.write_value(env, file, WriteKind::Mode)?;
        }
        Ok(ShellOutput::Text(String::new()))
    }
}

fn emptied(file: &str) -> Denial {
    Denial::new(
        "program.delete",
        format!("it would empty {file}, and an unattended run never deletes"),
    )
    .instead("archive it: `mkdir -p _archive && mv FILE _archive/`")
}

/// Modes that neither let others write nor set ids.
fn is_ordinary_mode(mode: &str) -> bool {
    if mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
        let digits = mode.trim_start_matches('0').as_bytes();
        return (1..=3).contains(&digits.len())
            && digits.iter().rev().take(2).all(|digit| (digit - b'0') & 2 == 0);
    }
    mode.split(',').all(|clause| {
        let Some(at) = clause.find(['+', '-', '=']) else { return false };
        let (who, change) = clause.split_at(at);
        let others = who.contains(['o', 'a', 'g']);
        let adds = !change.starts_with('-');
        who.chars().all(|c| "ugoa".contains(c))
            && change[1..].chars().all(|c| "rwxX".contains(c))
            && !(adds && others && change.contains('w'))
    })
}
