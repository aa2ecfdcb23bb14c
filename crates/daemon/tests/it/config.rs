//! Loading, layering and validation of configurations.

use std::path::Path;
use std::time::Duration;

use latimer_daemon::config::{
    AgentKind, Binding, CommandInput, McpTransport, ServingMode, SignaturePolicy, StoreLocation,
    Upstream,
};
use latimer_daemon::validate;
use latimer_protocol::card::AgentSkill;
use latimer_runtime::RemoteAgent;
use latimer_server::{
    CallerLimits, ContextConcurrency, EngineLimits, Policy, RateLimit, Record, StreamTerminator,
};
use latimer_store::Durability;

use crate::fixture::ConfigFixture;

#[test]
fn default_config_serves_echo_with_sqlite_store() {
    let fixture = ConfigFixture::empty();
    let config = fixture.load().unwrap().config;
    assert_eq!(config.listen, "127.0.0.1:50051");
    assert_eq!(config.serving, ServingMode::Enabled);
    assert!(
        matches!(config.agents[..], [ref it] if it.name == "echo" && matches!(it.kind, AgentKind::Echo))
    );
    let path = fixture.temp_dir.path().join(".local/share/latimer/latimer.db");
    assert_eq!(config.store.location, StoreLocation::Sqlite { path, durability: Durability::Full });
}

#[test]
fn serving_depends_on_enabled_key_and_agents() {
    let agent = "[[agents]]\nname = \"a\"\nkind = \"echo\"\n";
    for (text, want) in [
        ("".to_owned(), ServingMode::NotConfigured),
        ("[log]\nfilter = \"warn\"".to_owned(), ServingMode::NotConfigured),
        ("[a2a]".to_owned(), ServingMode::Disabled),
        ("[a2a]\nenabled = true".to_owned(), ServingMode::Enabled),
        ("[a2a]\nenabled = false".to_owned(), ServingMode::Disabled),
        (agent.to_owned(), ServingMode::Enabled),
        (format!("[a2a]\nlisten_path = \"/x\"\n{agent}"), ServingMode::Enabled),
        (format!("[a2a]\nenabled = false\n{agent}"), ServingMode::Disabled),
    ] {
        let config = ConfigFixture::with_config(&text).load().unwrap().config;
        assert_eq!(config.serving, want, "{text}");
        assert_eq!(config.settings.enabled, want != ServingMode::Disabled, "{text}");
    }
}

#[test]
fn later_layers_override_earlier_ones() {
    let file = "listen = \"127.0.0.1:1\"\n";
    for (fixture, want, source) in [
        (ConfigFixture::empty(), "127.0.0.1:50051", "default"),
        (ConfigFixture::with_config(file), "127.0.0.1:1", "latimer.toml:1"),
        (
            ConfigFixture::with_config(file).with_env_var("LATIMER__LISTEN", "127.0.0.1:2"),
            "127.0.0.1:2",
            "environment LATIMER__LISTEN",
        ),
        (
            ConfigFixture::with_config(file)
                .with_env_var("LATIMER__LISTEN", "127.0.0.1:2")
                .with_flag("--listen", "listen", "127.0.0.1:3"),
            "127.0.0.1:3",
            "option --listen",
        ),
    ] {
        let loaded = fixture.load().unwrap();
        assert_eq!(loaded.config.listen, want, "{source}");
        let settings = loaded.effective_settings();
        let listen = settings.iter().find(|it| it.key == "listen").unwrap();
        assert_eq!(listen.provenance.to_string(), source);
    }
}

#[test]
fn a2a_server_address_overrides_listen() {
    let other = "[a2a.server]\nport = 3000\nbindAddress = \"127.0.0.2\"\n";
    for (fixture, want) in [
        (ConfigFixture::with_config(other), "127.0.0.2:3000"),
        (ConfigFixture::with_config("[a2a.server]\nport = 3000\n"), "127.0.0.1:3000"),
        (ConfigFixture::with_config("[a2a.server]\nbind_address = \"::1\"\n"), "[::1]:50051"),
        (
            ConfigFixture::with_config(&format!("listen = \"127.0.0.1:9\"\n{other}")),
            "127.0.0.2:3000",
        ),
        (
            ConfigFixture::with_config(other).with_flag("--listen", "listen", "127.0.0.1:0"),
            "127.0.0.1:0",
        ),
        (ConfigFixture::with_config("listen = \"8080\""), "127.0.0.1:8080"),
    ] {
        assert_eq!(fixture.load().unwrap().config.listen, want);
    }
}

