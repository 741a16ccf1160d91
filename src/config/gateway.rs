//! The table `[gateway]`: whether runs have a gateway, and the providers that they start.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::policy::place_of;
use crate::model::{GatewayUse, RulePlace};

/// What one layer says about the gateway of runs.
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
