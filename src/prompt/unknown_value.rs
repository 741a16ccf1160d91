//! Finds the values a template asks for and that do not exist, in every branch of it.
//!
//! Handlebars' own strict mode speaks up only when a value is rendered: a misspelt
//! name in an `{{#if}}` is false for it, and a branch that is not taken is not looked
//! at. A prompt that lacks a part for such a reason would never be noticed.

use std::collections::BTreeSet;

use handlebars::{
    Path, PathSeg, Template,
    template::{BlockParam, HelperTemplate, Parameter, TemplateElement},
};

/// A value that does not exist, and the 1-based line and column where it is asked for.
pub(super) struct UnknownValue {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The first name in the template that is none of `known`.
pub(super) fn first_unknown(template: &Template, known: &BTreeSet<&str>) -> Option<UnknownValue> {
    Search { known, scope: Vec::new() }.template(template)
}

struct Search<'a> {
    known: &'a BTreeSet<&'a str>,
    /// Names that `as |name|` made, innermost last.
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
                // An element that handlebars gets later is left to its own strict mode.
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
            // The type may grow; a form of parameters that it gets later names nothing yet.
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