#[test]
fn env_vars_set_values_of_every_type() {
    let fixture = ConfigFixture::empty()
        .with_env_var("LATIMER__STORE__KIND", "memory")
        .with_env_var("LATIMER__STORE__MAX_TASKS", "7")
        .with_env_var("LATIMER__A2A__ALIASES", "false")
        .with_env_var("LATIMER__A2A__SERVER__ALLOWED_ORIGINS", "[\"https://a\"]")
        .with_env_var("LATIMER__SERVER__DRAIN", "3s")
        .with_env_var("LATIMER__API_KEY", "12345")
        .with_env_var("LATIMER_LOG", "debug");
    let loaded = fixture.load().unwrap();
    let config = &loaded.config;
    assert_eq!(config.store.location, StoreLocation::Memory);
    assert_eq!(config.store.retention.max_tasks, 7);
    assert!(!config.settings.path_aliases);
    assert_eq!(config.settings.allowed_origins, ["https://a"]);
    assert_eq!(config.settings.drain_timeout, Duration::from_secs(3));
    assert_eq!(config.api_key.as_ref().unwrap().reveal(), "12345");
    assert_eq!(loaded.environment_overrides(), 6);
}

#[test]
fn errors_name_the_line_and_suggest_keys() {
    for (text, want) in [
        ("listn = \"x\"", "latimer.toml:1: unknown key `listn`\n  hint: did you mean `listen`?"),
        (
            "\n[a2a]\nlisen_path = \"/a\"",
            "latimer.toml:3: unknown key `lisen_path` in `a2a`\n  hint: did you mean `listen_path`?",
        ),
        ("[quux]", "latimer.toml:1: unknown key `quux`"),
        (
            "[a2a]\nenabled = \"yes\"",
            "latimer.toml:2: `a2a.enabled`: invalid type: string \"yes\", expected a boolean",
        ),
        (
            "[store]\nmax_age = \"5 parsecs\"",
            "latimer.toml:2: `store.max_age`: invalid value: string \"5 parsecs\", expected a duration such as \"30s\", \"5m\" or \"7d\", or a number of seconds",
        ),
        (
            "[store]\nkind = \"redis\"",
            "latimer.toml:2: `store.kind`: unknown variant `redis`, expected `sqlite` or `memory`",
        ),
        ("a2a = 5", "latimer.toml:1: `a2a` must be a table, not a value"),
        (
            "[agents]\nname = \"a\"",
            "latimer.toml:1: `agents` must be a list of tables, not a table\n  hint: write [[agents]]",
        ),
        ("[[agents]]\nname = \"a\"", "latimer.toml:1: missing key `kind` in `agents[0]`"),
        (
            "[[agents]]\nname = \"a\"\nkind = \"comand\"",
            "latimer.toml:3: `agents[0].kind`: unknown variant `comand`, expected one of `echo`, `command`, `demo`, `a2a`, `mcp`, `model`",
        ),
        (
            "[[agents]]\nname = \"a\"\nkind = \"command\"",
            "latimer.toml:1: missing key `command` in `agents[0]`, which `kind = \"command\"` requires",
        ),
        (
            "[[agents]]\nname = \"a\"\nkind = \"echo\"\ntimeout = \"5s\"",
            "latimer.toml:4: `timeout` belongs to `kind = \"command\"` or `kind = \"a2a\"`, but `agents[0]` has `kind = \"echo\"`",
        ),
        (
            "[[agents]]\nname = \"a\"\nkind = \"command\"\ncommand = \"ls -l\"",
            "latimer.toml:4: `agents[0].command`: invalid type: string \"ls -l\", expected a sequence",
        ),
        ("api_key = 5", "latimer.toml:1: `api_key`: must be a string"),
        (
            "listen = \"here\"",
            "latimer.toml:1: `listen`: \"here\" is not an address with a port\n  hint: use the form \"127.0.0.1:50051\"",
        ),
        (
            "public_url = \"example.com\"",
            "latimer.toml:1: `public_url` is not a URL\n  hint: start it with https:// or http://",
        ),
        (
            "primary_agent = \"b\"\n[[agents]]\nname = \"a\"\nkind = \"echo\"",
            "latimer.toml:1: `primary_agent`: no agent is named \"b\"\n  hint: configured agents: a",
        ),
        (
            "[[agents]]\nname = \"a\"\nkind = \"echo\"\n[[agents]]\nname = \"a\"\nkind = \"echo\"",
            "latimer.toml:5: there are two agents named \"a\"\n  hint: rename one of them",
        ),
        (
            "[a2a]\nlisten_path = \"a2a\"",
            "latimer.toml:2: `a2a.listen_path`: \"a2a\" is not a plain path\n  hint: use the form \"/a2a\"",
        ),
        (
            "[server]\ntrusted_proxies = [\"proxy\"]",
            "latimer.toml:2: `server.trusted_proxies`: \"proxy\" is not a network\n  hint: use the form \"10.0.0.0/8\"",
        ),
        (
            "[[mcp_servers]]\nname = \"m\"\n[mcp_servers.transport]\ntype = \"stdio\"",
            "latimer.toml:3: `transport` of \"m\" needs `command`",
        ),
        (
            "[[mcp_servers]]\nname = \"m\"\n[mcp_servers.transport]\ntype = \"stdio\"\ncommand = \"../x\"",
            "latimer.toml:3: `command` of \"m\" must not contain `..`",
        ),
        (
            "[a2a]\nlisten_path = \"/a\"\nlistenPath = \"/b\"",
            "latimer.toml:2: duplicate key `listen_path` in `a2a`",
        ),
        ("a = [", "latimer.toml:1: invalid TOML: "),
    ] {
        let error = ConfigFixture::with_config(text).load_error();
        assert!(error.starts_with(want), "{text}\n{error}");
    }
}

