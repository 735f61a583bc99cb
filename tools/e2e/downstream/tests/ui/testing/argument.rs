use zklock::testing::FromTestServer;

struct App;

fn is_an_argument<T: FromTestServer>() {}

#[zklock::test(session_timeout = "3s", session_timeout = "4s")]
async fn argument_duplicate() {}

fn argument_of_another_type() {
    is_an_argument::<App>();
}

#[zklock::test(flavour = "multi_thread", timeout = "3s", start_paused)]
async fn argument_unknown() {}

#[zklock::test(flavor = "multi")]
async fn flavor() {}

#[zklock::test(session_timeout = "3 parsecs")]
async fn session_timeout_not_a_duration() {}

#[zklock::test(session_timeout = "10ms")]
async fn session_timeout_too_short() {}

#[zklock::test(worker_threads = 2)]
async fn worker_threads_without_flavor() {}

#[zklock::test(crate = "a b")]
async fn crate_not_a_path() {}

#[zklock::test(flavor = multi_thread)]
async fn flavor_unquoted() {}

#[zklock::test("3s")]
async fn argument_positional() {}

#[zklock::test(flavor)]
async fn argument_without_value() {}

#[zklock::test(session_timeout = 3)]
async fn session_timeout_number() {}

#[zklock::test(flavor = "multi_thread", worker_threads = 0)]
async fn worker_threads_none() {}

#[zklock::test(flavor = "multi_thread", worker_threads = "2")]
async fn worker_threads_quoted() {}

#[zklock::test(retries = 3)]
async fn argument_retries() {}

#[zklock::test(servers = 3)]
async fn argument_servers() {}

fn main() {}
