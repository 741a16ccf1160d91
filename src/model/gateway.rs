//! The gateway of a run, as a human asks for it and as its events tell of it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Does a run have a gateway for tool providers, and on which port?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenGateway", into = "WrittenGateway")]
pub enum GatewayUse {
    /// No.
    #[default]
    Off,
    /// On the protocol's own port, if that is free.
    On,
    /// On this port, or there is no run; 0 takes a free one.
    Port(u16),
}

/// The same as a boolean or a number.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenGateway {
    Switch(bool),
    Port(u16),
}

impl GatewayUse {
    /// The accepted values, for messages.
    pub const TAKES: &str = "`true`, `false`, or a port, such as `9400`";
}

impl From<WrittenGateway> for GatewayUse {
    fn from(written: WrittenGateway) -> Self {
        match written {
            WrittenGateway::Switch(true) => Self::On,
            WrittenGateway::Switch(false) => Self::Off,
            WrittenGateway::Port(port) => Self::Port(port),
        }
    }
}

impl From<GatewayUse> for WrittenGateway {
    fn from(gateway: GatewayUse) -> Self {
        match gateway {
            GatewayUse::Off => Self::Switch(false),
            GatewayUse::On => Self::Switch(true),
            GatewayUse::Port(port) => Self::Port(port),
        }
    }
}

impl FromStr for GatewayUse {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "true" => Ok(Self::On),
            "false" => Ok(Self::Off),
            port => port
                .parse()
                .map(Self::Port)
                .map_err(|_| "neither `true`, nor `false`, nor a port, such as `9400`"),
        }
    }
}

impl fmt::Display for GatewayUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("false"),
            Self::On => f.write_str("true"),
            Self::Port(port) => port.fmt(f),
        }
    }
}

/// Whom an event of a provider is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EventLevel {
    /// Its stream.
    Keep,
    /// People, too.
    Surface,
    /// The agent, too.
    Inject,
}

/// When the agent was given events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenWith {
    /// With a prompt.
    Prompt,
    /// When it wanted to end its turn.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_is_on_off_or_a_port() {
        for (text, expected) in [
            ("true", GatewayUse::On),
            ("false", GatewayUse::Off),
            ("9401", GatewayUse::Port(9401)),
            ("0", GatewayUse::Port(0)),
        ] {
            let read: GatewayUse = text.parse().expect(text);
            assert_eq!((read, read.to_string().as_str()), (expected, text));
            let json = serde_json::from_str::<GatewayUse>(text).expect("JSON");
            assert_eq!(json, expected);
            assert_eq!(serde_json::to_string(&json).expect("JSON"), text);
        }
        for text in ["", "yes", "65536", "-1", "9400x"] {
            text.parse::<GatewayUse>().expect_err(text);
        }
    }
}