#[test]
fn all_errors_are_reported_together() {
    let error = ConfigFixture::with_config("a1 = 1\n[store]\nb2 = 2\n").load_error();
    assert_eq!(error.lines().filter(|it| it.contains("unknown key")).count(), 2, "{error}");
}

#[test]
fn env_vars_are_checked_like_a_file() {
    for (name, want) in [
        (
            "LATIMER__LISTN",
            "environment LATIMER__LISTN: unknown key\n  hint: did you mean LATIMER__LISTEN?",
        ),
        (
            "LATIMER__A2A__ENABLE",
            "environment LATIMER__A2A__ENABLE: unknown key\n  hint: did you mean LATIMER__A2A__ENABLED?",
        ),
        ("LATIMER__A2A", "environment LATIMER__A2A: unknown key"),
        (
            "LATIMER__AGENTS__0__NAME",
            "environment LATIMER__AGENTS__0__NAME: `agents` cannot be set by an environment variable\n  hint: set it in a configuration file",
        ),
        (
            "LATIMER__A2A__ENABLED",
            "environment LATIMER__A2A__ENABLED: `a2a.enabled`: invalid type: string \"x y\", expected a boolean",
        ),
    ] {
        assert_eq!(ConfigFixture::empty().with_env_var(name, "x y").load_error(), want);
    }
}

#[test]
fn named_config_file_must_exist() {
    let error = ConfigFixture::empty().with_env_var("LATIMER_CONFIG", "no/such.toml").load_error();
    assert!(error.starts_with("cannot read no/such.toml: "), "{error}");
}

