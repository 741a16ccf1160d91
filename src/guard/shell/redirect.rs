//! Redirections and here-documents: what is read and written by the shell itself.

use brush_parser::ast;

use crate::guard::judge::{Judge, Read, Write};
use crate::guard::refusal::Refusal;

use super::env::Env;
use super::value::{Stream, Value};

impl Judge<'_> {
    /// Judges redirections; returns what stands on the standard input then.
    pub(super) fn redirects(
        &mut self,
        env: &mut Env,
        list: Option<&ast::RedirectList>,
        stdin: Stream,
    ) -> Result<Stream, Refusal> {
        let mut stdin = stdin;
        for redirect in list.iter().flat_map(|list| &list.0) {
            let judged = self.redirect(env, redirect);
            if let Some(stream) = judged.map_err(|refusal| refusal.within(&redirect.to_string()))? {
                stdin = stream;
            }
        }
        Ok(stdin)
    }

    pub(super) fn redirect(
        &mut self,
        env: &mut Env,
        redirect: &ast::IoRedirect,
    ) -> Result<Option<Stream>, Refusal> {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => self.file_redirect(env, kind, target),
            ast::IoRedirect::HereDocument(_, document) => {
                let value = if document.requires_expansion {
                    self.document(env, &document.doc.value)?
                } else {
                    Value::lit(document.doc.value.clone())
                };
                Ok(Some(value.text().map_or(Stream::Opaque, |text| Stream::Text(text.to_owned()))))
            }
            ast::IoRedirect::HereString(_, word) => {
                let value = self.single(env, &word.value)?;
                Ok(Some(value.text().map_or(Stream::Opaque, |text| Stream::Text(text.to_owned()))))
            }
            ast::IoRedirect::OutputAndError(word, append) => {
                let value = self.single(env, &word.value)?;
                let how = if *append { Write::Append } else { Write::Change };
                self.write_value(env, &value, how)?;
                Ok(None)
            }
        }
    }

    /// Refuses `> file` and `: > file`, which leave nothing of a file that is there.
    pub(super) fn emptied(
        &mut self,
        env: &mut Env,
        simple: &ast::SimpleCommand,
    ) -> Result<(), Refusal> {
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in prefix.chain(suffix) {
            if let ast::CommandPrefixOrSuffixItem::IoRedirect(ast::IoRedirect::File(
                _,
                ast::IoFileRedirectKind::Write | ast::IoFileRedirectKind::Clobber,
                ast::IoFileRedirectTarget::Filename(word),
            )) = item
            {
                let target = self.single(env, &word.value)?;
                self.kept(env, &target)?;
            }
        }
        Ok(())
    }

    fn file_redirect(
        &mut self,
        env: &mut Env,
        kind: &ast::IoFileRedirectKind,
        target: &ast::IoFileRedirectTarget,
    ) -> Result<Option<Stream>, Refusal> {
        let word = match target {
            ast::IoFileRedirectTarget::Fd(_) => return Ok(None),
            ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                let stream = self.deeper(|judge| judge.list(&mut env.clone(), &subshell.list))?;
                return Ok(Some(stream));
            }
            ast::IoFileRedirectTarget::Filename(word) => word,
            ast::IoFileRedirectTarget::Duplicate(word) => {
                let digits = word.value.trim_end_matches('-');
                if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Ok(None);
                }
                word
            }
        };
        let value = self.single(env, &word.value)?;
        match kind {
            ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput => {
                self.read_value(env, &value, Read::Content)?;
                let nothing = value.text() == Some("/dev/null");
                Ok(Some(if nothing { Stream::Text(String::new()) } else { Stream::Opaque }))
            }
            ast::IoFileRedirectKind::Append => {
                self.write_value(env, &value, Write::Append)?;
                Ok(None)
            }
            ast::IoFileRedirectKind::Write
            | ast::IoFileRedirectKind::Clobber
            | ast::IoFileRedirectKind::ReadAndWrite
            | ast::IoFileRedirectKind::DuplicateOutput => {
                self.write_value(env, &value, Write::Change)?;
                Ok(None)
            }
        }
    }
}

/// Whether a redirection leaves standard output alone.
pub(super) fn is_stderr(redirect: &ast::IoRedirect) -> bool {
    match redirect {
        ast::IoRedirect::File(fd, kind, _) => match kind {
            ast::IoFileRedirectKind::Read
            | ast::IoFileRedirectKind::DuplicateInput
            | ast::IoFileRedirectKind::ReadAndWrite => true,
            ast::IoFileRedirectKind::Write
            | ast::IoFileRedirectKind::Append
            | ast::IoFileRedirectKind::Clobber
            | ast::IoFileRedirectKind::DuplicateOutput => *fd == Some(2),
        },
        ast::IoRedirect::HereDocument(..) | ast::IoRedirect::HereString(..) => true,
        ast::IoRedirect::OutputAndError(..) => false,
    }
}

/// Whether a command has no output whatever happens, so that a redirection of it only
/// empties the file.
pub(super) fn prints_nothing(words: &[Value], stdin: &Stream) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    // What passes nothing on prints nothing.
    let passes = match name.text() {
        Some("tr") => true,
        Some("cat" | "tac" | "head" | "tail" | "sort" | "uniq" | "rev" | "nl" | "tee") => {
            rest.iter().all(|word| word.head().starts_with('-'))
        }
        _ => false,
    };
    if passes && matches!(stdin, Stream::Text(text) if text.is_empty()) {
        return true;
    }
    let only = |fine: &[&str]| {
        rest.iter().all(|word| word.text().is_some_and(|text| fine.contains(&text)))
    };
    match name.text() {
        Some(":" | "true" | "false") => true,
        Some("cat") => !rest.is_empty() && only(&["/dev/null"]),
        Some("printf") => rest.len() == 1 && only(&[""]),
        Some("echo") => rest.first().and_then(Value::text) == Some("-n") && only(&["-n", ""]),
        _ => false,
    }
}
