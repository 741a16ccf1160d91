//! The elements of an XML text. Namespaces and entities are not resolved.

/// An element with what stands before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'x> {
    /// Text and comments before it.
    pub(super) lead: &'x str,
    pub(super) name: &'x str,
    /// The tag that opens it.
    pub(super) open: &'x str,
    pub(super) inner: &'x str,
    /// The tag that closes it. Empty for `<a/>`.
    pub(super) close: &'x str,
}

impl<'x> Element<'x> {
    /// The text of a child, if there is one.
    pub(super) fn child(&self, name: &str) -> Option<&'x str> {
        let (children, _) = elements(self.inner);
        children.into_iter().find(|child| child.name == name).map(|child| child.inner.trim())
    }

    /// With what stands before it.
    pub(super) fn text(&self) -> String {
        format!("{}{}{}{}", self.lead, self.open, self.inner, self.close)
    }
}

/// The elements on the first level of a text, and what stands behind the last one.
pub(super) fn elements(text: &str) -> (Vec<Element<'_>>, &str) {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(from) = next_tag(rest, 0) {
        let Some(length) = tag_length(&rest[from..]) else { break };
        let open = &rest[from..from + length];
        let name = name(open);
        if open.starts_with("</") || name.is_empty() {
            break;
        }
        let begins = from + length;
        let (inner, close) = if open.ends_with("/>") {
            ("", "")
        } else {
            let Some((end, close)) = closing(&rest[begins..], name) else { break };
            (&rest[begins..begins + end], close)
        };
        found.push(Element { lead: &rest[..from], name, open, inner, close });
        rest = &rest[begins + inner.len() + close.len()..];
    }
    (found, rest)
}

fn name(tag: &str) -> &str {
    let plain = tag.trim_start_matches(['<', '/']);
    plain.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next().unwrap_or("")
}

/// The place of the next tag that is no comment, declaration, or instruction.
fn next_tag(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text[at..].find('<')?;
        let rest = &text[at..];
        let end = match rest {
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<![CDATA[") => "]]>",
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!") => ">",
            _ => return Some(at),
        };
        at += rest.find(end)? + end.len();
    }
}

/// The length of a tag; a `>` in an attribute does not end it.
fn tag_length(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '>') => return Some(at + 1),
            (None | Some(_), _) => {}
        }
    }
    None
}

/// The tag that closes an element, and the length of what is before.
fn closing<'x>(text: &'x str, wanted: &str) -> Option<(usize, &'x str)> {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(from) = next_tag(text, at) {
        let length = tag_length(&text[from..])?;
        let tag = &text[from..from + length];
        at = from + length;
        if name(tag) != wanted || tag.ends_with("/>") {
            continue;
        }
        if !tag.starts_with("</") {
            depth += 1;
        } else if depth == 0 {
            return Some((from, tag));
        } else {
            depth -= 1;
        }
    }
    None
}
