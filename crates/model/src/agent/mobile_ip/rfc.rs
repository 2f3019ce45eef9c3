//! A mobile host by RFC 5944.

use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_wire::mobile_ip::{AgentFlags, Code};

use super::host::{Heard, State};
use super::message::{Advertisement, Reply};
use super::params::{MoveDetection, Params, lifetime};
use crate::address::{Address, Prefix};
use crate::context::{Action, Context, MobileChange};

/// The first sequence numbers of an agent; after 65535 comes the number behind them (RFC 5944 §2.3.2).
const FIRST_NUMBERS: u16 = 256;

/// Whether an advertisement comes from an agent that began anew. Its number is then less than the one before, and in
/// the range of the first numbers (RFC 5944 §2.4.4). No agent that goes on has the same number twice, so that an equal
/// one tells it, too.
fn has_restarted(before: u16, now: u16) -> bool {
    now < FIRST_NUMBERS && now <= before
}

/// The host starts: it looks for agents.
pub(super) fn start(host: &mut State, params: &Params, cx: &mut Context, rng: &mut Rng) {
    // At home, a host knows its router without asking.
    host.leave_by(Some(host.home_agent), params, cx);
    host.solicit_wait = params.solicit_retry;
    // RFC 1256 §5.3.2: a random delay of up to a second.
    host.solicit = cx.now + params.solicit_retry.mul_f64(rng.uniform());
    host.jitter = Some(Streams::new(rng.next_u64(), 0).stream("solicitations"));
}

/// An advertisement has come from a neighbour.
pub(super) fn on_advertisement(host: &mut State, it: &Advertisement, params: &Params, cx: &mut Context) {
    let until = lifetime(it.lifetime).map_or(Time::NEVER, |span| cx.now + span);
    let restarted = host.find(it.agent).is_some_and(|heard| has_restarted(heard.last.sequence, it.sequence));
    host.solicit_wait = params.solicit_retry;
    let is_new = host.hear(it, until, cx);
    let current = host.current;
    if current == Some(it.agent) {
        if restarted && !host.is_home(it.agent, cx) {
            // It has forgotten its visitors (§2.3.2).
            register(host, it.agent, params, cx);
        }
        return;
    }
    let other_network = || {
        let current = current.and_then(|agent| host.find(agent));
        let own = current.and_then(|it| Some(Prefix::of(cx.owners.name(it.agent), it.last.prefix_length?)));
        // Without prefixes, only lifetimes count (§2.4.2.2).
        it.prefix_length.is_some() && own.is_some_and(|prefix| !prefix.contains(cx.owners.name(it.agent)))
    };
    let moves = match current {
        None => true,
        // Home is where a host would be (§2.4.3).
        Some(_) if host.is_home(it.agent, cx) => is_new || params.move_detection != MoveDetection::Eager,
        Some(_) => match params.move_detection {
            MoveDetection::Lifetime => false,
            MoveDetection::Prefix => is_new && other_network(),
            MoveDetection::Eager => is_new,
        },
    };
    if moves && is_usable(host, it, cx) {
        enter(host, it.agent, params, cx);
    }
}

/// Whether a host can be registered by way of an agent: it is at home there, or the agent is a foreign one with room.
fn is_usable(host: &State, it: &Advertisement, cx: &Context) -> bool {
    host.is_home(it.agent, cx)
        || (it.flags.contains(AgentFlags::FOREIGN_AGENT)
            && !it.flags.contains(AgentFlags::BUSY)
            && it.care_of.is_some())
}

/// The host is at another agent.
fn enter(host: &mut State, agent: Address, params: &Params, cx: &mut Context) {
    let was_nowhere = host.current.is_none();
    host.move_to(Some(agent), cx);
    let at_home = host.is_home(agent, cx);
    if at_home {
        host.leave_by(Some(agent), params, cx);
        announce(host, cx);
    }
    // A host that has never been away has nothing to end.
    if !at_home || host.registration.is_some() || (!was_nowhere && host.asked.is_some()) || host.was_away {
        register(host, agent, params, cx);
    }
}

/// The neighbours learn that the host answers for its address itself (§4.6).
fn announce(host: &State, cx: &mut Context) {
    let interfaces: Vec<_> = host.sending.interfaces().collect();
    if let Some(&interface) = interfaces.first() {
        cx.act(Action::Announce { interface, address: host.home });
    }
}

fn register(host: &mut State, agent: Address, params: &Params, cx: &mut Context) {
    if let Some(&heard) = host.find(agent) {
        host.was_away |= !host.is_home(agent, cx);
        host.request(&heard, params, cx);
    }
}

