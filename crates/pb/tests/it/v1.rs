//! Messages of `lf.a2a.v1`.

use latimer_pb::v1;

use crate::sample::{messages, oneofs};

messages! {
    v1::Task { id, context_id, status, artifacts, history, metadata }
    v1::TaskStatus { state = v1::TaskState::Working.into(), message, timestamp }
    v1::Part { content, metadata, filename, media_type } => content
    v1::Message {
        message_id, context_id, task_id, role = v1::Role::Agent.into(), parts, metadata, extensions,
        reference_task_ids
    }
    v1::Artifact { artifact_id, name, description, parts, metadata, extensions }
    v1::TaskStatusUpdateEvent { task_id, context_id, status, metadata }
    v1::TaskArtifactUpdateEvent { task_id, context_id, artifact, append, last_chunk, metadata }
    v1::AuthenticationInfo { scheme, credentials }
    v1::TaskPushNotificationConfig { tenant, id, task_id, url, token, authentication }

    v1::AgentCard {
        name, description, supported_interfaces, provider, version, documentation_url, capabilities,
        security_schemes, security_requirements, default_input_modes, default_output_modes, skills,
        signatures, icon_url
    }
    v1::AgentInterface { url, protocol_binding, tenant, protocol_version }
    v1::AgentProvider { url, organization }
    v1::AgentCapabilities { streaming, push_notifications, extensions, extended_agent_card }
    v1::AgentExtension { uri, description, required, params }
    v1::AgentSkill {
        id, name, description, tags, examples, input_modes, output_modes, security_requirements
    }
    v1::AgentCardSignature { protected, signature, header }

    v1::StringList { list }
    v1::SecurityRequirement { schemes }
    v1::SecurityScheme { scheme } => scheme
    v1::ApiKeySecurityScheme { description, location, name }
    v1::HttpAuthSecurityScheme { description, scheme, bearer_format }
    v1::OAuth2SecurityScheme { description, flows, oauth2_metadata_url }
    v1::OpenIdConnectSecurityScheme { description, open_id_connect_url }
    v1::MutualTlsSecurityScheme { description }
    v1::OAuthFlows { flow } => flow
    v1::AuthorizationCodeOAuthFlow {
        authorization_url, token_url, refresh_url, scopes, pkce_required
    }
    v1::ClientCredentialsOAuthFlow { token_url, refresh_url, scopes }
    v1::ImplicitOAuthFlow { authorization_url, refresh_url, scopes }
    v1::PasswordOAuthFlow { token_url, refresh_url, scopes }
    v1::DeviceCodeOAuthFlow { device_authorization_url, token_url, refresh_url, scopes }

    v1::SendMessageRequest { tenant, message, configuration, metadata }
    v1::SendMessageConfiguration {
        accepted_output_modes, task_push_notification_config, history_length, return_immediately
    }
    v1::SendMessageResponse { payload } => payload
    v1::StreamResponse { payload } => payload
    v1::GetTaskRequest { tenant, id, history_length }
    v1::ListTasksRequest {
        tenant, context_id, status = v1::TaskState::Working.into(), page_size, page_token,
        history_length, status_timestamp_after, include_artifacts
    }
    v1::ListTasksResponse { tasks, next_page_token, page_size, total_size }
    v1::CancelTaskRequest { tenant, id, metadata }
    v1::SubscribeToTaskRequest { tenant, id }
    v1::GetTaskPushNotificationConfigRequest { tenant, task_id, id }
    v1::DeleteTaskPushNotificationConfigRequest { tenant, task_id, id }
    v1::ListTaskPushNotificationConfigsRequest { tenant, task_id, page_size, page_token }
    v1::ListTaskPushNotificationConfigsResponse { configs, next_page_token }
    v1::GetExtendedAgentCardRequest { tenant }
}

oneofs! {
    v1::part::Content { Text = "text", Raw = "raw", Url = "url", Data = "data" }
    v1::security_scheme::Scheme {
        ApiKeySecurityScheme = "api_key_security_scheme",
        HttpAuthSecurityScheme = "http_auth_security_scheme",
        Oauth2SecurityScheme = "oauth2_security_scheme",
        OpenIdConnectSecurityScheme = "open_id_connect_security_scheme",
        MtlsSecurityScheme = "mtls_security_scheme"
    }
    v1::o_auth_flows::Flow {
        AuthorizationCode = "authorization_code",
        ClientCredentials = "client_credentials",
        Implicit = "implicit",
        Password = "password",
        DeviceCode = "device_code"
    }
    v1::send_message_response::Payload { Task = "task", Message = "message" }
    v1::stream_response::Payload {
        Task = "task",
        Message = "message",
        StatusUpdate = "status_update",
        ArtifactUpdate = "artifact_update"
    }
}
