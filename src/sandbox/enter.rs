//! The process that becomes bubblewrap: it mounts HOME's overlay in a separate user namespace,
//! which bubblewrap 0.8 cannot, and then executes bubblewrap.
//!
//! Invariant: it fails before anything is started rather than start without the overlay.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{BorrowedFd, FromRawFd as _, IntoRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::setsid;
use serde::{Deserialize, Serialize};

use super::landlock::limited;
use super::limits::LandlockRules;
use super::namespaces::{
    mount_overlay, mount_read_only, namespaces_of, open_read_only, own_namespace,
};
use super::profile::{Overlay, Walls};
use super::programs::{BECOME, ENTER, Programs, SERVE, words};
use super::seccomp;
use super::server::LONGEST_ARGUMENT;

/// The name of the empty file that hides others.
pub const EMPTY: &str = "empty";

/// The instructions for this process, on its command line as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The mounts to make first.
    pub(super) overlays: Vec<Overlay>,
    /// A process whose namespaces are entered first: it mounted the files that this sandbox shows.
    pub(super) beside: Option<i32>,
    /// The limits that this process sets on itself first.
    pub(super) limits: Option<LandlockRules>,
    /// bubblewrap with its arguments, up to the program that it starts.
    pub(super) bubblewrap: Vec<OsString>,
}

impl Plan {
    pub(super) fn new(programs: &Programs, walls: &Walls, cwd: &Path) -> Self {
        let (bubblewrap, limits) = match walls {
            Walls::Namespaces(profile) => {
                let program = programs.bubblewrap.clone().into_os_string();
                let words = std::iter::once(program).chain(profile.words(cwd)).collect();
                (words, None)
            }
            Walls::Landlock(limits) => (Vec::new(), Some(limits.clone())),
        };
        let overlays = walls.home().into_iter().cloned().collect();
        Self { overlays, beside: None, limits, bubblewrap }
    }

    /// The argument of [`enter`]. A list that is too long is refused as a whole, never cut.
    pub(super) fn json(&self) -> io::Result<String> {
        let text = serde_json::to_string(self)?;
        if text.len() < LONGEST_ARGUMENT {
            return Ok(text);
        }
        let bytes = text.len();
        Err(io::Error::other(format!(
            "the list of paths for the sandbox is too long ({bytes} of {LONGEST_ARGUMENT} bytes): \
             keep files with secrets in fewer folders, or name them under `readable` in TASK.md"
        )))
    }
}

/// The arguments with which our own program starts `command` in `cwd` behind these walls.
///
/// # Errors
/// If a path among them is not UTF-8.
pub fn around(
    programs: &Programs,
    walls: &Walls,
    cwd: &Path,
    command: impl IntoIterator<Item = OsString>,
) -> io::Result<Vec<OsString>> {
    let plan = Plan::new(programs, walls, cwd).json()?;
    let words = words(ENTER).chain([plan.into(), "--".into()]);
    Ok(words.chain(command).collect())
}

