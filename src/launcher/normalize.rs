//! Rewrites the arguments of a nested launch into the form that the Copilot CLI takes: pure.
//!
//! Invariant: the result is the permissive prefix where it applies, then every argument that
//! is passed through, unchanged and in order, then one `-p` with all prompts. Explicit
//! permissions are kept and never widened. Under the guard no flag grants anything: if its
//! hooks failed to load, the CLI would then run no tool at all.

use std::ffi::{OsStr, OsString};

/// Grant everything to a launch that names no permissions: it has no human to ask.
const ALL_TOOLS: &str = "--allow-all-tools";
const ALL_PATHS: &str = "--allow-all-paths";

/// Flags that permit or forbid tools, and paths; alone or as `flag=…`.
const TOOL_FLAGS: [&str; 3] = [ALL_TOOLS, "--allow-tool", "--deny-tool"];
const PATH_FLAGS: [&str; 3] = [ALL_PATHS, "--allow-path", "--deny-path"];

/// Claude's flag that grants everything; unknown to the Copilot CLI.
const DROPPED: &str = "--dangerously-skip-permissions";
/// Claude's list of forbidden tools. The Copilot CLI has no flag with the same meaning, so
/// the prompt says it.
const DISALLOWED: &str = "--disallowed-tools";

/// Flags whose value is a part of the prompt. System parts come first.
const SYSTEM_FLAGS: [&str; 2] = ["--system-prompt", "--append-system-prompt"];
const PROMPT_FLAG: &str = "--prompt";
const SHORT_PROMPT_FLAG: &str = "-p";

/// Flags that grant all tools, all paths or both, or let a model decide; dropped under the
/// guard.
const GRANTING_FLAGS: [&str; 6] =
    [ALL_TOOLS, ALL_PATHS, "--allow-all", "--yolo", "--allow-all-urls", "--assisted-approval"];

/// Decides the permissions of a nested launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approver {
    /// The flags as written; without any, everything is permitted.
    Flags,
    /// The guard's hook, call by call. The caller's own narrow flags still count.
    Guard,
}

/// The arguments in the form that the CLI takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalized {
    /// Without the program's name.
    pub arguments: Vec<OsString>,
    /// Whether the caller permitted or forbade single tools. The guard's approval then grants
    /// nothing by itself: the call must pass these flags too.
    pub narrowed: bool,
    /// Whether there is a prompt.
    pub prompted: bool,
}

/// Rewrites the arguments of a nested launch for the Copilot CLI.
pub fn normalize(arguments: &[OsString], approver: Approver) -> Normalized {
    let mut sorted = SortedArguments::default();
    let mut rest = arguments.iter();
    // After `--`, there are no flags, and nothing may be appended.
    let mut operands: &[OsString] = &[];
    while let Some(argument) = rest.next() {
        if argument == "--" {
            let left = rest.as_slice().len();
            operands = &arguments[arguments.len() - left - 1..];
            break;
        }
        sorted.take(argument, &mut rest);
    }
    let SortedArguments { system, user, passed, tools, paths } = sorted;
    let mut all = Vec::with_capacity(arguments.len() + 4);
    match approver {
        Approver::Flags => {
            let prefix = [(tools, ALL_TOOLS), (paths, ALL_PATHS)];
            let unnamed = prefix.iter().filter(|(named, _)| *named == Permissions::Unnamed);
            all.extend(unnamed.map(|(_, flag)| OsString::from(flag)));
            all.extend(passed);
        }
        Approver::Guard => all.extend(passed.into_iter().filter(|argument| !grants(argument))),
    }
    let parts: Vec<OsString> =
        system.into_iter().chain(user).filter(|part| !part.is_empty()).collect();
    if !parts.is_empty() {
        all.push(SHORT_PROMPT_FLAG.into());
        all.push(parts.join(OsStr::new("\n\n")));
    }
    all.extend_from_slice(operands);
    let narrowed = tools == Permissions::Narrow;
    Normalized { arguments: all, narrowed, prompted: !parts.is_empty() }
}

fn grants(argument: &OsStr) -> bool {
    split(argument).0.is_some_and(|flag| GRANTING_FLAGS.contains(&flag))
}

