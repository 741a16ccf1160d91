//! Walks the Markdown of a TASK.md and collects criteria, verify commands and the title.
//!
//! Invariant: only pulldown-cmark decides which text is a list item, code, a comment, or a table.
//! This file only collects the source text that its events point at, and looks at every byte a
//! bounded number of times. Warnings about text that only resembles a criterion are in `lookalike`.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::{
    diagnostics::Diagnostics,
    item::CodeSpan,
    lines::Lines,
    lookalike::{self, Hidden},
    may_change_item::{self, MayChangeItem},
    order::{self, OrderItem, Predecessor},
    recipe_item::{self, RecipeItem},
    segment::{Segment, segments},
    verify_item::{self, VerifyItem},
};
use crate::model::{Criterion, CriterionKey, VerifyCommand};

/// The contents of the Markdown part.
#[derive(Default)]
pub(super) struct Scanned {
    /// The first heading's text.
    pub(super) title: Option<String>,
    /// The criteria in file order; occurrences are not counted yet.
    pub(super) criteria: Vec<Criterion>,
    /// What criteria name in `after:`.
    pub(super) named: Vec<Predecessor>,
}

/// The Markdown of a TASK.md.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
}

/// Reads the Markdown that begins at byte `body`.
pub(super) fn scan<'a>(
    lines: &Lines<'a>,
    body: usize,
    diagnostics: &mut Diagnostics<'a>,
) -> Scanned {
    let mut walk = Walk {
        lines,
        diagnostics,
        found: Scanned::default(),
        items: Vec::new(),
        quotes: 0,
        skipping: false,
        block: None,
    };
    for (event, range) in Parser::new_ext(&lines.source()[body..], options()).into_offset_iter() {
        walk.event(event, range.start + body..range.end + body);
    }
    walk.found
}

/// The role of a block of text.
#[derive(Clone, Copy)]
enum Kind {
    /// The text after a checkbox; the number is the criterion's index.
    Boxed(usize),
    /// The first text of a list item without a checkbox.
    Item,
    /// Any other paragraph.
    Paragraph,
    Heading,
}

/// The block of text being read.
struct Block {
    kind: Kind,
    range: Range<usize>,
    code: Vec<CodeSpan>,
    /// The text without Markdown.
    plain: String,
    /// The same in its lines, with backticks around code.
    shown: String,
    /// Number of block quotes around it.
    quotes: usize,
}

impl Block {
    fn new(kind: Kind, start: usize, quotes: usize) -> Self {
        Self {
            kind,
            range: start..start,
            code: Vec::new(),
            plain: String::new(),
            shown: String::new(),
            quotes,
        }
    }

    /// Is this a checkbox with no text read yet?
    fn is_bare_box(&self) -> bool {
        matches!(self.kind, Kind::Boxed(_)) && self.range.is_empty()
    }
}

/// An open list item.
struct Item {
    /// Index of the innermost criterion around the content, including this item's own.
    criterion: Option<usize>,
    /// True until the first content of the item.
    fresh: bool,
}

struct Walk<'w, 'a> {
    lines: &'w Lines<'a>,
    diagnostics: &'w mut Diagnostics<'a>,
    found: Scanned,
    items: Vec<Item>,
    quotes: usize,
    /// Inside code, HTML or a table, where criteria cannot appear.
    skipping: bool,
    block: Option<Block>,
}

