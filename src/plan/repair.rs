//! A model's answer as a plan.
//!
//! Invariant: every answer gives a plan. Small mistakes are repaired; where a repair would be a
//! guess, the whole goal becomes one sub-task, and the plan says that it is a fallback.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::order::waves;
use crate::model::{Complexity, SubTask, TaskPlan};

/// Most sub-tasks of a plan: each is a session.
const MOST: usize = 50;
/// Keys of a sub-task that name those before it.
const INSIDE: [&str; 3] = ["dependencies", "dependsOn", "depends_on"];
/// Most places of an answer where a plan may begin.
const MOST_BEGINNINGS: usize = 1000;

/// The plan in an answer: JSON, alone, in a code fence, or among other text.
pub fn repair(goal: &str, answer: &str) -> TaskPlan {
    let plan = objects(answer).find(|object| object.contains_key("tasks"));
    plan.and_then(|object| read(&object)).unwrap_or_else(|| one_task(goal))
}

/// The goal as one sub-task, for a planner that fails.
pub fn one_task(goal: &str) -> TaskPlan {
    let task = SubTask {
        id: numbered(0),
        description: goal.to_owned(),
        complexity: Complexity::default(),
        verify: Vec::new(),
    };
    TaskPlan { tasks: vec![task], dependencies: BTreeMap::new(), fallback: true }
}

/// The JSON objects in a text, those inside of others included.
fn objects(text: &str) -> impl Iterator<Item = Map<String, Value>> {
    let beginnings = text.match_indices('{').take(MOST_BEGINNINGS);
    beginnings.filter_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter();
        match values.next() {
            Some(Ok(Value::Object(object))) => Some(object),
            Some(Ok(_) | Err(_)) | None => None,
        }
    })
}

/// The plan that an object holds, if it can be repaired.
fn read(object: &Map<String, Value>) -> Option<TaskPlan> {
    let given = object.get("tasks")?.as_array()?;
    if given.is_empty() || given.len() > MOST {
        return None;
    }
    let tasks: Vec<SubTask> =
        given.iter().enumerate().map(|(at, task)| sub_task(at, task)).collect::<Option<_>>()?;
    let ids: BTreeSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    if ids.len() < tasks.len() {
        return None;
    }
    let beside = object.get("dependencies").and_then(Value::as_object).into_iter().flatten();
    let beside = beside.map(|(id, before)| (id.trim(), before));
    // A model may write them into the sub-task instead.
    let inside = tasks.iter().zip(given).flat_map(|(task, given)| {
        let before = INSIDE.iter().filter_map(|key| given.get(key));
        before.map(|before| (task.id.as_str(), before))
    });
    let dependencies = dependencies(beside.chain(inside), &ids);
    let plan = TaskPlan { tasks, dependencies, fallback: false };
    waves(&plan).is_some().then_some(plan)
}

fn sub_task(at: usize, task: &Value) -> Option<SubTask> {
    let task = task.as_object()?;
    let description = task.get("description")?.as_str()?.trim();
    if description.is_empty() {
        return None;
    }
    let complexity = task.get("estimatedComplexity").map(Complexity::deserialize);
    Some(SubTask {
        id: task.get("id").and_then(name).unwrap_or_else(|| numbered(at)),
        description: description.to_owned(),
        complexity: complexity.and_then(Result::ok).unwrap_or_default(),
        verify: commands(task.get("verify")),
    })
}