#[test]
fn agent_table_is_resolved() {
    let text = r#"
        [[agents]]
        name = "shout"
        kind = "command"
        description = "Says it louder"
        version = "2.0"
        output_modes = ["text/markdown"]
        contexts = "queue"
        max_wait = 30
        max_turn = "1h"
        cancel_grace = "1s"
        repeat_window = 0
        direct_replies = true
        command = ["./shout", "-x"]
        input = "json"
        chunk = "\n"
        env = ["LANG"]
        timeout = "30s"
        max_output = "1MiB"
        show_stderr = true

        [[agents.skills]]
        id = "shout"
        tags = ["text"]
    "#;
    let fixture = ConfigFixture::with_config(text);
    let config = fixture.load().unwrap().config;
    let agent = &config.agents[0];
    let default = Policy { record: Record::BeforeStart, ..Policy::default() };
    let policy = agent.policy(&default);
    assert_eq!(policy.context_concurrency, ContextConcurrency::Queue);
    assert_eq!(policy.max_wait, Duration::from_secs(30));
    assert_eq!(policy.turn_timeout, Some(Duration::from_secs(3600)));
    assert_eq!(policy.idempotency_window, Duration::ZERO);
    assert_eq!((policy.direct_replies, policy.record), (true, Record::BeforeStart));
    assert_eq!(AgentSkill::from(&agent.card.skills[0]).name, "shout");
    let AgentKind::Command(command) = &agent.kind else { panic!("{agent:?}") };
    assert_eq!(Path::new(&command.command[0]), fixture.temp_dir.path().join("./shout"));
    assert_eq!(command.input, CommandInput::Json);
    assert!(command.show_stderr && !command.inherit_home);
    assert_eq!((command.max_output.0, command.timeout), (1 << 20, Some(Duration::from_secs(30))));
}

#[test]
fn stream_terminator_is_selected_by_name() {
    for (name, want) in [
        ("none", StreamTerminator::None),
        ("done_event", StreamTerminator::DoneEvent),
        ("done_line", StreamTerminator::DoneLine),
    ] {
        let fixture = ConfigFixture::with_config(&format!("[a2a]\nstream_terminator = \"{name}\""));
        assert_eq!(fixture.load().unwrap().config.settings.stream_terminator, want, "{name}");
    }
    let config = ConfigFixture::empty().load().unwrap().config;
    assert_eq!(config.settings.stream_terminator, StreamTerminator::None);
    let error = ConfigFixture::with_config("[a2a]\nstream_terminator = \"line\"").load_error();
    assert!(error.contains("`none`, `done_event`, `done_line`"), "{error}");
}

#[test]
fn caller_limits_are_configurable_with_server_defaults() {
    let defaults = ConfigFixture::empty().load().unwrap().config.settings;
    assert_eq!((defaults.rate, defaults.limits), (RateLimit::default(), EngineLimits::default()));
    let text = "[limits]\nrate = 60\nburst = 7\nauth_failures = 3\nrate_loopback = true\n\
                max_tasks_per_caller = 4\nmax_streams_per_caller = 5\n\
                [server]\nallowed_hosts = [\"agents.internal\"]\n";
    let configured = ConfigFixture::with_config(text).load().unwrap().config.settings;
    let rate =
        RateLimit { per_minute: 60, burst: 7, auth_failures_per_minute: 3, include_loopback: true };
    assert_eq!(configured.rate, rate);
    assert_eq!(configured.limits.per_caller, CallerLimits { max_tasks: 4, max_streams: 5 });
    assert_eq!(configured.allowed_hosts, ["agents.internal"]);
}

#[tokio::test]
async fn validate_rejects_invalid_server_settings() {
    for (text, want) in [
        (
            "[server]\nallowed_hosts = [\"https://a\"]\n",
            "allowed_hosts: \"https://a\" is not a host",
        ),
        ("[a2a.server]\nallowed_origins = [\"a\"]\n", "allowed_origins: \"a\" is not an origin"),
    ] {
        let config = ConfigFixture::with_config(text).load().unwrap().config;
        let error = validate(&config).await.expect_err(text);
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let message = format!("{error} {}", source.unwrap_or_default());
        assert!(message.contains(want), "{message}");
    }
}

#[test]
fn relative_paths_resolve_against_the_config_file() {
    let fixture = ConfigFixture::with_config("[store]\npath = \"data/tasks.db\"\n");
    let config = fixture.load().unwrap().config;
    let StoreLocation::Sqlite { path, .. } = config.store.location else {
        panic!("expected a SQLite store")
    };
    assert_eq!(path, fixture.temp_dir.path().join("data/tasks.db"));
}

