//! The arguments of a nested launch, brought into the form that the Copilot CLI takes: pure.
//!
//! Invariant: the result is the permissive prefix, if it applies, then every argument that
//! is not understood, untouched and in order, then one `-p` with all prompts. Explicit
//! permissions are kept and never widened. Under the guard nothing is opened by a flag:
//! were its hook not in force, the CLI would then run nothing at all.

use std::ffi::{OsStr, OsString};

/// Opens what a nested launch cannot be asked for, unless it says itself what it may do.
const ALL_TOOLS: &str = "--allow-all-tools";
const ALL_PATHS: &str = "--allow-all-paths";

/// What says which tools, and which paths, are permitted; alone or as `flag=…`.
const TOOL_FLAGS: [&str; 3] = [ALL_TOOLS, "--allow-tool", "--deny-tool"];
const PATH_FLAGS: [&str; 3] = [ALL_PATHS, "--allow-path", "--deny-path"];

/// Claude's way to open everything. The Copilot CLI does not know it.
const DROPPED: &str = "--dangerously-skip-permissions";
/// Claude's list of tools that must not be used, for which the Copilot CLI has no flag of
/// the same meaning: it is told in words.
const DISALLOWED: &str = "--disallowed-tools";

/// Flags whose value is a part of the prompt. What the system says comes first.
const SYSTEM_FLAGS: [&str; 2] = ["--system-prompt", "--append-system-prompt"];
const PROMPT_FLAG: &str = "--prompt";
const SHORT_PROMPT_FLAG: &str = "-p";

/// Flags that open everything, for tools, paths or both, or let a model decide what is
/// opened; dropped under the guard.
const OPENING_FLAGS: [&str; 6] =
    [ALL_TOOLS, ALL_PATHS, "--allow-all", "--yolo", "--allow-all-urls", "--assisted-approval"];

/// Who opens what a nested launch may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approver {
    /// The flags, as they are written; everything if there are none.
    Flags,
    /// The guard's hook, call by call. The caller's own narrow flags still count.
    Guard,
}

/// The arguments in the form that the CLI takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalized {
    /// Without the program's name.
    pub arguments: Vec<OsString>,
    /// Whether the caller named tools that are permitted or not: then a yes of the guard
    /// opens nothing by itself, it only leaves the call to these flags.
    pub narrowed: bool,
    /// Whether there is a prompt.
    pub prompted: bool,
}

/// The arguments of a nested launch as the Copilot CLI takes them.
pub fn normalize(arguments: &[OsString], approver: Approver) -> Normalized {
    let mut found = Found::default();
    let mut rest = arguments.iter();
    // Behind `--` nothing is a flag, and nothing may follow.
    let mut operands: &[OsString] = &[];
    while let Some(argument) = rest.next() {
        if argument == "--" {
            let left = rest.as_slice().len();
            operands = &arguments[arguments.len() - left - 1..];
            break;
        }
        found.take(argument, &mut rest);
    }
    let Found { system, user, kept, tools, paths } = found;
    let mut all = Vec::with_capacity(arguments.len() + 4);
    match approver {
        Approver::Flags => {
            let prefix = [(tools, ALL_TOOLS), (paths, ALL_PATHS)];
            all.extend(prefix.iter().filter(|(named, _)| *named == Named::No).map(|p| p.1.into()));
            all.extend(kept);
        }
        Approver::Guard => all.extend(kept.into_iter().filter(|argument| !opens(argument))),
    }
    let parts: Vec<OsString> =
        system.into_iter().chain(user).filter(|part| !part.is_empty()).collect();
    if !parts.is_empty() {
        all.push(SHORT_PROMPT_FLAG.into());
        all.push(parts.join(OsStr::new("\n\n")));
    }
    all.extend_from_slice(operands);
    Normalized { arguments: all, narrowed: tools == Named::Some, prompted: !parts.is_empty() }
}

fn opens(argument: &OsStr) -> bool {
    split(argument).0.is_some_and(|flag| OPENING_FLAGS.contains(&flag))
}

/// Which permissions were named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    #[default]
    No,
    All,
    Some,
}

#[derive(Debug, Default)]
struct Found {
    system: Vec<OsString>,
    user: Vec<OsString>,
    kept: Vec<OsString>,
    tools: Named,
    paths: Named,
}

