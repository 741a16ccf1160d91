//! Finds lines by keywords, without an index: a memory is a few small files.

use std::fmt;

/// A line with some of the words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hit {
    file: String,
    score: f64,
    line: String,
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] (score: {:.2}) {}", self.file, self.score, self.line)
    }
}

/// The lines with at least one word of the query, best first; equal ones keep their order. The
/// score is the share of the query's words that the line has, in any case.
pub(super) fn search(query: &str, files: impl IntoIterator<Item = (String, String)>) -> Vec<Hit> {
    let query = query.to_lowercase();
    let mut words: Vec<&str> = query.split_whitespace().collect();
    words.sort_unstable();
    words.dedup();
    let mut hits = Vec::new();
    for (file, text) in files {
        for line in text.lines() {
            let lower = line.to_lowercase();
            let found = words.iter().filter(|word| lower.contains(**word)).count();
            if found > 0 {
                #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
                let score = found as f64 / words.len() as f64;
                hits.push(Hit { file: file.clone(), score, line: line.to_owned() });
            }
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits
}
