//! Redirections and here-documents: what is read and written by the shell itself.

use brush_parser::ast;

use super::judge::Judge;
use crate::guard::call_context::{ReadKind, WriteKind};
use crate::guard::denial::Denial;

use super::env::Env;
use super::value::{ShellOutput, ShellValue};

impl Judge<'_> {
    /// Judges redirections; returns what stands on the standard input then.
    pub(super) fn redirects(
        &mut self,
        env: &mut Env,
        list: Option<&ast::RedirectList>,
        stdin: ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        let mut stdin = stdin;
        for redirect in list.iter().flat_map(|list| &list.0) {
            let judged = self.redirect(env, redirect);
            if let Some(stream) = judged.map_err(|denial| denial.within(&redirect.to_string()))? {
                stdin = stream;
            }
        }
        Ok(stdin)
    }

    pub(super) fn redirect(
        &mut self,
        env: &mut Env,
        redirect: &ast::IoRedirect,
    ) -> Result<Option<ShellOutput>, Denial> {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => self.file_redirect(env, kind, target),
            ast::IoRedirect::HereDocument(_, document) => {
                let value = if document.requires_expansion {
                    self.document(env, &document.doc.value)?
                } else {
                    ShellValue::lit(document.doc.value.clone())
                };
                Ok(Some(
                    value
                        .text()
                        .map_or(ShellOutput::Opaque, |text| ShellOutput::Text(text.to_owned())),
                ))
            }
            ast::IoRedirect::HereString(_, word) => {
                let value = self.single(env, &word.value)?;
                Ok(Some(
                    value
                        .text()
                        .map_or(ShellOutput::Opaque, |text| ShellOutput::Text(text.to_owned())),
                ))
            }
            ast::IoRedirect::OutputAndError(word, append) => {
                let value = self.single(env, &word.value)?;
                let how = if *append { WriteKind::Append } else { WriteKind::Change };
                self.write_value(env, &value, how)?;
                Ok(None)
            }
        }
    }

    /// Refuses redirections such as `> file` and `: > file`, which leave nothing of a file
    /// that is there, because nothing is printed.
    pub(super) fn kept_from<'a>(
        &mut self,
        env: &mut Env,
        printed: &ShellOutput,
        redirects: impl Iterator<Item = &'a ast::IoRedirect>,
    ) -> Result<(), Denial> {
        if !printed.is_empty() {
            return Ok(());
        }
        for word in redirects.filter_map(replaced) {
            let target = self.single(env, &word.value)?;
            self.kept(env, &target)?;
        }
        Ok(())
    }

    fn file_redirect(
        &mut self,
        env: &mut Env,
        kind: &ast::IoFileRedirectKind,
        target: &ast::IoFileRedirectTarget,
    ) -> Result<Option<ShellOutput>, Denial> {
        let word = match target {
            ast::IoFileRedirectTarget::Fd(_) => return Ok(None),
            ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                let stream = self.deeper(|judge| judge.list(&mut env.clone(), &subshell.list))?;
                return Ok(Some(stream));
            }
            ast::IoFileRedirectTarget::Filename(word) => word,
            ast::IoFileRedirectTarget::Duplicate(word) => {
                if is_descriptor(word) {
                    return Ok(None);
                }
                word
            }
        };
        let value = self.single(env, &word.value)?;
        match kind {
            ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput => {
                self.read_value(env, &value, ReadKind::Content)?;
                let nothing = value.text() == Some("/dev/null");
                Ok(Some(if nothing {
                    ShellOutput::Text(String::new())
                } else {
                    ShellOutput::Opaque
                }))
            }
            ast::IoFileRedirectKind::Append => {
                self.write_value(env, &value, WriteKind::Append)?;
                Ok(None)
            }
            ast::IoFileRedirectKind::Write
            | ast::IoFileRedirectKind::Clobber
            | ast::IoFileRedirectKind::ReadAndWrite
            | ast::IoFileRedirectKind::DuplicateOutput => {
                self.write_value(env, &value, WriteKind::Change)?;
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

/// The file whose content a redirection replaces.
fn replaced(redirect: &ast::IoRedirect) -> Option<&ast::Word> {
    match redirect {
        ast::IoRedirect::File(
            _,
            ast::IoFileRedirectKind::Write | ast::IoFileRedirectKind::Clobber,
            ast::IoFileRedirectTarget::Filename(word),
        )
        | ast::IoRedirect::OutputAndError(word, false) => Some(word),
        ast::IoRedirect::File(
            _,
            ast::IoFileRedirectKind::DuplicateOutput,
            ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word),
        ) => Some(word).filter(|word| !is_descriptor(word)),
        ast::IoRedirect::File(..)
        | ast::IoRedirect::OutputAndError(_, true)
        | ast::IoRedirect::HereDocument(..)
        | ast::IoRedirect::HereString(..) => None,
    }
}

/// Whether `>&` is followed by the number of a file that is open, or closes one.
fn is_descriptor(word: &ast::Word) -> bool {
    word.value.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit())
}
