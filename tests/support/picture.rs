//! A picture of a terminal, as SVG.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// Columns and rows in pixels, and the space around them.
const COLUMN: f64 = 8.4;
const ROW: u16 = 20;
const EDGE: u16 = 16;

/// The screen, with its colors. Its rows are texts, so that a search finds words in them.
pub(crate) fn svg(screen: &Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let width = (f64::from(columns) * COLUMN).ceil() + f64::from(2 * EDGE);
    let height = (rows + 1) * ROW + 2 * EDGE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"14\" fill=\"#d8dee9\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d2129\"/>\n\
         <text x=\"{EDGE}\" y=\"{}\" fill=\"#8a93a2\">{title}</text>\n",
        EDGE + 10
    );
    for row in 0..rows {
        let y = EDGE + (row + 2) * ROW;
        let mut text = String::new();
        let mut at = 0;
        while at < columns {
            let style = style(screen, row, at);
            let mut words = String::new();
            while at < columns && self::style(screen, row, at) == style {
                let cell = screen.cell(row, at).map_or("", Cell::contents);
                words.push_str(if cell.is_empty() { " " } else { cell });
                at += 1;
            }
            let words = words.replace('&', "&amp;").replace('<', "&lt;");
            match style.is_empty() {
                true => text.push_str(&words),
                false => write!(text, "<tspan{style}>{words}</tspan>").expect("written"),
            }
        }
        if !text.trim().is_empty() {
            let text = text.trim_end();
            writeln!(svg, "<text x=\"{EDGE}\" y=\"{y}\" xml:space=\"preserve\">{text}</text>")
                .expect("written");
        }
    }
    svg + "</svg>\n"
}

fn style(screen: &Screen, row: u16, column: u16) -> String {
    let Some(cell) = screen.cell(row, column) else { return String::new() };
    let fill = match cell.fgcolor() {
        Color::Idx(1) => " fill=\"#e06c75\"",
        Color::Idx(2) => " fill=\"#98c379\"",
        Color::Idx(3) => " fill=\"#e5c07b\"",
        Color::Default | Color::Idx(_) | Color::Rgb(..) => "",
    };
    let bold = if cell.bold() { " font-weight=\"bold\"" } else { "" };
    format!("{fill}{bold}")
}
