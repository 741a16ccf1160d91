//! Texts and records, each with its class.

use super::*;
use crate::model::Reset;

/// Lines `class: text`; `-` is for texts that are no failure, whatever they mention.
const LINES: &str = include_str!("../../../tests/corpus/failures.txt");

fn name(class: FaultClass) -> String {
    serde_json::to_value(class).expect("a name").as_str().expect("a string").to_owned()
}

#[test]
fn each_line_of_the_corpus_has_its_class() {
    let (mut wrong, mut failures, mut mentions) = (Vec::new(), 0, 0);
    for line in LINES.lines().filter(|line| !line.is_empty() && !line.starts_with("##")) {
        let (class, text) = line.split_once(": ").expect("`class: text`");
        let expected = if class == "-" { "fatal" } else { class };
        *(if class == "-" { &mut mentions } else { &mut failures }) += 1;
        let found = name(classify(text).class);
        if found != expected {
            wrong.push(format!("{found} instead of {expected}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(failures > 80 && mentions > 80, "{failures} failures, {mentions} mentions");
}

#[test]
fn the_last_line_of_many_that_tells_of_a_failure_counts() {
    let log = "Compiling client v0.1.0\nError: connect ECONNREFUSED 127.0.0.1:443\nHTTP/1.1 429 Too Many Requests\nRetry-After: 120\nbye\n";
    let fault = classify(log);
    assert_eq!((fault.class, fault.reset), (FaultClass::RateLimit, Some(Reset::After(120))));
}

#[test]
fn a_program_that_speaks_of_rate_limits_all_over_has_met_none() {
    let source = "# Retry\n\n- [ ] Handle rate limit errors (429 Too Many Requests)\n\n```python\nclass RateLimitError(Exception):\n    pass\n\ndef handle_rate_limit(response):\n    if \"rate limit\" in response.lower():\n        log_error(\"Rate limit hit\")\n        raise RateLimitError(\"Error: 429 rate limit exceeded\")\n```\n";
    assert_eq!(classify(source).class, FaultClass::Fatal);
}

#[test]
fn what_a_fenced_block_quotes_is_none() {
    for (text, class) in [
        ("The log:\n```\nError: 429 Too Many Requests\n```\n", "fatal"),
        ("~~~text\nError: 429 Too Many Requests\n", "fatal"),
        ("```\nok\n```\nError: 429 Too Many Requests\n", "rate_limit"),
        ("~~~\n```\n~~~\nError: 429 Too Many Requests\n", "rate_limit"),
    ] {
        assert_eq!(name(classify(text).class), class, "{text}");
    }
}

#[test]
fn a_message_from_an_error_channel_needs_no_prefix_but_still_the_shape() {
    for (text, class) in [
        ("429 Rate limit reached for requests", Some(FaultClass::RateLimit)),
        ("rate limit", Some(FaultClass::RateLimit)),
        ("Model 'x' not found on provider http://localhost", Some(FaultClass::ModelUnavailable)),
        ("Internal error: 503 Service Unavailable", Some(FaultClass::Transient)),
        ("the tool failed: tests/rate_limit.rs has 429 lines", None),
        ("expected `Rate limit exceeded`, got `ok`", None),
    ] {
        assert_eq!(classify_message(text), class, "{text}");
    }
}

#[test]
fn a_reset_time_is_found_anywhere() {
    for (text, reset) in [
        (
            r#"{"error":{"code":-32603,"message":"limited","data":{"statusCode":429,"retryAfter":3600}}}"#,
            3600,
        ),
        (
            r#"{"type":"session.error","data":{"errorType":"rate_limit","message":"Please try again in 58 hours"}}"#,
            58 * 3600,
        ),
        (
            "Error: Sorry, you've hit a rate limit that restricts the number of requests. Please try again in 58 hours. (Request ID: AB:1)",
            58 * 3600,
        ),
        ("429 Too Many Requests\nRetry-After: 3600", 3600),
    ] {
        let fault = classify(text);
        assert_eq!(
            (fault.class, fault.reset),
            (FaultClass::RateLimit, Some(Reset::After(reset))),
            "{text}"
        );
    }
}
