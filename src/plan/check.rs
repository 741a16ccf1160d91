//! A human's plan, as a file holds it.
//!
//! Invariant: nothing is repaired. A mistake is an error that names it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::order::{circle, waves};
use super::repair::numbered;
use crate::model::{Complexity, SubTask, TaskPlan};

/// Why a plan cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PlanError {
    #[error("not a plan: {0}")]
    Form(#[from] serde_json::Error),
    #[error("the sub-task `{0}` has no description")]
    Empty(String),
    #[error("the verify command of `{of}` {what}")]
    Verify { of: String, what: &'static str },
    #[error("two sub-tasks have the id `{0}`")]
    Twice(String),
    #[error("`{of}` depends on `{unknown}`, and no sub-task has that id; the ids are {known}")]
    Unknown { of: String, unknown: String, known: String },
    #[error("`dependencies` has `{0}`, and no sub-task has that id; the ids are {1}")]
    Nobody(String, String),
    #[error("the sub-task `{0}` depends on itself")]
    Itself(String),
    #[error("Circular dependency: {0}")]
    Circle(String),
}

/// The form of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenPlan {
    tasks: Vec<GivenTask>,
    #[serde(default)]
    dependencies: BTreeMap<String, Vec<String>>,
    // What `plan --json` and the plan beside a task say besides.
    #[serde(default, rename = "fallback")]
    _fallback: IgnoredAny,
    #[serde(default, rename = "goal")]
    _goal: IgnoredAny,
    #[serde(default, rename = "file")]
    _file: IgnoredAny,
    #[serde(default, rename = "waves")]
    _waves: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenTask {
    id: Option<String>,
    description: String,
    #[serde(default, rename = "estimatedComplexity")]
    complexity: Complexity,
    #[serde(default)]
    verify: Commands,
    #[serde(default, alias = "dependsOn", alias = "depends_on")]
    dependencies: Vec<String>,
}

/// One command, or several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a command, or a list of commands")]
enum Commands {
    One(String),
    Many(Vec<String>),
}

impl Default for Commands {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

/// Reads a plan. Without an id, a sub-task is `t1`, `t2`, and so on, by its place.
///
/// # Errors
/// The first mistake.
pub fn check(text: &str) -> Result<TaskPlan, PlanError> {
    let given: GivenPlan = serde_json::from_str(text)?;
    let mut tasks = Vec::new();
    let mut before: Vec<(String, Vec<String>)> = given.dependencies.into_iter().collect();
    for (at, task) in given.tasks.into_iter().enumerate() {
        let id = task.id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| numbered(at));
        let description = task.description.trim().to_owned();
        if description.is_empty() {
            return Err(PlanError::Empty(id));
        }
        let verify = match task.verify {
            Commands::One(one) => vec![one],
            Commands::Many(many) => many,
        };
        for command in &verify {
            let what = match command.trim() {
                "" => "is empty",
                command if command.contains('\n') => "has several lines; write a script",
                _ => continue,
            };
            return Err(PlanError::Verify { of: id, what });
        }
        let verify = verify.iter().map(|command| command.trim().to_owned()).collect();
        before.push((id.clone(), task.dependencies));
        tasks.push(SubTask { id, description, complexity: task.complexity, verify });
    }
    let mut ids = BTreeSet::new();
    if let Some(twice) = tasks.iter().find(|task| !ids.insert(task.id.as_str())) {
        return Err(PlanError::Twice(twice.id.clone()));
    }
    let known = || tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(", ");
    let mut dependencies: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (of, named) in before {
        if !ids.contains(of.as_str()) {
            return Err(PlanError::Nobody(of, known()));
        }
        for other in named {
            if !ids.contains(other.as_str()) {
                return Err(PlanError::Unknown { of, unknown: other, known: known() });
            }
            if other == of {
                return Err(PlanError::Itself(of));
            }
            let all = dependencies.entry(of.clone()).or_default();
            if !all.contains(&other) {
                all.push(other);
            }
        }
    }
    let plan = TaskPlan { tasks, dependencies, fallback: false };
    match waves(&plan) {
        Some(_) => Ok(plan),
        None => Err(PlanError::Circle(circle(&plan).join(" → "))),
    }
}

/// Do both plans say the same? The order of what a sub-task depends on says nothing.
pub fn is_same(one: &TaskPlan, other: &TaskPlan) -> bool {
    let edges = |plan: &TaskPlan| -> BTreeSet<(String, String)> {
        let all = plan.dependencies.iter();
        all.flat_map(|(of, named)| named.iter().map(|it| (of.clone(), it.clone()))).collect()
    };
    one.tasks == other.tasks && edges(one) == edges(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_is_written() {
        let text = r#"{"tasks": [{"id": "a", "description": " do a ", "estimatedComplexity": "L",
            "verify": "make a"}, {"description": "do b", "verify": ["x", "y"], "dependsOn": ["a"]}],
            "dependencies": {"t2": ["a", "a"]}, "fallback": false}"#;
        let plan = check(text).expect("a plan");
        assert_eq!(plan.tasks[0].description, "do a");
        assert_eq!(
            (plan.tasks[0].complexity, &plan.tasks[0].verify[..]),
            (Complexity::L, &["make a".to_owned()][..])
        );
        assert_eq!(plan.tasks[1].verify, ["x", "y"]);
        let only = BTreeMap::from([("t2".to_owned(), vec!["a".to_owned()])]);
        assert_eq!(plan.dependencies, only);
        let again = serde_json::to_string(&plan).expect("JSON");
        assert!(is_same(&check(&again).expect("a plan"), &plan), "{again}");
        assert!(check(r#"{"tasks": []}"#).expect("a plan").tasks.is_empty());
    }

    #[test]
    fn the_order_of_dependencies_is_nothing_that_a_plan_says() {
        let read = |edges: &str| {
            let task = |id: &str| format!(r#"{{"id": "{id}", "description": "x"}}"#);
            let tasks = [task("a"), task("b"), task("c")].join(", ");
            let text = format!(r#"{{"tasks": [{tasks}], "dependencies": {{"c": {edges}}}}}"#);
            check(&text).expect("a plan")
        };
        assert!(is_same(&read(r#"["a", "b"]"#), &read(r#"["b", "a", "b"]"#)));
        assert!(!is_same(&read(r#"["a", "b"]"#), &read(r#"["b"]"#)));
    }

    #[test]
    fn a_mistake_is_named() {
        let of = |tasks: &str, edges: &str| {
            let text = format!(r#"{{"tasks": [{tasks}], "dependencies": {{{edges}}}}}"#);
            check(&text).expect_err("a mistake").to_string()
        };
        let (a, b) = (r#"{"id": "a", "description": "x"}"#, r#"{"id": "b", "description": "x"}"#);
        let both = format!("{a}, {b}");
        for (tasks, edges, wanted) in [
            (both.as_str(), r#""a": ["b"], "b": ["a"]"#, "Circular dependency: a → b → a"),
            (
                &both,
                r#""a": ["c"]"#,
                "`a` depends on `c`, and no sub-task has that id; the ids are a, b",
            ),
            (
                &both,
                r#""c": []"#,
                "`dependencies` has `c`, and no sub-task has that id; the ids are a, b",
            ),
            (&both, r#""a": ["a"]"#, "the sub-task `a` depends on itself"),
            (&format!("{a}, {a}"), "", "two sub-tasks have the id `a`"),
            (r#"{"id": "a", "description": " "}"#, "", "the sub-task `a` has no description"),
            (
                r#"{"id": "a", "description": "x", "verify": ["y", " "]}"#,
                "",
                "the verify command of `a` is empty",
            ),
        ] {
            assert_eq!(of(tasks, edges), wanted);
        }
        for (tasks, part) in [
            (r#"{"id": "a"}"#, "missing field `description`"),
            (r#"{"description": "x", "verfy": "y"}"#, "unknown field `verfy`"),
            (
                r#"{"description": "x", "estimatedComplexity": "XL"}"#,
                "expected one of `S`, `M`, `L`",
            ),
            (r#"{"description": "x", "verify": 3}"#, "a command, or a list of commands"),
            ("null", "expected struct"),
        ] {
            let told = of(tasks, "");
            assert!(told.contains(part) && told.contains(" at line 1 column "), "{told}");
        }
        assert!(check("no").expect_err("no plan").to_string().starts_with("not a plan: "));
    }
}
