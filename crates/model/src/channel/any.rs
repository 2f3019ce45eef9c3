//! A channel of any kind: one variant for each MAC of the registry.

use hopyard_engine::{Queue, Rank, Span, Streams, Time};

use super::energy::Load;
use super::{Channel, ChannelId, ChannelModels, Scheduled, Station, StationView, Surroundings, Takes};
use crate::address::InterfaceId;
use crate::context::{Context, Slots};
use crate::mac::rate_control::Belief;
use crate::mac::{self, Outgoing};
use crate::mobility::{Leg, Position};
use crate::observe::Probe;
use crate::packet::PacketId;
use crate::phy::medium::{TransmissionId, Walk};

macro_rules! any_channel {
    ($($name:literal => $module:ident :: $variant:ident $(| $kind:ident < $procedure:ident >)*, $summary:literal;)+) => {
        /// A channel of any kind.
        #[derive(Debug)]
        pub enum AnyChannel {
            $(
                #[doc = $summary] $variant(Box<Channel<mac::$module::$variant>>),
                $(#[doc = $summary] $kind(Box<Channel<mac::$module::$variant<mac::$module::$procedure>>>),)*
            )+
        }

        impl AnyChannel {
            /// A silent channel.
            #[must_use]
            pub fn new(id: ChannelId, plan: &ChannelModels<'_>, stations: Vec<Station>, streams: &Streams) -> Self {
                match plan.mac {
                    $(
                        $(mac::Config::$variant(params)
                            if <mac::$module::$variant<mac::$module::$procedure>>::follows(params) =>
                            Self::$kind(Box::new(Channel::new(id, plan, &**params, stations, streams))),)*
                        mac::Config::$variant(params) =>
                            Self::$variant(Box::new(Channel::new(id, plan, &**params, stations, streams))),
                    )+
                }
            }
        }

        /// Calls a function of the channel, whatever its kind.
        macro_rules! each {
            ($any:expr, $channel:ident => $call:expr) => {
                match $any {
                    $(
                        AnyChannel::$variant($channel) => $call,
                        $(AnyChannel::$kind($channel) => $call,)*
                    )+
                }
            };
        }
    };
}
mac::macs!(any_channel);

impl AnyChannel {
    /// See [`Channel::serve`].
    #[inline]
    pub fn serve<E: Copy>(
        &mut self,
        station: usize,
        cx: &mut Context,
        queue: &mut Queue<E>,
        next_frame: impl FnMut(&mut Context, Option<Takes<'_>>) -> Option<Outgoing>,
    ) {
        each!(self, channel => channel.serve(station, cx, queue, next_frame));
    }

    /// See [`Channel::gathers`].
    #[inline]
    #[must_use]
    pub fn gathers(&self) -> bool {
        each!(self, channel => channel.gathers())
    }

    /// See [`Channel::assign`].
    pub fn assign<E: Copy>(&mut self, station: usize, slots: &Slots, cx: &mut Context, queue: &mut Queue<E>) {
        each!(self, channel => channel.assign(station, slots, cx, queue));
    }

    /// See [`Channel::next_look`].
    #[must_use]
    pub fn next_look(&self, before: Option<Time>) -> Option<Time> {
        each!(self, channel => channel.next_look(before))
    }

    /// See [`Channel::look`].
    pub fn look<E: Copy>(&mut self, cx: &mut Context, queue: &mut Queue<E>) -> Vec<InterfaceId> {
        each!(self, channel => channel.look(cx, queue))
    }

    /// See [`Channel::on_timer`].
    #[inline]
    pub fn on_timer<E: From<Scheduled> + Copy, P: Probe>(&mut self, station: usize, around: Surroundings<'_, E, P>) {
        each!(self, channel => channel.on_timer(station, around));
    }

    /// See [`Channel::radiate`].
    pub fn radiate<E: From<Scheduled> + Copy, P: Probe>(
        &mut self,
        station: usize,
        length: Span,
        around: Surroundings<'_, E, P>,
    ) {
        each!(self, channel => channel.radiate(station, length, around));
    }

    /// See [`Channel::arm`].
    #[inline]
    pub fn arm<E: Copy>(&mut self, station: usize, now: Time, queue: &mut Queue<E>) {
        each!(self, channel => channel.arm(station, now, queue));
    }

    /// See [`Channel::walk`].
    #[inline(always)]
    pub fn walk<E: From<Scheduled> + Copy, P: Probe>(
        &mut self,
        id: TransmissionId,
        around: Surroundings<'_, E, P>,
    ) -> Walk {
        each!(self, channel => channel.walk::<E, P>(id, around))
    }

    /// See [`Channel::next_edge`].
    #[must_use]
    pub fn next_edge(&self, id: TransmissionId) -> (Time, Rank) {
        each!(self, channel => channel.next_edge(id))
    }

    /// See [`Channel::listen`].
    pub fn listen(&mut self, station: usize) {
        each!(self, channel => channel.listen(station));
    }

    /// See [`Channel::set_leg`].
    pub fn set_leg(&mut self, station: usize, leg: Leg) {
        each!(self, channel => channel.set_leg(station, leg));
    }

    /// See [`Channel::range`].
    #[must_use]
    pub fn range(&self) -> Option<f64> {
        each!(self, channel => channel.range())
    }

    /// See [`Channel::belief`].
    #[must_use]
    pub fn belief(&self, station: usize, to: InterfaceId) -> Option<Belief> {
        each!(self, channel => channel.belief(station, to))
    }

    /// See [`Channel::position`].
    #[must_use]
    pub fn position(&self, station: usize, now: Time) -> Position {
        each!(self, channel => channel.position(station, now))
    }

    /// See [`Channel::reaches`].
    #[must_use]
    pub fn reaches(&self, a: usize, b: usize, now: Time) -> bool {
        each!(self, channel => channel.reaches(a, b, now))
    }

    /// See [`Channel::in_range`].
    pub fn in_range(&mut self, station: usize, now: Time) -> Vec<InterfaceId> {
        each!(self, channel => channel.in_range(station, now))
    }

    /// See [`Channel::expect_sleep`].
    pub fn expect_sleep(&mut self, station: usize) {
        each!(self, channel => channel.expect_sleep(station));
    }

    /// See [`Channel::sends_until`].
    #[must_use]
    pub fn sends_until(&self, station: usize) -> Time {
        each!(self, channel => channel.sends_until(station))
    }

    /// See [`Channel::sleep`].
    pub fn sleep<E: Copy>(&mut self, station: usize, until: Time, now: Time, queue: &mut Queue<E>) {
        each!(self, channel => channel.sleep(station, until, now, queue));
    }

    /// See [`Channel::load`].
    pub fn load(&mut self, station: usize, watched: Option<bool>, now: Time) -> Option<Load> {
        each!(self, channel => channel.load(station, watched, now))
    }

    /// See [`Channel::switch_off`].
    pub fn switch_off(&mut self, station: usize, now: Time) -> Vec<PacketId> {
        each!(self, channel => channel.switch_off(station, now))
    }

    /// See [`Channel::station`].
    #[must_use]
    pub fn station(&self, station: usize, now: Time) -> StationView {
        each!(self, channel => channel.station(station, now))
    }

    /// See [`Channel::frames`].
    #[must_use]
    pub fn frames(&self) -> u64 {
        each!(self, channel => channel.frames())
    }

    /// See [`Channel::edges`].
    #[must_use]
    pub fn edges(&self) -> u64 {
        each!(self, channel => channel.edges())
    }

    /// See [`Channel::held`].
    #[must_use]
    pub fn held(&self) -> Vec<PacketId> {
        each!(self, channel => channel.held())
    }
}
