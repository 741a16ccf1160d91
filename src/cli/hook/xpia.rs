//! `hook xpia`: one command, asked of `xpia-defend`, audited, and denied unless all of that
//! succeeds.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use tokio::process::Command;
use tokio::time::Instant;

use crate::cli::environment;
use crate::hooks::{
    DEFENDER, XpiaAudit, XpiaInput, XpiaVerdict, find_program, pass, read_xpia, run_script,
};
use crate::sys::append::{AppendFile, Tail};
use crate::sys::clock::Clock;
use crate::sys::{FileMode, SysError};

/// The audit's folder, below the user's home.
const AUDIT: &str = ".claude/logs/xpia";

/// Answers with `{}` or with a denial.
pub(super) async fn validate(input: &[u8], until: Instant) -> String {
    let (command, session) = match read_xpia(input) {
        Ok(XpiaInput::Nothing) => return pass(),
        Ok(XpiaInput::Command { command, session }) => (command, session),
        Err(error) => {
            let verdict = XpiaVerdict::failed(error.to_string());
            return audited("", "unknown", &verdict);
        }
    };
    let verdict = match find_defender() {
        Some(program) => {
            let mut defender = Command::new(program);
            defender.args(["validate-bash", "--command", &command]);
            defender.args(["--security-level", "medium", "--source", "ralph-copilot"]);
            let limit = until.saturating_duration_since(Instant::now());
            XpiaVerdict::of(&run_script(defender, b"", limit, &environment::run_name("hook")).await)
        }
        None => XpiaVerdict::failed(format!(
            "{DEFENDER} was not found; until it is installed, no shell command can be validated"
        )),
    };
    audited(&command, &session, &verdict)
}

/// PATH first, then where its installers put it.
pub(in crate::cli) fn find_defender() -> Option<PathBuf> {
    let which = |name: &str| which::which(name).ok();
    let home = etcetera::home_dir().ok();
    find_program(DEFENDER, &which, home.as_deref(), &[".cargo/bin", ".amplihack/bin"])
        .or_else(|| Some(Path::new("/usr/local/bin").join(DEFENDER)).filter(|path| path.is_file()))
}

/// The output, once the decision is written down.
fn audited(command: &str, session: &str, verdict: &XpiaVerdict) -> String {
    match write(command, session, verdict) {
        Ok(()) => verdict.output(),
        Err(why) => XpiaVerdict::failed(format!("its audit cannot be written: {why}")).output(),
    }
}

fn write(command: &str, session: &str, verdict: &XpiaVerdict) -> Result<(), String> {
    let clock = Clock::system();
    let at = clock.local(clock.now());
    // Redacted whole and cut afterwards: half a secret is not recognized as one.
    let command = environment::redactor().redact_str(command).into_owned();
    let audit = XpiaAudit::new(&command, session, verdict, at);
    let home = etcetera::home_dir().map_err(|error| error.to_string())?;
    let folder = home.join(AUDIT);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|source| {
        SysError::File { operation: "make", path: folder.clone(), source }.to_string()
    })?;
    let path = folder.join(XpiaAudit::file(at));
    AppendFile::open(&path, FileMode::Owner, Tail::Open)
        .and_then(|mut file| file.append(audit.line().as_bytes()))
        .map_err(|error| error.to_string())
}
