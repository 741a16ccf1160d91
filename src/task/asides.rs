//! The headings and labels above a box. Some say that their boxes are no work for now.

/// Phrases anywhere in a heading that put what is below it out of the task.
const PHRASES: [&str; 12] = [
    "out of scope",
    "not in scope",
    "non goal",
    "non goals",
    "nice to have",
    "not now",
    "not yet",
    "not part of",
    "wont do",
    "for later",
    "future work",
    "parking lot",
];
/// Words that do so if they are the whole heading.
const WORDS: [&str; 9] = [
    "later",
    "future",
    "backlog",
    "ideas",
    "deferred",
    "someday",
    "postponed",
    "nongoals",
    "followups",
];
/// The level of a paragraph that names the list below it, under every heading.
const LABEL: usize = 7;

/// The part of the file that is out of the task, while the walk is in it.
#[derive(Default)]
pub(super) struct Asides {
    aside: Option<Aside>,
}

struct Aside {
    level: usize,
    name: String,
    told: bool,
}

impl Asides {
    /// Begins the section of a heading. A deeper one belongs to the section that it is in.
    pub(super) fn heading(&mut self, level: usize, text: &str) {
        if self.aside.as_ref().is_some_and(|aside| aside.level < level) {
            return;
        }
        let name = text.trim().trim_end_matches(':').to_owned();
        self.aside = is_aside(&name).then_some(Aside { level, name, told: false });
    }

    /// Begins what a paragraph names, if it is only a name.
    pub(super) fn paragraph(&mut self, text: &str) {
        if text.trim_end().ends_with(':') || is_aside(text) && text.len() < 40 {
            self.heading(LABEL, text);
        }
    }

    /// The name of the section that a box is in, at the first box in it.
    pub(super) fn of_box(&mut self) -> Option<&str> {
        let aside = self.aside.as_mut().filter(|aside| !aside.told)?;
        aside.told = true;
        Some(&aside.name)
    }
}

/// Does a heading say that what is below it is not to be done?
fn is_aside(heading: &str) -> bool {
    let small = heading.split('(').next().unwrap_or_default().to_lowercase();
    let small = small.replace(['\'', '’'], "");
    let words: Vec<&str> = small.split(|c: char| !c.is_alphanumeric()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let text = format!(" {} ", words.join(" "));
    WORDS.contains(&text.trim()) || PHRASES.iter().any(|it| text.contains(&format!(" {it} ")))
}