/// The permissions that the flags name, for tools or for paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Permissions {
    #[default]
    Unnamed,
    All,
    Narrow,
}

#[derive(Debug, Default)]
struct SortedArguments {
    system: Vec<OsString>,
    user: Vec<OsString>,
    passed: Vec<OsString>,
    tools: Permissions,
    paths: Permissions,
}

impl SortedArguments {
    /// Sorts an argument in, together with the next one if that is its value. A prompt flag
    /// without a value is left out.
    fn take(&mut self, argument: &OsString, rest: &mut std::slice::Iter<'_, OsString>) {
        let (flag, joined) = split(argument);
        let mut value = || joined.clone().or_else(|| rest.next().cloned()).unwrap_or_default();
        match flag {
            Some(flag) if SYSTEM_FLAGS.contains(&flag) => self.system.push(value()),
            Some(PROMPT_FLAG) => self.user.push(value()),
            Some(SHORT_PROMPT_FLAG) if joined.is_none() => self.user.push(value()),
            Some(DISALLOWED) => {
                self.tools = Permissions::Narrow;
                self.system.push(forbid(&value()));
            }
            Some(DROPPED) => {}
            Some(flag) => {
                let named = if grants(argument) { Permissions::All } else { Permissions::Narrow };
                if TOOL_FLAGS.contains(&flag) {
                    self.tools = self.tools.max(named);
                }
                if PATH_FLAGS.contains(&flag) {
                    self.paths = self.paths.max(named);
                }
                self.passed.push(argument.clone());
            }
            None => self.passed.push(argument.clone()),
        }
    }
}

/// The flag and the value after its `=`; no flag where it is not UTF-8.
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

