//! Walks the Markdown and finds criteria, their verify commands and the title.
//!
//! Invariant: what is a list item, code, a comment or a table is pulldown-cmark's
//! word alone; this file only collects the pieces of source its events point at.
//! Every byte is looked at a bounded number of times. Mistakes that only resemble
//! criteria live in `lookalike`.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::{
    diagnostics::Diagnostics,
    lines::Lines,
    lookalike::{self, Hidden},
    recipe_item::{self, RecipeItem},
    verify_item::{self, VerifyItem},
};
use crate::model::{Criterion, CriterionKey, VerifyCommand};

/// What the Markdown holds.
#[derive(Default)]
pub(super) struct Scanned {
    /// The first heading's text.
    pub(super) title: Option<String>,
    /// The criteria in the order of the file; occurrences are not counted yet.
    pub(super) criteria: Vec<Criterion>,
}

/// Reads the Markdown that begins at `body`.
pub(super) fn scan<'a>(
    lines: &Lines<'a>,
    body: usize,
    diagnostics: &mut Diagnostics<'a>,
) -> Scanned {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES;
    let mut walk = Walk {
        lines,
        diagnostics,
        found: Scanned::default(),
        items: Vec::new(),
        quotes: 0,
        skipping: false,
        block: None,
    };
    for (event, range) in Parser::new_ext(&lines.source()[body..], options).into_offset_iter() {
        walk.event(event, range.start + body..range.end + body);
    }
    walk.found
}

/// One line of a block of text, with everything that only Markdown's structure
/// put there taken off.
pub(super) struct Segment<'a> {
    /// Byte offset of the text in the file.
    pub(super) start: usize,
    /// The text without blanks around it.
    pub(super) text: &'a str,
}

impl Segment<'_> {
    /// Its bytes in the file.
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

/// What a block of text is.
#[derive(Clone, Copy)]
enum Kind {
    /// The text behind a box: the criterion's number.
    Boxed(usize),
    /// The first text of a list item without a box.
    Item,
    /// Any other paragraph.
    Paragraph,
    /// A heading.
    Heading,
}

/// A block of text that is being read.
struct Block {
    kind: Kind,
    range: Range<usize>,
    /// The code spans in it: bytes in the file, and the code.
    code: Vec<(Range<usize>, String)>,
    /// The text without Markdown.
    plain: String,
    /// Block quotes around it.
    quotes: usize,
}

impl Block {
    fn new(kind: Kind, start: usize, quotes: usize) -> Self {
        Self { kind, range: start..start, code: Vec::new(), plain: String::new(), quotes }
    }

    /// A box behind which nothing was read yet.
    fn is_bare_box(&self) -> bool {
        matches!(self.kind, Kind::Boxed(_)) && self.range.is_empty()
    }
}

/// A list item that is open.
struct Item {
    /// The innermost criterion around its content, itself included.
    criterion: Option<usize>,
    /// Nothing of its content was seen yet.
    fresh: bool,
}

struct Walk<'w, 'a> {
    lines: &'w Lines<'a>,
    diagnostics: &'w mut Diagnostics<'a>,
    found: Scanned,
    items: Vec<Item>,
    quotes: usize,
    /// Inside code, HTML or a table, where no text of ours can stand.
    skipping: bool,
    block: Option<Block>,
}

