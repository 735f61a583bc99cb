use zklock::testing::FromTestServer;

struct App;

fn is_an_argument<T: FromTestServer>() {}

fn argument_of_another_type() {
    is_an_argument::<App>();
}

#[zklock::test(flavour = "multi_thread", timeout = "3s", start_paused)]
async fn argument_unknown() {}

#[zklock::test(session_timeout = "10ms")]
async fn session_timeout_too_short() {}

fn main() {}