/// The prompt part that forbids the listed tools; an empty list forbids all of them.
fn forbid(list: &OsStr) -> OsString {
    let names = |byte: &u8| !byte.is_ascii_whitespace() && *byte != b',';
    if !list.as_encoded_bytes().iter().any(names) {
        return "You must not use any tool, in no way and for no purpose.".into();
    }
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
        const NO_TOOL: &str = "You must not use any tool, in no way and for no purpose.";
        let two = format!("{NO_BASH}\n\nhi");
        let none = format!("{NO_TOOL}\n\nhi");
        let table: &[(&[&str], &[&str])] = &[
            // Without permission flags everything is permitted.
            (&[], &[TOOLS, PATHS]),
            (&["-p", "hi"], &[TOOLS, PATHS, "-p", "hi"]),
            (&["--prompt", "hi"], &[TOOLS, PATHS, "-p", "hi"]),
            (&["--prompt=hi"], &[TOOLS, PATHS, "-p", "hi"]),
            (&["--prompt=a=b"], &[TOOLS, PATHS, "-p", "a=b"]),
            // System parts come first, even if they are written later.
            (&["-p", "user", "--system-prompt", "sys"], &[TOOLS, PATHS, "-p", "sys\n\nuser"]),
            (
                &["--append-system-prompt=two", "-p", "a", "--system-prompt=one", "--prompt", "b"],
                &[TOOLS, PATHS, "-p", "two\n\none\n\na\n\nb"],
            ),
            (&["--system-prompt", "only"], &[TOOLS, PATHS, "-p", "only"]),
            // Prompt flags that are dangling or empty vanish.
            (&["-p"], &[TOOLS, PATHS]),
            (&["--prompt"], &[TOOLS, PATHS]),
            (&["--system-prompt"], &[TOOLS, PATHS]),
            (&["-p", ""], &[TOOLS, PATHS]),
            (&["--prompt=", "-p", "x"], &[TOOLS, PATHS, "-p", "x"]),
            (&["--append-system-prompt=", "--model", "m"], &[TOOLS, PATHS, "--model", "m"]),
            // A value may look like a flag.
            (&["-p", "--model"], &[TOOLS, PATHS, "-p", "--model"]),
            (&["-p", "--allow-tool"], &[TOOLS, PATHS, "-p", "--allow-tool"]),
            // Unknown arguments pass through, in order, before the prompt.
            (
                &["-p", "hi", "--model", "m", "--add-dir", "/w"],
                &[TOOLS, PATHS, "--model", "m", "--add-dir", "/w", "-p", "hi"],
            ),
            (&["-phi"], &[TOOLS, PATHS, "-phi"]),
            (&["-p=hi"], &[TOOLS, PATHS, "-p=hi"]),
            (&["--prompts", "x"], &[TOOLS, PATHS, "--prompts", "x"]),
            (&["--system-prompt-file", "f"], &[TOOLS, PATHS, "--system-prompt-file", "f"]),
            (&["resume", "-s"], &[TOOLS, PATHS, "resume", "-s"]),
            // Explicit permissions are kept; tools and paths are decided separately.
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
            // Similar flags do not count as permissions.
            (&["--allow-tools", "x"], &[TOOLS, PATHS, "--allow-tools", "x"]),
            (&["--allow-paths=x"], &[TOOLS, PATHS, "--allow-paths=x"]),
            (&["--yolo"], &[TOOLS, PATHS, "--yolo"]),
            (&["--assisted-approval"], &[TOOLS, PATHS, "--assisted-approval"]),
            // Claude's own flags.
            (&["--dangerously-skip-permissions", "-p", "x"], &[TOOLS, PATHS, "-p", "x"]),
            (&["--disallowed-tools", "Bash"], &[PATHS, "-p", NO_BASH]),
            (&["-p", "hi", "--disallowed-tools=Bash"], &[PATHS, "-p", &two]),
            (&["--dangerously-skip-permissions=true", "-p", "x"], &[TOOLS, PATHS, "-p", "x"]),
            // The flag takes no value, so the next word is a separate argument.
            (&["--dangerously-skip-permissions", "true"], &[TOOLS, PATHS, "true"]),
            (
                &["--dangerously-skip-permissions=false", "--allow-tool=a"],
                &[PATHS, "--allow-tool=a"],
            ),
            (&["--dangerously-skip-permission"], &[TOOLS, PATHS, "--dangerously-skip-permission"]),
            // A list that names no tool forbids all of them.
            (&["--disallowed-tools="], &[PATHS, "-p", NO_TOOL]),
            (&["--disallowed-tools", "", "-p", "hi"], &[PATHS, "-p", &none]),
            (&["--disallowed-tools= ", TOOLS], &[PATHS, TOOLS, "-p", NO_TOOL]),
            (&["--disallowed-tools=,"], &[PATHS, "-p", NO_TOOL]),
            (&["--disallowed-tools", " , ,"], &[PATHS, "-p", NO_TOOL]),
            (&["--disallowed-tools"], &[PATHS, "-p", NO_TOOL]),
            (&["--disallowed-tools", "Bash", TOOLS], &[PATHS, TOOLS, "-p", NO_BASH]),
            // After `--`, there are no flags, and nothing is appended.
            (&["-p", "hi", "--", "-p", "x"], &[TOOLS, PATHS, "-p", "hi", "--", "-p", "x"]),
            (&["--", "--allow-tool", "x"], &[TOOLS, PATHS, "--", "--allow-tool", "x"]),
            (&["-p", "--", "--model", "m"], &[TOOLS, PATHS, "--model", "m", "-p", "--"]),
        ];
        for (words, want) in table {
            assert_eq!(normalized(words), *want, "{words:?}");
        }
    }

    #[test]
    fn under_the_guard_granting_flags_are_dropped_and_narrow_ones_kept() {
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
            (
                &["--disallowed-tools="],
                &["-p", "You must not use any tool, in no way and for no purpose."],
                true,
            ),
            (&["--", "--yolo"], &["--", "--yolo"], false),
        ];
        for (words, want, narrowed) in table {
            let (arguments, was) = with(Approver::Guard, words);
            assert_eq!(
                (&arguments[..], was),
                (&want.iter().map(ToString::to_string).collect::<Vec<_>>()[..], *narrowed),
                "{words:?}"
            );
        }
    }

    #[test]
    fn normalizing_twice_changes_nothing_more() {
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
    fn arguments_that_are_not_utf8_pass_through_and_may_be_prompts() {
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
