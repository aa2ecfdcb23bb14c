//! Round trips of cards: everything that a format can represent is preserved, and malformed members
//! affect only themselves.

pub(crate) mod arbitrary;
mod malformed;

use latimer_pb::{v0_3, v1};
use latimer_protocol::card::{
    AgentCard, CardFormat, DeviceCodeOAuthFlow, OAuth2SecurityScheme, OAuthFlows, SecurityScheme,
    TransitionHistory,
};
use latimer_protocol::{
    Dialect, GetExtendedAgentCardRequest, InvalidField, Operation, Reply, Request, protobuf,
};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use proptest::sample::Index;
use prost::Message;

use crate::field_coverage::Wire;
use arbitrary::card;

/// Reads a card from the bytes of a message.
fn read<M>(bytes: &[u8]) -> Option<Result<AgentCard, InvalidField>>
where
    M: Message + Default,
    AgentCard: TryFrom<M, Error = InvalidField>,
{
    M::decode(bytes).ok().map(AgentCard::try_from)
}

fn v1_0_bytes(card: &AgentCard) -> Vec<u8> {
    v1::AgentCard::from(card).encode_to_vec()
}

fn v0_3_bytes(card: &AgentCard) -> Vec<u8> {
    protobuf::v0_3_card(card, TransitionHistory::Recorded).encode_to_vec()
}

#[test]
fn v0_3_scheme_with_unknown_flow_is_still_oauth() {
    use v0_3::security_scheme::Scheme;
    let scheme = SecurityScheme::OAuth2(OAuth2SecurityScheme {
        description: None,
        flows: OAuthFlows::DeviceCode(DeviceCodeOAuthFlow::default()),
        oauth2_metadata_url: Some("https://a.example".to_owned()),
    });
    let Some(Scheme::Oauth2SecurityScheme(written)) = v0_3::SecurityScheme::from(&scheme).scheme
    else {
        panic!("unexpected kind of reply");
    };
    assert_eq!(written.oauth2_metadata_url, "https://a.example");
    assert_eq!(written.flows, Some(v0_3::OAuthFlows { flow: None }));
}

#[test]
fn v0_3_card_declares_state_transition_history() {
    for (history, want) in
        [(TransitionHistory::Recorded, true), (TransitionHistory::NotRecorded, false)]
    {
        let written = protobuf::v0_3_card(&AgentCard::default(), history);
        let declared = written.capabilities.map(|it| it.state_transition_history);
        assert_eq!(declared, Some(want), "{history:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cards_round_trip_as_json(card in card()) {
        for (format, dialect) in [
            (CardFormat::V1_0, Dialect::V1_0),
            (CardFormat::Superset(TransitionHistory::Recorded), Dialect::V1_0),
            (CardFormat::V0_3(TransitionHistory::NotRecorded), Dialect::V0_3),
        ] {
            let text = card.to_json(format).to_string();
            let want = Wire::Json(dialect).card(card.clone());
            prop_assert_eq!(AgentCard::read(text.as_bytes()), Ok(want), "{:?} {}", format, text);
        }
    }

    #[test]
    fn cards_round_trip_as_replies(card in card()) {
        let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
        let reply = Reply::Card(Box::new(card.clone()));
        for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto] {
            let written = dialect.write_reply(&request, &reply);
            let read = dialect.read_reply(Operation::GetExtendedAgentCard, std::str::from_utf8(&written).unwrap());
            let Ok(Reply::Card(read)) = read else { panic!("{read:?}") };
            prop_assert_eq!(*read, Wire::Json(dialect).card(card.clone()), "{:?}", dialect);
        }
    }

    #[test]
    fn cards_round_trip_as_protobuf(card in card()) {
        let read_again = read::<v1::AgentCard>(&v1_0_bytes(&card));
        prop_assert_eq!(read_again, Some(Ok(card.clone())));
        let read_again = read::<v0_3::AgentCard>(&v0_3_bytes(&card));
        prop_assert_eq!(read_again, Some(Ok(Wire::V0_3Protobuf.card(card))));
    }

    /// JSON and protobuf of 0.3 lose the same members, except for the additional losses of
    /// protobuf.
    #[test]
    fn v0_3_json_and_protobuf_cards_are_equivalent(card in card()) {
        let json = card.to_json(CardFormat::V0_3(TransitionHistory::Recorded));
        let json = AgentCard::from_json(&json).unwrap();
        let message = read::<v0_3::AgentCard>(&v0_3_bytes(&card)).unwrap().unwrap();
        prop_assert_eq!(message, Wire::V0_3Protobuf.card(json));
    }

    /// A card with one corrupted byte is rejected or can be encoded again.
    #[test]
    fn corrupted_card_message_is_rejected_or_round_trips(card in card(), position in any::<Index>(), byte in any::<u8>()) {
        let mut bytes = v1_0_bytes(&card);
        let byte_index = position.index(bytes.len());
        bytes[byte_index] = byte;
        if let Some(Ok(corrupted)) = read::<v1::AgentCard>(&bytes) {
            let reread = read::<v1::AgentCard>(&v1_0_bytes(&corrupted));
            prop_assert_eq!(reread, Some(Ok(corrupted)));
        }
        let mut bytes = v0_3_bytes(&card);
        let byte_index = position.index(bytes.len());
        bytes[byte_index] = byte;
        if let Some(Ok(corrupted)) = read::<v0_3::AgentCard>(&bytes) {
            let reread = read::<v0_3::AgentCard>(&v0_3_bytes(&corrupted));
            prop_assert_eq!(reread, Some(Ok(Wire::V0_3Protobuf.card(corrupted))));
        }
    }
}
