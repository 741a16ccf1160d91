//! Signatures on the commits of a run's agent: none where the sandbox hides the keys, or those of
//! the human's key agent (`--sign`), which signs without giving a key away.
//!
//! Invariant: only sockets of key agents and public keys are shown, and only to the agent's own
//! commands: checks sign nothing.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::context::RepoContext;
use super::failure::Failure;
use super::{environment, launch};
use crate::config::Settings;
use crate::model::{ExitCode, Tier};
use crate::verify::{SigningKey, UNSIGNED};

/// The socket of an SSH agent.
const SSH_AGENT: &str = "SSH_AUTH_SOCK";
/// The beginnings of a public key's file.
const PUBLIC: [&str; 3] = ["ssh-", "ecdsa-", "sk-"];
/// Files of GnuPG that hold no secret key.
const KEYRING: [&str; 7] = [
    "pubring.kbx",
    "pubring.gpg",
    "trustdb.gpg",
    "gpg.conf",
    "gpgsm.conf",
    "common.conf",
    "trustlist.txt",
];

/// How git signs the agent's commits.
#[derive(Debug)]
pub(super) enum Signing {
    /// As the human's git does: it signs nothing, or no sandbox hides the keys.
    AsUsual {
        /// `sign` is set and changes nothing.
        unused: bool,
    },
    /// Not at all, although the human's git signs.
    Hidden,
    /// By the human's key agent.
    Agent(KeyAgent),
}

/// What a sandbox shows for signatures.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyAgent {
    /// Sockets and public keys: where they lie, and where they are seen.
    pub(super) shown: Vec<(PathBuf, PathBuf)>,
    /// The folder in which GnuPG works.
    pub(super) folder: Option<PathBuf>,
    variables: Vec<(String, String)>,
}

impl Signing {
    /// Decides by git's configuration, the settings, and the sandbox. With a run's folder, what the
    /// sandbox shows is made there.
    pub(super) fn of(
        place: &RepoContext,
        settings: &Settings,
        tier: Tier,
        scratch: Option<&Path>,
    ) -> Result<Self, Failure> {
        let key = match tier.is_sandboxed() {
            true => place.repo.signs(&environment::variable)?,
            false => None,
        };
        match (key, settings.sign) {
            (None, sign) => Ok(Self::AsUsual { unused: sign && tier.is_sandboxed() }),
            (Some(_), false) => Ok(Self::Hidden),
            (Some(SigningKey::Ssh(key)), true) => ssh(key.as_deref()).map(Self::Agent),
            (Some(SigningKey::Gpg), true) => gpg(scratch).map(Self::Agent),
        }
    }

    /// The variables for git of the agent.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        match self {
            Self::AsUsual { .. } => Vec::new(),
            Self::Hidden => launch::owned(UNSIGNED),
            Self::Agent(agent) => agent.variables.clone(),
        }
    }

    /// Those for git of checks, which see no key.
    pub(super) fn of_checks(&self) -> Vec<(String, String)> {
        match self {
            Self::AsUsual { .. } => Vec::new(),
            Self::Hidden | Self::Agent(_) => launch::owned(UNSIGNED),
        }
    }

    /// The notice about it.
    pub(super) fn notice(&self) -> Option<&'static str> {
        match self {
            Self::AsUsual { unused: false } => None,
            Self::AsUsual { unused: true } => {
                Some("git signs no commits here (commit.gpgSign is not set): `sign` has no effect")
            }
            Self::Hidden => Some(
                "git signs commits here, but the sandbox hides the keys: commits of the run are \
                 unsigned",
            ),
            Self::Agent(_) => Some(
                "your key agent signs the agent's commits: commands in the sandbox can use its keys",
            ),
        }
    }

    /// What a sandbox shows for it.
    pub(super) fn key_agent(&self) -> KeyAgent {
        match self {
            Self::AsUsual { .. } | Self::Hidden => KeyAgent::default(),
            Self::Agent(agent) => agent.clone(),
        }
    }
}

/// The SSH agent, and the public key that git names.
fn ssh(key: Option<&Path>) -> Result<KeyAgent, Failure> {
    let hint = "start one with `eval $(ssh-agent) && ssh-add`, or run without `--sign`";
    let socket =
        environment::variable(SSH_AGENT).filter(|path| !path.is_empty()).map(PathBuf::from);
    let socket = socket.filter(|socket| answers(socket)).ok_or_else(|| {
        missing("no SSH agent listens at SSH_AUTH_SOCK, so `sign` cannot sign commits", hint)
    })?;
    let text = socket.to_string_lossy().into_owned();
    // Git may name the secret key: ssh-keygen finds the public one beside it.
    let beside = key.map(|key| PathBuf::from(format!("{}.pub", key.display())));
    let keys = key.map(Path::to_owned).into_iter().chain(beside).filter(|key| is_public(key));
    let shown = std::iter::once(socket).chain(keys).filter_map(as_it_lies).collect();
    Ok(KeyAgent { shown, folder: None, variables: vec![(SSH_AGENT.to_owned(), text)] })
}

/// The agent of GnuPG. GnuPG works in a folder of the run, made here, with copies of the public
/// keys: it also writes there when it only signs.
fn gpg(scratch: Option<&Path>) -> Result<KeyAgent, Failure> {
    let hint = "start it with `gpgconf --launch gpg-agent`, or run without `--sign`";
    let named = |name| {
        let output = Command::new("gpgconf").args(["--list-dirs", name]).output().ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        Some(PathBuf::from(path.trim_end())).filter(|path| answers(path) || path.is_dir())
    };
    // Clients of the first cannot export or delete keys.
    let socket = named("agent-extra-socket").or_else(|| named("agent-socket"));
    let socket = socket.ok_or_else(|| {
        missing("no gpg-agent listens at its socket, so `sign` cannot sign commits", hint)
    })?;
    let Some(folder) = scratch.map(|scratch| scratch.join("gnupg")) else {
        return Ok(KeyAgent::default());
    };
    let failed = |source| {
        Failure::new(ExitCode::Write, format!("cannot write {}: {source}", folder.display()))
    };
    DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
    if let Some(home) = named("homedir") {
        for name in KEYRING.iter().filter(|name| home.join(name).is_file()) {
            fs::copy(home.join(name), folder.join(name)).map_err(failed)?;
        }
    }
    let sockets = [("S.gpg-agent", Some(socket)), ("S.keyboxd", named("keyboxd-socket"))];
    let mut shown = Vec::new();
    for (name, socket) in sockets.into_iter().filter_map(|(name, socket)| Some((name, socket?))) {
        let leads = format!("%Assuan%\nsocket={}\n", socket.display());
        fs::write(folder.join(name), leads).map_err(failed)?;
        shown.extend(as_it_lies(socket));
    }
    let variables = vec![("GNUPGHOME".to_owned(), folder.to_string_lossy().into_owned())];
    Ok(KeyAgent { shown, folder: Some(folder), variables })
}

/// Does a program listen at this socket?
fn answers(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// Does this file hold a public key of SSH?
fn is_public(key: &Path) -> bool {
    fs::read_to_string(key).is_ok_and(|text| PUBLIC.iter().any(|kind| text.starts_with(kind)))
}

/// A path, which may be a link, and what lies there.
fn as_it_lies(path: PathBuf) -> Option<(PathBuf, PathBuf)> {
    Some((fs::canonicalize(&path).ok()?, path))
}

fn missing(what: &str, hint: &str) -> Failure {
    Failure::new(ExitCode::Invalid, what.to_owned()).hint(hint)
}
