//! The report as one page that needs nothing else, and no script.

use std::fmt::Write as _;

use super::facts::{Night, NightCriterion};
use super::inert::escaped;
use super::text::since;
use super::timeline;
use crate::model::CheckResult;
use crate::report::format::{duration, millis, why_denied};

const STYLE: &str = include_str!("night.css");

/// Writes the page.
pub fn html(night: &Night) -> String {
    let title = format!("{}: {}", night.task, night.outcome);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{}</h1>\n<p class=\"outcome\">{}</p>\n<p>{}.</p>\n",
        escaped(&title),
        escaped(&night.task),
        escaped(&night.outcome),
        escaped(&night.numbers()),
    );
    night.besides().for_each(|line| out += &format!("<p>{}</p>\n", escaped(line)));
    let model = night.model.as_deref().unwrap_or("its default model");
    let facts = [
        ("Run", format!("{}, {}", night.run, night.standing())),
        ("Began", night.began.format("%F %T UTC").to_string()),
        ("Took", duration(millis(night.began, night.ended))),
        ("Branch", format!("{} from {}", night.branch, night.start)),
        ("Agent", format!("{}, {model}", night.agent)),
        ("Sandbox", night.sandbox.to_string()),
    ];
    out.push_str("<dl>\n");
    for (name, value) in facts {
        let _infallible = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&value));
    }
    out.push_str("</dl>\n");
    list(&mut out, "Since the last run", &since(night));
    list(&mut out, "Next", &night.next);
    list(&mut out, "Not checked", &night.unchecked);
    if !night.iterations.is_empty() {
        let _infallible = write!(
            out,
            "<h2>Timeline</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" \
             aria-label=\"Timeline\">\n{}</div>\n",
            timeline::svg(night)
        );
    }
    out.push_str("<h2>Criteria</h2>\n");
    night.criteria.iter().for_each(|it| criterion(&mut out, it));
    let denied =
        night.denials.iter().map(|it| format!("{} × {}: {}", it.count, it.rule, why_denied(it)));
    list(&mut out, "Denied", &denied.collect::<Vec<_>>());
    list(&mut out, "Lessons", &night.lessons);
    iterations(&mut out, night);
    list(&mut out, "Notes", &night.notices);
    out + "</main>\n</body>\n</html>\n"
}

fn criterion(out: &mut String, it: &NightCriterion) {
    let class = it.standing.split(' ').next().unwrap_or_default();
    let _infallible = write!(
        out,
        "<section class=\"criterion\">\n<h3><span class=\"mark {class}\">{}</span> {}</h3>\n",
        it.standing,
        escaped(&it.text)
    );
    let said = it.more_said();
    for text in said.into_iter().chain(it.why()).chain(&it.next) {
        let _infallible = writeln!(out, "<p>{}</p>", escaped(text));
    }
    if !it.commits.is_empty() {
        out.push_str("<ul>\n");
        for commit in &it.commits {
            let paths: Vec<String> =
                commit.paths.iter().map(|it| escaped(&it.path.to_string_lossy())).collect();
            let _infallible = writeln!(
                out,
                "<li><code>{}</code> {} <span class=\"paths\">{}</span></li>",
                commit.id.short(),
                escaped(&commit.subject),
                paths.join(", ")
            );
        }
        out.push_str("</ul>\n");
    }
    checks(out, &it.checks);
    out.push_str("</section>\n");
}

fn checks(out: &mut String, checks: &[CheckResult]) {
    for check in checks {
        let how = if check.passed() { "passed".to_owned() } else { check.status.how() };
        let _infallible = write!(
            out,
            "<details><summary><code>{}</code> {}, {}</summary>\n<pre tabindex=\"0\">{}</pre>\
             </details>\n",
            escaped(&check.command),
            escaped(&how),
            duration(check.millis),
            escaped(&check.output)
        );
    }
}

fn iterations(out: &mut String, night: &Night) {
    if night.iterations.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Iterations</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Iterations\"><table>\n<thead><tr><th>No.</th><th>Verdict</th>\
         <th>Criterion</th><th>Attempt</th><th>Worker</th><th>Took</th><th>Denied</th></tr></thead>\n\
         <tbody>\n",
    );
    for row in &night.iterations {
        let _infallible = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}<br><small>{}</small></td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td></tr>",
            row.iteration,
            timeline::word(row),
            escaped(&row.criterion.text),
            escaped(timeline::why(row).unwrap_or_default()),
            row.attempt,
            row.worker.map_or_else(|| "–".to_owned(), |it| it.to_string()),
            duration(millis(row.began, row.ended)),
            row.denied
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn list(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _infallible = writeln!(out, "<h2>{title}</h2>\n<ul>");
    for line in lines {
        let _infallible = writeln!(out, "<li>{}</li>", escaped(line));
    }
    out.push_str("</ul>\n");
}
