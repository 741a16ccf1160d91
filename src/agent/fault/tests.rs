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

/// JSON values, each with its class.
const VALUES: &[(&str, &str)] = &[
    (
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error","data":{"errorKind":"rate_limit"}}}"#,
        "rate_limit",
    ),
    (
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error","data":{"statusCode":429}}}"#,
        "rate_limit",
    ),
    (r#"{"code":-32603,"message":"Internal error","data":"429 Too Many Requests"}"#, "rate_limit"),
    (
        r#"{"code":-32603,"message":"Internal error","data":{"details":"Request failed with status code 503"}}"#,
        "transient",
    ),
    (
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}"#,
        "auth",
    ),
    (r#"{"code":-32000,"message":"Server error"}"#, "auth"),
    (r#"{"code":-32000,"message":"Server error","data":{"statusCode":429}}"#, "rate_limit"),
    (r#"{"code":-32002,"message":"Resource not found: file:///x"}"#, "file_not_found"),
    (r#"{"code":-32603,"message":"strange"}"#, "fatal"),
    (r#"{"code":-32601,"message":"Method not found"}"#, "fatal"),
    (
        r#"{"type":"session.error","data":{"errorType":"rate_limit","message":"429 Rate limit reached","statusCode":429}}"#,
        "rate_limit",
    ),
    (
        r#"{"type":"session.error","data":{"errorType":"authentication","message":"Authentication failed","statusCode":401}}"#,
        "auth",
    ),
    (
        r#"{"type":"session.error","data":{"errorType":"query","message":"Model 'x' not found","statusCode":404}}"#,
        "model_unavailable",
    ),
    (
        r#"{"type":"session.error","data":{"errorType":"query","message":"CAPIError: 503 upstream","statusCode":503}}"#,
        "transient",
    ),
    (
        r#"{"type":"session.error","data":{"errorType":"query","message":"Failed to get response from the AI model; retried 5 times (total retry wait time: 5 seconds) Last error: CAPIError: 429 429 Too Many Requests"}}"#,
        "rate_limit",
    ),
    (
        r#"{"type":"session.error","data":{"errorType":"quota","message":"You have no quota","statusCode":402}}"#,
        "rate_limit",
    ),
    (
        r#"{"type":"session.error","data":{"errorType":"query","message":"400 the script has no answer left","statusCode":400}}"#,
        "fatal",
    ),
    (
        r#"{"sessionId":"s","errorContext":"model_call","recoverable":true,"error":{"message":"429 Too Many Requests","name":"Error"}}"#,
        "rate_limit",
    ),
    (
        r#"{"errorContext":"model_call","error":{"message":"{\"message\":\"bad key\",\"code\":\"invalid_api_key\"}"}}"#,
        "auth",
    ),
    (
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        "rate_limit",
    ),
    (r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#, "transient"),
    (
        r#"{"error":{"message":"The model `gpt-9` does not exist","code":"model_not_found"}}"#,
        "model_unavailable",
    ),
    (r#"{"code":"ECONNREFUSED","message":"connect ECONNREFUSED 127.0.0.1:443"}"#, "network"),
    (
        r#"{"code":"ENOENT","message":"ENOENT: no such file or directory, open 'x'","errno":-2}"#,
        "file_not_found",
    ),
    (r#"{"code":"EACCES","message":"EACCES: permission denied, open 'x'"}"#, "permission_denied"),
    (r#"{"status":401}"#, "auth"),
    (r#"{"status":"429"}"#, "rate_limit"),
    (r#"{"status":429.0}"#, "rate_limit"),
    (r#"{"status":"429 Too Many Requests"}"#, "rate_limit"),
    (r#"[{"statusCode":429}]"#, "rate_limit"),
    (r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]"#, "rate_limit"),
    (r#""{\"error\":{\"code\":429}}""#, "rate_limit"),
    ("\u{feff}{\"statusCode\":429}", "rate_limit"),
    (r#"{"error":{"code":429,"message":"slow"}}"#, "rate_limit"),
    (r#"{"status":200,"lines":429}"#, "fatal"),
    (r#"{"status":429.5}"#, "fatal"),
    (r#"{"status":"4290"}"#, "fatal"),
    (r#"[{"lines":429}]"#, "fatal"),
    // The code is the last resort: agents use it for more than a login.
    (
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"429 Too Many Requests. Please try again in 5 hours"}}"#,
        "rate_limit",
    ),
    (r#"{"code":-32000,"message":"Rate limit exceeded"}"#, "rate_limit"),
    (r#"{"code":-32000,"message":"503 Service Unavailable"}"#, "transient"),
    (r#"{"code":-32000,"message":"Connection refused"}"#, "network"),
    (r#"{"code":-32000,"message":"Model x not found"}"#, "model_unavailable"),
    (r#"{"code":-32000,"message":"Server error","data":"Connection refused"}"#, "network"),
    (r#"{"code":-32002,"message":"Rate limit exceeded"}"#, "rate_limit"),
    (r#"{"code":-32000,"message":"who are you"}"#, "auth"),
    // An error in a tool's output is not a failure of the model.
    (r#"{"errorContext":"tool_execution","error":{"message":"429 Too Many Requests"}}"#, "fatal"),
    (
        r#"{"errorContext":"tool_execution","error":{"message":"ENOENT: no such file or directory"}}"#,
        "file_not_found",
    ),
    // A record that declares another type is not a failure.
    (r#"{"type":"assistant.message","data":{"content":"Error: 429 Rate limit reached"}}"#, "fatal"),
    (
        r#"{"type":"tool.execution_complete","data":{"error":{"message":"429 Too Many Requests","code":"failure"}}}"#,
        "fatal",
    ),
    (r#"{"type":"session.info","data":{"message":"rate limit"}}"#, "fatal"),
    (r#"{"criterion":"handle 429 Too Many Requests"}"#, "fatal"),
    (r#"{"message":"Rate limit exceeded","iteration":1}"#, "fatal"),
    ("[429]", "fatal"),
    // Without a message.
    (r#"{"code":429}"#, "rate_limit"),
    (r#"{"type":"usage_limit_reached","resets_in_seconds":60}"#, "rate_limit"),
    (r#"{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"3600s"}]}"#, "rate_limit"),
    (r#"{"type":"error","error":{"type":"usage_limit_reached"}}"#, "rate_limit"),
    (r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#, "fatal"),
];

#[test]
fn json_is_read_by_its_fields_first() {
    for (json, class) in VALUES {
        assert_eq!(name(classify(json).class), *class, "{json}");
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
