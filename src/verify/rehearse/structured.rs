//! Data files that hold no more than the keys and values that a check asks for, by their kind.
//!
//! Invariant: pure.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::json_shape::merged;
use super::wanted::Wanted;

/// The text of such a file. Other keys of the old text stay, where they can be read.
pub(super) fn structured(path: &Path, wanted: &Wanted, old: &str) -> Option<String> {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match extension {
        "yml" | "yaml" => Some(yaml(&whole(wanted)?, 0)),
        "toml" => {
            let old = toml::from_str(old).unwrap_or_default();
            toml::to_string(&merged(old, whole(wanted)?)).ok()
        }
        "ini" | "cfg" | "conf" => Some(ini(&whole(wanted)?)),
        "csv" | "tsv" => Some(table(wanted, if extension == "csv" { "," } else { "\t" })),
        "json" | "webmanifest" => {
            let old = serde_json::from_str(old).unwrap_or_default();
            Some(format!("{}\n", merged(old, whole(wanted)?)))
        }
        _ => Some(format!("{}\n", wanted.text()?)),
    }
}

/// The value of a file that holds an object: `"port" in config` asks for a key.
fn whole(wanted: &Wanted) -> Option<Value> {
    match wanted {
        Wanted::Parts(parts) => {
            Some(Value::Object(parts.iter().map(|it| (it.clone(), json!(1))).collect()))
        }
        Wanted::Any => Some(json!({})),
        wanted => wanted.json(),
    }
}

/// Keys in lines of their own, so that a pattern finds them, too.
pub(super) fn yaml(value: &Value, depth: usize) -> String {
    let Value::Object(keys) = value else { return format!("{value}\n") };
    let lines = keys.iter().map(|(key, value)| {
        let is_plain = key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) && key != "on";
        let key = if is_plain { key.clone() } else { json!(key).to_string() };
        let indent = "  ".repeat(depth);
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                format!("{indent}{key}:\n{}", yaml(value, depth + 1))
            }
            _ => format!("{indent}{key}: {value}\n"),
        }
    });
    lines.collect()
}

fn ini(value: &Value) -> String {
    let empty = Map::new();
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let sections = value.as_object().unwrap_or(&empty).iter().map(|(name, section)| {
        let pairs = section.as_object().unwrap_or(&empty).iter();
        let pairs = pairs.map(|(key, value)| format!("{key} = {}\n", plain(value)));
        format!("[{name}]\n{}", pairs.collect::<String>())
    });
    sections.collect()
}

/// The columns in the first line, and as many rows as have to be there.
fn table(wanted: &Wanted, separator: &str) -> String {
    let mut columns = Vec::new();
    names(wanted, &mut columns);
    if columns.is_empty() {
        columns.push("x".to_owned());
    }
    let rows = if let Wanted::Items(items) = wanted { items.len() } else { 0 };
    let row = vec!["1"; columns.len()].join(separator);
    format!("{}\n{}", columns.join(separator), format!("{row}\n").repeat(rows))
}

fn names(wanted: &Wanted, found: &mut Vec<String>) {
    match wanted {
        Wanted::Keys(keys) => {
            for (key, value) in keys {
                if key != "fieldnames" && !found.contains(key) {
                    found.push(key.clone());
                }
                names(value, found);
            }
        }
        Wanted::Items(items) => items.iter().for_each(|item| names(item, found)),
        Wanted::Parts(parts) => found.extend(parts.iter().cloned()),
        Wanted::Raw(text) => {
            let all: Vec<String> =
                serde_json::from_str(&text.replace('\'', "\"")).unwrap_or_default();
            found.extend(all);
        }
        Wanted::Any => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::rehearse::wanted::Step;

    #[test]
    fn a_file_holds_what_is_asked() {
        let key = |name: &str| Step::Key(name.to_owned());
        let port = Wanted::at(&[key("server"), key("port")], Wanted::Raw("80".to_owned()));
        for (path, wanted) in [
            ("a.json", "{\"server\":{\"port\":80}}\n"),
            ("a.yml", "server:\n  port: 80\n"),
            ("a.toml", "[server]\nport = 80\n"),
            ("a.ini", "[server]\nport = 80\n"),
        ] {
            assert_eq!(structured(Path::new(path), &port, "").as_deref(), Some(wanted), "{path}");
        }
        let kept =
            structured(Path::new("a.json"), &port, "{\"name\": 1, \"server\": {\"port\": 1}}");
        assert_eq!(kept.as_deref(), Some("{\"name\":1,\"server\":{\"port\":80}}\n"));
        let rows = Wanted::at(&[Step::Index(0), key("price")], Wanted::Any);
        assert_eq!(structured(Path::new("a.csv"), &rows, "").as_deref(), Some("price\n1\n"));
    }
}
