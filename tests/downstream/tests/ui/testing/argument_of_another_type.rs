use zklock::testing::FromTestServer;

struct App;

fn is_an_argument<T: FromTestServer>() {}

fn main() {
    is_an_argument::<App>();
}
