//! Generated protobuf.