/// A reply has come.
pub(super) fn on_reply(host: &mut State, reply: &Reply, params: &Params, cx: &mut Context) {
    let agent = host.asked.map(|asked| asked.agent);
    let Some(code) = host.answered(reply, params, cx) else { return };
    let Some(agent) = agent.filter(|&agent| host.current == Some(agent)) else { return };
    if code.is_accepted() {
        host.leave_by(Some(agent), params, cx);
        if host.is_home(agent, cx) {
            host.was_away = false;
        }
        return;
    }
    let is_first = host.refusals == 1;
    let is_mended = matches!(
        code,
        Code::HA_IDENTIFICATION
            | Code::FA_LIFETIME
            | Code::HA_TOO_MANY_BINDINGS
            | Code::FA_REVERSE_TUNNEL_MANDATORY
            | Code::HA_REVERSE_TUNNEL_MANDATORY
            | Code::FA_DELIVERY_STYLE
    );
    if is_mended && is_first {
        // The reason is known, and the next request has another time, lifetime or flag (§3.6.2.1).
        host.alone |= code == Code::HA_TOO_MANY_BINDINGS;
        return register(host, agent, params, cx);
    }
    if code == Code::FA_RESOURCES {
        // Another agent may have room.
        host.refused_by.push(agent);
        let other = host.heard.iter().find(|it| is_usable(host, &it.last, cx) && !host.refused_by.contains(&it.agent));
        if let Some(agent) = other.map(|it| it.agent) {
            return enter(host, agent, params, cx);
        }
    }
    host.retry = cx.now + back_off(host.refusals, params);
}

/// How long a host waits after so many refusals: as between requests without a reply (§3.6.3).
fn back_off(refusals: u32, params: &Params) -> Span {
    let doubled =
        (1..refusals).take(32).fold(params.request_retry, |wait, _| (wait * 2).min(params.request_retry_most));
    doubled.min(params.request_retry_most)
}

/// Whether a registration can be renewed: no request is under way, an agent is there, and none has just refused.
fn may_renew(host: &State) -> bool {
    host.asked.is_none() && host.current.is_some() && host.retry == Time::NEVER
}

/// Deadlines.
pub(super) fn deadline(host: &State) -> Time {
    let heard = host.heard.iter().map(|it| it.until).min().unwrap_or(Time::NEVER);
    let asked = host.asked.map_or(Time::NEVER, |it| it.again);
    let registration =
        host.registration.map_or(Time::NEVER, |it| if may_renew(host) { it.until.min(it.renew) } else { it.until });
    heard.min(asked).min(registration).min(host.solicit).min(host.retry)
}

/// A deadline is reached.
pub(super) fn on_timer(host: &mut State, params: &Params, cx: &mut Context) {
    let now = cx.now;
    if host.forget(|it| it.until <= now, cx) {
        // Another agent that is heard, or none (§2.4.2.1).
        let other: Option<Heard> = host.heard.iter().copied().find(|it| is_usable(host, &it.last, cx));
        match other {
            Some(other) => enter(host, other.agent, params, cx),
            None => {
                host.move_to(None, cx);
                host.leave_by(None, params, cx);
                host.solicit_now(params, cx);
            }
        }
    }
    if let Some(it) = host.registration
        && it.until <= now
    {
        host.registration = None;
        host.sending.tell(host.home, MobileChange::Expired { care_of: it.care_of }, cx);
        if !host.current.is_some_and(|agent| host.is_home(agent, cx)) {
            host.leave_by(None, params, cx);
        }
        if let Some(agent) = host.current.filter(|_| may_renew(host)) {
            register(host, agent, params, cx);
        }
    } else if host.registration.is_some_and(|it| it.renew <= now)
        && may_renew(host)
        && let Some(agent) = host.current
    {
        register(host, agent, params, cx);
    }
    if host.retry <= now {
        host.retry = Time::NEVER;
        host.refused_by.clear();
        let is_due = |agent: Address| host.registration.is_none_or(|it| it.agent != agent || it.renew <= now);
        if let Some(agent) = host.current.filter(|&agent| host.asked.is_none() && is_due(agent)) {
            register(host, agent, params, cx);
        }
    }
    if let Some(asked) = host.asked
        && asked.again <= now
    {
        if host.current == Some(asked.agent) {
            register(host, asked.agent, params, cx);
        } else {
            host.asked = None;
        }
    }
    if host.solicit <= now {
        if host.current.is_none() { host.solicit_now(params, cx) } else { host.stop_soliciting() }
    }
}
