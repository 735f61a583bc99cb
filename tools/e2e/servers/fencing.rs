//! A database that refuses holders that are late, with the statements of docs/guide/stores.md.

mod page;
mod postgresql;

use tokio_postgres::types::ToSql;
use zklock::FencingToken;

use crate::support::until;

use self::page::statements;
use self::postgresql::{Database, blocked};

#[derive(Clone, Copy, Debug)]
enum Form {
    TwoColumns,
    Text,
    Number,
}

const FORMS: [Form; 3] = [Form::TwoColumns, Form::Text, Form::Number];

#[derive(Clone, Copy, Debug)]
enum Write {
    Update,
    Upsert,
}

const WRITES: [Write; 2] = [Write::Update, Write::Upsert];

impl Form {
    /// Returns the statements of the page: they create the table, update a row, and update or insert one.
    fn statements(self) -> [String; 3] {
        statements(
            "PostgreSQL",
            match self {
                Self::TwoColumns => "Two columns",
                Self::Text => "One column of text",
                Self::Number => "One column of 64 bits",
            },
        )
    }

    /// Writes with the statement of the page, and returns the number of rows that it has changed.
    async fn write(self, database: &Database, write: Write, (balance, token): (i64, FencingToken)) -> u64 {
        let [_, update, upsert] = self.statements();
        let statement = match write {
            Write::Update => update,
            Write::Upsert => upsert,
        };
        let (zxid, handoff) = <(i64, i64)>::from(token);
        let (text, number) = (token.to_text(), token.to_i64());
        let stored: &[&(dyn ToSql + Sync)] = match self {
            Self::TwoColumns => &[&"savings", &balance, &zxid, &handoff],
            Self::Text => &[&"savings", &balance, &text],
            Self::Number => &[&"savings", &balance, number.as_ref().expect("the token fits")],
        };
        database.client.execute(&statement, stored).await.expect("the statement is valid")
    }

    async fn balance(self, database: &Database) -> i64 {
        let table = match self {
            Self::TwoColumns => "ledger",
            Self::Text => "ledger_by_text",
            Self::Number => "ledger_by_number",
        };
        database.client.query_one(&format!("SELECT balance FROM {table}"), &[]).await.unwrap().get(0)
    }
}

async fn tables() -> Database {
    let database = Database::create().await;
    for form in FORMS {
        let [create, ..] = form.statements();
        database.client.batch_execute(&create).await.expect("the statement is valid");
    }
    database
}

fn token(zxid: i64, handoff: i64) -> FencingToken {
    (zxid, handoff).try_into().unwrap()
}

#[tokio::test]
async fn a_write_that_waits_for_a_younger_one_is_refused_after_it() {
    let (database, old, young) = (tables().await, token(7, 1), token(7, 2));
    let other = database.connect().await;
    for (form, write) in FORMS.into_iter().flat_map(|form| WRITES.map(|write| (form, write))) {
        form.write(&database, Write::Upsert, (1, old)).await;
        database.client.batch_execute("BEGIN").await.unwrap();
        assert_eq!(form.write(&database, Write::Update, (2, young)).await, 1);
        let late = async { form.write(&other, write, (3, old)).await };
        let commit = async {
            until(async || blocked(&database).await == 1, "the late write waits").await;
            database.client.batch_execute("COMMIT").await.unwrap();
        };
        let (changed, ()) = tokio::join!(late, commit);
        assert_eq!((changed, form.balance(&database).await), (0, 2), "{form:?} {write:?}");
        let [table, ..] = form.statements();
        let name = table.split_whitespace().nth(2).unwrap().to_owned();
        database.client.batch_execute(&format!("TRUNCATE {name}")).await.unwrap();
    }
}

#[tokio::test]
async fn a_token_is_refused_after_each_greater_one_and_taken_after_its_equal() {
    let (database, epoch) = (tables().await, 1 << 32);
    let fitting = [(0, 0), (0, 1), (0, 9), (0, 10), (9, 0), (10, 0), (epoch - 1, 0x7fff), (epoch, 0)];
    let greatest = [(0xffff * epoch, 0x7fff), (0xffff * epoch, 0x8000), (i64::MAX, 0xffff_ffff)];
    let tokens: Vec<_> =
        fitting.into_iter().chain(greatest).map(|(zxid, handoff)| token(zxid, handoff)).collect();
    for form in FORMS {
        let fits = |token: &&FencingToken| !matches!(form, Form::Number) || token.to_i64().is_some();
        let tokens: Vec<_> = tokens.iter().filter(fits).copied().collect();
        assert!(tokens.len() > fitting.len());
        assert_eq!(form.write(&database, Write::Update, (0, tokens[0])).await, 0, "there is no row yet");
        for (nth, &greatest) in tokens.iter().enumerate() {
            let written = (nth as i64, greatest);
            assert_eq!(form.write(&database, Write::Upsert, written).await, 1, "{form:?}: {greatest}");
            for write in WRITES {
                for &smaller in &tokens[..nth] {
                    assert_eq!(form.write(&database, write, (-1, smaller)).await, 0, "{form:?}: {smaller}");
                }
                assert_eq!(form.write(&database, write, written).await, 1, "{form:?}: {greatest}");
            }
            assert_eq!(form.balance(&database).await, nth as i64);
        }
    }
}

#[test]
fn every_statement_for_postgresql_is_run() {
    let named = FORMS.iter().flat_map(|form| form.statements()).count();
    assert_eq!(page::count("PostgreSQL"), named);
}
