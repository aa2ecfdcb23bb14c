//! A card that goes through a wire keeps all that the wire can carry, and what is broken in one
//! costs no more than itself.

pub(crate) mod arbitrary;
mod malformed;

use latimer_pb::{v0_3, v1};
use latimer_protocol::card::{
    AgentCard, DeviceCodeOAuthFlow, Form, OAuth2SecurityScheme, OAuthFlows, SecurityScheme,
    TransitionHistory,
};
use latimer_protocol::{
    Dialect, GetExtendedAgentCardRequest, Invalid, Operation, Reply, Request, protobuf,
};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use proptest::sample::Index;
use prost::Message;

use crate::carried::Wire;
use arbitrary::card;

/// Reads a card from the bytes of a message.
fn read<M>(bytes: &[u8]) -> Option<Result<AgentCard, Invalid>>
where
    M: Message + Default,
    AgentCard: TryFrom<M, Error = Invalid>,
{
    M::decode(bytes).ok().map(AgentCard::try_from)
}

fn v1_0_bytes(card: &AgentCard) -> Vec<u8> {
    v1::AgentCard::from(card).encode_to_vec()
}

fn v0_3_bytes(card: &AgentCard) -> Vec<u8> {
    protobuf::v0_3_card(card, TransitionHistory::Kept).encode_to_vec()
}

#[test]
fn a_scheme_whose_flow_0_3_does_not_know_is_still_oauth_to_its_readers() {
    use v0_3::security_scheme::Scheme;
    let scheme = SecurityScheme::OAuth2(OAuth2SecurityScheme {
        description: None,
        flows: OAuthFlows::DeviceCode(DeviceCodeOAuthFlow::default()),
        oauth2_metadata_url: Some("https://a.example".to_owned()),
    });
    let Some(Scheme::Oauth2SecurityScheme(written)) = v0_3::SecurityScheme::from(&scheme).scheme
    else {
        panic!("another kind");
    };
    assert_eq!(written.oauth2_metadata_url, "https://a.example");
    assert_eq!(written.flows, Some(v0_3::OAuthFlows { flow: None }));
}

#[test]
fn a_card_of_0_3_says_whether_states_are_kept() {
    for (history, want) in [(TransitionHistory::Kept, true), (TransitionHistory::NotKept, false)] {
        let written = protobuf::v0_3_card(&AgentCard::default(), history);
        let said = written.capabilities.map(|it| it.state_transition_history);
        assert_eq!(said, Some(want), "{history:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cards_as_json(card in card()) {
        for (form, dialect) in [
            (Form::V1_0, Dialect::V1_0),
            (Form::Superset(TransitionHistory::Kept), Dialect::V1_0),
            (Form::V0_3(TransitionHistory::NotKept), Dialect::V0_3),
        ] {
            let text = card.to_json(form).to_string();
            let want = Wire::Json(dialect).card(card.clone());
            prop_assert_eq!(AgentCard::read(text.as_bytes()), Ok(want), "{:?} {}", form, text);
        }
    }

    #[test]
    fn cards_as_replies(card in card()) {
        let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
        let reply = Reply::Card(Box::new(card.clone()));
        for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto] {
            let written = dialect.write_reply(&request, &reply).unwrap();
            let read = dialect.read_reply(Operation::GetExtendedAgentCard, std::str::from_utf8(&written).unwrap());
            let Ok(Reply::Card(read)) = read else { panic!("{read:?}") };
            prop_assert_eq!(*read, Wire::Json(dialect).card(card.clone()), "{:?}", dialect);
        }
    }

    #[test]
    fn cards_as_protobuf(card in card()) {
        let read_again = read::<v1::AgentCard>(&v1_0_bytes(&card));
        prop_assert_eq!(read_again, Some(Ok(card.clone())));
        let read_again = read::<v0_3::AgentCard>(&v0_3_bytes(&card));
        prop_assert_eq!(read_again, Some(Ok(Wire::V0_3Protobuf.card(card))));
    }

    /// What 0.3 loses, it loses as JSON and as protobuf alike, but for what only protobuf loses.
    #[test]
    fn both_shapes_of_0_3_say_the_same(card in card()) {
        let json = card.to_json(Form::V0_3(TransitionHistory::Kept));
        let json = AgentCard::from_json(&json).unwrap();
        let message = read::<v0_3::AgentCard>(&v0_3_bytes(&card)).unwrap().unwrap();
        prop_assert_eq!(message, Wire::V0_3Protobuf.card(json));
    }

    /// One byte is wrong: there is a card or there is none, and a card can be passed on.
    #[test]
    fn no_message_is_too_strange(card in card(), place in any::<Index>(), byte in any::<u8>()) {
        let mut bytes = v1_0_bytes(&card);
        let place_in_bytes = place.index(bytes.len());
        bytes[place_in_bytes] = byte;
        if let Some(Ok(strange)) = read::<v1::AgentCard>(&bytes) {
            let again = read::<v1::AgentCard>(&v1_0_bytes(&strange));
            prop_assert_eq!(again, Some(Ok(strange)));
        }
        let mut bytes = v0_3_bytes(&card);
        let place_in_bytes = place.index(bytes.len());
        bytes[place_in_bytes] = byte;
        if let Some(Ok(strange)) = read::<v0_3::AgentCard>(&bytes) {
            let again = read::<v0_3::AgentCard>(&v0_3_bytes(&strange));
            prop_assert_eq!(again, Some(Ok(Wire::V0_3Protobuf.card(strange))));
        }
    }
}
