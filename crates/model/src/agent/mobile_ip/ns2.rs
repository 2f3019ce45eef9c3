//! A mobile host as in ns-2.35 (read for the facts: `mobile/mip-reg.cc`).
//!
//! The host attaches to each new agent that it hears. It registers again at each advertisement of that agent, at
//! home too. Once in a beacon interval it looks for agents that were silent for a beacon interval. Without an agent it
//! solicits.

use hopyard_engine::Time;

use super::host::{Heard, State};
use super::message::{Advertisement, Reply};
use super::params::Params;
use crate::context::Context;

/// The host starts: it looks at its list at every beacon interval.
pub(super) fn start(host: &mut State, params: &Params, cx: &Context) {
    host.check = cx.now + params.beacon;
}

/// An advertisement has come.
pub(super) fn on_advertisement(host: &mut State, it: &Advertisement, params: &Params, cx: &mut Context) {
    let is_new = host.hear(it, cx.now + params.beacon, cx);
    if is_new {
        host.move_to(Some(it.agent), cx);
        // A packet for another network goes towards this base station from now on; towards one that was heard before,
        // and with which the host registers again, only when it is heard anew.
        if !host.sending.is_by_wire(it.agent, cx) {
            host.leave_by(Some(it.agent), params, cx);
        }
    }
    if host.current == Some(it.agent) {
        register(host, params, cx);
    }
}

/// Registers with the current agent, or with the agent heard last; without one, it solicits.
fn register(host: &mut State, params: &Params, cx: &mut Context) {
    host.asked = None;
    let Some(newest) = host.heard.first().map(|it| it.agent) else { return host.solicit_now(params, cx) };
    if host.current.is_none() {
        host.move_to(Some(newest), cx);
    }
    let current = host.current.unwrap_or(newest);
    let Some(heard) = host.find(current).copied() else { return };
    host.request(&heard, params, cx);
}

/// A reply has come.
pub(super) fn on_reply(host: &mut State, reply: &Reply, params: &Params, cx: &mut Context) {
    let agent = host.asked.map(|asked| asked.agent);
    let is_accepted = host.answered(reply, params, cx).is_some_and(|code| code.is_accepted());
    // By wire, the agent is the router once it has answered.
    if is_accepted && agent.is_some_and(|agent| host.sending.is_by_wire(agent, cx)) {
        host.leave_by(agent, params, cx);
    }
}

pub(super) fn deadline(host: &State) -> Time {
    let tries = host.asked.map_or(Time::NEVER, |it| it.again).min(host.solicit);
    tries.min(host.check).min(host.sending.deadline())
}

pub(super) fn on_timer(host: &mut State, params: &Params, cx: &mut Context) {
    let now = cx.now;
    host.sending.on_timer(cx);
    if host.check <= now {
        host.check = now + params.beacon;
        let is_over = |it: &Heard| it.until < now;
        if host.forget(is_over, cx) {
            host.move_to(None, cx);
            register(host, params, cx);
        }
    }
    if host.asked.is_some_and(|it| it.again <= now) || host.solicit <= now {
        register(host, params, cx);
    }
}
