//! Messages of `a2a.v1`. Members that only the Go SDK has are empty or omitted.

use latimer_pb::v0_3;

use crate::sample::{messages, oneofs};

messages! {
    v0_3::Task { id, context_id, status, artifacts, history, metadata }
    v0_3::TaskStatus { state = v0_3::TaskState::Working.into(), update, timestamp }
    v0_3::Part { part, metadata } => part
    v0_3::FilePart { file, mime_type, name } => file
    v0_3::DataPart { data }
    v0_3::Message {
        message_id, context_id, task_id, role = v0_3::Role::Agent.into(), content, metadata,
        extensions, reference_task_ids = Vec::new()
    }
    v0_3::Artifact { artifact_id, name, description, parts, metadata, extensions }
    v0_3::TaskStatusUpdateEvent { task_id, context_id, status, r#final, metadata }
    v0_3::TaskArtifactUpdateEvent { task_id, context_id, artifact, append, last_chunk, metadata }
    v0_3::PushNotificationConfig { id, url, token, authentication }
    v0_3::AuthenticationInfo { schemes, credentials }
    v0_3::TaskPushNotificationConfig { name, push_notification_config }

    v0_3::AgentCard {
        protocol_version, name, description, url, preferred_transport, additional_interfaces,
        provider, version, documentation_url, capabilities, security_schemes, security,
        default_input_modes, default_output_modes, skills, supports_authenticated_extended_card,
        signatures, icon_url
    }
    v0_3::AgentInterface { url, transport }
    v0_3::AgentProvider { url, organization }
    v0_3::AgentCapabilities {
        streaming, push_notifications, extensions, state_transition_history = false
    }
    v0_3::AgentExtension { uri, description, required, params }
    v0_3::AgentSkill { id, name, description, tags, examples, input_modes, output_modes, security }
    v0_3::AgentCardSignature { protected, signature, header }

    v0_3::StringList { list }
    v0_3::Security { schemes }
    v0_3::SecurityScheme { scheme } => scheme
    v0_3::ApiKeySecurityScheme { description, location, name }
    v0_3::HttpAuthSecurityScheme { description, scheme, bearer_format }
    v0_3::OAuth2SecurityScheme { description, flows, oauth2_metadata_url }
    v0_3::OpenIdConnectSecurityScheme { description, open_id_connect_url }
    v0_3::MutualTlsSecurityScheme { description }
    v0_3::OAuthFlows { flow } => flow
    v0_3::AuthorizationCodeOAuthFlow { authorization_url, token_url, refresh_url, scopes }
    v0_3::ClientCredentialsOAuthFlow { token_url, refresh_url, scopes }
    v0_3::ImplicitOAuthFlow { authorization_url, refresh_url, scopes }
    v0_3::PasswordOAuthFlow { token_url, refresh_url, scopes }

    v0_3::SendMessageRequest { request, configuration, metadata }
    v0_3::SendMessageConfiguration {
        accepted_output_modes, push_notification, history_length, blocking
    }
    v0_3::SendMessageResponse { payload } => payload
    v0_3::StreamResponse { payload } => payload
    v0_3::GetTaskRequest { name, history_length }
    v0_3::CancelTaskRequest { name }
    v0_3::TaskSubscriptionRequest { name }
    v0_3::CreateTaskPushNotificationConfigRequest { parent, config_id, config }
    v0_3::GetTaskPushNotificationConfigRequest { name }
    v0_3::DeleteTaskPushNotificationConfigRequest { name }
    v0_3::ListTaskPushNotificationConfigRequest { parent, page_size, page_token }
    v0_3::ListTaskPushNotificationConfigResponse { configs, next_page_token }
    v0_3::GetAgentCardRequest {}
}

oneofs! {
    v0_3::part::Part { Text = "text", File = "file", Data = "data" }
    v0_3::file_part::File { FileWithUri = "file_with_uri", FileWithBytes = "file_with_bytes" }
    v0_3::security_scheme::Scheme {
        ApiKeySecurityScheme = "api_key_security_scheme",
        HttpAuthSecurityScheme = "http_auth_security_scheme",
        Oauth2SecurityScheme = "oauth2_security_scheme",
        OpenIdConnectSecurityScheme = "open_id_connect_security_scheme",
        MtlsSecurityScheme = "mtls_security_scheme"
    }
    v0_3::o_auth_flows::Flow {
        AuthorizationCode = "authorization_code",
        ClientCredentials = "client_credentials",
        Implicit = "implicit",
        Password = "password"
    }
    v0_3::send_message_response::Payload { Task = "task", Msg = "msg" }
    v0_3::stream_response::Payload {
        Task = "task",
        Msg = "msg",
        StatusUpdate = "status_update",
        ArtifactUpdate = "artifact_update"
    }
}
