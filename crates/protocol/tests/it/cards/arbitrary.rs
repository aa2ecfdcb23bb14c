//! Generators of arbitrary cards.

use latimer_protocol::card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, ApiKeySecurityScheme, AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow, HttpAuthSecurityScheme, ImplicitOAuthFlow,
    MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme,
    PasswordOAuthFlow, ProtocolBinding, SecurityRequirement, SecurityScheme,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;

use crate::arbitrary::{metadata, non_empty_text, text};

pub(crate) fn card() -> BoxedStrategy<AgentCard> {
    let texts = (non_empty_text(), text(), text(), of(text()), of(text()));
    let modes = || vec("[a-z]{1,5}/[a-z.+-]{1,5}", 0..3);
    let security = (btree_map(scheme_name(), scheme(), 0..4), vec(requirement(), 0..3));
    let provider =
        (text(), text()).prop_map(|(url, organization)| AgentProvider { url, organization });
    let lists = (vec(interface(), 1..5), vec(skill(), 0..3), vec(signature(), 0..3));
    (texts, of(provider), capabilities(), security, (modes(), modes()), lists)
        .prop_map(|(texts, provider, capabilities, security, modes, lists)| {
            let (name, description, version, documentation_url, icon_url) = texts;
            let (supported_interfaces, skills, signatures) = lists;
            AgentCard {
                name,
                description,
                supported_interfaces,
                provider,
                version,
                documentation_url,
                capabilities,
                security_schemes: security.0,
                security_requirements: security.1,
                default_input_modes: modes.0,
                default_output_modes: modes.1,
                skills,
                signatures,
                icon_url,
            }
        })
        .boxed()
}

/// Generates interfaces with few different URLs, so that some are equal.
fn interface() -> impl Strategy<Value = AgentInterface> {
    let url = prop_oneof![3 => "https://[ab]\\.example", 1 => non_empty_text()];
    let binding = prop_oneof![
        2 => Just(ProtocolBinding::JsonRpc),
        2 => Just(ProtocolBinding::HttpJson),
        2 => Just(ProtocolBinding::Grpc),
        1 => "urn:[a-z]{1,4}".prop_map(ProtocolBinding::Other),
    ];
    let version = select(vec!["1.0", "1.0.1", "0.3", "0.3.0", "0.2.5", "0.1", "2.0", "draft"]);
    (url, binding, of(non_empty_text()), version).prop_map(|(url, binding, tenant, version)| {
        AgentInterface {
            url,
            protocol_binding: binding,
            tenant,
            protocol_version: version.to_owned(),
        }
    })
}

fn capabilities() -> impl Strategy<Value = AgentCapabilities> {
    let flag = || of(any::<bool>());
    let extension = (text(), of(non_empty_text()), any::<bool>(), metadata()).prop_map(
        |(uri, description, required, params)| AgentExtension {
            uri,
            description,
            required,
            params,
        },
    );
    (flag(), flag(), flag(), vec(extension, 0..3)).prop_map(
        |(streaming, push_notifications, extended_agent_card, extensions)| AgentCapabilities {
            streaming,
            push_notifications,
            extensions,
            extended_agent_card,
        },
    )
}

fn skill() -> impl Strategy<Value = AgentSkill> {
    let modes = || vec("[a-z]{1,5}/[a-z.+-]{1,5}", 0..3);
    let texts = (non_empty_text(), non_empty_text(), text());
    (texts, vec(text(), 0..3), vec(text(), 0..3), (modes(), modes()), vec(requirement(), 0..3))
        .prop_map(|((id, name, description), tags, examples, modes, security_requirements)| {
            AgentSkill {
                id,
                name,
                description,
                tags,
                examples,
                input_modes: modes.0,
                output_modes: modes.1,
                security_requirements,
            }
        })
}

fn signature() -> impl Strategy<Value = AgentCardSignature> {
    (non_empty_text(), non_empty_text(), metadata()).prop_map(|(protected, signature, header)| {
        AgentCardSignature { protected, signature, header }
    })
}

/// Generates scheme names, including member names of schemes.
fn scheme_name() -> impl Strategy<Value = String> {
    let special =
        select(vec!["schemes", "list", "type", "security_schemes", "oauth2SecurityScheme"]);
    prop_oneof![3 => text(), 1 => special.prop_map(str::to_owned)]
}

fn requirement() -> impl Strategy<Value = SecurityRequirement> {
    btree_map(scheme_name(), vec(text(), 0..3), 0..3)
        .prop_map(|schemes| SecurityRequirement { schemes })
}

fn scheme() -> BoxedStrategy<SecurityScheme> {
    let description = || of(non_empty_text());
    prop_oneof![
        (description(), non_empty_text(), non_empty_text()).prop_map(
            |(description, location, name)| {
                SecurityScheme::ApiKey(ApiKeySecurityScheme { description, location, name })
            }
        ),
        (description(), non_empty_text(), of(non_empty_text())).prop_map(
            |(description, scheme, bearer_format)| {
                let scheme = HttpAuthSecurityScheme { description, scheme, bearer_format };
                SecurityScheme::HttpAuth(scheme)
            }
        ),
        (description(), flows(), of(non_empty_text())).prop_map(
            |(description, flows, oauth2_metadata_url)| {
                let scheme = OAuth2SecurityScheme { description, flows, oauth2_metadata_url };
                SecurityScheme::OAuth2(scheme)
            }
        ),
        (description(), non_empty_text()).prop_map(|(description, open_id_connect_url)| {
            let scheme = OpenIdConnectSecurityScheme { description, open_id_connect_url };
            SecurityScheme::OpenIdConnect(scheme)
        }),
        description().prop_map(|description| {
            SecurityScheme::MutualTls(MutualTlsSecurityScheme { description })
        }),
    ]
    .boxed()
}

fn flows() -> BoxedStrategy<OAuthFlows> {
    // One SDK uses these two names for oneof fields.
    let scope =
        || prop_oneof![2 => text(), 1 => select(vec!["$case", "value"]).prop_map(str::to_owned)];
    let refresh_and_scopes = move || (of(non_empty_text()), btree_map(scope(), text(), 0..3));
    prop_oneof![
        (non_empty_text(), non_empty_text(), refresh_and_scopes(), any::<bool>()).prop_map(
            |(authorization_url, token_url, (refresh_url, scopes), pkce_required)| {
                OAuthFlows::AuthorizationCode(AuthorizationCodeOAuthFlow {
                    authorization_url,
                    token_url,
                    refresh_url,
                    scopes,
                    pkce_required,
                })
            }
        ),
        (non_empty_text(), refresh_and_scopes()).prop_map(|(token_url, (refresh_url, scopes))| {
            let flow = ClientCredentialsOAuthFlow { token_url, refresh_url, scopes };
            OAuthFlows::ClientCredentials(flow)
        }),
        (text(), refresh_and_scopes()).prop_map(|(authorization_url, (refresh_url, scopes))| {
            OAuthFlows::Implicit(ImplicitOAuthFlow { authorization_url, refresh_url, scopes })
        }),
        (text(), refresh_and_scopes()).prop_map(|(token_url, (refresh_url, scopes))| {
            OAuthFlows::Password(PasswordOAuthFlow { token_url, refresh_url, scopes })
        }),
        (non_empty_text(), non_empty_text(), refresh_and_scopes()).prop_map(
            |(device_authorization_url, token_url, (refresh_url, scopes))| {
                OAuthFlows::DeviceCode(DeviceCodeOAuthFlow {
                    device_authorization_url,
                    token_url,
                    refresh_url,
                    scopes,
                })
            }
        ),
    ]
    .boxed()
}
