//! The openings of the sandbox for a task, as written in TASK.md or a configuration file.
//!
//! Invariant: an unusable value is never read. The caller checks whether a path exists, because it
//! knows the base folder.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::RulePlace;

/// Which network a task's commands reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum NetworkAccess {
    /// A private loopback, and the services that the task names.
    #[default]
    Closed,
    /// The host's.
    Open,
}

/// A service of the host that commands reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenService", into = "WrittenService")]
pub enum Service {
    /// A port of its loopback.
    Port(u16),
    /// A Unix socket.
    Socket(PathBuf),
}

/// A service as a number or a text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenService {
    Number(i64),
    Text(String),
}

impl Service {
    /// The accepted values, for messages.
    pub const TAKES: &str =
        "a port of this machine's loopback, such as `5432`, or the absolute path of a socket";
}

impl TryFrom<&str> for Service {
    type Error = &'static str;

    fn try_from(text: &str) -> Result<Self, Self::Error> {
        if Path::new(text).is_absolute() {
            return Ok(Self::Socket(text.into()));
        }
        match text.parse() {
            Ok(port @ 1..) => Ok(Self::Port(port)),
            Ok(0) | Err(_) => Err(Self::TAKES),
        }
    }
}

impl TryFrom<WrittenService> for Service {
    type Error = String;

    fn try_from(written: WrittenService) -> Result<Self, Self::Error> {
        let text = match written {
            WrittenService::Number(number) => number.to_string(),
            WrittenService::Text(text) => text,
        };
        Self::try_from(text.as_str())
            .map_err(|takes| format!("invalid service `{text}`: it takes {takes}"))
    }
}

impl From<Service> for WrittenService {
    fn from(service: Service) -> Self {
        match service {
            Service::Port(port) => Self::Number(port.into()),
            Service::Socket(path) => Self::Text(path.to_string_lossy().into_owned()),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => port.fmt(f),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

/// A secret-looking file of the repository that the agent may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReadableFile(PathBuf);

/// A device that commands may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Device(PathBuf);

macro_rules! checked_path {
    ($type:ident, $what:literal, $takes:literal, $valid:expr) => {
        impl $type {
            /// The accepted values, for messages.
            pub const TAKES: &str = $takes;

            /// The path.
            pub fn path(&self) -> &Path {
                &self.0
            }
        }

        impl TryFrom<&str> for $type {
            type Error = &'static str;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                let valid: fn(&Path) -> bool = $valid;
                if valid(Path::new(text)) { Ok(Self(text.into())) } else { Err(Self::TAKES) }
            }
        }

        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::try_from(text.as_str()).map_err(|takes| {
                    format!(concat!("invalid ", $what, " `{}`: it takes {}"), text, takes)
                })
            }
        }

        impl From<$type> for String {
            fn from(checked: $type) -> Self {
                checked.to_string()
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.display().fmt(f)
            }
        }
    };
}

checked_path!(
    ReadableFile,
    "file",
    "the path of a file relative to the repository, such as `.env.test`",
    |path| {
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            && path.file_name().is_some()
    }
);
checked_path!(Device, "device", "the path of a device, such as `/dev/kvm`", |path| {
    let plain = path.components().skip(1).all(|part| matches!(part, Component::Normal(_)));
    plain && path.strip_prefix("/dev").is_ok_and(|rest| rest != Path::new(""))
});

/// A path outside the repository that commands may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct VisiblePath {
    /// As it is written: absolute, or relative to the repository.
    pub path: PathBuf,
    /// Its place in TASK.md.
    pub place: Option<RulePlace>,
}

impl From<String> for VisiblePath {
    fn from(text: String) -> Self {
        Self { path: text.into(), place: None }
    }
}

impl From<VisiblePath> for String {
    fn from(visible: VisiblePath) -> Self {
        visible.to_string()
    }
}

impl fmt::Display for VisiblePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_ports_and_absolute_sockets() {
        assert_eq!(Service::try_from("5432"), Ok(Service::Port(5432)));
        let socket = "/run/postgresql/.s.PGSQL.5432";
        assert_eq!(Service::try_from(socket), Ok(Service::Socket(socket.into())));
        for wrong in ["0", "65536", "-1", "", "postgres", "run/x.sock", "localhost:5432"] {
            assert_eq!(Service::try_from(wrong), Err(Service::TAKES), "{wrong}");
        }
        let read: Vec<Service> = serde_json::from_str(r#"[5432, "6379", "/x"]"#).expect("read");
        assert_eq!(serde_json::to_string(&read).expect("text"), r#"[5432,6379,"/x"]"#);
        let error = serde_json::from_str::<Service>("70000").expect_err("no port").to_string();
        assert!(error.contains("invalid service `70000`"), "{error}");
    }

    #[test]
    fn readable_files_lie_in_the_repository_and_devices_below_dev() {
        for right in [".env.test", "config/master.key", "./.env"] {
            assert!(ReadableFile::try_from(right).is_ok(), "{right}");
        }
        for wrong in ["", ".", "/etc/passwd", "../.env", "a/../../b"] {
            assert!(ReadableFile::try_from(wrong).is_err(), "{wrong}");
        }
        for right in ["/dev/kvm", "/dev/dri/renderD128"] {
            assert!(Device::try_from(right).is_ok(), "{right}");
        }
        for wrong in ["/dev", "/dev/", "/dev/../etc", "kvm", "dev/kvm", "/etc/passwd"] {
            assert!(Device::try_from(wrong).is_err(), "{wrong}");
        }
    }
}
