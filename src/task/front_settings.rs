//! The keys of the front matter and the values they accept.
//!
//! Invariant: an unknown key, a value of the wrong type and a value that could not be used later
//! are all errors, so that a mistyped limit or protection is never silently dropped.

use std::fmt;

use globset::Glob;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::StrDeserializer,
    },
};
use serde_saphyr::{Location, Spanned};

use super::{diagnostics::quote, front_policy::FrontPolicy};
use crate::model::{CommitPrefix, Device, GatewayUse, ReadableFile, Service, TaskSettings};

/// All keys and the values they take, in the order of the documentation.
const KEYS: [(&str, &str); 28] = [
    ("verify", "a command, or a list of commands"),
    ("max_iterations", "a whole number of at least 1, such as `20`"),
    ("max_duration", "a duration, such as `30s`, `5m`, or `2h`"),
    ("max_premium_requests", "a whole number, such as `50`"),
    ("jobs", "a whole number of at least 1, such as `4`"),
    ("stuck_threshold", "a whole number of at least 1, such as `3`"),
    ("on_stuck", "`stop` or `skip`"),
    ("model", "the name of a model"),
    ("escalate", "the keys `model` and `effort`, such as `{effort: high}`"),
    ("commit_prefix", CommitPrefix::TAKES),
    ("sign", "`true` or `false`"),
    ("require_checks", "`true` or `false`"),
    ("write_scope", "`workspace` or `task`"),
    ("proof", "`room`, `end`, or `tree`"),
    ("setup", "a command, or a list of commands"),
    ("setup_network", "`true` or `false`"),
    ("may_change", "a glob relative to the repository, such as `tests/api/**`, or a list of globs"),
    ("harness", "a glob relative to the repository, such as `checks/**`, or a list of globs"),
    ("protect", "a glob relative to the repository, such as `tests/**`, or a list of globs"),
    ("allow", "a command, or a list of commands"),
    (
        "services",
        "ports of this machine's loopback and absolute paths of sockets, such as `[5432]`",
    ),
    ("network", "`closed` or `open`"),
    ("network_for", "a command, or a list of commands"),
    ("readable", "the path of a file relative to the repository, such as `.env.test`, or a list"),
    ("visible", "a path, such as `../lib`, or a list of paths"),
    ("devices", "the path of a device, such as `/dev/kvm`, or a list"),
    ("gateway", GatewayUse::TAKES),
    ("policy", "the keys of `[policy]` in .ralph/config.toml, one per line"),
];

/// The similarity, from 0 to 1, from which a known key is suggested for an unknown one.
const ALIKE: f64 = 0.8;

/// Describes the values that a key takes. `None` for an unknown key.
pub(super) fn takes(key: &str) -> Option<&'static str> {
    KEYS.iter().find(|(known, _)| *known == key).map(|(_, takes)| *takes)
}

/// An unknown key or an invalid value.
pub(super) struct SettingError {
    pub(super) at: Location,
    pub(super) message: String,
    pub(super) hint: String,
}

/// The settings as read, with all errors in them.
#[derive(Default)]
pub(super) struct FrontMatter {
    pub(super) settings: TaskSettings,
    pub(super) policy: FrontPolicy,
    pub(super) visible: Vec<Spanned<String>>,
    pub(super) errors: Vec<SettingError>,
}

impl FrontMatter {
    fn error(&mut self, at: Location, message: impl Into<String>, hint: impl Into<String>) {
        self.errors.push(SettingError { at, message: message.into(), hint: hint.into() });
    }

    fn unknown(&mut self, key: &Spanned<String>) {
        let like = KEYS
            .iter()
            .map(|(known, _)| (strsim::jaro_winkler(known, &key.value.to_lowercase()), known))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        let hint = match like {
            Some((_, known)) => format!("did you mean `{known}`?"),
            None => format!("known keys: {}", KEYS.map(|(known, _)| known).join(", ")),
        };
        self.error(key.referenced, format!("unknown key {}", quote(&key.value)), hint);
    }

    fn commands(&mut self, key: &str, written: Spanned<OneOrMany>) -> Vec<String> {
        let list = each(written);
        for command in &list {
            if command.value.trim().is_empty() {
                self.error(
                    command.referenced,
                    format!("`{key}` has an empty command"),
                    "write a command, or remove the line",
                );
            } else if command.value.contains('\0') {
                self.error(
                    command.referenced,
                    format!("`{key}` has a command with a NUL byte"),
                    "remove the NUL byte",
                );
            }
        }
        values(list)
    }

