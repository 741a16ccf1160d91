//! `find`: where it looks, what it prints, and what it does with what it finds.

use std::path::Path;

use crate::guard::call_context::{COST_OF_A_GLOB, ReadKind};
use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, Seg, ShellOutput, ShellValue};

use super::call::ProgramCall;
use super::readers::{aims_at_secrets, fits};
use crate::guard::tables::spec::lists;

/// Tests and actions without a value.
const PLAIN: &str = "-print -print0 -depth -xdev -mount -empty -readable -writable -executable -true -false \
            -not ! -a -and -o -or ( ) , -prune -ls -quit -follow -noleaf -nouser -nogroup -daystart \
            -warn -nowarn -ignore_readdir_race";

/// Tests with one value.
const VALUED: &str = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype \
            -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -newer -newermt -perm \
            -user -group -uid -gid -links -inum -lname -ilname -printf -used -fstype -samefile";

/// The tests and actions of `find`, as far as they tell which files it finds.
#[derive(Default)]
struct Expression {
    /// Does a test name the files, by an ending or a part of their names?
    named: bool,
    /// May a test of a name fit a secret?
    secret: bool,
    /// Does it print nothing but paths?
    prints_paths: bool,
    /// Does the next test follow a `!`?
    negated: bool,
    /// Globs, each with whether it is about the whole path.
    globs: Vec<(bool, String)>,
    /// Commands of `-exec`.
    commands: Vec<Vec<ShellValue>>,
}

impl Expression {
    /// Takes a test of names or paths into account; `None` is a value that is not known.
    fn name_test(&mut self, test: &str, value: Option<&str>) {
        if test.ends_with("regex") {
            let ends = value.and_then(endings);
            self.named |= ends
                .is_some_and(|ends| ends.iter().all(|end| !aims_at_secrets(&format!("*.{end}"))));
        } else {
            // `*` and `*.*` fit every name, and say nothing.
            self.named |= value.is_some_and(|glob| glob.contains(char::is_alphanumeric));
            self.secret |= value.is_none_or(aims_at_secrets);
            let whole = !matches!(test, "-name" | "-iname");
            self.globs.extend(value.map(|glob| (whole, glob.to_owned())));
        }
    }
}

