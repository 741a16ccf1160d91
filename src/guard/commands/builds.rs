//! The words of `make`.

use crate::guard::denial::Denial;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;

impl Judge<'_> {
    pub(super) fn make(
        &mut self,
        place: &Place,
        name: &str,
        operands: &[Arg],
    ) -> Result<(), Denial> {
        const NUMBERS: &str = "V VERBOSE DEBUG RELEASE CI";
        for operand in operands {
            let text = operand.text().unwrap_or_default();
            match text.split_once('=') {
                None => self.target(place, name, operand)?,
                Some((variable, value)) => {
                    let numeric = lists(NUMBERS, variable)
                        && value.chars().all(|c| c.is_ascii_alphanumeric());
                    if !numeric {
                        return Err(Denial::new(
                            "program.option",
                            format!("`{name} {variable}=…` may change what runs"),
                        )
                        .instead(format!("leave `{variable}=…` out")));
                    }
                }
            }
        }
        Ok(())
    }
}
