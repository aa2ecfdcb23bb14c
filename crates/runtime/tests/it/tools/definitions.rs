//! Tests of tool definitions and cards built from them.

use latimer_protocol::card::{Manifest, build_agent_card};
use latimer_runtime::tools::{AgentTool, NETWORK_FETCH, Tool, Toolbox};
use serde_json::json;

use super::{VERSIONS, call_with_text, tool, toolbox};
use crate::remote::{short_timeouts, start_demo};

#[test]
fn agent_tool_definition_has_expected_json() {
    let tool = AgentTool::new("partner", "https://partner.example.com");
    let actual = serde_json::to_value(tool.definition()).unwrap();
    let want = json!({
        "name": "a2a_partner",
        "description": "Asks the agent partner",
        "inputSchema": {
            "type": "object",
            "properties": {
                "message": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Message to the agent",
                },
                "contextId": {
                    "type": "string",
                    "description": "The contextId of an earlier result, to continue that \
                        conversation or to answer its question",
                },
            },
            "required": ["message"],
            "additionalProperties": false,
        },
        "capabilities": ["network:fetch"],
    });
    assert_eq!(actual, want);
}

#[test]
fn tool_name_is_sanitized_and_truncated() {
    let long = "x".repeat(100);
    for (name, want) in [
        ("Code-Reviewer_2", "a2a_Code-Reviewer_2"),
        ("weather.oslo/é now", "a2a_weather_oslo___now"),
        ("a2a_x", "a2a_a2a_x"),
        (&long, &format!("a2a_{}", "x".repeat(60))),
    ] {
        let tool = AgentTool::new(name, "https://partner.example.com");
        assert_eq!(tool.definition().name, want, "{name}");
    }
}

#[tokio::test]
async fn definition_uses_card_once_connected() {
    let demo = start_demo().await;
    let url = format!("http://{}", demo.address());
    let connected = AgentTool::new("partner", &url).configure_client(short_timeouts);
    connected.connect().await.unwrap();
    let tools = toolbox(AgentTool::new("partner", &url).configure_client(short_timeouts));
    assert_eq!(tools.definitions()[0].description, "Asks the agent partner");
    call_with_text(&tools, "hello").await.unwrap();
    for description in
        [connected.definition().description, tools.definitions().remove(0).description]
    {
        let prefix = "Asks the agent demo: Reaches every state of a task on request. Its skills: ";
        assert!(description.starts_with(prefix), "{description}");
        assert!(description.contains("chunks"), "{description}");
    }
}

#[test]
fn card_is_built_from_toolbox_manifest() {
    let tools = toolbox(AgentTool::new("partner", "https://partner.example.com"));
    let card = build_agent_card(&Manifest { tools: tools.manifest(), ..Manifest::default() });
    let [skill] = card.skills.as_slice() else { panic!("{:?}", card.skills) };
    assert_eq!((&*skill.id, &*skill.name), ("a2a_partner", "A2a Partner"));
    assert_eq!(skill.description, "Asks the agent partner");
    assert_eq!(skill.tags, [NETWORK_FETCH]);
}

#[test]
fn duplicate_tool_name_is_rejected() {
    let address = "127.0.0.1:9".parse().unwrap();
    let tools = Toolbox::new().with_tool(tool("a.b", address, &VERSIONS[0])).unwrap();
    let error = tools.with_tool(tool("a/b", address, &VERSIONS[0])).unwrap_err();
    let want = "two tools are named a2a_a_b: rename one of them";
    assert_eq!(error.to_string(), want);
}