/// Commands: one, or a list. What is no command is left out.
fn commands(given: Option<&Value>) -> Vec<String> {
    let all = match given {
        Some(Value::Array(all)) => all.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let texts = all.iter().filter_map(Value::as_str).map(str::trim);
    texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// The id of a sub-task without one.
pub(super) fn numbered(at: usize) -> String {
    format!("t{}", at + 1)
}

/// An id: a text, or a number as a text.
fn name(id: &Value) -> Option<String> {
    match id {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Those between two sub-tasks that there are, each once.
fn dependencies<'g>(
    given: impl Iterator<Item = (&'g str, &'g Value)>,
    ids: &BTreeSet<&str>,
) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, before) in given.filter(|(id, _)| ids.contains(id)) {
        for other in before.as_array().into_iter().flatten().filter_map(name) {
            if other != id && ids.contains(other.as_str()) {
                let named = all.entry(id.to_owned()).or_default();
                if !named.contains(&other) {
                    named.push(other);
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn ids(plan: &TaskPlan) -> Vec<&str> {
        plan.tasks.iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn dependencies_count_where_a_model_writes_them() {
        let tasks = [
            json!({"id": "a", "description": "do a"}),
            json!({"id": "b", "description": "do b", "dependencies": ["a", "b", "x"]}),
            json!({"id": "c", "description": "do c", "dependsOn": ["a"], "depends_on": ["b"]}),
        ];
        let plan = json!({"tasks": tasks, "dependencies": {"c": ["a"], "nobody": ["a"]}});
        let expected = [("b", vec!["a"]), ("c", vec!["a", "b"])];
        let expected = expected
            .map(|(id, before)| (id.to_owned(), before.into_iter().map(str::to_owned).collect()));
        assert_eq!(repair("goal", &plan.to_string()).dependencies, BTreeMap::from(expected));
    }

    #[test]
    fn a_plan_is_found_alone_in_a_fence_and_in_prose() {
        let plan = r#"{"tasks": [{"id": "a", "description": "do {a}", "estimatedComplexity": "S"},
            {"id": "b", "description": "do b", "estimatedComplexity": "L",
            "verify": [" make b ", "", 3]}],
            "dependencies": {"b": ["a"]}}"#;
        let expected = TaskPlan {
            tasks: vec![
                SubTask {
                    id: "a".to_owned(),
                    description: "do {a}".to_owned(),
                    complexity: Complexity::S,
                    verify: Vec::new(),
                },
                SubTask {
                    id: "b".to_owned(),
                    description: "do b".to_owned(),
                    complexity: Complexity::L,
                    verify: vec!["make b".to_owned()],
                },
            ],
            dependencies: BTreeMap::from([("b".to_owned(), vec!["a".to_owned()])]),
            fallback: false,
        };
        for text in [
            plan.to_owned(),
            format!("```json\n{plan}\n```"),
            format!("{{\"plan\": {plan}}}"),
            format!("Sure! {{x}} and {{\"y\": 1}}: {plan} Good luck {{}}."),
        ] {
            assert_eq!(repair("goal", &text), expected, "{text}");
        }
    }

    #[test]
    fn small_mistakes_are_repaired() {
        let answer = json!({
            "tasks": [
                {"description": " one "},
                {"id": 7, "description": "two", "estimatedComplexity": "huge"},
                {"id": " ", "description": "three", "estimatedComplexity": 3},
            ],
            "dependencies": {"t1": ["t1", "nobody", 7, 7, null], "7": "t1", "nobody": ["t1"]},
        });
        let plan = repair("goal", &answer.to_string());
        assert_eq!(ids(&plan), ["t1", "7", "t3"]);
        assert!(plan.tasks.iter().all(|task| task.complexity == Complexity::M));
        assert_eq!(plan.tasks[0].description, "one");
        let only = BTreeMap::from([("t1".to_owned(), vec!["7".to_owned()])]);
        assert_eq!((plan.dependencies, plan.fallback), (only, false));
        let answer = json!({"tasks": [{"description": "one"}], "dependencies": [["t1"]]});
        assert!(repair("goal", &answer.to_string()).dependencies.is_empty());
    }

    #[test]
    fn where_a_repair_would_be_a_guess_the_goal_is_one_sub_task() {
        let one = |id: &str| json!({"id": id, "description": "x"});
        let many: Vec<Value> = (0..=MOST).map(|at| one(&at.to_string())).collect();
        for answer in [
            json!(null),
            json!({}),
            json!({"tasks": []}),
            json!({"tasks": {"a": 1}}),
            json!({"tasks": [null]}),
            json!({"tasks": [one("a"), "b"]}),
            json!({"tasks": [{"id": "a"}]}),
            json!({"tasks": [one("a"), one("a")]}),
            json!({"tasks": [one("t2"), {"description": "x"}]}),
            json!({"tasks": [one("a"), one("b")], "dependencies": {"a": ["b"], "b": ["a"]}}),
            json!({"tasks": many}),
        ] {
            let plan = repair("the goal", &answer.to_string());
            assert_eq!(plan, one_task("the goal"), "{answer}");
        }
        let shown = serde_json::to_value(one_task("g")).expect("JSON");
        let task = json!({"id": "t1", "description": "g", "estimatedComplexity": "M"});
        assert_eq!(shown, json!({"tasks": [task], "dependencies": {}, "fallback": true}));
        assert!(repair("g", "I cannot {\"tasks\": [").fallback);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0_u8..5).prop_map(Value::from),
            "[a-c]{0,2}|t[1-4]|S|L".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let key = "tasks|dependencies|id|description|estimatedComplexity|t[1-4]|[a-c]";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    fn nearly_a_plan() -> impl Strategy<Value = Value> {
        let id = "[a-d]";
        let task = (id, any_json()).prop_map(
            |(id, odd)| json!({"id": id, "description": "x", "estimatedComplexity": odd}),
        );
        let edges = prop::collection::btree_map(id, prop::collection::vec(id, 0..4), 0..4);
        (prop::collection::vec(task, 0..4), edges)
            .prop_map(|(tasks, edges)| json!({"tasks": tasks, "dependencies": edges}))
    }

    proptest! {
        #[test]
        fn every_answer_gives_a_plan_that_can_be_carried_out(
            answer in prop_oneof![
                any_json().prop_map(|value| value.to_string()),
                nearly_a_plan().prop_map(|value| format!("Here: {value}")),
                ".*",
                "[{}\\[\\]\":,a ]*",
            ]
        ) {
            let plan = repair("goal", &answer);
            let all: BTreeSet<&str> = ids(&plan).into_iter().collect();
            prop_assert!(!plan.tasks.is_empty() && all.len() == plan.tasks.len());
            for (id, before) in &plan.dependencies {
                prop_assert!(all.contains(id.as_str()) && !before.contains(id));
                prop_assert!(before.iter().all(|other| all.contains(other.as_str())));
            }
            let waves = waves(&plan).expect("no circle");
            let mut wave_of = BTreeMap::new();
            for (wave, places) in waves.iter().enumerate() {
                for at in places {
                    prop_assert!(wave_of.insert(plan.tasks[*at].id.clone(), wave).is_none());
                }
            }
            prop_assert_eq!(wave_of.len(), plan.tasks.len());
            for (id, before) in &plan.dependencies {
                prop_assert!(before.iter().all(|other| wave_of[other] < wave_of[id]));
            }
            prop_assert!(!plan.fallback || plan == one_task("goal"));
        }
    }
}
