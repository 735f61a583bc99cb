//! The screen: two tables, one above the other.

use std::time::{Duration, SystemTime};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Row, Table};

use crate::view::{name, shown, word};

use super::Ranking;

/// Draws the ranking, and the problem of the last question, if it had no answer.
pub(super) fn draw(frame: &mut Frame<'_>, ranking: &Ranking, problem: Option<&str>, now: SystemTime) {
    let parts = Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Fill(1)]);
    let [title, locks, waiters] = parts.areas(frame.area());
    frame.render_widget(heading(ranking, problem), title);
    frame.render_widget(table(["LOCK", "KIND", "HELD", "WAITING", "HOLDER"], busiest(ranking)), locks);
    frame.render_widget(table(["WAITER", "LOCK", "FOR", "", ""], longest(ranking, now)), waiters);
}

fn heading(ranking: &Ranking, problem: Option<&str>) -> Line<'static> {
    let left_out = ranking.left_out.text().map(|parts| format!("  left out: {parts}")).unwrap_or_default();
    match problem {
        Some(problem) => Line::from(format!("zklock top  q ends  {}", shown(problem))).reversed(),
        None => Line::from(format!("zklock top  q ends{left_out}")).reversed(),
    }
}

fn busiest(ranking: &Ranking) -> Vec<[String; 5]> {
    let rows = ranking.locks.iter().map(|lock| {
        let holder = lock.participants.first().map(name).unwrap_or_default();
        let (holding, waiting) = (lock.holding.to_string(), lock.waiting.to_string());
        [shown(&lock.path), word(lock.kind), holding, waiting, holder]
    });
    rows.collect()
}

fn longest(ranking: &Ranking, now: SystemTime) -> Vec<[String; 5]> {
    let rows = ranking.waiters.iter().map(|(path, waiter)| {
        // The clock of the servers may be ahead of this one.
        let waited = now.duration_since(waiter.entered).unwrap_or_default();
        let waited = humantime::format_duration(Duration::from_secs(waited.as_secs())).to_string();
        [name(waiter), shown(path), waited, String::new(), String::new()]
    });
    rows.collect()
}

fn table(heading: [&'static str; 5], rows: Vec<[String; 5]>) -> Table<'static> {
    let widths = [
        Constraint::Fill(3),
        Constraint::Fill(2),
        Constraint::Length(12),
        Constraint::Length(8),
        Constraint::Fill(2),
    ];
    Table::new(rows.into_iter().map(Row::new), widths).header(Row::new(heading).style(Style::new().bold()))
}
