//! The same limits as text for Seatbelt, the sandbox of macOS. `sandbox-exec` puts them on a program
//! before it starts it.
//!
//! Invariant: [`profile`] is pure. The last matching rule decides, so general denials come first
//! and their exceptions follow.

use std::fmt::Write as _;
use std::path::Path;

use super::limits::LandlockRules;
use super::network::Network;

/// Devices that hold nothing.
const DEVICES: [&str; 7] = [
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/dtracehelper",
];
/// Services of the system that hand out secrets of the keychain, and that start programs outside.
const SERVICES: [&str; 4] = [
    "com.apple.SecurityServer",
    "com.apple.securityd",
    "com.apple.coreservices.launchservicesd",
    "com.apple.lsd.open",
];

/// The profile of these limits. Paths must be real: Seatbelt compares names without their links.
pub(super) fn profile(limits: &LandlockRules) -> String {
    let mut text = "(version 1)\n(allow default)\n(deny file-write*)\n".to_owned();
    let writable = limits.writable.iter().map(|path| below(path));
    rule(&mut text, "allow file-write*", &devices().chain(writable).collect::<Vec<_>>());
    if let Some(readable) = &limits.readable {
        text.push_str("(deny file-read-data)\n");
        let mut named = vec!["(literal \"/\")".to_owned(), "(subpath \"/dev/fd\")".to_owned()];
        named.extend(devices());
        named.extend(limits.writable.iter().chain(readable).map(|path| below(path)));
        rule(&mut text, "allow file-read-data", &named);
    }
    if limits.network == Network::Own {
        text.push_str("(deny network*)\n");
        text.push_str("(allow network* (local ip \"localhost:*\"))\n");
        text.push_str("(allow network-outbound (remote ip \"localhost:*\"))\n");
        let readable = limits.readable.iter().flatten();
        let sockets = limits.writable.iter().chain(readable.filter(|path| is_socket(path)));
        let sockets: Vec<String> = sockets.map(|path| below(path)).collect();
        rule(&mut text, "allow network-bind", &sockets);
        rule(&mut text, "allow network-outbound", &sockets);
    }
    if !limits.signals {
        text.push_str("(deny signal)\n(allow signal (target same-sandbox))\n");
    }
    let services: Vec<String> =
        SERVICES.iter().map(|name| format!("(global-name {})", quoted(name))).collect();
    rule(&mut text, "deny mach-lookup", &services);
    text
}

/// A service's socket, which is named as a file and not as a folder.
fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    path.metadata().is_ok_and(|found| found.file_type().is_socket())
}

/// Devices that hold nothing, and terminals.
fn devices() -> impl Iterator<Item = String> {
    let devices = DEVICES.iter().map(|device| format!("(literal {})", quoted(device)));
    devices.chain(["(regex #\"^/dev/ttys[0-9]+$\")".to_owned()])
}

fn rule(text: &mut String, rule: &str, filters: &[String]) {
    if filters.is_empty() {
        return;
    }
    let _ = writeln!(text, "({rule}");
    for filter in filters {
        let _ = writeln!(text, "  {filter}");
    }
    text.push_str(")\n");
}

/// A file, or a folder with everything in it.
fn below(path: &Path) -> String {
    format!("(subpath {})", quoted(&path.to_string_lossy()))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> LandlockRules {
        LandlockRules {
            writable: vec!["/srv/my \"repo\"".into(), "/private/tmp/x".into()],
            readable: Some(vec!["/usr".into(), "/Users/me/.cargo".into()]),
            network: Network::Own,
            ports: vec![],
            signals: false,
        }
    }

    #[test]
    fn the_profile_of_a_session_is_exactly_this() {
        insta::assert_snapshot!(profile(&limits()));
    }

    #[test]
    fn what_is_not_limited_is_not_in_it() {
        let open =
            LandlockRules { readable: None, network: Network::Host, signals: true, ..limits() };
        let text = profile(&open);
        assert!(text.contains("(deny file-write*)"), "{text}");
        for rule in ["file-read-data", "network", "signal"] {
            assert!(!text.contains(rule), "{rule}: {text}");
        }
    }
}
