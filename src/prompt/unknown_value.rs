//! Finds uses of unknown values in a template, in all of its branches.
//!
//! Handlebars' strict mode only checks values that are rendered. A misspelled name in an `{{#if}}`
//! counts as false, and a branch that is not taken is not checked at all, so a part of the prompt
//! would go missing unnoticed.

use std::collections::BTreeSet;

use handlebars::{
    Path, PathSeg, Template,
    template::{BlockParam, HelperTemplate, Parameter, TemplateElement},
};

/// The use of an unknown value: its name and its 1-based line and column.
pub(super) struct UnknownValue {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Returns the first use of a value that is not in `known`.
pub(super) fn first_unknown(template: &Template, known: &BTreeSet<&str>) -> Option<UnknownValue> {
    Search { known, scope: Vec::new() }.template(template)
}

struct Search<'a> {
    known: &'a BTreeSet<&'a str>,
    /// Names bound by `as |name|`, innermost last.
    scope: Vec<String>,
}

impl Search<'_> {
    fn template(&mut self, template: &Template) -> Option<UnknownValue> {
        template.elements.iter().enumerate().find_map(|(index, element)| {
            let (line, column) = template.mapping.get(index).map_or((0, 0), |at| (at.0, at.1));
            let found = |name| UnknownValue { name, line, column };
            match element {
                TemplateElement::RawString(_) | TemplateElement::Comment(_) => None,
                TemplateElement::Expression(call) | TemplateElement::HtmlExpression(call) => {
                    let arguments = self.arguments(call).map(found);
                    arguments.or_else(|| {
                        let bare = call.params.is_empty() && call.hash.is_empty();
                        bare.then(|| self.parameter(&call.name)).flatten().map(found)
                    })
                }
                TemplateElement::HelperBlock(call) => {
                    self.arguments(call).map(found).or_else(|| self.block(call))
                }
                TemplateElement::DecoratorExpression(call)
                | TemplateElement::DecoratorBlock(call)
                | TemplateElement::PartialExpression(call)
                | TemplateElement::PartialBlock(call) => {
                    let mut values = call.params.iter().chain(call.hash.values());
                    values.find_map(|value| self.parameter(value)).map(found)
                }
                // Elements added by later versions are left to handlebars' strict mode.
                _ => None,
            }
        })
    }

    fn block(&mut self, call: &HelperTemplate) -> Option<UnknownValue> {
        let outside = self.scope.len();
        match &call.block_param {
            Some(BlockParam::Single(name)) => self.define(name),
            Some(BlockParam::Pair((first, second))) => {
                self.define(first);
                self.define(second);
            }
            // The type is non-exhaustive; forms added by later versions bind no names here.
            Some(_) | None => {}
        }
        let inside = call.template.as_ref().and_then(|template| self.template(template));
        self.scope.truncate(outside);
        inside.or_else(|| call.inverse.as_ref().and_then(|template| self.template(template)))
    }

    fn define(&mut self, name: &Parameter) {
        self.scope.extend(name.as_name().map(str::to_owned));
    }

    fn arguments(&self, call: &HelperTemplate) -> Option<String> {
        call.params.iter().chain(call.hash.values()).find_map(|value| self.parameter(value))
    }

    fn parameter(&self, parameter: &Parameter) -> Option<String> {
        let name = match parameter {
            Parameter::Name(name) => name.as_str(),
            Parameter::Path(Path::Relative((segments, _))) => {
                segments.iter().find_map(|segment| match segment {
                    PathSeg::Named(name) => Some(name.as_str()),
                    _ => None,
                })?
            }
            Parameter::Subexpression(inner) => {
                let params = inner.params().into_iter().flatten();
                let hash = inner.hash().into_iter().flat_map(|hash| hash.values());
                return params.chain(hash).find_map(|value| self.parameter(value));
            }
            _ => return None,
        };
        let known = self.known.contains(name) || self.scope.iter().any(|own| own == name);
        (!known).then(|| name.to_owned())
    }
}
