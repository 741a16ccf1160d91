//! The words of `make` and `cmake`.

use super::options::{number, unknown_option};
use crate::guard::denial::Denial;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;

/// Definitions of CMake that choose a kind of build.
const DEFINITIONS: &str = "CMAKE_BUILD_TYPE CMAKE_EXPORT_COMPILE_COMMANDS BUILD_TESTING BUILD_SHARED_LIBS CMAKE_CXX_STANDARD \
    CMAKE_C_STANDARD ENABLE_TESTS ENABLE_TESTING BUILD_TESTS CMAKE_VERBOSE_MAKEFILE ENABLE_ASAN ENABLE_COVERAGE BUILD_EXAMPLES";

impl Judge<'_> {
    pub(super) fn make(
        &mut self,
        place: &Place,
        name: &str,
        operands: &[Arg],
    ) -> Result<(), Denial> {
        const NUMBERS: &str = "V VERBOSE DEBUG RELEASE CI";
        for operand in operands {
            let text = operand.text().unwrap_or_default();
            match text.split_once('=') {
                None => self.target(place, name, operand)?,
                Some((variable, value)) => {
                    let numeric = lists(NUMBERS, variable)
                        && value.chars().all(|c| c.is_ascii_alphanumeric());
                    let flags = matches!(variable, "CFLAGS" | "CXXFLAGS")
                        && value.split_whitespace().all(is_compiler_flag);
                    if !numeric && !flags {
                        return Err(Denial::new(
                            "program.option",
                            format!("`{name} {variable}=…` may change what runs"),
                        )
                        .instead(format!("leave `{variable}=…` out")));
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn cmake(&mut self, place: &Place, operands: &[Arg]) -> Result<(), Denial> {
        let unknown = |word: &Arg| Err(unknown_option("cmake", word.head()));
        if let Some(word) = written_over(operands) {
            return unknown(word);
        }
        let mut rest = operands.iter();
        while let Some(word) = rest.next() {
            if word.head().strip_prefix("-j").is_some_and(|_| number(&word.tail(2))) {
                continue;
            }
            match word.text().unwrap_or("?") {
                "-j" | "--parallel" => {
                    // The number may be missing.
                    let mut ahead = rest.clone();
                    if ahead.next().is_some_and(number) {
                        rest = ahead;
                    }
                }
                "--version"
                | "--help"
                | "-LA"
                | "-L"
                | "-N"
                | "--fresh"
                | "-v"
                | "--verbose"
                | "--clean-first"
                | "-Wno-dev"
                | "--list-presets"
                | "--no-warn-unused-cli" => {}
                "-S" | "-B" | "--build" => {
                    let Some(folder) = rest.next() else { return unknown(word) };
                    self.writes_below(place, folder, word.head() != "-S")?;
                }
                "-G" | "--config" | "--preset" | "-A" => match rest.next() {
                    Some(value)
                        if value.text().is_some_and(|text| {
                            text.chars().all(|c| c.is_ascii_alphanumeric() || " -_".contains(c))
                                && !text.starts_with('-')
                        }) => {}
                    _ => return unknown(word),
                },
                "--target" | "-t" => match rest.next() {
                    Some(target) => self.target(place, "cmake --target", target)?,
                    None => return unknown(word),
                },
                "--" => {
                    let plain = |word: &Arg| {
                        word.text().is_some_and(|text| {
                            text.trim_start_matches("-j").bytes().all(|b| b.is_ascii_digit())
                                || matches!(text, "-k" | "-s" | "V=1" | "VERBOSE=1")
                        })
                    };
                    return match rest.find(|word| !plain(word)) {
                        Some(word) => unknown(word),
                        None => Ok(()),
                    };
                }
                text if text.starts_with("-D") => {
                    let (name, value) = text[2..].split_once('=').unwrap_or((&text[2..], ""));
                    let name = name.split(':').next().unwrap_or_default();
                    let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                    if !lists(DEFINITIONS, name) || !plain {
                        return unknown(word);
                    }
                }
                text if text.starts_with('-') => return unknown(word),
                _ => self.writes_below(place, word, false)?,
            }
        }
        Ok(())
    }

    fn writes_below(&mut self, place: &Place, folder: &Arg, writes: bool) -> Result<(), Denial> {
        if writes && folder.text() != Some(".") {
            return self.fills_folder(place, folder);
        }
        self.works_in(place, folder)
    }
}

/// The word with which cmake writes into the sources: it builds in their folder, or fills the file
/// that it is given with its version.
fn written_over(operands: &[Arg]) -> Option<&Arg> {
    let has = |name: &str| operands.iter().any(|word| word.text() == Some(name));
    if has("--version") {
        return operands.iter().find(|word| word.text() != Some("--version"));
    }
    let folder = operands.iter().skip_while(|word| word.text() != Some("-B")).nth(1);
    let elsewhere = folder.is_some_and(|it| !matches!(it.text(), Some("." | "./")));
    if elsewhere || ["--build", "--preset", "-N"].into_iter().any(has) {
        return None;
    }
    let here = |word: &&Arg| matches!(word.text(), Some("." | "./") | None);
    let file = |word: &&Arg| word.head().ends_with("CMakeLists.txt");
    let sources = operands.iter().enumerate().filter(|(at, _)| {
        at.checked_sub(1).is_none_or(|before| operands[before].text() != Some("-B"))
    });
    sources.map(|(_, word)| word).find(|word| here(word) || file(word))
}

fn is_compiler_flag(flag: &str) -> bool {
    let word = |rest: &str, more: &str| {
        rest.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    ["-O", "-g", "-std=", "-D"]
        .iter()
        .any(|start| flag.strip_prefix(start).is_some_and(|rest| word(rest, "_+=")))
        || flag.strip_prefix("-W").is_some_and(|rest| word(rest, "-=") && !rest.is_empty())
        || flag.strip_prefix("-fsanitize=").is_some_and(|rest| word(rest, ",-"))
}
