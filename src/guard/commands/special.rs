//! Operands and values of listed programs that need separate checks.

use super::options::{Parsed, inline, number, unknown_option};
use crate::guard::call_context::{ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;
use crate::guard::programs::table;
use crate::guard::programs::verbs::refuse_verb;

/// Goals of Maven that stay in the workspace.
const GOALS: &str = "test verify compile package clean validate test-compile process-classes process-resources integration-test \
    dependency:tree dependency:analyze dependency:resolve help:effective-pom help:evaluate spotless:check spotless:apply checkstyle:check \
    checkstyle:checkstyle surefire:test failsafe:integration-test failsafe:verify fmt:format fmt:check pmd:check spotbugs:check \
    jacoco:report initialize generate-sources versions:display-dependency-updates enforcer:enforce exec-off";

/// Properties of Maven and Gradle that choose tests, and of CMake that choose a kind of build.
const PROPERTIES: &str = "test it.test skipTests skipITs maven.test.skip failIfNoTests surefire.failIfNoSpecifiedTests \
    failIfNoSpecifiedTests surefire.useFile checkstyle.skip spotless.check.skip maven.javadoc.skip style.color groups tests.single \
    org.slf4j.simpleLogger.log.org.apache.maven.cli.transfer.Slf4jMavenTransferListener revision tag \
    CMAKE_BUILD_TYPE CMAKE_EXPORT_COMPILE_COMMANDS BUILD_TESTING BUILD_SHARED_LIBS CMAKE_CXX_STANDARD CMAKE_C_STANDARD \
    ENABLE_TESTS ENABLE_TESTING BUILD_TESTS CMAKE_VERBOSE_MAKEFILE ENABLE_ASAN ENABLE_COVERAGE BUILD_EXAMPLES";

impl Judge<'_> {
    /// Judges operands.
    pub(super) fn special(
        &mut self,
        place: &mut Place,
        name: &str,
        check: &str,
        operands: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let first = operands.first().and_then(Arg::text).unwrap_or_default().to_owned();
        let unknown = || Err(unknown_option(name, &first));
        match check {
            "copy" => self.copies(place, operands, parsed),
            "move" => self.moves(place, operands, parsed),
            "revisions" => self.revisions(place, operands),
            "stage" => self.stages(place, name, operands, parsed),
            "unstage" => self.unstages(place, name, operands, parsed),
            "setting" => Ok(()),
            "mode" => self.mode(place, name, operands),
            "filter" => self.filter(place, name, operands, parsed),
            "words" => operands.iter().try_for_each(|word| {
                let known =
                    table::entry(name).is_some_and(|entry| entry.words.contains(&word.head()));
                if known { Ok(()) } else { refuse_verb(name, word.head()) }
            }),
            "bundler" => {
                let known =
                    table::entry(name).is_some_and(|entry| entry.words.contains(&first.as_str()));
                let rest = if known { &operands[1..] } else { operands };
                let named = rest.iter().all(|word| known || word.head().contains(['.', '/']));
                if !named {
                    return refuse_verb(name, &first);
                }
                rest.iter().try_for_each(|word| self.target(place, name, word))
            }
            "format" if first.starts_with('+') && operands.len() == 1 => Ok(()),
            "format" if operands.is_empty() => Ok(()),
            "same" => {
                let program = name.rsplit(' ').next().unwrap_or_default();
                match table::entry(program) {
                    Some(entry) => self.listed(place, program, entry, operands),
                    None => unknown(),
                }
            }
            // In one workspace or in each: the words of `yarn` itself.
            "yarn" => match table::entry("yarn") {
                Some(entry) if !first.is_empty() => self.listed(place, "yarn", entry, operands),
                _ => unknown(),
            },
            "gzip" => {
                let keeps = if parsed.has(&["-d"]) { &["-c"][..] } else { &["-c", "-k"] };
                if !parsed.has(keeps) && !operands.is_empty() {
                    return unknown();
                }
                operands.iter().try_for_each(|file| {
                    self.reads(place, file, ReadKind::Content)?;
                    self.writes(place, &Arg::of(format!("{}.gz", file.head())), WriteKind::Change)
                })
            }
            "list" if first == "list" && operands.len() <= 1 => Ok(()),
            "pkg" if first == "get" => {
                operands.iter().try_for_each(|word| self.harmless(place, word))
            }
            "env" => {
                let variables =
                    operands.iter().take_while(|word| word.head().contains('=')).count();
                let (variables, command) = operands.split_at(variables);
                self.variables(place, variables)?;
                if command.is_empty() { unknown() } else { self.run(place, command) }
            }
            "make" => self.make(place, name, operands),
            // A folder with sources that is not built in place, or what a number or `--` stands for.
            "source" => operands.iter().try_for_each(|word| {
                let entry = table::entry(name);
                if number(word) || entry.is_some_and(|entry| entry.words.contains(&word.head())) {
                    return Ok(());
                }
                let paths = self.paths(place, word)?;
                let is_folder = paths.iter().all(|path| self.cx.kind(path) == FileKind::Dir);
                if is_folder && !matches!(word.head(), "." | "./") {
                    return self.works_in(place, word);
                }
                Err(unknown_option(name, word.head()))
            }),
            _ => self.special_language(place, name, check, operands, parsed),
        }
    }

    /// The same for tests, and for the tools of Python, Java, and Go.
    fn special_language(
        &mut self,
        place: &mut Place,
        name: &str,
        check: &str,
        operands: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let first = operands.first().and_then(Arg::text).unwrap_or_default().to_owned();
        let unknown = || Err(unknown_option(name, &first));
        match check {
            "maven" => operands.iter().try_for_each(|goal| {
                let text = goal.text().unwrap_or_default();
                if lists(GOALS, text) { Ok(()) } else { refuse_verb(name, text) }
            }),
            // With a colon the archive is on another machine, with an `@` it names further words.
            "archive"
                if lists("tf tvf tzf tzvf tjf tJf -tf -tvf -tzf -tzvf -tjf -tJf", &first)
                    && operands.len() == 2
                    && !operands[1].head().contains([':', '@']) =>
            {
                self.reads(place, &operands[1], ReadKind::Content)
            }
            "archive" => self.names_in(place, operands).and_then(|()| unknown()),
            "testcache" if parsed.has(&["-testcache"]) => Ok(()),
            // A label of Bazel begins at the workspace.
            "label" => operands.iter().try_for_each(|label| {
                let Some(text) = label.text() else { return unknown() };
                self.target(place, name, &Arg::of(text.strip_prefix("//").unwrap_or(text)))
            }),
            "nothing" if !operands.is_empty() => unknown(),
            // It reads what to run from its input.
            "nothing" if parsed.names.is_empty() => Err(inline(name)),
            "nothing" => Ok(()),
            "line" => operands.iter().try_for_each(|line| match line.text() {
                Some(line) => self.inner_line(place, line),
                None => unknown(),
            }),
            _ => unknown(),
        }
    }

    /// Judges the value of an option.
    pub(super) fn special_value(
        &mut self,
        place: &Place,
        name: &str,
        check: &str,
        value: &Arg,
    ) -> Result<(), Denial> {
        let text = value.text().ok_or_else(|| unknown_option(name, value.head()))?;
        let unknown = || Err(unknown_option(name, text));
        let fits = |more: &str| {
            text.chars()
                .all(|c| c.is_ascii_alphanumeric() || "_.,-#*:+ ".contains(c) || more.contains(c))
        };
        match check {
            "line" => self.inner_line(place, text),
            // `ALL` takes in what publishes.
            "environment" if text.split(',').any(|name| name.eq_ignore_ascii_case("all")) => {
                unknown()
            }
            "environment" => self.target(place, name, value),
            _ if check
                .strip_prefix("one:")
                .is_some_and(|known| known.split(',').any(|one| one == text)) =>
            {
                Ok(())
            }
            // `FORMAT`, or `FORMAT:TARGET`.
            "report" => match text.split_once(':') {
                None | Some(("term" | "term-missing", _)) => self.harmless(place, value),
                Some(("html" | "annotate", folder)) => self.fills_folder(place, &Arg::of(folder)),
                Some((_, file)) => self.fills(place, &Arg::of(file), false),
            },
            "plugin" if text.starts_with("no:") && fits("") => Ok(()),
            "flags" => Ok(()),
            "setting" => super::git_config::setting_is_harmless(text),
            "lines" => {
                // Before the file stand numbers, a name, or a pattern.
                let file = text.rsplit_once(':').map_or("", |(_, file)| file);
                self.revisions(place, &[Arg::of(format!("HEAD:{file}"))])
            }
            "property" => {
                let (property, value) = text.split_once('=').unwrap_or((text, ""));
                let value =
                    value.chars().all(|c| c.is_ascii_alphanumeric() || "_.,-#*+$!".contains(c));
                if lists(PROPERTIES, property) && value { Ok(()) } else { unknown() }
            }
            _ => unknown(),
        }
    }

    fn mode(&mut self, place: &Place, name: &str, operands: &[Arg]) -> Result<(), Denial> {
        const MODES: &str = "+x u+x a+x ug+x +r u+r u+w u+rw u+rx u+rwx 755 644 0755 0644 700 600 750 640 775 664 a+r a+rx -x";
        let mode = operands.first().map(Arg::head).unwrap_or_default();
        if !lists(MODES, mode) {
            return Err(Denial::new(
                "privilege",
                format!("`{name} {mode}` gives rights to others, or takes them away"),
            )
            .instead("`chmod +x FILE` makes a script executable"));
        }
        operands[1..].iter().try_for_each(|file| self.writes(place, file, WriteKind::Mode))
    }

    /// A filter of jq or yq, then files.
    fn filter(
        &mut self,
        place: &Place,
        name: &str,
        operands: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        const READS: &[&str] = &[
            "env",
            "$ENV",
            "ENV",
            "import",
            "include",
            "modulemeta",
            "input_filename",
            "strenv",
            "envsubst",
            "load",
            "load_str",
            "load_xml",
            "load_props",
            "load_base64",
            "eval",
            "system",
            "exec",
            "$__prog_args",
            "get_search_list",
            "debug",
        ];
        let verb = operands
            .first()
            .is_some_and(|word| lists("e ea eval eval-all", word.head()) && name == "yq");
        let operands = &operands[usize::from(verb)..];
        let Some((filter, files)) = operands.split_first() else { return Ok(()) };
        let Some(text) = filter.text() else { return Err(unknown_option(name, filter.head())) };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        // `.env` is a field.
        let mut words = text.split(|c: char| !(is_word(c) || c == '.')).map(|word| {
            if word.starts_with('.') { "" } else { word.split('.').next().unwrap_or_default() }
        });
        if words.any(|word| READS.contains(&word)) {
            return Err(Denial::new(
                "env.dump",
                format!("the filter of {name} may read the environment or other files"),
            ));
        }
        if files.is_empty()
            && !parsed.has(&["-n", "--null-input"])
            && !text.contains(char::is_whitespace)
        {
            // One word alone may be a file.
            self.harmless_file(place, filter)?;
        }
        files.iter().try_for_each(|file| {
            if file.text() == Some("-") {
                Ok(())
            } else {
                self.reads(place, file, ReadKind::Content)
            }
        })
    }

    fn harmless_file(&mut self, place: &Place, arg: &Arg) -> Result<(), Denial> {
        for path in self.paths(place, arg)? {
            if self.cx.kind(&path) != FileKind::Missing {
                self.cx.read(&path, ReadKind::Content)?;
            }
        }
        Ok(())
    }
}
