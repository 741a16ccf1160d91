//! The table `[gateway]`: whether runs have a gateway, and the providers that they start.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::policy::place_of;
use crate::model::{GatewayUse, RulePlace};

/// One layer's settings for the gateway of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenGateway")]
pub struct GatewayLayer {
    /// Whether there is one, and on which port; `None` is "nothing said".
    pub chosen: Option<GatewayUse>,
    /// Commands that start providers.
    pub providers: Vec<String>,
    /// Where the table stands in its file.
    pub place: Option<RulePlace>,
}

/// The table as written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenGateway {
    enabled: Option<bool>,
    port: Option<u16>,
    provider: Vec<WrittenProvider>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProvider {
    command: String,
}

impl From<WrittenGateway> for GatewayLayer {
    fn from(written: WrittenGateway) -> Self {
        let chosen = match (written.enabled, written.port) {
            (Some(false), _) => Some(GatewayUse::Off),
            (Some(true) | None, Some(port)) => Some(GatewayUse::Port(port)),
            (Some(true), None) => Some(GatewayUse::On),
            (None, None) => None,
        };
        let providers = written.provider.into_iter().map(|provider| provider.command).collect();
        Self { chosen, providers, place: None }
    }
}

/// The same table, but only its places.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Spans {
    gateway: GatewaySpans,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GatewaySpans {
    enabled: Option<Spanned<IgnoredAny>>,
    port: Option<Spanned<IgnoredAny>>,
    provider: Vec<Spanned<IgnoredAny>>,
}

/// Notes where the table stands in the text it was read from.
pub(super) fn place(gateway: &mut GatewayLayer, text: &str, file: &Path) {
    let Ok(Spans { gateway: spans }) = toml::from_str::<Spans>(text) else { return };
    let all = spans.enabled.iter().chain(&spans.port).chain(&spans.provider);
    let first = all.map(Spanned::span).min_by_key(|span| span.start);
    gateway.place = first.map(|span| place_of(span, text, file));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::from_text;

    fn read(text: &str) -> Result<GatewayLayer, String> {
        let read = from_text(text, Path::new("config.toml"));
        read.map(|values| values.gateway).map_err(|error| error.to_string())
    }

    #[test]
    fn the_table_says_whether_on_which_port_and_what_is_started() {
        for (text, chosen) in [
            ("[gateway]\nenabled = true\n", Some(GatewayUse::On)),
            ("[gateway]\nport = 9401\n", Some(GatewayUse::Port(9401))),
            ("[gateway]\nenabled = false\nport = 9401\n", Some(GatewayUse::Off)),
            ("[[gateway.provider]]\ncommand = \"a\"\n", None),
        ] {
            assert_eq!(read(text).expect(text).chosen, chosen, "{text}");
        }
        let two = "max_tokens = 1\n[[gateway.provider]]\ncommand = \"a\"\n\
                   [[gateway.provider]]\ncommand = \"b\"\n";
        let two = read(two).expect("valid");
        assert_eq!(two.providers, ["a", "b"]);
        assert_eq!(two.place.map(|place| place.line), Some(2));
        assert_eq!(read("").expect("valid"), GatewayLayer::default());
    }

    #[test]
    fn an_unknown_key_or_a_provider_without_a_command_is_an_error() {
        for text in [
            "[gateway]\non = true\n",
            "[gateway]\nport = 65536\n",
            "gateway = true\n",
            "[[gateway.provider]]\nname = \"a\"\n",
        ] {
            read(text).expect_err(text);
        }
    }
}
