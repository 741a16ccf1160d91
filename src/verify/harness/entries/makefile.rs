//! Makefiles: their parts, and what a target runs.

/// A part of a makefile, with its text.
#[derive(Clone, Debug)]
pub(in super::super) struct Chunk {
    pub(super) text: String,
    pub(super) kind: LineKind,
}

/// What a part is.
#[derive(Clone, Debug)]
pub(super) enum LineKind {
    Variable { name: String, value: String },
    Rule { targets: Vec<String>, needs: Vec<String>, recipe: String },
    Blank,
    Other,
}

/// Splits a makefile.
pub(in super::super) fn parse(code: &str) -> Vec<Chunk> {
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
    for line in lines {
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

/// The recipe of a target, and what it needs.
pub(in super::super) fn recipe(chunks: &[Chunk], target: &str) -> (String, Vec<String>) {
    let (mut all, mut all_needs) = (String::new(), Vec::new());
    for chunk in chunks {
        if let LineKind::Rule { targets, needs, recipe } = &chunk.kind
            && targets.iter().any(|name| name == target)
        {
            let recipe = with_values(chunks, recipe);
            let lines = recipe.lines().map(|line| line.trim_start_matches(['@', '-', '+']));
            all.extend(lines.map(|line| format!("{}\n", line.replace("$$", "$"))));
            all_needs.extend(needs.iter().cloned());
        }
    }
    (all, all_needs)
}

/// A recipe with the values of the makefile's variables.
fn with_values(chunks: &[Chunk], recipe: &str) -> String {
    let mut text = recipe.replace("$(MAKE)", "make").replace("${MAKE}", "make");
    for _ in 0..3 {
        for chunk in chunks {
            if let LineKind::Variable { name, value } = &chunk.kind {
                text = text.replace(&format!("$({name})"), value);
                text = text.replace(&format!("${{{name}}}"), value);
            }
        }
    }
    text
}

/// The target of a plain `make`.
pub(in super::super) fn first_target(chunks: &[Chunk]) -> Option<String> {
    chunks.iter().find_map(|chunk| match &chunk.kind {
        LineKind::Rule { targets, .. } => {
            targets.first().filter(|name| !name.starts_with('.')).cloned()
        }
        LineKind::Variable { .. } | LineKind::Blank | LineKind::Other => None,
    })
}