impl Found {
    /// Sorts an argument in, with its value where that is the next one. A flag without its
    /// value says nothing and is left out.
    fn take(&mut self, argument: &OsString, rest: &mut std::slice::Iter<'_, OsString>) {
        let (flag, joined) = split(argument);
        let mut value = || joined.clone().or_else(|| rest.next().cloned()).unwrap_or_default();
        match flag {
            Some(flag) if SYSTEM_FLAGS.contains(&flag) => self.system.push(value()),
            Some(PROMPT_FLAG) => self.user.push(value()),
            Some(SHORT_PROMPT_FLAG) if joined.is_none() => self.user.push(value()),
            Some(DISALLOWED) => {
                let list = value();
                if !list.is_empty() {
                    self.tools = Named::Some;
                    self.system.push(forbid(&list));
                }
            }
            Some(DROPPED) if joined.is_none() => {}
            Some(flag) => {
                let named = if opens(argument) { Named::All } else { Named::Some };
                if TOOL_FLAGS.contains(&flag) {
                    self.tools = self.tools.max(named);
                }
                if PATH_FLAGS.contains(&flag) {
                    self.paths = self.paths.max(named);
                }
                self.kept.push(argument.clone());
            }
            None => self.kept.push(argument.clone()),
        }
    }
}

/// A flag and the value behind its `=`; no flag if it is not text.
fn split(argument: &OsStr) -> (Option<&str>, Option<OsString>) {
    let bytes = argument.as_encoded_bytes();
    if !bytes.starts_with(b"-") {
        return (None, None);
    }
    let Some(at) = bytes.iter().position(|byte| *byte == b'=') else {
        return (argument.to_str(), None);
    };
    use std::os::unix::ffi::OsStrExt as _;
    let value = OsStr::from_bytes(&bytes[at + 1..]).to_owned();
    (std::str::from_utf8(&bytes[..at]).ok(), Some(value))
}

