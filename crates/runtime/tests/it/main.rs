//! Agents as callers see them: through the engine.

mod command;
mod demo;
mod echo;
mod house;
