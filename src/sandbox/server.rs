//! The first program inside a session's sandbox: it starts each call's shell, and its end is
//! the end of everything in the sandbox.
//!
//! Invariant: it has no secrets and decides nothing. It takes frames from the runner on its
//! standard input, and answers a call's client directly. The runner decides which commands may run.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, getppid, kill_process, kill_process_group};

use super::children::Children;
use super::wire::{Frame, receive, send};
use crate::sys::process::{become_subreaper, count_below, end_below};

/// The runner's requests.
pub(super) const RUN: &str = "run";
/// The same, with `sh`.
pub(super) const RUN_SH: &str = "run-sh";
/// The runner wants connections to a port of this loopback.
pub(super) const LISTEN: &str = "listen";
/// The server is ready.
pub(super) const READY: &str = "ready";
/// A program connected to such a port.
pub(super) const CONNECTION: &str = "connection";
/// Requests of a client other than its call.
pub(super) const SIGNAL: &str = "signal";
/// How a call ended: with this exit code.
pub(super) const EXITED: &str = "exited";
/// How a call ended: by this signal.
pub(super) const KILLED: &str = "killed";
/// A call was not started, for this reason.
pub(super) const REFUSED: &str = "refused";

/// The longest single argument that Linux passes to a program, in bytes: 32 pages. Elsewhere only
/// all of them together have a limit, and a file descriptor has no path for another process.
pub(super) const LONGEST_ARGUMENT: usize =
    if cfg!(target_os = "linux") { 128 << 10 } else { usize::MAX };

/// The shell of the Copilot CLI's own calls.
const SHELL: [&str; 4] = ["/bin/bash", "--norc", "--noprofile", "-c"];
/// The shell of verify commands. `--` keeps a command that begins with `-` from being taken for an
/// option.
const SH: [&str; 3] = ["/bin/sh", "-c", "--"];

/// Processes that a sandbox may hold. A build takes some hundreds.
const MOST_PROCESSES: usize = 2_000;
/// Time between two looks at their number.
const LOOK: Duration = Duration::from_millis(100);

/// Serves until the runner closes the connection.
///
/// # Errors
/// If the standard input is not a connection to the runner.
pub fn serve() -> io::Result<()> {
    // Without a process namespace, all processes of a call are found below this one.
    become_subreaper()?;
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let control = Arc::new(control);
    let children = Children::reaped()?;
    send(&control, [READY], &[])?;
    let floods = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&floods);
    thread::spawn(move || end_floods(&counted));
    // In a process namespace the kernel ends the others, and no call hears of it before.
    let has_namespace = getppid() == Some(Pid::INIT);
    let served = answer(&control, &children, &floods);
    if !has_namespace {
        // What a killed runner leaves would go on.
        end_below(std::process::id());
    }
    served
}

/// Takes frames until the runner closes the connection.
fn answer(
    control: &Arc<UnixStream>,
    children: &Arc<Children>,
    floods: &Arc<AtomicU32>,
) -> io::Result<()> {
    while let Some(frame) = receive(control)? {
        match frame.text(0) {
            RUN | RUN_SH => {
                let (children, floods) = (Arc::clone(children), Arc::clone(floods));
                thread::spawn(move || run(frame, &children, &floods));
            }
            LISTEN => listen(control, frame.text(1)),
            other => return Err(io::Error::other(format!("a frame of another version: {other}"))),
        }
    }
    Ok(())
}

/// One call: `run CWD COMMAND [NAME=VALUE]...`, with the client's connection and its standard
/// input, output and error.
fn run(mut frame: Frame, children: &Children, floods: &AtomicU32) {
    let fds: Result<[OwnedFd; 4], _> = std::mem::take(&mut frame.fds).try_into();
    let Ok([client, input, output, errors]) = fds else { return };
    let client = Arc::new(UnixStream::from(client));
    let (before, told) = (floods.load(Ordering::SeqCst), errors.try_clone());
    let reply = match start(&frame.fields, [input, output, errors], children) {
        Ok((shell, _script)) => wait(shell, children, &client),
        Err(error) => [OsString::from(REFUSED), error.to_string().into()],
    };
    if let (true, Ok(told)) = (floods.load(Ordering::SeqCst) > before, told) {
        // Whoever does not read this is gone.
        drop(writeln!(File::from(told), "ralph-copilot: ended: too many processes in the sandbox"));
    }
    // A client that is gone needs no answer.
    drop(send(&client, reply, &[]));
}

