//! AI credits of a model call, from the Copilot CLI's record of it.
//!
//! Invariant: a cost is what the CLI reports, or follows from a published price, or is unknown. It
//! is never 0 because nothing is known.

use serde_json::Value;

use crate::model::Credits;

/// The prices, with their date.
const PRICES: &str = include_str!("prices.txt");
/// The CLI's unit is a billionth of a credit; ours a thousandth.
const NANO: f64 = 1e6;

/// The credits of a call; none for one to the user's own provider, which costs no credits.
pub(super) fn credits(usage: &Value) -> Option<Credits> {
    if usage["isByok"] == true {
        return None;
    }
    let reported = [&usage["totalNanoAiu"], &usage["copilotUsage"]["totalNanoAiu"]];
    let reported = reported.into_iter().find_map(Value::as_f64);
    let reported = reported.filter(|_| usage["aiCreditsStatus"] != "unavailable");
    let credits = reported.map(|nano| nano / NANO).or_else(|| priced(usage));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    Some(credits.map_or(Credits::Unknown, |milli| Credits::Milli(milli.ceil() as u64)))
}

/// Thousandths of a credit by the model's price, if it has one.
fn priced(usage: &Value) -> Option<f64> {
    let model = usage["model"].as_str()?;
    let mut lines = PRICES.lines().filter_map(|line| line.split_once(": "));
    let (_, prices) = lines.find(|(known, _)| *known == model)?;
    let mut prices = prices.split(' ').map(|price| price.parse::<f64>().ok());
    let [fresh, cached, written, out] = std::array::from_fn(|_| prices.next().flatten());
    let tokens = |name: &str| usage[name].as_f64();
    let (input, output) = (tokens("inputTokens")?, tokens("outputTokens")?);
    let read = tokens("cacheReadTokens").unwrap_or(0.0);
    let wrote = tokens("cacheWriteTokens").unwrap_or(0.0);
    if prices.next().flatten().is_some_and(|most| input > most) {
        return None;
    }
    let new = (input - read - wrote).max(0.0);
    Some((new * fresh? + read * cached? + wrote * written? + output * out?) / 1000.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_costs_what_is_reported_or_priced_or_is_unknown() {
        let call = |more: Value| {
            let mut usage = json!({
                "model": "claude-sonnet-4.6", "inputTokens": 100_000, "outputTokens": 10_000,
                "cacheReadTokens": 60_000, "cacheWriteTokens": 10_000,
            });
            let all = usage.as_object_mut().expect("an object");
            all.extend(more.as_object().expect("an object").clone());
            credits(&usage)
        };
        // 30,000 at 300, 60,000 at 30, 10,000 at 375, and 10,000 at 1,500 for a million.
        assert_eq!(call(json!({})), Some(Credits::Milli(29_550)));
        assert_eq!(call(json!({"totalNanoAiu": 1.5e9})), Some(Credits::Milli(1500)));
        assert_eq!(
            call(json!({"copilotUsage": {"totalNanoAiu": 2e9}})),
            Some(Credits::Milli(2000))
        );
        let none = json!({"totalNanoAiu": 0.0, "aiCreditsStatus": "unavailable"});
        assert_eq!(call(none), Some(Credits::Milli(29_550)));
        for unknown in [
            json!({"model": "claude-sonnet-9"}),
            json!({"model": null}),
            json!({"inputTokens": null}),
            json!({"model": "gpt-5.5", "inputTokens": 300_000}),
        ] {
            assert_eq!(call(unknown.clone()), Some(Credits::Unknown), "{unknown}");
        }
        assert_eq!(call(json!({"isByok": true})), None);
    }

    #[test]
    fn every_line_of_the_table_is_a_price() {
        for line in PRICES.lines().filter(|line| !line.starts_with('#')) {
            let model = line.split_once(": ").expect("a model").0;
            let usage = json!({"model": model, "inputTokens": 1000, "outputTokens": 1000});
            assert!(matches!(credits(&usage), Some(Credits::Milli(1..))), "{line}");
        }
    }
}