    fn globs(&mut self, key: &str, written: Spanned<OneOrMany>) -> Vec<String> {
        const HINT: &str = "write a path relative to the repository, such as `tests/**`";
        let list = each(written);
        for glob in &list {
            let pattern = glob.value.as_str();
            let upwards = pattern.split('/').any(|part| part == "..");
            if pattern.trim().is_empty() {
                self.error(glob.referenced, format!("`{key}` has an empty glob"), HINT);
            } else if pattern.starts_with('/') || upwards {
                let message = format!("the glob {} can never match", quote(pattern));
                self.error(glob.referenced, message, HINT);
            } else if let Err(error) = Glob::new(pattern) {
                let message = format!("invalid glob {}: {}", quote(pattern), error.kind());
                self.error(glob.referenced, message, HINT);
            }
        }
        values(list)
    }

    /// Converts the values of a list, and records an error for each that is invalid.
    fn checked<T>(&mut self, what: &str, written: Spanned<OneOrMany>) -> Vec<T>
    where
        T: for<'t> TryFrom<&'t str, Error = &'static str>,
    {
        let mut list = Vec::new();
        for item in each(written) {
            match T::try_from(item.value.as_str()) {
                Ok(value) => list.push(value),
                Err(takes) => {
                    let message = format!("invalid {what} {}", quote(&item.value));
                    self.error(item.referenced, message, format!("write {takes}"));
                }
            }
        }
        list
    }

    fn paths(&mut self, written: Spanned<OneOrMany>) -> Vec<Spanned<String>> {
        let (empty, list): (Vec<_>, Vec<_>) =
            each(written).into_iter().partition(|path| path.value.trim().is_empty());
        for path in empty {
            self.error(
                path.referenced,
                "`visible` has an empty path",
                "write a path, such as `../lib`",
            );
        }
        list
    }

    /// Reads `true` or `false`.
    fn flag(&mut self, key: &str, written: Spanned<String>) -> Option<bool> {
        self.value(key, written, |text| text.parse().ok())
    }

    /// Converts a single value, or records an error.
    fn value<T>(
        &mut self,
        key: &str,
        written: Spanned<String>,
        convert: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = convert(&written.value);
        if value.is_none() {
            let message = format!("invalid value {} for `{key}`", quote(&written.value));
            let hint = format!("`{key}` takes {}", takes(key).unwrap_or_default());
            self.error(written.referenced, message, hint);
        }
        value
    }
}

/// A number of at least 1; with 0 nothing would ever run.
fn from_one(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

/// A valid duration above zero, as written.
fn duration(text: &str) -> Option<String> {
    let duration = humantime::parse_duration(text).ok()?;
    (!duration.is_zero()).then(|| text.to_owned())
}

/// A name that is not blank.
fn name(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// A variant of an enum by its name.
fn named<T: DeserializeOwned>(text: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<serde::de::value::Error>::new(text)).ok()
}

impl<'de> Deserialize<'de> for FrontMatter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FrontMatterVisitor)
    }
}

struct FrontMatterVisitor;

