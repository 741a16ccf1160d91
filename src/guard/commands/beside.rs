//! A few options that reach further than they show, and servers that listen to other machines.

use super::options::{Parsed, not_known, unknown_option};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;
use crate::guard::programs::table::{Kind, entry};

/// Options that replace or delete files whose names stand elsewhere, or read and change any file.
const REFUSED: &[(&str, &str)] = &[
    ("make gmake bmake", "-B --always-make"),
    ("pytest py.test", "--basetemp"),
    ("tsc vue-tsc tsgo", "--clean"),
    ("black isort autopep8 yapf autoflake", "--include"),
];

/// Bundlers whose operands are files to start from; those of the others are folders, and their
/// outputs are relative to them.
const FROM_FILES: &str = "esbuild tsup rollup webpack ncc parcel";

/// Servers that listen to other machines unless an option says otherwise: programs, the verbs that
/// start them (or, behind a `!`, those that do not), and the options.
const SERVERS: &[(&str, &str, &str)] = &[
    ("next", "!build lint info telemetry export", "-H --hostname"),
    ("react-scripts", "start", ""),
    ("vue-cli-service", "serve", "--host"),
    ("expo", "start", "--host --localhost"),
    ("parcel", "!build watch", "--host"),
    ("webpack", "serve server s", "--host"),
    ("rspack", "serve server s dev", "--host"),
    ("karma start", "!", "--listen-address"),
];

/// Would a server listen to other machines?
fn serves_others(name: &str, parsed: &Parsed) -> bool {
    let first = parsed.operands.first().map_or("", Arg::head);
    let starts = |verbs: &str| match verbs.strip_prefix('!') {
        Some(others) => !lists(others, first),
        None => lists(verbs, first),
    };
    let mut servers =
        SERVERS.iter().filter(|(program, verbs, _)| *program == name && starts(verbs));
    servers.any(|(.., options)| !parsed.names.iter().any(|option| lists(options, option)))
}

impl Judge<'_> {
    /// Refuses a tool that would reach further than its line shows.
    pub(super) fn writes_beside(
        &mut self,
        place: &Place,
        name: &str,
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let first = parsed.operands.first().map(Arg::head);
        let refused = REFUSED.iter().filter(|(names, _)| lists(names, name));
        for (_, options) in refused {
            if let Some(option) = parsed.names.iter().find(|option| lists(options, option)) {
                return Err(unknown_option(name, option));
            }
        }
        // A server would listen to other machines.
        let everywhere =
            parsed.has(&["--host"]) && !parsed.values.iter().any(|(.., of)| of == "--host");
        if everywhere || name == "django-admin runserver" && first.is_some() {
            return Err(not_known(name, "--host").instead("let it listen to this machine only"));
        }
        if serves_others(name, parsed) {
            let why = format!("`{name}` would listen to other machines");
            return Err(Denial::new("program.option", why)
                .instead("name the loopback, if it has an option for that: `--host=127.0.0.1`"));
        }
        let outputs = parsed.values.iter().any(|(kind, ..)| *kind == Kind::OutDir);
        if outputs && is_bundler(name) && !lists(FROM_FILES, name) {
            // The first one is a verb.
            for operand in parsed.operands.iter().skip(1) {
                let paths = self.paths(place, operand)?;
                if paths.iter().any(|path| self.cx.kind(path) == FileKind::Dir) {
                    return Err(not_known(name, operand.head())
                        .instead("leave the output out, or run it in that folder"));
                }
            }
        }
        Ok(())
    }
}

fn is_bundler(name: &str) -> bool {
    entry(name).is_some_and(|entry| entry.operands == [Kind::Special("bundler")])
}
