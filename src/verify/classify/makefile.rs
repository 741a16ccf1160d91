//! Makefiles: their parts, and the commands that a target runs.

/// A part of a makefile, with its text.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) text: String,
    pub(super) kind: LineKind,
}

/// The kinds of a part.
#[derive(Clone, Debug)]
pub(super) enum LineKind {
    Variable { name: String, value: String },
    Rule { targets: Vec<String>, needs: Vec<String>, recipe: String },
    Blank,
    Other,
}

/// Splits a makefile.
pub(super) fn parse(code: &str) -> Vec<Chunk> {
    let mut lines: Vec<String> = Vec::new();
    for line in code.lines() {
        match lines.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.push('\n');
                last.push_str(line);
            }
            Some(_) | None => lines.push(line.to_owned()),
        }
    }
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut lines = lines.into_iter();
    while let Some(line) = lines.next() {
        if let Some(name) = line.trim_start().strip_prefix("define ") {
            let name = name.trim().trim_end_matches(['=', ':', ' ']).to_owned();
            let body: Vec<String> =
                lines.by_ref().take_while(|line| line.trim() != "endef").collect();
            let value = body.join("\n");
            let text = format!("{line}\n{value}\nendef");
            chunks.push(Chunk { text, kind: LineKind::Variable { name, value } });
            continue;
        }
        if line.starts_with('\t') {
            let rule = chunks.iter_mut().rev().find(|chunk| !matches!(chunk.kind, LineKind::Blank));
            if let Some(Chunk { text, kind: LineKind::Rule { recipe, .. } }) = rule {
                text.push('\n');
                text.push_str(&line);
                recipe.push_str(line.trim_start());
                recipe.push('\n');
                continue;
            }
        }
        chunks.push(Chunk { kind: kind(&line), text: line });
    }
    chunks
}

fn kind(line: &str) -> LineKind {
    let plain = line.split('#').next().unwrap_or("").replace("\\\n", " ");
    let plain = plain.trim();
    if plain.is_empty() {
        return LineKind::Blank;
    }
    if plain.trim_start_matches(['-', 's']).starts_with("include ") {
        return LineKind::Other;
    }
    let colon = plain.find(':');
    let equals = plain.find('=');
    match (colon, equals) {
        (_, Some(equals))
            if colon.is_none_or(|colon| {
                equals < colon || plain[colon..equals].trim_matches(':').is_empty()
            }) =>
        {
            let name = plain[..equals].trim_end_matches([':', '?', '+', '!', ' ']).trim();
            let name = name.trim_start_matches("export ").trim_start_matches("override ").trim();
            if name.contains(char::is_whitespace) {
                return LineKind::Other;
            }
            let value = plain[equals + 1..].trim().to_owned();
            LineKind::Variable { name: name.to_owned(), value }
        }
        (Some(colon), _) => {
            let targets = words(&plain[..colon]);
            let rest = plain[colon + 1..].trim_start_matches(':');
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            let recipe =
                if recipe.is_empty() { String::new() } else { format!("{}\n", recipe.trim()) };
            LineKind::Rule { targets, needs: words(needs), recipe }
        }
        _ => LineKind::Other,
    }
}

/// Words; a call such as `$(wildcard *.c)` is one.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut word, mut depth) = (String::new(), 0_usize);
    for c in text.chars() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c.is_whitespace() && depth == 0 {
            found.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        } else {
            word.push(c);
        }
    }
    found.extend((!word.is_empty()).then_some(word));
    found
}

/// The commands that the rules of a target run, and the targets that they need. A pattern's stem
/// replaces `$*`; without one, `$*` stays.
pub(super) fn recipe(chunks: &[Chunk], target: &str) -> (String, Vec<String>) {
    let (mut all, mut all_needs) = (String::new(), Vec::new());
    for chunk in chunks {
        let LineKind::Rule { targets, needs, recipe } = &chunk.kind else { continue };
        let Some(stem) = targets.iter().find_map(|name| stem(&with_values(chunks, name), target))
        else {
            continue;
        };
        let filled = |text: &str| {
            let text = with_values(chunks, text).replace("$@", target);
            let text = text.replace("$<", needs.first().map_or("", String::as_str));
            if stem.is_empty() { text } else { text.replace("$*", &stem).replace('%', &stem) }
        };
        let recipe = filled(recipe);
        let lines =
            recipe.lines().map(|line| line.trim_start().trim_start_matches(['@', '-', '+']));
        all.extend(lines.map(|line| format!("{}\n", line.replace("$$", "$"))));
        all_needs.extend(needs.iter().flat_map(|need| words(&filled(need))));
    }
    (all, all_needs)
}

/// Whether a rule is for a target: the part that `%` stands for, or nothing.
fn stem(rule: &str, target: &str) -> Option<String> {
    if words(rule).iter().any(|name| name == target) {
        return Some(String::new());
    }
    let (before, after) = rule.split_once('%')?;
    let stem = target.strip_prefix(before)?.strip_suffix(after)?;
    Some(stem.to_owned()).filter(|stem| !stem.is_empty())
}

/// The words after `include`, with the values of variables.
pub(super) fn includes(chunks: &[Chunk]) -> Vec<String> {
    let lines = chunks.iter().filter(|chunk| matches!(chunk.kind, LineKind::Other));
    let named = lines.filter_map(|chunk| {
        let text = chunk.text.split('#').next()?.replace("\\\n", " ");
        let text = text.trim_start().trim_start_matches(['-', 's']);
        Some(with_values(chunks, text.strip_prefix("include")?))
    });
    named.flat_map(|text| words(&text)).collect()
}

/// Variables that make sets.
const BUILT_IN: [(&str, &str); 10] = [
    ("MAKE", "make"),
    ("AR", "ar"),
    ("CC", "cc"),
    ("CPP", "cc -E"),
    ("CXX", "g++"),
    ("COMPILE.c", "cc -c"),
    ("COMPILE.cc", "g++ -c"),
    ("LINK.c", "cc"),
    ("LINK.cc", "g++"),
    ("RM", "rm -f"),
];

/// Text with the values of the makefile's variables, and of those that make sets.
fn with_values(chunks: &[Chunk], text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..3 {
        for chunk in chunks {
            if let LineKind::Variable { name, value } = &chunk.kind
                && text.contains(name.as_str())
            {
                text = text.replace(&format!("$({name})"), value);
                text = text.replace(&format!("${{{name}}}"), value);
                // A call's own arguments are not known, but what it runs is.
                text = text.replace(&format!("$(call {name}"), &format!("{value}\n: $(call"));
            }
        }
    }
    for (name, value) in BUILT_IN {
        text = text.replace(&format!("$({name})"), value);
        text = text.replace(&format!("${{{name}}}"), value);
    }
    text
}

/// The target of a plain `make`.
pub(super) fn first_target(chunks: &[Chunk]) -> Option<String> {
    chunks.iter().find_map(|chunk| match &chunk.kind {
        LineKind::Rule { targets, .. } => {
            targets.first().filter(|name| !name.starts_with('.') && !name.contains('%')).cloned()
        }
        LineKind::Variable { .. } | LineKind::Blank | LineKind::Other => None,
    })
}