/// Enters the sandbox of a plan and becomes `command` there, with this standard input and output,
/// or a server if it is empty; returns only if that fails.
pub fn enter(plan: &str, command: &[OsString], stdio: [BorrowedFd<'_>; 2]) -> io::Error {
    match prepare(plan, command, stdio) {
        Ok(mut program) => program.exec(),
        Err(error) => error,
    }
}

fn prepare(plan: &str, command: &[OsString], stdio: [BorrowedFd<'_>; 2]) -> io::Result<Command> {
    let plan: Plan = serde_json::from_str(plan)?;
    if !plan.overlays.is_empty() {
        own_namespace()?;
    }
    if let Some(other) = plan.beside {
        namespaces_of(other)?;
    }
    plan.overlays.iter().try_for_each(mount_overlay)?;
    if let (false, Some(bubblewrap)) = (plan.overlays.is_empty(), plan.bubblewrap.first()) {
        mount_read_only(Path::new(bubblewrap))?;
    }
    let ours = std::env::current_exe()?;
    let program = match (plan.bubblewrap.split_first(), command) {
        (Some((bubblewrap, words)), _) => {
            inside(bubblewrap, &without_gone(words), &ours, command, stdio)?
        }
        (None, [program, rest @ ..]) => with(program, rest.iter().cloned()),
        (None, []) => {
            // Its commands are not to type into the human's terminal.
            setsid()?;
            with(&ours, words(SERVE))
        }
    };
    match plan.limits {
        Some(mut limits) => {
            // Our program may lie where the limits show nothing, such as in a build folder in HOME.
            limits.readable.iter_mut().for_each(|readable| readable.push(ours.clone()));
            limited(program, &limits)
        }
        None => Ok(program),
    }
}

/// The options without those that hide a file which has gone since the plan was made, such as a
/// socket: nothing can be mounted over it, and an agent is started again with the same plan.
fn without_gone(options: &[OsString]) -> Vec<OsString> {
    let mut left = Vec::new();
    let mut rest = options;
    while let [first, more @ ..] = rest {
        let hides = |from: &OsString, at: &OsString| {
            first == "--ro-bind" && Path::new(from).ends_with(EMPTY) && !Path::new(at).exists()
        };
        rest = match more {
            [from, at, more @ ..] if hides(from, at) => more,
            more => {
                left.push(first.clone());
                more
            }
        };
    }
    left
}

/// bubblewrap, which starts our own program, which serves or becomes the command. Our program may
/// lie where the sandbox shows nothing: it is found by the number of its descriptor.
fn inside(
    bubblewrap: &OsStr,
    options: &[OsString],
    ours: &Path,
    command: &[OsString],
    stdio: [BorrowedFd<'_>; 2],
) -> io::Result<Command> {
    // A command lets go of it; the calls of a server can find it.
    let ours = if command.is_empty() { open_read_only(ours)? } else { File::open(ours)? };
    let ours = passed_on(ours.into())?;
    let filter = ["--seccomp".into(), passed_on(filter()?)?.to_string().into()];
    let options = filter.into_iter().chain(options.iter().cloned());
    let mut program =
        with(bubblewrap, options.chain(["--".into(), format!("/proc/self/fd/{ours}").into()]));
    if command.is_empty() {
        program.args(words(SERVE));
        return Ok(program);
    }
    // bubblewrap holds its own input and output until the command has ended, also if the command
    // closes them. Other descriptors it passes on and lets go of.
    let [input, output] = stdio.map(|end| end.try_clone_to_owned().and_then(passed_on));
    let (input, output) = (input?, output?);
    let ends = [ours, input, output].map(|number| number.to_string().into());
    program.args(words(BECOME)).args::<_, OsString>(ends).arg("--").args(command);
    program.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(program)
}

/// A pipe from which bubblewrap reads the filter of system calls.
fn filter() -> io::Result<OwnedFd> {
    let (reader, mut writer) = io::pipe()?;
    // A pipe holds far more than that.
    writer.write_all(&seccomp::bytes())?;
    Ok(reader.into())
}

fn with(program: impl AsRef<OsStr>, words: impl Iterator<Item = OsString>) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    command
}

/// A descriptor that the next program inherits.
fn passed_on(descriptor: OwnedFd) -> io::Result<RawFd> {
    fcntl_setfd(&descriptor, FdFlags::empty())?;
    Ok(descriptor.into_raw_fd())
}

/// Becomes `command`, with these descriptors as its standard input and output; the first one, our
/// own program, is let go of. Returns only if that fails.
pub fn become_command([ours, input, output]: [RawFd; 3], command: &[OsString]) -> io::Error {
    let [program, rest @ ..] = command else { return io::ErrorKind::InvalidInput.into() };
    #[expect(unsafe_code, reason = "they are known by number only")]
    // SAFETY: `enter` opened these for this process, and nothing else here owns them.
    let [ours, input, output] =
        [ours, input, output].map(|number| unsafe { OwnedFd::from_raw_fd(number) });
    drop(ours);
    for end in [&input, &output] {
        if let Err(error) = fcntl_setfd(end, FdFlags::CLOEXEC) {
            return error.into();
        }
    }
    with(program, rest.iter().cloned()).stdin(input).stdout(output).exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_file_that_has_gone_is_not_mounted_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let (socket, gone) = (folder.path().join("a.sock"), folder.path().join("gone.sock"));
        std::fs::write(&socket, "").expect("a file");
        let words = |at: &[&Path]| {
            let hide =
                |at: &&Path| ["--ro-bind".into(), "/run/x/empty".into(), at.as_os_str().into()];
            let mut all: Vec<OsString> = at.iter().flat_map(hide).collect();
            all.extend(["--ro-bind", "/gone/from", "/gone/at", "--dev", "/dev"].map(Into::into));
            all
        };
        assert_eq!(without_gone(&words(&[&gone, &socket, &gone])), words(&[&socket]));
    }
    use crate::sandbox::network::Network;
    use crate::sandbox::profile::{Bind, Profile};

    #[test]
    fn a_list_that_is_too_long_is_refused() {
        let refused = |mounts: usize| {
            let mounts = (0..mounts).map(|n| Bind::read_only(format!("/repo/{n}/.env"))).collect();
            let (network, ports, watched) = (Network::Own, Vec::new(), Vec::new());
            let walls = Walls::Namespaces(Profile { home: None, mounts, network, ports, watched });
            let programs = Programs { bubblewrap: "bwrap".into(), ours: "us".into() };
            around(&programs, &walls, Path::new("/"), ["true".into()]).err()
        };
        assert!(refused(401).is_none());
        if !cfg!(target_os = "linux") {
            return;
        }
        let error = refused(10_000).expect("refused").to_string();
        assert!(error.contains("too long") && error.contains("`readable`"), "{error}");
    }
}
