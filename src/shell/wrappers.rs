//! Programs that only run another one: `timeout 5 sh x`, `npx jest`, `uv run gate.py`.

/// A program that runs the words after its own.
struct Wrapper {
    names: &'static str,
    /// The word after the name, if only that one runs others.
    verbs: &'static str,
    syntax: OptionSyntax,
    /// Operands before the command.
    operands: usize,
    /// Assignments may stand before the command.
    assigns: bool,
}

const fn row(names: &'static str, valued: &'static str, long: &'static str) -> Wrapper {
    let syntax = OptionSyntax { valued, long };
    Wrapper { names, verbs: "", syntax, operands: 0, assigns: false }
}

const fn after(operands: usize, wrapper: Wrapper) -> Wrapper {
    Wrapper { operands, ..wrapper }
}

const fn assigning(wrapper: Wrapper) -> Wrapper {
    Wrapper { assigns: true, ..wrapper }
}

const fn verb(verbs: &'static str, wrapper: Wrapper) -> Wrapper {
    Wrapper { verbs, ..wrapper }
}

const UV: &str = "color config-file directory env-file extra group index index-url no-group \
                  only-group package project python with with-editable with-requirements";

const XARGS: &str = "max-args max-procs max-lines max-chars arg-file delimiter";

const WRAPPERS: &[Wrapper] = &[
    row(
        "! not then do else { shell builtin nohup setsid chronic unbuffer busybox toybox eatmydata \
         torsocks dbus-run-session valgrind setpriv firejail linux32 linux64 dumb-init tini",
        "",
        "",
    ),
    row("command", "", ""),
    row("exec", "a", ""),
    assigning(row("env genv", "uCSPa", "unset chdir split-string argv0")),
    assigning(row("cross-env", "", "")),
    assigning(row(
        "sudo",
        "ugpChDRrtTU",
        "user group prompt close-from host chdir chroot role type command-timeout other-user",
    )),
    row("doas", "uC", ""),
    row("runuser", "ugG", "user group supp-group"),
    row("nice gnice", "n", "adjustment"),
    after(1, row("timeout gtimeout", "ks", "kill-after signal")),
    row("stdbuf gstdbuf", "ioe", "input output error"),
    row("ionice", "cnpPu", "class classdata"),
    after(1, row("chrt", "TPD", "")),
    after(1, row("taskset", "", "")),
    row("numactl", "CNmpib", ""),
    row("choom", "n", "adjust"),
    row("cpulimit", "lpe", "limit"),
    row("unshare", "RwSG", "root wd setuid setgid"),
    row("nsenter", "tSG", "target setuid setgid"),
    after(1, row("chroot", "", "")),
    after(1, row("setarch gosu su-exec setuidgid faketime", "f", "")),
    after(1, row("flock", "wE", "timeout wait conflict-exit-code")),
    row("fakeroot", "lsib", "lib faked"),
    row("proxychains proxychains4", "f", ""),
    row("caffeinate", "tw", ""),
    row("systemd-run", "puEM", "property unit uid gid setenv slice"),
    row("xvfb-run", "nsefpw", "server-num server-args error-file auth-file"),
    row("strace ltrace", "oePpsaEuIOSUb", "output trace expr"),
    row("time gtime", "of", "output format"),
    row("xargs gxargs", "nPILsdaE", XARGS),
    row("parallel", "jaICnNL", "jobs arg-file colsep delay timeout retries joblog results"),
    row("npx bunx pnpx", "pc", "package call"),
    row("uvx pipx", "", "from with python"),
    verb("run", row("uv", "pC", UV)),
    verb("run", row("poetry pipenv rye pdm pixi doppler dotenvx op", "", "project config env")),
    verb("run", row("hatch", "e", "env")),
    verb("run", row("coverage", "", "source rcfile omit include data-file concurrency context")),
    verb("run", row("conda mamba micromamba", "np", "name prefix cwd")),
    verb("exec", row("bundle rbenv pyenv nodenv asdf", "", "")),
    verb(
        "exec dlx x",
        row("pnpm npm yarn mise", "pcwCF", "package call workspace filter dir prefix"),
    ),
    after(1, verb("exec", row("direnv", "", ""))),
];

/// The words without programs that only run another one.
pub fn unwrapped(words: &[String]) -> &[String] {
    let mut words = words;
    for _ in 0..8 {
        let Some(inner) = inner(words) else { break };
        words = inner;
    }
    words
}

