//! Classes by HTTP status, or by a provider's name for the kind of error.

use crate::model::FaultClass;

/// The class of an HTTP status.
pub(super) fn of_status(status: u64) -> Option<FaultClass> {
    match status {
        401 | 403 | 407 => Some(FaultClass::Auth),
        404 => Some(FaultClass::ModelUnavailable),
        // 402 Payment Required: the quota is used up.
        402 | 429 => Some(FaultClass::RateLimit),
        408 | 425 | 500..=599 => Some(FaultClass::Transient),
        _ => None,
    }
}

/// The class of a named kind such as `rate_limit`, `invalid_api_key` or `ECONNREFUSED`.
pub(super) fn of_kind(kind: &str) -> Option<FaultClass> {
    let kind = kind.trim().to_lowercase().replace(['-', ' '], "_");
    let any = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if kind.is_empty() || kind.len() > 64 {
        return None;
    }
    if any(&[
        "rate_limit",
        "ratelimit",
        "quota",
        "usage_limit",
        "request_limit",
        "too_many_requests",
        "throttl",
        "resource_exhausted",
    ]) {
        return Some(FaultClass::RateLimit);
    }
    if any(&["authenticat", "unauthorized", "unauthenticated", "api_key", "bad_credentials"])
        || matches!(kind.as_str(), "auth" | "authorization" | "auth_required" | "login_required")
    {
        return Some(FaultClass::Auth);
    }
    if matches!(
        kind.as_str(),
        "model_not_found"
            | "model_not_supported"
            | "model_not_available"
            | "model_unavailable"
            | "unknown_model"
            | "unsupported_model"
            | "invalid_model"
    ) {
        return Some(FaultClass::ModelUnavailable);
    }
    if is_network_code(&kind) || matches!(kind.as_str(), "connection" | "network") {
        return Some(FaultClass::Network);
    }
    if any(&["connection_error", "network_error"]) {
        return Some(FaultClass::Network);
    }
    if any(&[
        "overloaded",
        "server_error",
        "service_unavailable",
        "timeout",
        "transient",
        "premature_close",
    ]) {
        return Some(FaultClass::Transient);
    }
    match kind.as_str() {
        "enoent" | "file_not_found" => Some(FaultClass::FileNotFound),
        "eacces" | "eperm" | "permission_denied" => Some(FaultClass::PermissionDenied),
        _ => None,
    }
}

/// Is this lower-case name of a system error a network error?
pub(super) fn is_network_code(code: &str) -> bool {
    matches!(
        code,
        "econnrefused"
            | "econnreset"
            | "econnaborted"
            | "enotfound"
            | "eai_again"
            | "etimedout"
            | "ehostunreach"
            | "enetunreach"
            | "enetdown"
            | "epipe"
            | "und_err_connect_timeout"
            | "und_err_socket"
    )
}
