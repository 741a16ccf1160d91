//! Variables that a command may be started with.

use super::options::Parsed;
use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;
use crate::guard::programs::table::Kind;
use crate::guard::secrets;

/// Variables that load no code and name no files.
const HARMLESS: &str = "NODE_ENV CI RUST_LOG RUST_BACKTRACE FORCE_COLOR NO_COLOR CLICOLOR APP_ENV \
    DEBUG LC_ALL LANG LC_CTYPE TZ CGO_ENABLED GOOS GOARCH GOMAXPROCS GOFLAGS_OFF CARGO_TERM_COLOR CARGO_INCREMENTAL MIX_ENV \
    PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 TERM COLUMNS LINES PORT VERBOSE \
    RUST_TEST_THREADS RUST_MIN_STACK INSTA_UPDATE UPDATE_SNAPSHOTS UPDATE_EXPECT FLASK_ENV \
    DJANGO_SETTINGS_MODULE NEXT_TELEMETRY_DISABLED TURBO_TELEMETRY_DISABLED SKIP_SLOW CARGO_NET_OFFLINE npm_config_loglevel \
    PROPTEST_CASES LOG_LEVEL VITEST JEST_WORKER_ID BABEL_ENV HEADLESS TEST_ENV CARGO_BUILD_JOBS";

/// Variables that name a folder to write to.
const FOLDERS: &str = "CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR GOCACHE PYTHONPYCACHEPREFIX";

impl Judge<'_> {
    /// Judges a variable that a command is started with; `alone` means that
    /// there is no command.
    pub(in crate::guard) fn variable(
        &mut self,
        place: &Place,
        name: &str,
        value: &Arg,
        alone: bool,
    ) -> Result<(), Denial> {
        if alone {
            return Err(Denial::new(
                "shell.not-understood",
                format!("the line sets the variable `{name}`"),
            )
            .instead("write the value where it is used"));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.+:=@%,*^ -".contains(c);
        // A pattern stays as it is in a variable.
        let text = if matches!(value, Arg::Open { .. }) { "$" } else { value.head() };
        let plain = text.chars().all(fits) && !text.starts_with('.');
        let kind = match name {
            _ if lists(FOLDERS, name) => Kind::OutDir,
            "COVERAGE_FILE" | "JEST_JUNIT_OUTPUT" => Kind::Fill,
            "TS_NODE_PROJECT" => Kind::Config,
            _ => Kind::Text,
        };
        if kind != Kind::Text {
            return self.value(place, name, kind, value, &Parsed::default());
        }
        let known = match name {
            "PYTHONPATH" => {
                for part in value.text().unwrap_or("/").split(':').filter(|part| !part.is_empty()) {
                    self.reads(place, &Arg::of(part), ReadKind::Name)?;
                }
                true
            }
            "PAGER" | "GIT_PAGER" => value.text() == Some("cat"),
            "RUSTFLAGS" | "RUSTDOCFLAGS" | "CARGO_BUILD_RUSTFLAGS" => are_lint_flags(text),
            "GOFLAGS" => lists("-mod=vendor -mod=readonly -race -short -v -count=1", text),
            "EDITOR" | "GIT_EDITOR" => value.text() == Some("true"),
            // It chooses the database, too.
            "RAILS_ENV" | "RACK_ENV" => plain && text != "production",
            _ => lists(HARMLESS, name) && plain,
        };
        if known {
            return Ok(());
        }
        Err(Denial::new(
            "env.injection",
            format!("the variable `{name}` may change what a program runs or where it writes"),
        )
        .instead("run the command without it"))
    }

    /// Commands that print or change the environment.
    pub(super) fn environment(
        &mut self,
        place: &Place,
        name: &str,
        args: &[Arg],
    ) -> Result<(), Denial> {
        let sets = |arg: &Arg| arg.head().contains('=') && !arg.head().starts_with('-');
        if name == "export" && !args.is_empty() && args.iter().all(sets) {
            return self.variables(place, args);
        }
        let dumps = Denial::new("env.dump", "it prints the whole environment")
            .instead("print one variable that you need");
        if name == "printenv" && !args.is_empty() {
            return args.iter().try_for_each(|arg| match arg.text() {
                Some(variable) if secrets::variable(variable) => {
                    Err(Denial::new("secret.variable", format!("{variable} may hold a secret")))
                }
                Some(variable)
                    if variable.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') =>
                {
                    Ok(())
                }
                _ => Err(dumps.clone()),
            });
        }
        if args.is_empty() || args.iter().all(|arg| arg.head().starts_with('-')) {
            return Err(dumps);
        }
        Err(Denial::new(
            "env.injection",
            format!("`{name}` changes variables for the commands behind it"),
        )
        .instead("write `NAME=value command` in one line"))
    }
}

/// Flags for the compiler that only choose lints: `-D warnings -Aunused`.
fn are_lint_flags(flags: &str) -> bool {
    let name = |lint: &str| {
        !lint.is_empty() && lint.chars().all(|c| c.is_ascii_lowercase() || "_:".contains(c))
    };
    let lint =
        |flag: &str| flag.strip_prefix(['D', 'W', 'A', 'F']).is_some_and(|lint| name(lint.trim()));
    flags.strip_prefix('-').is_some_and(|flags| flags.split('-').all(lint))
}
