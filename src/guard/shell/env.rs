//! What is known about the shell at one place of a line: variables, the folders
//! it may be in, functions. Plain data that is copied for subshells and merged
//! where two ways meet.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use brush_parser::ast;

use super::value::{Seg, ShellOutput, ShellValue};

/// The state of the shell.
#[derive(Clone, Debug)]
pub(in crate::guard) struct Env {
    /// Variables set in this line, with their words (one for a plain variable).
    pub(in crate::guard) vars: HashMap<String, Vec<ShellValue>>,
    /// Variables that hold a key of an array, and which array that is.
    pub(super) keys: HashMap<String, String>,
    /// Every folder the shell may be in.
    pub(in crate::guard) cwds: Vec<PathBuf>,
    /// Whether it may be anywhere.
    pub(in crate::guard) lost: bool,
    /// Functions defined in this line.
    pub(in crate::guard) functions: HashMap<String, Vec<Rc<ast::FunctionBody>>>,
    /// `$1` and so on, inside a function.
    pub(in crate::guard) arguments: Option<Vec<ShellValue>>,
    /// What stands on the standard input of the whole list.
    pub(in crate::guard) stdin: ShellOutput,
    /// Folders to add if the last `cd` may have failed.
    pub(in crate::guard) unsure: Vec<PathBuf>,
}

/// Variables that are told apart: the state is copied wherever two ways part.
pub(in crate::guard) const MOST_VARIABLES: usize = 256;

/// Folders that are kept apart before the shell counts as lost.
const MOST_FOLDERS: usize = 8;

impl Env {
    pub(in crate::guard) fn new(cwd: PathBuf) -> Self {
        Self {
            vars: HashMap::new(),
            keys: HashMap::new(),
            cwds: vec![cwd],
            lost: false,
            functions: HashMap::new(),
            arguments: None,
            stdin: ShellOutput::Opaque,
            unsure: Vec::new(),
        }
    }

    /// Sets a plain variable.
    pub(in crate::guard) fn set(&mut self, name: &str, value: ShellValue) {
        self.put(name.to_owned(), vec![value]);
    }

    /// Sets a variable to one value, or an array to several.
    pub(super) fn put(&mut self, name: String, values: Vec<ShellValue>) {
        self.forget_keys(&name);
        self.vars.insert(name, values);
    }

    /// A variable is no longer a key, and no longer the array that others are keys of.
    pub(in crate::guard) fn forget_keys(&mut self, name: &str) {
        self.keys.retain(|key, array| key != name && array != name);
    }

    /// What a command that runs elsewhere in time may find: the same variables, and
    /// nothing known of them, of the arguments or of the place.
    pub(in crate::guard) fn some_time(&self) -> Self {
        let any = || vec![ShellValue { segs: vec![Seg::Any], splits: true }];
        let vars = self.vars.keys().map(|name| (name.clone(), any())).collect();
        let arguments = Some(any());
        let cwds = self.cwds.clone();
        let (functions, stdin) = (HashMap::new(), ShellOutput::Opaque);
        let (keys, unsure) = (HashMap::new(), Vec::new());
        Self { vars, keys, cwds, lost: true, functions, arguments, stdin, unsure }
    }

    /// What another shell finds that this one starts, where each variable may have been
    /// exported or not.
    pub(in crate::guard) fn for_a_child(&mut self) {
        let numbers = |values: &[ShellValue]| values.iter().all(ShellValue::is_token);
        self.vars.retain(|name, values| name != "IFS" && !numbers(values));
        for values in self.vars.values_mut() {
            *values = vec![ShellValue { segs: vec![Seg::Any], splits: true }];
        }
        self.keys.clear();
        self.functions.clear();
    }

    /// Adds folders that the shell may also be in.
    pub(in crate::guard) fn also_in(&mut self, folders: &[PathBuf]) {
        for folder in folders {
            if !self.cwds.contains(folder) {
                self.cwds.push(folder.clone());
            }
        }
        if self.cwds.len() > MOST_FOLDERS {
            // Once lost, no relative path is believed: more folders would only cost time.
            self.lost = true;
            self.cwds.truncate(MOST_FOLDERS);
        }
    }

    /// After this point the shell is as `self` or as `other` says.
    pub(in crate::guard) fn merge(&mut self, other: &Self) {
        self.lost |= other.lost;
        self.also_in(&other.cwds);
        self.also_in(&other.unsure);
        let own = std::mem::take(&mut self.unsure);
        self.also_in(&own);
        let unknown = || vec![ShellValue { segs: vec![Seg::Any], splits: false }];
        for (name, value) in &mut self.vars {
            let others = other.vars.get(name);
            if others == Some(value) {
                continue;
            }
            let tokens = others.is_some_and(|others| {
                others.len() == 1 && value.len() == 1 && others[0].is_token() && value[0].is_token()
            });
            *value = if tokens { vec![ShellValue::one(Seg::Token)] } else { unknown() };
        }
        for name in other.vars.keys() {
            if !self.vars.contains_key(name) {
                self.vars.insert(name.clone(), unknown());
            }
        }
        self.keys.retain(|name, array| other.keys.get(name) == Some(array));
        if self.arguments != other.arguments {
            self.arguments = Some(vec![ShellValue { segs: vec![Seg::Any], splits: true }]);
        }
        for (name, bodies) in &other.functions {
            let known = self.functions.entry(name.clone()).or_default();
            for body in bodies {
                if !known.iter().any(|seen| Rc::ptr_eq(seen, body)) {
                    known.push(Rc::clone(body));
                }
            }
        }
    }

    /// Whether nothing changed between two moments, as far as a loop cares.
    pub(in crate::guard) fn same(&self, other: &Self) -> bool {
        self.vars == other.vars
            && self.keys == other.keys
            && self.cwds == other.cwds
            && self.lost == other.lost
            && self.arguments == other.arguments
            && self.functions.len() == other.functions.len()
    }
}
