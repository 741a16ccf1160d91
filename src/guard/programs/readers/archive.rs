//! `tar`: it lists an archive, or makes one of files that are named. What it unpacks cannot be
//! seen from its words, so that is refused.

use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::programs::call::ProgramCall;
use crate::guard::programs::options::Parsed;
use crate::guard::shell::{Env, Judge, ShellOutput, ShellValue};
use crate::guard::tables::spec::{Does, Spec};

use Does::Data;

impl Judge<'_> {
    /// `tar` where it makes an archive of files that are named.
    pub(super) fn packed(
        &mut self,
        env: &Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::closed(
            &[("-f --file", Does::Writes), ("--exclude", Data), ("--exclude-from -X", Does::Reads)],
            "-c --create -z --gzip -j --bzip2 -J --xz -v --verbose",
        );
        // In the old way of writing the letters have no dash.
        let mut words = call.words.to_vec();
        let first = words[0].show();
        if !first.starts_with('-') {
            words[0] = ShellValue::lit(format!("-{first}"));
        }
        let parsed = self.options(env, call.name, &words, &SPEC)?;
        let file = parsed.value(&["-f", "--file"]);
        if file.is_none_or(|file| file.text() == Some("-")) {
            return Err(Denial::new("program.option", "the archive goes to no file that is named")
                .instead("`tar -cf target/files.tar FILE`"));
        }
        self.each(env, &parsed.operands, ReadKind::Tree)?;
        Ok(ShellOutput::Opaque)
    }
}

/// Whether `tar` makes an archive, in words that are understood.
pub(super) fn packs(words: &[ShellValue]) -> bool {
    let Some(first) = words.first().and_then(ShellValue::text) else { return false };
    let letters = first.strip_prefix('-').unwrap_or(first);
    let bundle = letters.ends_with('f') || !letters.contains('f');
    bundle && letters.contains('c') && letters.bytes().all(|letter| b"czjJvf".contains(&letter))
        || first == "--create"
}

/// Refuses `tar` that does more than list.
pub(super) fn only_lists(words: &[ShellValue], parsed: &Parsed) -> Result<(), Denial> {
    // Without `-t` it packs or unpacks, also in the old way of writing `tar xf`.
    let listed = parsed.has(&["-t", "--list"])
        && parsed.operands.iter().all(|operand| operand.text().is_some());
    let old = words.first().and_then(ShellValue::text).is_some_and(|first| {
        first.contains('t') && first.bytes().all(|letter| b"tvzjJf".contains(&letter))
    });
    if !listed && !old {
        return Err(Denial::new(
            "program.option",
            "tar packs or unpacks files that are not named here",
        )
        .instead("list it: `tar -tf FILE`"));
    }
    Ok(())
}
