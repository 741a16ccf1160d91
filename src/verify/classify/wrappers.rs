//! Programs that only run another one: `timeout 5 sh x`, `npx jest`, `uv run gate.py`.

use super::options::{OptionSyntax, leading};
use super::programs::{lists, name_of};

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
pub(in crate::verify) fn unwrapped(words: &[String]) -> &[String] {
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
