//! What tools say about themselves.

use latimer_protocol::card::{Manifest, build_agent_card};
use latimer_runtime::tools::{AgentTool, NETWORK_FETCH, Tool, Toolbox};
use serde_json::json;

use super::{VERSIONS, say, tool, toolbox};
use crate::remote::{demo, hasty};

#[test]
fn an_agent_is_defined_as_models_are_told_of_tools() {
    let tool = AgentTool::new("partner", "https://partner.example.com");
    let told = serde_json::to_value(tool.definition()).unwrap();
    let want = json!({
        "name": "a2a_partner",
        "description": "Asks the agent partner",
        "inputSchema": {
            "type": "object",
            "properties": {
                "message": {
                    "type": "string",
                    "minLength": 1,
                    "description": "What to say to the agent",
                },
                "contextId": {
                    "type": "string",
                    "description": "The contextId of an earlier result, to go on with that \
                        conversation or to answer its question",
                },
            },
            "required": ["message"],
            "additionalProperties": false,
        },
        "capabilities": ["network:fetch"],
    });
    assert_eq!(told, want);
}

#[test]
fn a_name_is_one_that_every_model_takes() {
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
async fn a_definition_says_what_the_card_says_once_it_is_known() {
    let demo = demo().await;
    let url = format!("http://{}", demo.address());
    let connected = AgentTool::new("partner", &url).client(hasty);
    connected.connect().await.unwrap();
    let tools = toolbox(AgentTool::new("partner", &url).client(hasty));
    assert_eq!(tools.definitions()[0].description, "Asks the agent partner");
    say(&tools, "hello").await.unwrap();
    for described in [connected.definition().description, tools.definitions().remove(0).description]
    {
        let begin = "Asks the agent demo: Reaches every state of a task on request. Its skills: ";
        assert!(described.starts_with(begin), "{described}");
        assert!(described.contains("chunks"), "{described}");
    }
}

#[test]
fn a_card_is_made_of_a_toolbox() {
    let tools = toolbox(AgentTool::new("partner", "https://partner.example.com"));
    let card = build_agent_card(&Manifest { tools: tools.manifest(), ..Manifest::default() });
    let [skill] = card.skills.as_slice() else { panic!("{:?}", card.skills) };
    assert_eq!((&*skill.id, &*skill.name), ("a2a_partner", "A2a Partner"));
    assert_eq!(skill.description, "Asks the agent partner");
    assert_eq!(skill.tags, [NETWORK_FETCH]);
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let address = "127.0.0.1:9".parse().unwrap();
    let tools = Toolbox::new().with(tool("a.b", address, &VERSIONS[0])).unwrap();
    let refused = tools.with(tool("a/b", address, &VERSIONS[0])).unwrap_err();
    let want = "there are two tools of the name a2a_a_b: give one of them another";
    assert_eq!(refused.to_string(), want);
}
