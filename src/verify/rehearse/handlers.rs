//! Handlers of HTTP in Go that always give the one answer that a test wants.
//!
//! Invariant: pure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::demands::demands;
use super::inline_code::InlineCode;
use super::operands::inside;
use super::scope::ValueOrigin;
use super::wanted::Wanted;

/// The sources with such handlers in place of those that a test calls.
pub(super) fn answering(sources: &[(&Path, String)], test: &InlineCode) -> Vec<(PathBuf, String)> {
    static CALLED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"HandlerFunc\((?:\w+\.)?(?<wrapped>\w+)\)|\b(?<called>[A-Z]\w*)\(\s*(?:rec|rr|w|recorder|res|resp)\s*,")
            .expect("a pattern")
    });
    static STATUS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:Code|StatusCode)\s*!=\s*(?:http\.(?<name>Status\w+)|(?<number>\d+))")
            .expect("a pattern")
    });
    let names = CALLED
        .captures_iter(&test.code)
        .filter_map(|it| Some(it.name("wrapped").or(it.name("called"))?.as_str().to_owned()));
    let names: BTreeSet<String> = names.collect();
    let status = STATUS.captures(&test.code).map_or("200".to_owned(), |it| {
        it.name("number")
            .map_or_else(|| format!("http.{}", &it["name"]), |it| it.as_str().to_owned())
    });
    let answer = answer(test).unwrap_or_default();
    let mut changed = Vec::new();
    for (path, text) in sources {
        let mut new = text.clone();
        for name in &names {
            let head = format!(r"func\s+{name}\(\s*(?<writer>\w+)\s+http\.ResponseWriter[^{{]*\{{");
            let Some(it) = Regex::new(&head).ok().and_then(|head| {
                let it = head.captures(&new)?;
                Some((it.get(0)?.end(), it["writer"].to_owned()))
            }) else {
                continue;
            };
            let (open, writer) = it;
            let close = open + inside(&new[open..]).len();
            let body = format!(
                "\n\t{writer}.WriteHeader({status})\n\t{writer}.Write([]byte({answer:?}))\n"
            );
            new.replace_range(open..close, &body);
        }
        if new != *text {
            changed.push(((*path).to_owned(), new));
        }
    }
    changed
}

/// The body that a test compares, as a text or by the keys of its JSON.
fn answer(test: &InlineCode) -> Option<String> {
    let mut keys = Wanted::Any;
    for asked in demands(test) {
        match (&asked.subject.origin, &asked.wanted) {
            (ValueOrigin::Call(name), wanted) if name == "String" || name == "ReadAll" => {
                return wanted.text();
            }
            (ValueOrigin::Name(_), Wanted::Keys(_)) => {
                keys = keys.clone().merged(asked.wanted).unwrap_or(keys);
            }
            _ => {}
        }
    }
    (keys != Wanted::Any).then(|| keys.text()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::rehearse::languages::Language;

    #[test]
    fn a_handler_gives_the_answer() {
        let code = "Health(rec, req)\nif rec.Code != http.StatusOK {\n}\nif rec.Body.String() != \"ok\" {\n}\n";
        let test = InlineCode {
            language: Language::Go,
            code: code.to_owned(),
            folder: PathBuf::new(),
            is_inline: false,
        };
        let old =
            "package a\n\nfunc Health(w http.ResponseWriter, r *http.Request) {\n\tpanic(1)\n}\n";
        let found = answering(&[(Path::new("a.go"), old.to_owned())], &test);
        let text = found.into_iter().map(|it| it.1).collect::<String>();
        assert!(text.contains("w.WriteHeader(http.StatusOK)\n\tw.Write([]byte(\"ok\"))"), "{text}");
    }
}