#[test]
fn secrets_are_redacted_in_settings_and_debug() {
    let text = "api_key = \"hush-1\"\n[[a2a.external_agents]]\nname = \"a\"\nurl = \"https://a\"\n\
                auth_token = \"hush-2\"\nheaders = { X-Key = \"hush-3\" }\n";
    let loaded = ConfigFixture::with_config(text).load().unwrap();
    let settings = format!("{:?}", loaded.effective_settings());
    assert!(settings.contains("(hidden)") && !settings.contains("hush"), "{settings}");
    assert!(!format!("{loaded:?}").contains("hush-1"), "debug output contains a secret");
}

#[test]
fn remote_agent_timeout_unit_depends_on_the_table() {
    let text = "[a2a.remote_agents.one]\nurl = \"https://one\"\ntimeout = 60000\n\
                [[a2a.external_agents]]\nname = \"two\"\nurl = \"https://two\"\ntimeout = 60\n\
                [[a2a.external_agents]]\nname = \"three\"\nurl = \"https://three\"\n";
    let config = ConfigFixture::with_config(text).load().unwrap().config;
    let times: Vec<_> =
        config.remote_agents.iter().map(|it| (&*it.name, it.upstream.timeout)).collect();
    let minute = Some(Duration::from_secs(60));
    assert_eq!(times, [("two", minute), ("three", None), ("one", minute)]);
}

#[test]
fn mcp_servers_load_with_a_warning() {
    let text = "[[mcp_servers]]\nname = \"m\"\n[mcp_servers.transport]\ntype = \"sse\"\nurl = \"https://m\"\n";
    let loaded = ConfigFixture::with_config(text).load().unwrap();
    assert_eq!(
        loaded.config.mcp_servers[0].transport,
        McpTransport::Sse { url: "https://m".into() }
    );
    assert_eq!(loaded.config.mcp_servers[0].timeout, Duration::from_secs(30));
    assert!(loaded.warnings[0].to_string().contains("does not connect to MCP servers: m"));
}

#[test]
fn remote_agent_resolves_every_field() {
    let keys = r#"
url = "https://partner.example.com"
card_url = "https://cards.example.com/partner.json"
headers = { X-Team = "blue" }
auth_token_env = "TOKEN"
auth_token_file = "token"
timeout = "60s"
idle_timeout = "30s"
stream = false
tenant = "blue"
binding = "http_json"
signatures = "required"
trusted_keys = ["keys.json"]
"#;
    let oauth = r#"
client_id = "gateway"
client_secret_env = "SECRET"
scopes = ["agents"]
servers = ["https://login.example.com"]
"#;
    let text = format!(
        "[server]\nuser_agent = \"Example/1.0\"\n\
         [[agents]]\nname = \"partner\"\nkind = \"a2a\"\nprotocol_version = \"0.3\"\n\
         hops = 3\nforward_user = true\nenforce_modes = true\n{keys}[agents.oauth]{oauth}\
         [a2a.remote_agents.partner]\nversion = \"0.3\"\n{keys}\
         [a2a.remote_agents.partner.oauth]{oauth}\
         [[a2a.external_agents]]\nname = \"partner\"\nversion = \"0.3\"\n{keys}\
         [a2a.external_agents.oauth]{oauth}"
    );
    let fixture = ConfigFixture::with_config(&text)
        .with_env_var("TOKEN", "t0ken")
        .with_env_var("SECRET", "s3cret");
    let config = fixture.load().unwrap().config;
    let AgentKind::A2a(published) = &config.agents[0].kind else { panic!("{config:?}") };
    assert_eq!((published.hops, published.forward_user), (3, true));
    assert!(
        published.enforce_modes && config.agents[0].policy(&Policy::default()).enforce_input_modes
    );
    assert!(!format!("{config:?}").contains("s3cret"));
    let listed = config.remote_agents.iter().map(|it| &it.upstream);
    for upstream in listed.chain([&published.upstream]) {
        assert_every_field(upstream, fixture.temp_dir.path());
    }
    assert_eq!(config.remote_agents.len(), 2);
    assert_eq!(config.user_agent.as_ref().unwrap(), "Example/1.0");
}