fn start(
    fields: &[OsString],
    [input, output, errors]: [OwnedFd; 3],
    children: &Children,
) -> io::Result<(u32, Option<File>)> {
    let [kind, cwd, command, environment @ ..] = fields else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let pairs = environment.iter().filter_map(|pair| {
        let bytes = pair.as_bytes();
        let at = 1 + bytes.get(1..)?.iter().position(|byte| *byte == b'=')?;
        Some((OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..])))
    });
    let shell: &[&str] = if kind == RUN_SH { &SH } else { &SHELL };
    let mut words = shell.iter();
    let mut shell = Command::new(words.next().unwrap_or(&SH[0]));
    shell.args(words).env_clear();
    if geteuid().is_root() {
        // In a namespace root cannot give files to others, which tar tries.
        shell.env("TAR_OPTIONS", "--no-same-owner");
    }
    shell.envs(pairs).current_dir(cwd).process_group(0);
    shell.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(errors));
    if command.len() < LONGEST_ARGUMENT {
        return Ok((children.start(shell.arg(command))?, None));
    }
    // The shell reads the script from our own file descriptor: there is no path to it.
    let mut script = tempfile::tempfile()?;
    script.write_all(command.as_bytes())?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), script.as_raw_fd());
    let number = children.start(shell.arg(format!(". {path}")))?;
    Ok((number, Some(script)))
}

/// Ends everything below the server when that is too much, and counts how often.
fn end_floods(floods: &AtomicU32) {
    let own = std::process::id();
    loop {
        thread::sleep(LOOK);
        if count_below(own) > MOST_PROCESSES {
            floods.fetch_add(1, Ordering::SeqCst);
            end_below(own);
        }
    }
}

/// Waits for the shell and passes the client's signals on. A client that is killed takes its
/// call with it.
fn wait(pid: u32, children: &Children, client: &Arc<UnixStream>) -> [OsString; 2] {
    let over = Arc::new(AtomicBool::new(false));
    let (listening, ended) = (Arc::clone(client), Arc::clone(&over));
    thread::spawn(move || {
        loop {
            match receive(&listening) {
                Ok(Some(frame)) if frame.text(0) == SIGNAL => {
                    let number = frame.text(1).parse().ok().and_then(Signal::from_named_raw);
                    if let (Some(signal), false) = (number, ended.load(Ordering::SeqCst)) {
                        signal_tree(pid, signal);
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        if !ended.load(Ordering::SeqCst) {
            signal_tree(pid, Signal::KILL);
        }
    });
    let status = children.end_of(pid);
    over.store(true, Ordering::SeqCst);
    drop(client.shutdown(std::net::Shutdown::Read));
    let code = status.and_then(|status| status.exit_status());
    let signal = status.and_then(|status| status.terminating_signal());
    match (code, signal) {
        (Some(code), _) => [EXITED.into(), code.to_string().into()],
        (None, signal) => [KILLED.into(), signal.unwrap_or_default().to_string().into()],
    }
}

/// Signals a shell, its descendants, and its process group.
fn signal_tree(shell: u32, signal: Signal) {
    if !cfg!(target_os = "linux")
        && let Some(group) = i32::try_from(shell).ok().and_then(Pid::from_raw)
    {
        // Where no process can be looked up, its group is all that is known.
        let _gone = kill_process_group(group, signal);
    }
    for pid in family(shell) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // One that has just ended needs no signal.
            let _gone = kill_process(pid, signal);
        }
    }
}

/// A process, its descendants and the members of its group.
fn family(root: u32) -> BTreeSet<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeSet::from([root]) };
    let all: Vec<(u32, u32, u32)> = entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name may hold anything, closing parentheses included.
            let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
            Some((pid, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
        })
        .collect();
    let mut found = BTreeSet::from([root]);
    found.extend(all.iter().filter(|(_, _, group)| *group == root).map(|(pid, ..)| *pid));
    loop {
        let more: Vec<u32> = all
            .iter()
            .filter(|(pid, parent, _)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, ..)| *pid)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Hands connections to a port of this loopback to the runner, which connects them to the
/// host's.
fn listen(control: &Arc<UnixStream>, port: &str) {
    let Ok(number) = port.parse::<u16>() else { return };
    for host in ["127.0.0.1", "::1"] {
        // A system without IPv6 has no second loopback.
        let Ok(listener) = TcpListener::bind((host, number)) else { continue };
        let (control, port) = (Arc::clone(control), port.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if send(&control, [CONNECTION, &port], &[stream.as_fd()]).is_err() {
                    return;
                }
            }
        });
    }
}