impl Walk<'_, '_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(
                tag @ (Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Table(_) | Tag::MetadataBlock(_)),
            ) => {
                self.end_block();
                self.used();
                self.skipping = true;
                self.hidden(&tag, range);
            }
            Event::End(
                TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::Table | TagEnd::MetadataBlock(_),
            ) => self.skipping = false,
            _ if self.skipping => {}

            Event::Start(Tag::Item) => {
                self.end_block();
                self.used();
                let criterion = self.items.last().and_then(|item| item.criterion);
                self.items.push(Item { criterion, fresh: true });
            }
            Event::End(TagEnd::Item) => {
                self.end_block();
                self.items.pop();
            }
            Event::Start(Tag::BlockQuote(_)) => {
                self.end_block();
                self.used();
                self.quotes += 1;
            }
            Event::End(TagEnd::BlockQuote(_)) => {
                self.end_block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            Event::Start(Tag::Heading { .. }) => {
                self.end_block();
                self.used();
                self.begin(Kind::Heading, range.start);
            }
            Event::Start(Tag::Paragraph) => self.paragraph(range.start),
            Event::TaskListMarker(checked) => self.marker(checked, range.end),
            Event::Rule
            | Event::Start(
                Tag::List(_)
                | Tag::FootnoteDefinition(_)
                | Tag::DefinitionList
                | Tag::DefinitionListTitle
                | Tag::DefinitionListDefinition
                | Tag::TableHead
                | Tag::TableRow
                | Tag::TableCell,
            ) => {
                self.end_block();
                self.used();
            }
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::List(_)
                | TagEnd::FootnoteDefinition
                | TagEnd::DefinitionList
                | TagEnd::DefinitionListTitle
                | TagEnd::DefinitionListDefinition
                | TagEnd::TableHead
                | TagEnd::TableRow
                | TagEnd::TableCell,
            ) => self.end_block(),

            Event::Code(code) => {
                let block = self.inline(&range);
                block.plain.push_str(&code);
                block.code.push((range, code.into_string()));
            }
            Event::Text(text) => self.inline(&range).plain.push_str(&text),
            Event::SoftBreak | Event::HardBreak => {
                if let Some(block) = &mut self.block {
                    block.plain.push(' ');
                }
            }
            Event::Start(
                Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough
                | Tag::Superscript
                | Tag::Subscript
                | Tag::Link { .. }
                | Tag::Image { .. },
            )
            | Event::End(
                TagEnd::Emphasis
                | TagEnd::Strong
                | TagEnd::Strikethrough
                | TagEnd::Superscript
                | TagEnd::Subscript
                | TagEnd::Link
                | TagEnd::Image,
            )
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_) => {
                self.inline(&range);
            }
            Event::Html(_) => {}
        }
    }

    /// Looks into code and HTML that a list may have got into by mistake.
    fn hidden(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let place = match tag {
            Tag::CodeBlock(CodeBlockKind::Indented) => Hidden::Code,
            Tag::HtmlBlock => Hidden::Html,
            _ => return,
        };
        let block = Block { range, ..Block::new(Kind::Paragraph, 0, self.quotes) };
        let segments = segments(self.lines.source(), &block);
        lookalike::hidden(&segments, place, self.diagnostics);
    }

    /// Marks the open item's content as begun; says whether it was fresh till now.
    fn used(&mut self) -> bool {
        self.items.last_mut().is_some_and(|item| std::mem::take(&mut item.fresh))
    }

    fn begin(&mut self, kind: Kind, start: usize) {
        self.block = Some(Block::new(kind, start, self.quotes));
    }

    fn paragraph(&mut self, start: usize) {
        // A box may stand alone on its line, with its text on the next one.
        let waiting = self.block.as_ref().is_some_and(Block::is_bare_box);
        if !waiting {
            self.end_block();
            let kind = if self.used() { Kind::Item } else { Kind::Paragraph };
            self.begin(kind, start);
        }
    }

    /// A box whose closing bracket ends at `end`.
    fn marker(&mut self, checked: bool, end: usize) {
        self.used();
        let mark = end - 2;
        let number = self.found.criteria.len();
        let (line, column) = self.lines.position(mark - 1);
        self.found.criteria.push(Criterion {
            key: CriterionKey { text: String::new(), occurrence: 0 },
            line,
            column,
            checked,
            mark,
            verify: Vec::new(),
            recipe: None,
        });
        if let Some(item) = self.items.last_mut() {
            item.criterion = Some(number);
        }
        self.begin(Kind::Boxed(number), end);
    }

    /// Takes a piece of text into the open block; a tight item's text opens one itself.
    fn inline(&mut self, range: &Range<usize>) -> &mut Block {
        let kind = if self.used() { Kind::Item } else { Kind::Paragraph };
        let quotes = self.quotes;
        let block = self.block.get_or_insert_with(|| Block::new(kind, range.start, quotes));
        block.range.end = block.range.end.max(range.end);
        block
    }

    fn end_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        let segments = segments(self.lines.source(), &block);
        let within = self.items.last().and_then(|item| item.criterion);
        match block.kind {
            Kind::Heading => {
                self.found.title.get_or_insert_with(|| block.plain.trim().to_owned());
            }
            Kind::Boxed(number) => self.boxed(number, &segments),
            Kind::Item => match verify_item::read(&segments, &block.code) {
                Some(read) => {
                    self.verify(within, read);
                    lookalike::lines(&segments[1..], self.diagnostics);
                }
                None => match recipe_item::read(&segments, &block.code) {
                    Some(read) => self.recipe(within, read),
                    None => lookalike::item(&segments, self.diagnostics),
                },
            },
            Kind::Paragraph => lookalike::lines(&segments, self.diagnostics),
        }
    }

    fn boxed(&mut self, number: usize, segments: &[Segment<'_>]) {
        let texts: Vec<&str> =
            segments.iter().map(|it| it.text).filter(|text| !text.is_empty()).collect();
        let criterion = &mut self.found.criteria[number];
        criterion.key.text = texts.join(" ");
        let bracket = bracket_of(criterion);
        if texts.is_empty() {
            self.diagnostics.error(
                bracket,
                "a criterion without text",
                "write behind the box what must be true, or take the item away",
            );
            return;
        }
        if let [first, ..] = segments
            && verify_item::is_verify(first.text)
        {
            self.diagnostics.warning(
                bracket,
                "this is a criterion of its own, not a verify command",
                "take the box away: `- verify: …`, indented below its criterion",
            );
        }
        if let [first, ..] = segments
            && recipe_item::is_recipe(first.text)
        {
            self.diagnostics.warning(
                bracket_of(&self.found.criteria[number]),
                "this is a criterion of its own, and names no recipe",
                "take the box away: `- recipe: …`, indented below its criterion",
            );
        }
        lookalike::lines(segments.get(1..).unwrap_or_default(), self.diagnostics);
    }

    fn recipe(&mut self, within: Option<usize>, read: RecipeItem) {
        let RecipeItem { span, name } = read;
        let Some(number) = within else {
            self.diagnostics.warning(
                span,
                "this recipe belongs to no criterion and is never run",
                "indent it below its criterion",
            );
            return;
        };
        match name {
            Err(message) => self.diagnostics.error(span, message, recipe_item::EXAMPLE),
            Ok(_) if self.found.criteria[number].recipe.is_some() => self.diagnostics.error(
                span,
                "this criterion names a second recipe",
                "give each recipe a criterion of its own",
            ),
            Ok(name) => self.found.criteria[number].recipe = Some(name),
        }
    }

    fn verify(&mut self, within: Option<usize>, read: VerifyItem) {
        let VerifyItem { span, command } = read;
        match (within, command) {
            (Some(number), Ok(command)) => {
                let line = self.lines.line_at(span.start);
                self.found.criteria[number].verify.push(VerifyCommand { command, line });
            }
            (Some(_), Err(problem)) => {
                let (message, hint) = problem.explain();
                self.diagnostics.error(span, message, hint);
            }
            (None, _) => self.diagnostics.warning(
                span,
                "this verify command belongs to no criterion and is never run",
                "indent it below its criterion, or put it into the front matter: `verify: …`",
            ),
        }
    }
}

/// The bytes of a criterion's box.
fn bracket_of(criterion: &Criterion) -> Range<usize> {
    criterion.mark - 1..criterion.mark + 2
}

/// The lines of a block, each without its indentation and quote marks.
fn segments<'a>(source: &'a str, block: &Block) -> Vec<Segment<'a>> {
    let mut segments = Vec::new();
    let mut start = block.range.start;
    for (number, line) in source[block.range.clone()].split_inclusive(['\n', '\r']).enumerate() {
        let mut text = line.trim_ascii_start();
        // The first line's quote marks stand before the block already; a line that
        // goes on lazily may have fewer of them than the block is deep.
        for _ in 0..if number == 0 { 0 } else { block.quotes } {
            match text.strip_prefix('>') {
                Some(rest) => text = rest.trim_ascii_start(),
                None => break,
            }
        }
        let offset = start + (line.len() - text.len());
        segments.push(Segment { start: offset, text: text.trim_ascii_end() });
        start += line.len();
    }
    segments
}
