//! Names that mean one thing when they are checked and another when they are called.

use latimer_outbound::{Failure, Rules};

use crate::support::{Answer, Bench, Listener, allowing};

const PUBLIC: &str = "93.184.216.34";

#[tokio::test]
async fn a_name_that_turns_inward_after_registration_is_not_followed() {
    let listener = Listener::start(|_| Answer::text("secret")).await;
    let bench = Bench::new(Rules::default());
    for inward in ["127.0.0.1", "::1", "0.0.0.0", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"]
    {
        bench.names.set("turning.test", &[&[PUBLIC], &[inward]]);
        let url = format!("https://turning.test:{}/hook", listener.port());
        bench.guard.check(&url).await.expect("it is public still");
        let failure = bench.post(&url).await.unwrap_err();
        assert!(matches!(failure, Failure::Forbidden(_)), "{inward}: {failure:?}");
        assert_eq!(bench.dialer.take(), [], "{inward}");
    }
    assert_eq!(listener.accepted(), 0);
}

/// There is one look at the name for each connection, so there is nothing to change in between.
#[tokio::test]
async fn a_name_is_resolved_once_for_a_connection() {
    let bench = Bench::new(Rules::default());
    bench.names.set("turning.test", &[&[PUBLIC], &["127.0.0.1"]]);
    let failure = bench.post("https://turning.test/hook").await.unwrap_err();
    assert!(matches!(failure, Failure::Unreachable { .. }), "{failure:?}");
    assert_eq!(bench.dialer.take(), [format!("{PUBLIC}:443").parse().unwrap()]);
    assert_eq!(bench.names.asked("turning.test"), 1);
}

/// One bad address among good ones is enough, in whatever order they come.
#[tokio::test]
async fn a_name_with_a_forbidden_address_is_forbidden() {
    let bench = Bench::new(Rules::default());
    for answer in [[PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC]] {
        bench.names.set("mixed.test", &[&[PUBLIC], &answer]);
        bench.guard.check("https://mixed.test/").await.expect("it is public still");
        let failure = bench.post("https://mixed.test/").await.unwrap_err();
        assert!(matches!(failure, Failure::Forbidden(_)), "{answer:?}: {failure:?}");
        assert_eq!(bench.dialer.take(), [], "{answer:?}");
    }
}

#[tokio::test]
async fn a_name_that_turns_on_the_way_of_a_redirect_is_not_followed() {
    let secret = Listener::start(|_| Answer::text("secret")).await;
    let location = format!("https://turning.test:{}/", secret.port());
    let open = Listener::start(move |_| Answer::redirect(302, &location)).await;
    let bench = Bench::new(allowing([&open.address.to_string()]));
    bench.names.set("turning.test", &[&[PUBLIC], &["127.0.0.1"]]);
    bench.guard.check(&format!("https://turning.test:{}/", secret.port())).await.expect("public");
    let failure = bench.get(&open.url("/")).await.unwrap_err();
    assert!(matches!(failure, Failure::Forbidden(_)), "{failure:?}");
    assert_eq!(bench.dialer.take(), [open.address]);
    assert_eq!(secret.accepted(), 0);
}