impl Judge<'_> {
    pub(super) fn find(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        let mut words = call.words;
        while let Some((first, rest)) = words.split_first() {
            match first.text() {
                Some("-L") => {
                    return Err(Denial::new(
                        "path.symlink",
                        "find -L follows links out of the workspace",
                    )
                    .instead("run find without -L"));
                }
                Some("-H" | "-P" | "-E" | "-X" | "-s" | "-x" | "-d") => words = rest,
                _ => break,
            }
        }
        let is_expression = |word: &ShellValue| {
            word.head().starts_with('-') || matches!(word.text(), Some("!" | "(" | ","))
        };
        let split = words.iter().position(is_expression).unwrap_or(words.len());
        let (roots, expression) = words.split_at(split);
        for root in roots {
            if root.is_open() {
                return Err(Denial::new(
                    "path.unknown",
                    format!("cannot tell where `{}` is", root.show()),
                )
                .instead("name the folder"));
            }
            self.read_value(env, root, ReadKind::Name)?;
        }
        let Expression { named, mut secret, prints_paths, globs, commands, .. } =
            self.find_expression(expression)?;
        secret |= named && self.finds_secret(env, roots, &globs);
        // A name that is given on one side of `-o` says nothing about the other.
        let alternatives =
            expression.iter().any(|word| matches!(word.text(), Some("-o" | "-or" | ",")));
        let safe = named && !secret && !alternatives || {
            let read =
                if secret { Err(()) } else { self.roots(env, roots, ReadKind::Tree).map_err(drop) };
            read.is_ok()
        };
        let listing = if safe { self.root_of(env, roots) } else { ShellOutput::Opaque };
        let found = match &listing {
            ShellOutput::Listing(root) => ShellValue::one(Seg::Listed(root.clone())),
            _ => ShellValue { segs: vec![Seg::Any], splits: false },
        };
        for command in commands {
            let words: Vec<ShellValue> =
                command.iter().map(|word| substitute(word, &found)).collect();
            self.run(&mut env.clone(), &words, &ShellOutput::Opaque)?;
        }
        Ok(if prints_paths { listing } else { ShellOutput::Opaque })
    }

    /// Judges the tests and actions of `find`.
    fn find_expression(&mut self, expression: &[ShellValue]) -> Result<Expression, Denial> {
        let mut found = Expression { prints_paths: true, ..Expression::default() };
        let mut rest = expression.iter();
        while let Some(word) = rest.next() {
            let text = word.text().ok_or_else(|| {
                Denial::new(
                    "shell.unknown-word",
                    format!("`{}` may turn out to be an action of find", word.show()),
                )
            })?;
            match text {
                "-delete" => {
                    return Err(Denial::new("program.delete", "find -delete deletes")
                        .instead("archive: `mkdir -p _archive && mv FILE _archive/`"));
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let command: Vec<ShellValue> = rest
                        .by_ref()
                        .take_while(|word| !matches!(word.text(), Some(";" | "+")))
                        .cloned()
                        .collect();
                    found.commands.push(command);
                    found.prints_paths = false;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" | "-files0-from" => {
                    return Err(Denial::new(
                        "program.option",
                        format!("find {text} writes or reads a file of its own"),
                    )
                    .instead("redirect the output"));
                }
                "-not" | "!" => found.negated = true,
                _ if lists(PLAIN, text) => found.prints_paths &= text != "-ls",
                _ if lists(VALUED, text) => {
                    let value = rest.next();
                    let tests_name = matches!(
                        text,
                        "-name"
                            | "-iname"
                            | "-path"
                            | "-ipath"
                            | "-wholename"
                            | "-regex"
                            | "-iregex"
                    );
                    if tests_name && !found.negated {
                        self.cx.spend(COST_OF_A_GLOB)?;
                        found.name_test(text, value.and_then(ShellValue::text));
                    }
                    found.prints_paths &= text != "-printf";
                    found.negated = false;
                }
                _ => {
                    return Err(Denial::new(
                        "program.option",
                        format!("cannot tell what find {text} does"),
                    )
                    .instead("use -name, -type and -print"));
                }
            }
        }
        Ok(found)
    }

    /// Whether a secret that is there fits all of these globs, of which some are about the
    /// whole path.
    fn finds_secret(&mut self, env: &Env, roots: &[ShellValue], globs: &[(bool, String)]) -> bool {
        let here = [ShellValue::lit(".")];
        let roots = if roots.is_empty() { &here } else { roots };
        !globs.is_empty()
            && self.meets_secret(env, roots, |path| {
                let name = Path::new(path.file_name().unwrap_or_default());
                globs.iter().all(|(whole, glob)| fits(glob, if *whole { path } else { name }))
            })
    }

    fn roots(&mut self, env: &Env, roots: &[ShellValue], read: ReadKind) -> Result<(), Denial> {
        if roots.is_empty() {
            return self.read_value(env, &ShellValue::lit("."), read);
        }
        roots.iter().try_for_each(|root| self.read_value(env, root, read))
    }
}

/// The endings of file names that a regular expression such as `.*\.\(c\|h\)` asks for.
fn endings(regex: &str) -> Option<Vec<&str>> {
    let (before, ends) = regex.trim_end_matches('$').rsplit_once("\\.")?;
    let ends: Vec<&str> = ends.split(['(', ')', '|', '\\']).filter(|end| !end.is_empty()).collect();
    let plain = |end: &&str| end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (!before.contains('|') && !ends.is_empty() && ends.iter().all(plain)).then_some(ends)
}

/// Puts what is found in the place of `{}`.
fn substitute(word: &ShellValue, found: &ShellValue) -> ShellValue {
    match word.text() {
        Some("{}") => found.clone(),
        Some(text) if text.contains("{}") => {
            let mut out = ShellValue::default();
            for (index, part) in text.split("{}").enumerate() {
                if index > 0 {
                    out.push(Seg::Any);
                }
                if !part.is_empty() {
                    out.push(Seg::Lit(part.to_owned()));
                }
            }
            out
        }
        _ => word.clone(),
    }
}