impl<'de> Visitor<'de> for FrontMatterVisitor {
    type Value = FrontMatter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings, one `key: value` per line")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FrontMatter, A::Error> {
        let mut read = FrontMatter::default();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            match key.value.as_str() {
                "verify" => read.settings.verify = read.commands("verify", map.next_value()?),
                "allow" => read.settings.allow = read.commands("allow", map.next_value()?),
                "protect" => read.settings.protect = read.globs("protect", map.next_value()?),
                "may_change" => {
                    read.settings.may_change = read.globs("may_change", map.next_value()?);
                }
                "harness" => read.settings.harness = read.globs("harness", map.next_value()?),
                "setup" => read.settings.setup = read.commands("setup", map.next_value()?),
                "setup_network" => {
                    read.settings.setup_network = read.flag("setup_network", map.next_value()?)
                }
                "proof" => {
                    let written = map.next_value()?;
                    read.settings.proof = read.value("proof", written, named);
                }
                "max_iterations" => {
                    let written = map.next_value()?;
                    read.settings.max_iterations = read.value("max_iterations", written, from_one);
                }
                "max_duration" => {
                    let written = map.next_value()?;
                    read.settings.max_duration = read.value("max_duration", written, duration);
                }
                "max_premium_requests" => {
                    let written = map.next_value()?;
                    read.settings.max_premium_requests =
                        read.value("max_premium_requests", written, |text| text.parse().ok());
                }
                "jobs" => read.settings.jobs = read.value("jobs", map.next_value()?, from_one),
                "stuck_threshold" => {
                    let written = map.next_value()?;
                    read.settings.stuck_threshold =
                        read.value("stuck_threshold", written, from_one);
                }
                "on_stuck" => {
                    let written = map.next_value()?;
                    read.settings.on_stuck = read.value("on_stuck", written, named);
                }
                "model" => {
                    let written = map.next_value()?;
                    read.settings.model = read.value("model", written, name);
                }
                "escalate" => read.settings.escalate = Some(map.next_value()?),
                "commit_prefix" => {
                    let written = map.next_value()?;
                    read.settings.commit_prefix =
                        read.value("commit_prefix", written, |text| text.parse().ok());
                }
                "sign" => read.settings.sign = read.flag("sign", map.next_value()?),
                "require_checks" => {
                    read.settings.require_checks = read.flag("require_checks", map.next_value()?)
                }
                "write_scope" => {
                    let written = map.next_value()?;
                    read.settings.write_scope = read.value("write_scope", written, named);
                }
                "services" => {
                    let written: Spanned<OneOrNumber> = map.next_value()?;
                    let written =
                        Spanned::new(written.value.0, written.referenced, written.defined);
                    read.settings.services = read.checked::<Service>("service", written);
                }
                "network" => {
                    let written = map.next_value()?;
                    read.settings.network = read.value("network", written, named);
                }
                "network_for" => {
                    read.settings.network_for = read.commands("network_for", map.next_value()?);
                }
                "readable" => {
                    let written = map.next_value()?;
                    read.settings.readable = read.checked::<ReadableFile>("file", written);
                }
                "visible" => read.visible = read.paths(map.next_value()?),
                "devices" => {
                    let written = map.next_value()?;
                    read.settings.devices = read.checked::<Device>("device", written);
                }
                "gateway" => {
                    let written = map.next_value()?;
                    read.settings.gateway =
                        read.value("gateway", written, |text| text.parse().ok());
                }
                "policy" => read.policy = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    read.unknown(&key);
                }
            }
        }
        Ok(read)
    }
}

/// One string or a list of them.
enum OneOrMany {
    One(String),
    Many(Vec<Spanned<String>>),
}

/// The strings with their locations.
fn each(written: Spanned<OneOrMany>) -> Vec<Spanned<String>> {
    match written.value {
        OneOrMany::One(value) => vec![Spanned::new(value, written.referenced, written.defined)],
        OneOrMany::Many(list) => list,
    }
}

/// The strings without their locations.
fn values(list: Vec<Spanned<String>>) -> Vec<String> {
    list.into_iter().map(|item| item.value).collect()
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor)
    }
}

struct OneOrManyVisitor;

impl<'de> Visitor<'de> for OneOrManyVisitor {
    type Value = OneOrMany;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of strings")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<OneOrMany, E> {
        Ok(OneOrMany::One(value.to_owned()))
    }

    /// `true` and `false` are commands too, and useful to try out a task.
    fn visit_bool<E: Error>(self, value: bool) -> Result<OneOrMany, E> {
        Ok(OneOrMany::One(value.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<OneOrMany, E> {
        Err(E::custom("the value is missing"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(OneOrMany::Many(list))
    }
}

/// The same, where a single number is one, too.
struct OneOrNumber(OneOrMany);

impl<'de> Deserialize<'de> for OneOrNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrNumberVisitor)
    }
}

struct OneOrNumberVisitor;

impl<'de> Visitor<'de> for OneOrNumberVisitor {
    type Value = OneOrNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a string, or a list of them")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<OneOrNumber, E> {
        Ok(OneOrNumber(OneOrMany::One(value.to_string())))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<OneOrNumber, E> {
        Ok(OneOrNumber(OneOrMany::One(value.to_string())))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<OneOrNumber, E> {
        OneOrManyVisitor.visit_str(value).map(OneOrNumber)
    }

    fn visit_unit<E: Error>(self) -> Result<OneOrNumber, E> {
        OneOrManyVisitor.visit_unit().map(OneOrNumber)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<OneOrNumber, A::Error> {
        OneOrManyVisitor.visit_seq(seq).map(OneOrNumber)
    }
}
