//! `zklock top`: the busiest locks and the longest waiters, on the whole screen.

mod screen;

use std::cmp::Reverse;
use std::io::{IsTerminal, stdout};
use std::pin::pin;
use std::time::SystemTime;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use zklock::{Client, LockError, Participant, Standing, Surveyed, SurveyedLock};

use crate::arguments::Watch;
use crate::exit::{Code, Failure};
use crate::output::{Form, Output};
use crate::survey::{LeftOut, Looks, is_passing};
use crate::view;

/// The terminal in raw mode, which gets its own mode and screen back on drop.
struct Screen;

/// Shows the locks until a key ends it, or prints one object at each interval.
pub(crate) async fn top(client: &Client, options: &Watch, output: &Output) -> Result<(), Failure> {
    let mut looks = Looks::new(client, options)?;
    match output.form() {
        Form::Json => print(looks, options.most, output).await,
        Form::Text => {
            if !stdout().is_terminal() {
                return Err(Failure::new(Code::Failed, "without a terminal, this needs --json"));
            }
            // The first answer is there before the screen changes, so that a failure is readable.
            let first = Ranking::of(looks.next().await?, options.most);
            // A signal drops this future.
            let _screen = Screen;
            let terminal = ratatui::try_init().map_err(Failure::system("use the terminal"))?;
            show(terminal, looks, options.most, first).await
        }
    }
}

async fn print(mut looks: Looks, most: u32, output: &Output) -> Result<(), Failure> {
    loop {
        match looks.next().await {
            Ok(surveyed) => output.result("", &Ranking::of(surveyed, most).json()).await?,
            Err(error) if is_passing(&error) => output.unanswered(&error),
            Err(error) => return Err(error.into()),
        }
    }
}

async fn show(
    mut terminal: DefaultTerminal,
    looks: Looks,
    most: u32,
    mut ranking: Ranking,
) -> Result<(), Failure> {
    let mut events = events();
    let mut problem = None;
    let mut is_drawn = false;
    // A key does not cancel the survey in flight.
    let mut look = pin!(look(looks));
    loop {
        if !is_drawn {
            let drawn = terminal.draw(|frame| {
                screen::draw(frame, &ranking, problem.as_deref(), SystemTime::now());
            });
            drawn.map_err(Failure::system("draw the screen"))?;
        }
        tokio::select! {
            event = events.recv() => match event {
                Some(event) if !is_end(&event) => is_drawn = !matches!(event, Event::Resize(..)),
                Some(_) | None => return Ok(()),
            },
            (looks, surveyed) = &mut look => {
                look.set(self::look(looks));
                match surveyed {
                    Ok(surveyed) => (ranking, problem) = (Ranking::of(surveyed, most), None),
                    Err(error) if is_passing(&error) => problem = Some(error.to_string()),
                    Err(error) => return Err(error.into()),
                }
                is_drawn = false;
            }
        }
    }
}

async fn look(mut looks: Looks) -> (Looks, Result<Surveyed, LockError>) {
    let surveyed = looks.next().await;
    (looks, surveyed)
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone.
        ratatui::try_restore().ok();
    }
}

/// Reads the keys and the changes of the window's size, on a thread that ends with the process.
fn events() -> UnboundedReceiver<Event> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

/// In raw mode, the terminal sends no signal for the key that interrupts.
fn is_end(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

/// The busiest locks, and the longest waiters.
#[derive(Debug)]
struct Ranking {
    /// Those with the most waiters first.
    locks: Vec<SurveyedLock>,
    /// The paths of locks and their waiters, the one first that entered first.
    waiters: Vec<(String, Participant)>,
    left_out: LeftOut,
}

impl Ranking {
    /// Ranks the locks of a survey that asked for this many participants of each.
    fn of(surveyed: Surveyed, most: u32) -> Self {
        let left_out = LeftOut::of(&surveyed, most);
        let mut locks = surveyed.locks;
        locks.sort_by_key(|lock| (Reverse(lock.waiting), Reverse(lock.holding)));
        let of_lock = |lock: &SurveyedLock| {
            let waits = lock.participants.iter().filter(|one| one.standing == Standing::Waits);
            waits.map(|one| (lock.path.clone(), one.clone())).collect::<Vec<_>>()
        };
        let mut waiters: Vec<_> = locks.iter().flat_map(of_lock).collect();
        waiters.sort_by_key(|(_, waiter)| waiter.entered);
        let beyond = |length: usize| length.saturating_sub(MOST);
        let left_out = left_out.with_ranking(beyond(locks.len()), beyond(waiters.len()));
        locks.truncate(MOST);
        waiters.truncate(MOST);
        Self { locks, waiters, left_out }
    }

    fn json(&self) -> Value {
        let waiter = |(path, one): &(String, Participant)| json!({"path": path, "participant": view::participant(one)});
        json!({
            "locks": self.locks.iter().map(view::lock).collect::<Vec<_>>(),
            "waiters": self.waiters.iter().map(waiter).collect::<Vec<_>>(),
            "left_out": self.left_out,
        })
    }
}

/// More than a screen has lines.
const MOST: usize = 200;
