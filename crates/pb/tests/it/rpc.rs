//! Messages of `google.rpc`.

use latimer_pb::rpc;

crate::sample::messages! {
    rpc::Status { code, message, details }
    rpc::ErrorInfo { reason, domain, metadata }
    rpc::RetryInfo { retry_delay }
    rpc::BadRequest { field_violations }
    rpc::bad_request::FieldViolation { field, description, reason, localized_message }
    rpc::LocalizedMessage { locale, message }
}