impl Walk<'_, '_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, range),
            Event::End(tag) => self.end(tag, &range),
            _ if self.skipping => {}
            Event::TaskListMarker(checked) => self.marker(checked, range.end),
            Event::Rule => self.close_block(),
            Event::Code(code) => {
                let block = self.inline(&range);
                block.plain.push_str(&code);
                block.shown.push_str(&format!("`{code}`"));
                block.code.push((range, code.into_string()));
            }
            Event::Text(text) => {
                let block = self.inline(&range);
                block.plain.push_str(&text);
                block.shown.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(block) = &mut self.block {
                    block.plain.push(' ');
                    block.shown.push('\n');
                }
            }
            Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_) => {
                self.inline(&range);
            }
            Event::Html(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Table(_) | Tag::MetadataBlock(_) => {
                self.close_block();
                self.skipping = true;
                self.hidden(tag, range);
            }
            _ if self.skipping => {}
            Tag::Item => {
                self.close_block();
                let criterion = self.items.last().and_then(|item| item.criterion);
                self.items.push(Item { criterion, fresh: true });
            }
            Tag::BlockQuote(_) => {
                self.close_block();
                self.quotes += 1;
            }
            Tag::Heading { .. } => {
                self.close_block();
                self.begin(Kind::Heading, range.start);
            }
            Tag::Paragraph => self.paragraph(range.start),
            Tag::List(_)
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell => self.close_block(),
            Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. }
            | Tag::Image { .. } => {
                self.inline(&range);
            }
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::Table | TagEnd::MetadataBlock(_) => {
                self.skipping = false;
            }
            _ if self.skipping => {}
            TagEnd::Item => {
                self.end_block();
                self.items.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::List(_)
            | TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell => self.end_block(),
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image => {
                self.inline(range);
            }
        }
    }

    /// Warns about lists that ended up in code or HTML by mistake.
    fn hidden(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let place = match tag {
            Tag::CodeBlock(CodeBlockKind::Indented) => Hidden::Code,
            Tag::CodeBlock(CodeBlockKind::Fenced(_)) if self.is_endless(&range) => Hidden::Fence,
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                let lines = segments(self.lines.source(), range, self.quotes);
                let inside = self.items.last().is_some_and(|item| item.criterion.is_some());
                lookalike::fenced_check(info, &lines, inside, self.diagnostics);
                return;
            }
            Tag::HtmlBlock => Hidden::Html,
            Tag::Table(_) => Hidden::Table,
            _ => return,
        };
        let segments = segments(self.lines.source(), range, self.quotes);
        lookalike::hidden(&segments, place, self.diagnostics);
        if self.items.last().is_some_and(|item| item.criterion.is_some()) {
            lookalike::hidden_check(&segments, self.diagnostics);
        }
    }

    /// Does a fenced code block end with the file, and not with a fence?
    fn is_endless(&self, range: &Range<usize>) -> bool {
        let source = self.lines.source();
        let (_, inside) = source[range.clone()].split_once('\n').unwrap_or_default();
        let last = inside.trim_end().lines().next_back().unwrap_or_default().trim_start();
        source[range.end..].trim().is_empty()
            && !last.starts_with("```")
            && !last.starts_with("~~~")
    }

    /// Marks the open item's content as begun. Returns whether it was fresh before.
    fn mark_used(&mut self) -> bool {
        self.items.last_mut().is_some_and(|item| std::mem::take(&mut item.fresh))
    }

    fn begin(&mut self, kind: Kind, start: usize) {
        self.block = Some(Block::new(kind, start, self.quotes));
    }

    fn paragraph(&mut self, start: usize) {
        // A checkbox may be alone on its line, with its text on the next one.
        let waiting = self.block.as_ref().is_some_and(Block::is_bare_box);
        if !waiting {
            self.end_block();
            let kind = if self.mark_used() { Kind::Item } else { Kind::Paragraph };
            self.begin(kind, start);
        }
    }

    /// Adds a criterion whose checkbox ends at byte `end`.
    fn marker(&mut self, checked: bool, end: usize) {
        self.mark_used();
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
            may_change: Vec::new(),
            id: None,
            after: Vec::new(),
            recipe: None,
        });
        if let Some(item) = self.items.last_mut() {
            item.criterion = Some(number);
        }
        self.begin(Kind::Boxed(number), end);
    }

    /// Extends the open block by `range`. The text of a tight list item has no paragraph
    /// around it, so it opens a block here.
    fn inline(&mut self, range: &Range<usize>) -> &mut Block {
        let kind = if self.mark_used() { Kind::Item } else { Kind::Paragraph };
        let quotes = self.quotes;
        // The parser leaves out the backslash of an escaped character.
        let escaped = self.lines.source()[..range.start].ends_with('\\');
        let start = range.start - usize::from(escaped);
        let block = self.block.get_or_insert_with(|| Block::new(kind, start, quotes));
        block.range.end = block.range.end.max(range.end);
        block
    }

    /// Ends the open block where a new block begins.
    fn close_block(&mut self) {
        self.end_block();
        self.mark_used();
    }

    fn end_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        let segments = segments(self.lines.source(), block.range.clone(), block.quotes);
        let within = self.items.last().and_then(|item| item.criterion);
        let (before, first) =
            (self.diagnostics.count(), usize::from(matches!(block.kind, Kind::Boxed(_))));
        let is_read = self.end_of(&block, &segments, within);
        if !is_read && before == self.diagnostics.count() {
            let lines = block.shown.lines().zip(&segments).skip(first);
            lookalike::rendered(lines, within.is_some(), self.diagnostics);
        }
    }

    /// Reads a block, and warns about its source. Returns whether it has a keyword.
    fn end_of(&mut self, block: &Block, segments: &[Segment<'_>], within: Option<usize>) -> bool {
        match block.kind {
            Kind::Heading => {
                lookalike::heading(segments, self.diagnostics);
                self.found.title.get_or_insert_with(|| block.plain.trim().to_owned());
            }
            Kind::Boxed(number) => {
                self.boxed(number, segments, &block.code);
                return !self.found.criteria[number].verify.is_empty();
            }
            Kind::Item => {
                if let Some(item) = verify_item::read(segments, &block.code) {
                    self.verify(within, item);
                    lookalike::lines(&segments[1..], self.diagnostics);
                } else if let Some(item) = recipe_item::read(segments, &block.code) {
                    self.recipe(within, item);
                } else if let Some(item) = may_change_item::read(segments) {
                    self.may_change(within, item);
                } else if let Some((number, item)) =
                    within.and_then(|it| Some((it, order::read(segments)?)))
                {
                    self.order(number, item);
                } else {
                    lookalike::item(segments, self.diagnostics);
                    return false;
                }
                return true;
            }
            Kind::Paragraph => lookalike::lines(segments, self.diagnostics),
        }
        false
    }

    fn boxed(&mut self, number: usize, segments: &[Segment<'_>], code: &[CodeSpan]) {
        let texts: Vec<&str> =
            segments.iter().map(|it| it.text).filter(|text| !text.is_empty()).collect();
        let criterion = &mut self.found.criteria[number];
        criterion.key.text = texts.join(" ");
        let brackets = criterion.mark - 1..criterion.mark + 2;
        if texts.is_empty() {
            lookalike::no_text(brackets, self.diagnostics);
            return;
        }
        if let [first, others @ ..] = segments {
            lookalike::boxed(first, brackets, self.diagnostics);
            lookalike::lines(others, self.diagnostics);
        }
        match verify_item::at_the_end(segments, code) {
            Some(item) => self.verify(Some(number), item),
            None => lookalike::check_within(segments, self.diagnostics),
        }
    }

    fn recipe(&mut self, within: Option<usize>, item: RecipeItem) {
        let RecipeItem { span, name } = item;
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
                "this criterion already has a recipe",
                "give each recipe its own criterion",
            ),
            Ok(name) => self.found.criteria[number].recipe = Some(name),
        }
    }

    fn may_change(&mut self, within: Option<usize>, item: MayChangeItem) {
        let MayChangeItem { span, globs } = item;
        match (within, globs) {
            (Some(number), Ok(globs)) => self.found.criteria[number].may_change.extend(globs),
            (Some(_), Err(message)) => {
                self.diagnostics.error(span, message, may_change_item::EXAMPLE);
            }
            (None, _) => self.diagnostics.warning(
                span,
                "this `may_change` belongs to no criterion and has no effect",
                "indent it below its criterion, or move it into the front matter",
            ),
        }
    }

    fn order(&mut self, number: usize, item: OrderItem) {
        match item {
            OrderItem::Id(span, Ok(_)) if self.found.criteria[number].id.is_some() => {
                self.diagnostics.error(
                    span,
                    "this criterion already has an id",
                    "keep one of them",
                );
            }
            OrderItem::Id(_, Ok(id)) => self.found.criteria[number].id = Some(id),
            OrderItem::After(Ok(names)) => {
                let named = names.into_iter().map(|(span, id)| Predecessor { number, span, id });
                self.found.named.extend(named);
            }
            OrderItem::Id(span, Err(message)) => {
                self.diagnostics.error(span, message, order::ID_EXAMPLE);
            }
            OrderItem::After(Err((span, message))) => {
                self.diagnostics.error(span, message, order::AFTER_EXAMPLE);
            }
        }
    }

    fn verify(&mut self, within: Option<usize>, item: VerifyItem) {
        let VerifyItem { span, command } = item;
        match (within, command) {
            (Some(number), Ok(command)) => {
                let line = self.lines.line_at(span.start);
                self.found.criteria[number].verify.push(VerifyCommand { command, line });
            }
            (Some(_), Err((message, hint))) => self.diagnostics.error(span, message, hint),
            (None, _) => self.diagnostics.unread(
                span,
                "this verify command belongs to no criterion and is never run",
                "indent it below its criterion, or move it into the front matter: `verify: …`",
            ),
        }
    }
}
