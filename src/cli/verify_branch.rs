//! `verify`: derives the proof of a branch again, from its commits alone.
//!
//! Invariant: nothing is changed. A commit's statements about itself are claims.

mod report;

use std::path::{Path, PathBuf};

use self::report::Report;
use super::args::VerifyArgs;
use super::assemble;
use super::command_names::nearest;
use super::context::{RepoContext, TASKS, TaskContext, branch_layers};
use super::failure::Failure;
use super::harness::harness_table;
use super::holdout;
use super::print::{complain, say, say_json};
use super::proving::{Ignored, Proving, proving, until_signal};
use super::runtime::runtime;
use super::shown_checks::ShownChecks;
use crate::config;
use crate::model::{ExitCode, Oid};
use crate::task::{self, TASK_FILE, TaskFolder, same_content};
use crate::verify::{
    Claims, Derivation, Derived, GUARDRAILS, HoldOuts, Layout, Preflight, Remark, RepoProblem,
    STATE, Seen, Table, claims, derive, moved_on,
};

/// Judges a branch.
pub(super) fn verify(directory: Option<&Path>, args: &VerifyArgs) -> Result<u8, Failure> {
    verified(RepoContext::find(directory)?, args, |report| {
        if args.json {
            say_json(&report.json());
        } else {
            say(&report.text());
            report.annotate();
        }
        report.exit_code()
    })
}

/// Judges a branch, and tells the result.
pub(super) fn verified<T>(
    place: RepoContext,
    args: &VerifyArgs,
    tell: impl FnOnce(&Report<'_>) -> T,
) -> Result<T, Failure> {
    let Ends { upstream, base, head } = ends(&place, args)?;
    let trees = [&base, &upstream].map(|commit| format!("{}^{{tree}}", commit.as_str()));
    let branch = format!("{}..{}", base.as_str(), head.as_str());
    place.repo.fetch_missing(&[&trees[..], &[branch]].concat(), &assemble::note)?;
    let at = task_at(place, args, (&base, &head))?;
    let seen = seen(&at, &base, &head)?;
    let Some(mut claims) = claims(&seen, &at.layout, args.allow_accepted, same_content) else {
        let text = format!("neither the base nor a commit of the branch contains {}", file(&at));
        return Err(Failure::new(ExitCode::Invalid, text)
            .hint("name another task, or the branch with `--head`"));
    };
    let Some(task) = seen[claims.rules].task.clone() else {
        return Err(Failure::new(ExitCode::Invalid, format!("{} is gone", file(&at))));
    };
    if !task::usable(&task) {
        let shown = at.diagnostics(&task).join("\n\n");
        return Err(Failure::new(ExitCode::Invalid, format!("invalid task\n\n{shown}")));
    }
    let derived = match claims.ticks.is_empty() {
        true => Derived::default(),
        false => {
            let rules = &seen[claims.rules].commit.id;
            let mut layers = branch_layers(&at, rules, &task, args.sandbox)?;
            let named = args.holdout.as_ref().map(|path| at.place.cwd.join(path));
            // The strongest layer is that of the flags.
            layers[0].values.holdout = named;
            let settings = config::resolve(&layers);
            let holdout = holdout::of_command(&at, &task, &settings)?;
            let outdated = outdated(&at, &harness_table(&settings)?, &seen[0], &upstream)?;
            claims.remarks.extend(outdated);
            let preflight = Preflight::of_commit(head.clone(), at.place.repo.ignored()?);
            let mut room = proving(&at, &settings, &preflight, Ignored::BeforeAgents)?;
            let derivation = (&at, &seen[..], &claims, &task);
            runtime()?.block_on(until_signal(derive_in_room(
                derivation,
                (&mut room, holdout.as_ref()),
                args.allow_accepted,
            )))??
        }
    };
    Ok(tell(&Report::new(&at, args, (&base, &head), &seen, &claims, &task, derived)?))
}

/// The last commit of a branch that ticks a criterion, or that only records follow up to it; else
/// the base with the records after it.
pub(super) fn proven_end(place: RepoContext, args: &VerifyArgs) -> Result<Oid, Failure> {
    let Ends { base, head, .. } = ends(&place, args)?;
    let at = task_at(place, args, (&base, &head))?;
    let seen = seen(&at, &base, &head)?;
    let ticks =
        claims(&seen, &at.layout, false, same_content).into_iter().flat_map(|claims| claims.ticks);
    let last = ticks.map(|tick| tick.at).max().unwrap_or(0);
    let is_record = |seen: &&Seen| {
        seen.commit.changes.iter().all(|change| at.layout.is_state_file(&change.path))
    };
    let records = seen[last + 1..].iter().take_while(is_record).count();
    Ok(seen[last + records].commit.id.clone())
}

/// TASK.md as the branch adds it; none if the base has it.
pub(super) fn first_task(
    place: RepoContext,
    args: &VerifyArgs,
) -> Result<Option<Vec<u8>>, Failure> {
    let Ends { base, head, .. } = ends(&place, args)?;
    let at = task_at(place, args, (&base, &head))?;
    let first = seen(&at, &base, &head)?.into_iter().position(|seen| seen.task.is_some());
    let Some(first) = first.filter(|first| *first > 0) else { return Ok(None) };
    let commit = &at.place.repo.branch(&base, &head)?[first].id;
    Ok(at.place.repo.held(commit, &at.layout.file(TASK_FILE))?)
}

async fn derive_in_room(
    (at, seen, claims, task): (&TaskContext, &[Seen], &Claims, &crate::model::Task),
    (room, holdout): (&mut Proving, Option<&HoldOuts>),
    by_hand: bool,
) -> Result<Derived, Failure> {
    for message in room.rooms.notes() {
        complain(&format!("note: {message}"));
    }
    let Proving { rooms, checks, options, table, .. } = room;
    let (repo, layout) = (&at.place.repo, &at.layout);
    let it = Derivation { repo, layout, table, seen, claims, task, holdout, by_hand };
    let found = derive(&it, rooms, (&ShownChecks::new(checks), options)).await?;
    let found = found.map_err(|lacks| {
        Failure::new(ExitCode::Invalid, format!("the proof room is missing something\n{lacks}"))
    })?;
    holdout::tell(&task.name, &found)?;
    Ok(found)
}

/// Where a branch lies.
struct Ends {
    /// The tip of `--base`.
    upstream: Oid,
    /// The last commit that both have.
    base: Oid,
    head: Oid,
}

/// The commits between which the branch lies.
fn ends(place: &RepoContext, args: &VerifyArgs) -> Result<Ends, Failure> {
    let repo = &place.repo;
    let named = |name: &str| {
        repo.revision(name)?.ok_or_else(|| {
            if name == "HEAD" {
                return Failure::from(RepoProblem::Unborn);
            }
            let known = repo.revision_names().unwrap_or_default();
            let hint = match nearest(name, known.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "name a branch that `git branch --all` lists, or fetch it first: `git \
                         fetch origin`"
                    .to_owned(),
            };
            Failure::new(ExitCode::Repository, format!("no commit named `{name}`")).hint(hint)
        })
    };
    if repo.is_shallow() {
        return Err(Failure::new(
            ExitCode::Repository,
            "this clone is shallow: commits are missing",
        )
        .hint("clone with the whole history: `git fetch --unshallow`; in CI, `fetch-depth: 0`"));
    }
    let head = named(args.head.as_deref().unwrap_or("HEAD"))?;
    let upstream = match &args.base {
        Some(name) => Some(named(name)?),
        None => repo.upstream().map(named).transpose()?,
    };
    let none = || {
        Failure::new(ExitCode::Repository, "cannot tell where the branch begins")
            .hint("name its base: `--base origin/main`; in CI, clone with `fetch-depth: 0`")
    };
    let upstream = upstream.ok_or_else(none)?;
    let base = repo.fork(&upstream, &head)?.ok_or_else(none)?;
    if base == head {
        let text = format!("the base already contains {}: nothing to verify", head.short());
        return Err(Failure::new(ExitCode::Repository, text).hint(
            "name the commit that the branch began on: `--base REF`, or its end: `--head REF`",
        ));
    }
    Ok(Ends { upstream, base, head })
}

/// The task, which need not be checked out: where the base has it, else where the head has it.
fn task_at(
    place: RepoContext,
    args: &VerifyArgs,
    (base, head): (&Oid, &Oid),
) -> Result<TaskContext, Failure> {
    let typed = PathBuf::from(&args.task);
    let below_root = place.cwd.join(&typed);
    let below_root = below_root.strip_prefix(place.root()).map(Path::to_owned).ok();
    let named = [Path::new(".ralph/active").join(&typed), Path::new(TASKS).join(&typed)];
    let named: Vec<PathBuf> = below_root.into_iter().chain(named).chain([typed]).collect();
    for commit in [base, head] {
        for folder in &named {
            let folder = match folder.ends_with(TASK_FILE) {
                true => folder.parent().map(Path::to_owned).unwrap_or_default(),
                false => folder.clone(),
            };
            let is_there = place.repo.exists_at(commit, &folder.join(TASK_FILE)).unwrap_or(false);
            let name = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned);
            let Some(name) = name.filter(|_| is_there) else { continue };
            let dir = place.root().join(&folder);
            let layout = Layout::new(name.clone(), folder);
            let folder = TaskFolder { task_file: dir.join(TASK_FILE), dir, name };
            return Ok(TaskContext { place, folder, layout });
        }
    }
    // The uncommitted file is the best source for the user's intent.
    TaskContext::find(Some(&place.cwd), &args.task)
}

