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
    Variable {
        name: String,
        value: String,
    },
    Rule {
        targets: Vec<String>,
        needs: Vec<String>,
        recipe: String,
    },
    /// Anything else. Is it blank?
    Other(bool),
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
    for line in lines {
        let rule =
            chunks.iter_mut().rev().find(|chunk| !matches!(chunk.kind, LineKind::Other(true)));
        match rule {
            Some(Chunk { text, kind: LineKind::Rule { recipe, .. } }) if line.starts_with('\t') => {
                text.push('\n');
                text.push_str(&line);
                recipe.push_str(line.trim_start());
                recipe.push('\n');
            }
            _ => chunks.push(Chunk { kind: kind(&line), text: line }),
        }
    }
    chunks
}

fn kind(line: &str) -> LineKind {
    let plain = line.split('#').next().unwrap_or("").replace("\\\n", " ");
    let plain = plain.trim();
    let (colon, equals) = (plain.find(':'), plain.find('='));
    let sets = |at: usize| {
        colon.is_none_or(|colon| at < colon || plain[colon..at].trim_matches(':').is_empty())
    };
    if let Some(at) = equals.filter(|at| sets(*at)) {
        let name = plain[..at].trim_end_matches([':', '?', '+', '!', ' ']);
        let name = name.split_whitespace().next_back().unwrap_or_default().to_owned();
        return LineKind::Variable { name, value: plain[at + 1..].trim().to_owned() };
    }
    match colon {
        Some(at) => {
            let rest = plain[at + 1..].trim_start_matches(':');
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            let recipe =
                if recipe.is_empty() { String::new() } else { format!("{}\n", recipe.trim()) };
            LineKind::Rule { targets: words(&plain[..at]), needs: words(needs), recipe }
        }
        None => LineKind::Other(plain.is_empty()),
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The commands that the rules of a target run, and the targets that they need.
pub(super) fn recipe(chunks: &[Chunk], target: &str) -> (String, Vec<String>) {
    let (mut all, mut all_needs) = (String::new(), Vec::new());
    for chunk in chunks {
        let LineKind::Rule { targets, needs, recipe } = &chunk.kind else { continue };
        if !targets
            .iter()
            .any(|name| words(&with_values(chunks, name)).iter().any(|it| it == target))
        {
            continue;
        }
        let filled = with_values(chunks, recipe).replace("$@", target);
        let filled = filled.replace("$<", needs.first().map_or("", String::as_str));
        let lines =
            filled.lines().map(|line| line.trim_start().trim_start_matches(['@', '-', '+']));
        all.extend(lines.map(|line| format!("{}\n", line.replace("$$", "$"))));
        all_needs.extend(needs.iter().flat_map(|need| words(&with_values(chunks, need))));
    }
    (all, all_needs)
}

/// Text with the values of the makefile's variables.
fn with_values(chunks: &[Chunk], text: &str) -> String {
    let mut text = text.replace("$(MAKE)", "make");
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
pub(super) fn first_target(chunks: &[Chunk]) -> Option<String> {
    chunks.iter().find_map(|chunk| match &chunk.kind {
        LineKind::Rule { targets, .. } => {
            targets.first().filter(|name| !name.starts_with('.') && !name.contains('%')).cloned()
        }
        LineKind::Variable { .. } | LineKind::Other(_) => None,
    })
}
