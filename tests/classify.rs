//! `ralph-copilot classify`: a filter from an error to what a run would do about it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What it prints for an input, with these arguments and variables.
#[track_caller]
fn classify(input: &str, args: &[&str], variables: &[(&str, &str)]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ralph-copilot"));
    command.arg("classify").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.env_remove("COPILOT_MAX_RETRIES").env_remove("RALPH_COPILOT_FALLBACK");
    let mut child = command.envs(variables.iter().copied()).spawn().expect("started");
    child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(0), "{input}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

#[track_caller]
fn assert_told(told: &Value, class: &str, action: &str, wait: u64) {
    let expected = (&class.into(), &action.into(), &wait.into());
    assert_eq!((&told["class"], &told["action"], &told["wait_seconds"]), expected, "{told}");
}

#[test]
fn the_reason_does_not_blame_the_provider_for_the_network() {
    let told = classify("network down", &[], &[]);
    assert_eq!(told["reason"], "the provider or the connection to it failed");
}

#[test]
fn each_class_has_its_action_and_its_wait() {
    for (input, class, action, wait) in [
        ("Error: 429 Rate limit reached for requests\n", "rate_limit", "wait", 30),
        ("Error: connect ECONNREFUSED 127.0.0.1:443", "network", "retry", 5),
        ("503 Service Unavailable", "transient", "retry", 5),
        ("Model timeout", "transient", "retry", 5),
        ("network down", "transient", "retry", 5),
        ("upstream timeout", "transient", "retry", 5),
        ("TypeError: terminated", "transient", "retry", 5),
        ("Premature close", "transient", "retry", 5),
        (
            r#"{"code":"ERR_STREAM_PREMATURE_CLOSE","message":"Premature close"}"#,
            "transient",
            "retry",
            5,
        ),
        ("Authentication required", "auth", "fail", 0),
        ("Error: Model 'x' not found", "model_unavailable", "fail", 0),
        ("ENOENT: no such file or directory, open 'x'", "file_not_found", "skip", 0),
        ("EACCES: permission denied, open 'x'", "permission_denied", "skip", 0),
        ("Error: 402 You have no quota", "rate_limit", "wait", 30),
        ("Error: 429 Retry-After: 3600", "rate_limit", "wait", 3600),
        ("\u{feff}[{\"statusCode\":\"429\"}]", "rate_limit", "wait", 30),
        ("ConnectionError", "network", "retry", 5),
        ("Auth expired", "auth", "fail", 0),
        ("Model unavailable", "model_unavailable", "fail", 0),
        ("429 Too Many Requests is what the server answers", "fatal", "abort", 0),
        ("```\nError: 429 Too Many Requests\n```", "fatal", "abort", 0),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"429 Too Many Requests. Please try again in 5 hours"}}"#,
            "rate_limit",
            "wait",
            5 * 3600,
        ),
        (
            r#"{"errorContext":"tool_execution","error":{"message":"429 Too Many Requests"}}"#,
            "fatal",
            "abort",
            0,
        ),
        ("something else", "fatal", "abort", 0),
        ("", "fatal", "abort", 0),
        ("- [ ] Handle rate limit errors (429 Too Many Requests)", "fatal", "abort", 0),
        (
            r#"{"type":"session.error","data":{"errorType":"rate_limit","message":"429","statusCode":429}}"#,
            "rate_limit",
            "wait",
            30,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required"}}"#,
            "auth",
            "fail",
            0,
        ),
    ] {
        assert_told(&classify(input, &[], &[]), class, action, wait);
    }
}

#[test]
fn the_number_of_the_retry_makes_the_wait() {
    for (retry, wait) in [("0", 30), ("1", 60), ("2", 120), ("3", 240), ("4", 300), ("60", 300)] {
        let told = classify("Error: 429 Too Many Requests", &["--retry", retry], &[]);
        assert_told(&told, "rate_limit", "wait", wait);
    }
    for (retry, action, wait) in
        [("0", "retry", 5), ("1", "retry", 15), ("2", "retry", 30), ("3", "fail", 0)]
    {
        let told = classify("fetch failed", &["--retry", retry], &[]);
        assert_told(&told, "network", action, wait);
    }
    let told = classify("fetch failed", &["--retry", "3"], &[]);
    assert_eq!(told["reason"], "Failed after max retries");
    let told = classify("500 Internal Server Error", &["--retry", "2"], &[]);
    assert_told(&told, "transient", "fail", 0);
}

#[test]
fn a_reset_that_is_told_makes_the_wait_longer() {
    let text = "Error: Sorry, you've hit a rate limit. Please try again in 58 hours.";
    let told = classify(text, &[], &[]);
    assert_told(&told, "rate_limit", "wait", 58 * 3600);
    assert!(told["resume_at"].is_string(), "{told}");
    let told = classify("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\n", &[], &[]);
    assert_told(&told, "rate_limit", "wait", 3600);
    let told = classify("429 Too Many Requests\nRetry-After: 2", &[], &[]);
    assert_told(&told, "rate_limit", "wait", 30);
}

#[test]
fn the_environment_is_honoured() {
    let retries = [("COPILOT_MAX_RETRIES", "1")];
    let limit = "Error: 429 Too Many Requests";
    assert_told(&classify(limit, &[], &retries), "rate_limit", "wait", 30);
    assert_told(&classify(limit, &["--retry", "1"], &retries), "rate_limit", "fail", 0);
    let fallback = [("RALPH_COPILOT_FALLBACK", "true")];
    let told = classify("Error: Model 'x' not found", &[], &fallback);
    assert_told(&told, "model_unavailable", "fallback", 0);
}

#[test]
fn whoever_has_to_act_is_told_what_to_type() {
    let told = classify("Error: No authentication information found.", &[], &[]);
    assert!(told["then"].as_str().expect("a hint").contains("copilot login"), "{told}");
}
