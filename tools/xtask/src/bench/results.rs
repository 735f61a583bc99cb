//! The results of a run, as lines of JSON.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::figures::Figures;
use crate::step::{Outcome, target};

/// The results of one run. Each is written to a file when it is added.
pub(crate) struct Results {
    /// The machine, by the names of its properties.
    pub(crate) machine: Value,
    records: Vec<Record>,
    file: PathBuf,
}

/// The result of one measurement.
pub(crate) struct Record {
    pub(crate) scenario: String,
    pub(crate) client: String,
    pub(crate) figures: Figures,
    /// The number of processes that ran or waited for a processor before the measurement, as a mean of one minute.
    pub(crate) load: f64,
}

impl Results {
    /// Begins the results of a run, in place of those of the one before.
    pub(crate) fn begin(machine: Value) -> Outcome<Self> {
        let file = file();
        fs::create_dir_all(target().join("xtask"))?;
        fs::write(&file, format!("{}\n", json!({ "machine": machine })))?;
        Ok(Self { machine, records: Vec::new(), file })
    }

    /// Reads the results of the last run.
    pub(crate) fn stored() -> Outcome<Self> {
        let file = file();
        let text = fs::read_to_string(&file);
        Self::parse(&text.map_err(|error| format!("there are no results of a run: {error}"))?, file)
    }

    fn parse(text: &str, file: PathBuf) -> Outcome<Self> {
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let machine = lines.next().ok_or("the results are empty")??["machine"].take();
        let records = lines.map(|line| Record::of_json(&line?)).collect::<Outcome<_>>()?;
        Ok(Self { machine, records, file })
    }

    pub(crate) fn add(&mut self, record: Record) -> Outcome {
        let mut file = File::options().append(true).open(&self.file)?;
        writeln!(file, "{}", record.to_json())?;
        self.records.push(record);
        Ok(())
    }

    /// Returns the number of rounds, in words.
    pub(crate) fn rounds(&self) -> String {
        let count = &self.machine["rounds"];
        format!("{count} {}", if *count == 1 { "round" } else { "rounds" })
    }

    /// Returns the clients of a scenario in the order of their first turns, and their medians.
    pub(crate) fn medians(&self, scenario: &str) -> Vec<(&str, Figures)> {
        let records = || self.records.iter().filter(|record| record.scenario == scenario);
        let mut clients: Vec<&str> = Vec::new();
        for record in records() {
            if !clients.contains(&record.client.as_str()) {
                clients.push(&record.client);
            }
        }
        let of = |client: &str| {
            let figures =
                records().filter(|record| record.client == client).map(|record| record.figures.clone());
            Figures::median(&figures.collect::<Vec<_>>())
        };
        clients.into_iter().map(|client| (client, of(client))).collect()
    }

    /// Returns the medians of one client in a scenario.
    pub(crate) fn of(&self, scenario: &str, client: &str) -> Outcome<Figures> {
        let medians = self.medians(scenario).into_iter().find(|(of, _)| *of == client);
        let medians = medians.map(|(_, figures)| figures);
        medians.ok_or_else(|| format!("{client} was not measured in `{scenario}`").into())
    }

    /// Returns the least and the greatest load before a measurement.
    pub(crate) fn loads(&self) -> (f64, f64) {
        let loads = || self.records.iter().map(|record| record.load);
        (loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max))
    }
}

impl Record {
    fn to_json(&self) -> Value {
        let Self { scenario, client, load, figures } = self;
        json!({ "scenario": scenario, "client": client, "load": load, "figures": figures.to_json() })
    }

    fn of_json(value: &Value) -> Outcome<Self> {
        let text = |name| value[name].as_str().ok_or_else(|| format!("there is no {name} in {value}"));
        Ok(Self {
            scenario: text("scenario")?.to_owned(),
            client: text("client")?.to_owned(),
            figures: Figures::of_json(&value["figures"])?,
            load: value["load"].as_f64().unwrap_or_default(),
        })
    }
}

fn file() -> PathBuf {
    target().join("xtask/bench.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(client: &str, line: &str, load: f64) -> Record {
        let figures = Figures::parse(line).unwrap();
        Record { scenario: "mutex".to_owned(), client: client.to_owned(), figures, load }
    }

    #[test]
    fn one_round_is_no_plural() {
        let of = |rounds: u32| {
            Results { machine: json!({ "rounds": rounds }), records: Vec::new(), file: PathBuf::new() }
                .rounds()
        };
        assert_eq!([of(1), of(3)], ["1 round", "3 rounds"]);
    }

    #[test]
    fn results_are_read_as_they_were_written_and_have_the_medians_of_each_client() {
        let records = [record("raw", "a=1", 0.5), record("zklock", "a=4", 2.0), record("raw", "a=3", 1.0)];
        let lines: Vec<_> = records.iter().map(|record| record.to_json().to_string()).collect();
        let text = format!("{}\n{}\n", json!({ "machine": { "processors": 2 } }), lines.join("\n"));
        let results = Results::parse(&text, PathBuf::new()).unwrap();
        let figures = |line| Figures::parse(line).unwrap();
        assert_eq!(results.medians("mutex"), [("raw", figures("a=2")), ("zklock", figures("a=4"))]);
        assert_eq!(results.of("mutex", "zklock").unwrap(), figures("a=4"));
        assert!(results.of("mutex", "kazoo").is_err());
        assert_eq!(results.loads(), (0.5, 2.0));
        assert_eq!(results.machine["processors"], 2);
    }
}