fn forbid(list: &OsStr) -> OsString {
    let mut text = OsString::from("You must not use these tools, in no way and for no purpose: ");
    text.push(list);
    text.push(".");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(approver: Approver, words: &[&str]) -> (Vec<String>, bool) {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        let Normalized { arguments, narrowed, .. } = normalize(&words, approver);
        let text = arguments.into_iter().map(|word| word.into_string().expect("text"));
        (text.collect(), narrowed)
    }

    fn normalized(words: &[&str]) -> Vec<String> {
        with(Approver::Flags, words).0
    }

    #[test]
    fn each_rule() {
        const TOOLS: &str = ALL_TOOLS;
        const PATHS: &str = ALL_PATHS;
        const NO_BASH: &str = "You must not use these tools, in no way and for no purpose: Bash.";
        let two = format!("{NO_BASH}\n\nhi");
        let table: &[(&[&str], &[&str])] = &[
            // Nothing at all is the widest request.
            (&[], &[TOOLS, PATHS]),
            (&["-p", "hi"], &[TOOLS, PATHS, "-p", "hi"]),
            (&["--prompt", "hi"], &[TOOLS, PATHS, "-p", "hi"]),
            (&["--prompt=hi"], &[TOOLS, PATHS, "-p", "hi"]),
            (&["--prompt=a=b"], &[TOOLS, PATHS, "-p", "a=b"]),
            // The system speaks first, even if it is given later.
            (&["-p", "user", "--system-prompt", "sys"], &[TOOLS, PATHS, "-p", "sys\n\nuser"]),
            (
                &["--append-system-prompt=two", "-p", "a", "--system-prompt=one", "--prompt", "b"],
                &[TOOLS, PATHS, "-p", "two\n\none\n\na\n\nb"],
            ),
            (&["--system-prompt", "only"], &[TOOLS, PATHS, "-p", "only"]),
            // What is dangling or empty says nothing.
            (&["-p"], &[TOOLS, PATHS]),
            (&["--prompt"], &[TOOLS, PATHS]),
            (&["--system-prompt"], &[TOOLS, PATHS]),
            (&["-p", ""], &[TOOLS, PATHS]),
            (&["--prompt=", "-p", "x"], &[TOOLS, PATHS, "-p", "x"]),
            (&["--append-system-prompt=", "--model", "m"], &[TOOLS, PATHS, "--model", "m"]),
            // A value is taken whatever it looks like.
            (&["-p", "--model"], &[TOOLS, PATHS, "-p", "--model"]),
            (&["-p", "--allow-tool"], &[TOOLS, PATHS, "-p", "--allow-tool"]),
            // What is not known passes, in order, before the prompt.
            (
                &["-p", "hi", "--model", "m", "--add-dir", "/w"],
                &[TOOLS, PATHS, "--model", "m", "--add-dir", "/w", "-p", "hi"],
            ),
            (&["-phi"], &[TOOLS, PATHS, "-phi"]),
            (&["-p=hi"], &[TOOLS, PATHS, "-p=hi"]),
            (&["--prompts", "x"], &[TOOLS, PATHS, "--prompts", "x"]),
            (&["--system-prompt-file", "f"], &[TOOLS, PATHS, "--system-prompt-file", "f"]),
            (&["resume", "-s"], &[TOOLS, PATHS, "resume", "-s"]),
            // Explicit permissions are kept, tools and paths each for themselves.
            (&[TOOLS], &[PATHS, TOOLS]),
            (&["--allow-tool", "shell"], &[PATHS, "--allow-tool", "shell"]),
            (&["--allow-tool=shell(git:*)"], &[PATHS, "--allow-tool=shell(git:*)"]),
            (&["--deny-tool", "write", "-p", "x"], &[PATHS, "--deny-tool", "write", "-p", "x"]),
            (&["--deny-tool="], &[PATHS, "--deny-tool="]),
            (&["--allow-path", "/w"], &[TOOLS, "--allow-path", "/w"]),
            (&["--deny-path=/etc"], &[TOOLS, "--deny-path=/etc"]),
            (&[PATHS], &[TOOLS, PATHS]),
            (&["--allow-tool=a", "--allow-path=b"], &["--allow-tool=a", "--allow-path=b"]),
            (&["--allow-all-tools=true"], &[PATHS, "--allow-all-tools=true"]),
            // What only looks like one does not count.
            (&["--allow-tools", "x"], &[TOOLS, PATHS, "--allow-tools", "x"]),
            (&["--allow-paths=x"], &[TOOLS, PATHS, "--allow-paths=x"]),
            (&["--yolo"], &[TOOLS, PATHS, "--yolo"]),
            (&["--assisted-approval"], &[TOOLS, PATHS, "--assisted-approval"]),
            // Claude's own flags.
            (&["--dangerously-skip-permissions", "-p", "x"], &[TOOLS, PATHS, "-p", "x"]),
            (&["--disallowed-tools", "Bash"], &[PATHS, "-p", NO_BASH]),
            (&["-p", "hi", "--disallowed-tools=Bash"], &[PATHS, "-p", &two]),
            (&["--disallowed-tools"], &[TOOLS, PATHS]),
            (&["--disallowed-tools", "Bash", TOOLS], &[PATHS, TOOLS, "-p", NO_BASH]),
            // Behind `--` there are no flags, and nothing is appended.
            (&["-p", "hi", "--", "-p", "x"], &[TOOLS, PATHS, "-p", "hi", "--", "-p", "x"]),
            (&["--", "--allow-tool", "x"], &[TOOLS, PATHS, "--", "--allow-tool", "x"]),
            (&["-p", "--", "--model", "m"], &[TOOLS, PATHS, "--model", "m", "-p", "--"]),
        ];
        for (given, want) in table {
            assert_eq!(normalized(given), *want, "{given:?}");
        }
    }

    #[test]
    fn under_the_guard_no_flag_opens_anything_and_narrow_ones_stay() {
        let table: &[(&[&str], &[&str], bool)] = &[
            (&["-p", "hi"], &["-p", "hi"], false),
            (
                &["--allow-all-tools", "-p", "hi", "--add-dir", "/w"],
                &["--add-dir", "/w", "-p", "hi"],
                false,
            ),
            (&["--yolo", "--allow-all", "--allow-all-paths=true", "--allow-all-urls"], &[], false),
            (&["--experimental", "--assisted-approval"], &["--experimental"], false),
            (&["--allow-tool", "shell(git:*)"], &["--allow-tool", "shell(git:*)"], true),
            (&["--allow-all-tools", "--deny-tool=write"], &["--deny-tool=write"], true),
            (&["--", "--yolo"], &["--", "--yolo"], false),
        ];
        for (given, want, narrowed) in table {
            let (arguments, was) = with(Approver::Guard, given);
            assert_eq!(
                (&arguments[..], was),
                (&want.iter().map(ToString::to_string).collect::<Vec<_>>()[..], *narrowed),
                "{given:?}"
            );
        }
    }

    #[test]
    fn what_is_normal_stays_so() {
        for words in [&["-p", "hi"][..], &["--model", "m"], &["--system-prompt", "s", "-p", "u"]] {
            let once = normalized(words);
            let again = normalized(&once.iter().map(String::as_str).collect::<Vec<_>>());
            let without = |words: &[String]| {
                let flag = |word: &&String| *word != ALL_TOOLS && *word != ALL_PATHS;
                words.iter().filter(flag).cloned().collect::<Vec<_>>()
            };
            assert_eq!(without(&again), without(&once));
        }
    }

    #[test]
    fn arguments_that_are_no_text_pass_and_so_does_such_a_prompt() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let words = [odd(b"\xff"), odd(b"--prompt=\xfe"), odd(b"--x\xff=1")];
        let want: Vec<OsString> = [
            &b"--allow-all-tools"[..],
            b"--allow-all-paths",
            b"\xff",
            b"--x\xff=1",
            b"-p",
            b"\xfe",
        ]
        .map(odd)
        .into();
        assert_eq!(normalize(&words, Approver::Flags).arguments, want);
    }
}