/// The words that a wrapper runs.
fn inner(words: &[String]) -> Option<&[String]> {
    let (first, rest) = words.split_first()?;
    let name = name_of(first);
    // `pnpm --filter x exec sh y`: options may stand before the verb.
    let after_verb = |wrapper: &Wrapper| match wrapper.verbs {
        "" => Some(rest),
        verbs => {
            let (verb, after) = leading(wrapper.syntax, rest).1.split_first()?;
            lists(verbs, verb).then_some(after)
        }
    };
    let known = WRAPPERS.iter().filter(|wrapper| lists(wrapper.names, name));
    let (wrapper, rest) = known.filter_map(|it| Some((it, after_verb(it)?))).next()?;
    let (given, mut inner) = leading(wrapper.syntax, rest);
    let has = |names: &str| given.iter().any(|(option, _)| lists(names, option));
    // `command -v x` only asks, and `runuser -c x` runs a text.
    if matches!(name, "command" | "runuser") && has("v V c command") {
        return None;
    }
    // `uv run -m gate`, `coverage run -m gate`: a module of Python.
    let module = |word: &String| word == "-m" || word == "--module";
    let skipped = &rest[..rest.len() - inner.len()];
    if !wrapper.verbs.is_empty()
        && let Some(at) = skipped.iter().position(module)
    {
        return Some(&rest[at..]);
    }
    if wrapper.assigns {
        inner = &inner[inner.iter().take_while(|word| word.contains('=')).count()..];
    }
    let inner = inner.get(wrapper.operands..).unwrap_or_default();
    Some(inner.strip_prefix(["--".to_owned()].as_slice()).unwrap_or(inner))
}

/// Is a name one of those between spaces?
pub fn lists(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|it| it == name)
}

/// The name of a program by the word that runs it: `/usr/bin/env` is `env`. A path inside the
/// repository is what it is, whatever its name, unless it is in a folder of installed tools.
pub fn name_of(word: &str) -> &str {
    const TOOLS: [&str; 4] = ["node_modules/.bin/", "vendor/bin/", ".venv/bin/", "venv/bin/"];
    let outside = word.starts_with(['/', '~']) && !word.ends_with('/');
    let outside = outside || TOOLS.iter().any(|above| word.contains(above));
    if outside { word.rsplit('/').next().unwrap_or(word) } else { word }
}

/// How a program takes its options.
#[derive(Clone, Copy, Debug)]
struct OptionSyntax {
    /// Letters with a value: the rest of the word, or the next word.
    valued: &'static str,
    /// Long names whose value may be the next word.
    long: &'static str,
}

/// An option without its dashes, and its value.
type Given<'w> = (&'w str, Option<&'w str>);

/// The options before the first operand, and the words from there on.
fn leading<'w>(syntax: OptionSyntax, words: &'w [String]) -> (Vec<Given<'w>>, &'w [String]) {
    let mut given = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(body) = word.strip_prefix('-').filter(|body| !body.is_empty()) else { break };
        at += 1;
        if body == "-" {
            break;
        }
        at += option(syntax, body, words.get(at).map(String::as_str), &mut given);
    }
    (given, words.get(at..).unwrap_or_default())
}

/// Reads the options of a word; returns how many of the words after it are values.
fn option<'w>(
    syntax: OptionSyntax,
    body: &'w str,
    next: Option<&'w str>,
    given: &mut Vec<Given<'w>>,
) -> usize {
    if let Some(long) = body.strip_prefix('-') {
        if let Some((name, value)) = long.split_once('=') {
            given.push((name, Some(value)));
            return 0;
        }
        let valued = lists(syntax.long, long);
        given.push((long, next.filter(|_| valued)));
        return usize::from(valued);
    }
    let mut used = 0;
    for (at, letter) in body.char_indices() {
        let end = at + letter.len_utf8();
        let (name, rest) = (&body[at..end], &body[end..]);
        let rest = Some(rest).filter(|rest| !rest.is_empty());
        if !syntax.valued.contains(letter) {
            given.push((name, None));
            continue;
        }
        if rest.is_some() {
            given.push((name, rest));
            break;
        }
        given.push((name, next));
        used = 1;
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNTAX: OptionSyntax = OptionSyntax { valued: "cf", long: "file" };

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn values_are_told_from_operands() {
        for (line, expected, rest) in [
            ("-sf a b", vec![("s", None), ("f", Some("a"))], "b"),
            ("-sfa b", vec![("s", None), ("f", Some("a"))], "b"),
            ("-j b", vec![("j", None)], "b"),
            ("-j --file=a b", vec![("j", None), ("file", Some("a"))], "b"),
            ("--file a --other b -x", vec![("file", Some("a")), ("other", None)], "b -x"),
            ("-c -- b", vec![("c", Some("--"))], "b"),
            ("-s -- -b", vec![("s", None)], "-b"),
            ("- b", vec![], "- b"),
            ("+x b", vec![], "+x b"),
        ] {
            let line = words(line);
            let (given, left) = leading(SYNTAX, &line);
            assert_eq!((given, left.join(" ")), (expected, rest.to_owned()), "{line:?}");
        }
    }
}