/// The base and the commits of the branch, each with its files of the task.
fn seen(at: &TaskContext, base: &Oid, head: &Oid) -> Result<Vec<Seen>, Failure> {
    let repo = &at.place.repo;
    let mut found = Vec::new();
    for commit in repo.branch(base, head)? {
        let held = |name: &str| repo.held(&commit.id, &at.layout.file(name));
        let task = held(TASK_FILE)?.map(|bytes| task::parse(at.layout.task(), &bytes));
        let state = held(STATE)?.map(|bytes| {
            serde_json::from_slice(&bytes).map_err(|error: serde_json::Error| error.to_string())
        });
        let signs = held(GUARDRAILS)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        found.push(Seen { task, state, signs, commit });
    }
    Ok(found)
}

/// Changes of the base that the branch leaves out by beginning before them.
fn outdated(
    at: &TaskContext,
    table: &Table,
    base: &Seen,
    tip: &Oid,
) -> Result<Option<Remark>, Failure> {
    if base.commit.id == *tip {
        return Ok(None);
    }
    let repo = &at.place.repo;
    let file = at.layout.file(TASK_FILE);
    let new = repo.held(tip, &file)?.map(|bytes| task::parse(at.layout.task(), &bytes));
    let (then, now) = (repo.files(&base.commit.id, &[])?, repo.files(tip, &[])?);
    Ok(moved_on((&then, base.task.as_ref()), (&now, new.as_ref()), table, file))
}

fn file(at: &TaskContext) -> String {
    at.layout.file(TASK_FILE).display().to_string()
}