#[test]
fn default_hop_limit_is_that_of_the_runtime() {
    let text = "[[agents]]\nname = \"a\"\nkind = \"a2a\"\nurl = \"https://a\"\n";
    let config = ConfigFixture::with_config(text).load().unwrap().config;
    let AgentKind::A2a(keys) = &config.agents[0].kind else { panic!("{config:?}") };
    assert_eq!(keys.hops, RemoteAgent::DEFAULT_MAX_HOPS);
}

fn assert_every_field(upstream: &Upstream, directory: &Path) {
    assert_eq!(upstream.url.as_str(), "https://partner.example.com");
    let card_url = upstream.card_url.as_ref().map(|it| it.as_str());
    assert_eq!(card_url, Some("https://cards.example.com/partner.json"));
    assert_eq!(upstream.headers["X-Team"].reveal(), "blue");
    assert_eq!(upstream.auth.auth_token.as_ref().map(|it| it.reveal()), Some("t0ken"));
    assert_eq!(upstream.auth.auth_token_file, Some(directory.join("token")));
    assert_eq!(upstream.timeout, Some(Duration::from_secs(60)));
    assert_eq!(upstream.idle_timeout, Duration::from_secs(30));
    assert!(!upstream.stream);
    assert_eq!(upstream.tenant.as_deref(), Some("blue"));
    assert_eq!(upstream.protocol_version, Some(latimer_protocol::Version::V0_3));
    assert_eq!(upstream.binding, Some(Binding::HttpJson));
    assert_eq!(upstream.signatures, SignaturePolicy::Required);
    assert_eq!(upstream.trusted_keys, [directory.join("keys.json")]);
    let oauth = &upstream.oauth;
    assert_eq!(oauth.client_id.as_deref(), Some("gateway"));
    assert_eq!(oauth.client_secret.as_ref().map(|it| it.reveal()), Some("s3cret"));
    assert_eq!(oauth.scopes, ["agents"]);
    assert_eq!(oauth.servers[0].as_str(), "https://login.example.com");
}

#[test]
fn invalid_user_agent_is_rejected() {
    for name in ["", "a\\nb"] {
        let error =
            ConfigFixture::with_config(&format!("[server]\nuser_agent = \"{name}\"")).load_error();
        assert!(error.contains("is not a valid header value"), "{error}");
    }
}

#[test]
fn invalid_remote_agents_are_reported() {
    for (keys, want) in [
        ("", "missing key `url`"),
        (
            "url = \"partner\"",
            "`agents[0].url` is not a URL\n  hint: start it with https:// or http://",
        ),
        (
            "url = \"https://a\"\nprotocol_version = \"7\"",
            "`agents[0].protocol_version`: \"7\" is not an A2A version",
        ),
        ("url = \"https://a\"\nsignatures = \"required\"", "`signatures` needs `trusted_keys`"),
        ("url = \"https://a\"\nhops = -1", "hops"),
        ("url = \"https://a\"\ncommand = [\"a\"]", "`command` belongs to `kind = \"command\"`"),
        ("url = \"https://a\"\n[agents.oauth]\nscopes = [\"a\"]", "`oauth` needs `client_id`"),
        (
            "url = \"https://a\"\n[agents.oauth]\nclient_id = \"a\"\nservers = [\"login.example\"]",
            "`agents[0].oauth.servers[0]` is not a URL",
        ),
    ] {
        let error = ConfigFixture::with_config(&format!(
            "[[agents]]\nname = \"a\"\nkind = \"a2a\"\n{keys}"
        ))
        .load_error();
        assert!(error.contains(want), "{keys}: {error}");
    }
    let error = ConfigFixture::with_config("[[agents]]\nname = \"a\"\nkind = \"echo\"\nhops = 3")
        .load_error();
    assert!(error.contains("`hops` belongs to `kind = \"a2a\"`"), "{error}");
}
