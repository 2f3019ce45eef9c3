//! The sending of frames: the frame for which a category has won access, and the end of its exchange.

use hopyard_engine::{Span, Time};

use super::agreement::{State, after, ahead, is_older};
use super::params::{ADDBA_BYTES, BLOCK_ACK_BYTES, BLOCK_ACK_REQUEST_BYTES, BlockAck, QOS_BYTES, WINDOW};
use super::{
    Announcement, Backoff, Category, Content, Control, Current, Edca, Exchange, Frame, FrameKind, Held, Sender, Timing,
};
use crate::address::InterfaceId;
use crate::context::{Action, Context, DropReason};
use crate::mac::dcf::{ACK_BYTES, RTS_BYTES};
use crate::mac::rate_control::Answered;
use crate::packet::PacketId;
use crate::phy::Mode;

/// How long a sender that could not agree on block acknowledgement does not ask again.
const PAUSE: Span = Span::from_millis(200);
/// How long it waits for the response (Linux 6.1, `ADDBA_RESP_INTERVAL`).
const RESPONSE_WITHIN: Span = Span::from_secs(1);

impl Edca {
    /// A category has won access: returns its frame, or the frame that announces it.
    pub(super) fn begin(&mut self, category: Category, timing: &Timing, cx: &mut Context) -> Option<Frame> {
        let (now, limit) = (cx.now, timing.access(category).txop_limit);
        let goes_on = self.holder == category && self.txop_end > now;
        self.holder = category;
        if !goes_on {
            self.txop_end = now + limit;
        }
        let current = self.plan(category, timing, now);
        let exchange = Self::exchange_of(&current, timing);
        if goes_on && now + exchange > self.txop_end {
            self.land(category);
            self.txop_end = Time::ZERO;
            self.draw(category, timing);
            return None;
        }
        self.dress(&current.frame, category, cx);
        self.current = Some(current);
        self.send_current(timing, now)
    }

    /// How long an exchange takes with its announcement.
    fn exchange_of(current: &Current, timing: &Timing) -> Span {
        announcement(current.announced_by, timing) + current.frame.airtime + current.frame.control.duration
    }

    /// Sends the present frame, or the frame that announces it.
    fn send_current(&mut self, timing: &Timing, now: Time) -> Option<Frame> {
        let Current { frame, announced_by, needs_announcement } = self.current.as_ref()?;
        let (dcf, sifs) = (&timing.dcf, timing.params.dcf.sifs);
        let behind = sifs + frame.airtime + frame.control.duration;
        if *needs_announcement && *announced_by == Announcement::CtsToSelf {
            let cts = self.control(FrameKind::Cts, self.interface, behind, dcf.modes.announcing);
            return Some(self.transmit(cts, Exchange::CtsToSelf, dcf.cts, now, timing));
        }
        if *needs_announcement {
            let rts = self.control(FrameKind::Rts, frame.receiver, sifs + dcf.cts + behind, dcf.modes.announcing);
            let wait = dcf.rts + timing.answer_begins(dcf.modes.announcing);
            return Some(self.transmit(rts, Exchange::Rts, wait, now, timing));
        }
        let data = frame.clone();
        let broadcast = data.receiver.is_broadcast();
        let answered = if broadcast { Span::ZERO } else { timing.answer_begins(dcf.answer_to(data.mode).mode) };
        let wait = data.airtime + answered;
        if data.control.is_aggregate() {
            self.counters.aggregates += 1;
            self.counters.mpdus += data.control.mpdus().count() as u64;
            self.counters.mpdus_again += data.control.mpdus().filter(|mpdu| mpdu[0].retry).count() as u64;
        }
        Some(self.transmit(data, Exchange::Data, wait, now, timing))
    }

    /// The frame that a category sends next.
    fn plan(&mut self, category: Category, timing: &Timing, now: Time) -> Current {
        self.ask_for_agreement(category, timing, now);
        let contender = &mut self.contenders[category as usize];
        let first = &mut contender.held[0];
        first.flying = true;
        let held = *first;
        let Held { to, sent, size, content, .. } = held;
        let (modes, params) = (&timing.dcf.modes, &timing.params);
        let header = params.dcf.header.count() as u32;
        let frame = match content {
            Content::Own(kind) => {
                let (bytes, retry) = (size, sent > 0);
                let is_request = matches!(kind, FrameKind::BlockAckRequest { .. });
                let answer = match is_request {
                    true => timing.block_ack(modes.basic),
                    false => timing.dcf.answer_to(modes.basic).airtime,
                };
                let duration = params.dcf.sifs + answer;
                let sequence = self.next_sequence;
                self.next_sequence = if is_request { sequence } else { after(sequence, 1) };
                let control =
                    Control { kind, duration, category: Some(category), sequence, retry, ratio: 0.0, parts: None };
                self.frame(to, bytes, modes.basic, control)
            }
            Content::Packet(packet) if held.session.is_none() && held.series.is_some() => {
                self.whole(packet, &held, category, timing)
            }
            Content::Packet(packet) if to.is_broadcast() => {
                let sequence = self.next_sequence;
                self.next_sequence = after(sequence, 1);
                let control = Control { sequence, ..Control::plain(FrameKind::Data, Span::ZERO) };
                let frame = self.frame(to, header - QOS_BYTES + size, modes.basic, control);
                Frame { packet: Some(packet), kept: false, ..frame }
            }
            Content::Packet(packet) => {
                let frame = self.fill(category, to, timing, now);
                Frame { packet: Some(packet), ..frame }
            }
        };
        let announced_by = match frame.control.kind {
            FrameKind::BlockAckRequest { .. } => Announcement::None,
            FrameKind::Data if !to.is_broadcast() => {
                timing.dcf.announced_by(&self.choice(category, timing), frame.bytes)
            }
            _ => timing.dcf.announcement(frame.mode, frame.bytes, to.is_broadcast()),
        };
        Current { frame, announced_by, needs_announcement: announced_by != Announcement::None }
    }

    pub(super) fn frame(&self, receiver: InterfaceId, bytes: u32, mode: &'static Mode, control: Control) -> Frame {
        Frame::plain((self.interface, receiver), (mode, bytes, mode.airtime(bytes)), control)
    }

    /// The oldest number that is not acknowledged.
    pub(super) fn window_start(&self, category: Category, sender: &Sender) -> u16 {
        let held = self.contenders[category as usize].held.iter().filter_map(|held| held.sequence);
        held.fold(sender.next, |oldest, number| if is_older(number, oldest) { number } else { oldest })
    }

    /// The place of the agreement with a neighbour, which is made if there is none.
    pub(super) fn sender_place(&mut self, category: Category, to: InterfaceId, timing: &Timing) -> usize {
        let place = self.senders.iter().position(|it| it.to == to && it.category == category);
        place.unwrap_or_else(|| {
            let state = match timing.params.block_ack {
                BlockAck::FromStart => State::Open,
                BlockAck::AtFirstFrame => State::None { ask_at: Time::ZERO },
            };
            self.senders.push(Sender { to, category, next: 0, state });
            self.senders.len() - 1
        })
    }

    /// Puts a request for an agreement before the packets of a category, if one is wanted.
    fn ask_for_agreement(&mut self, category: Category, timing: &Timing, now: Time) {
        let first = &self.contenders[category as usize].held[0];
        let (to, is_packet) = (first.to, first.packet().is_some() && first.series.is_none());
        if !is_packet || to.is_broadcast() || !timing.access(category).aggregate || timing.max_ampdu == 0 {
            return;
        }
        let place = self.sender_place(category, to, timing);
        let sender = self.senders[place];
        if matches!(sender.state, State::None { ask_at } if ask_at <= now) {
            let start = self.window_start(category, &sender);
            self.senders[place].state = State::None { ask_at: Time::NEVER };
            let request = FrameKind::AddbaRequest { start };
            self.contenders[category as usize].put_first(request, to, ADDBA_BYTES);
        }
    }

    /// An interframe space has ended: sends the answer that is due, the announced frame, or the next one of the TXOP.
    pub(super) fn after_sifs(&mut self, timing: &Timing, cx: &mut Context) -> Option<Frame> {
        let now = cx.now;
        match self.response.clone() {
            // §10.3.2.7: a CTS is sent only if the NAV is idle; an ACK without regard to it.
            Some(cts) if cts.control.kind == FrameKind::Cts => {
                if self.nav_end() > now {
                    self.response = None;
                    self.proceed(timing, now);
                    return None;
                }
                let params = &timing.params.dcf;
                // Wait for the data frame: the rest of the exchange less its SIFS and ACK.
                let rest = cts.control.duration.saturating_sub(params.sifs + timing.dcf.shortest_ack);
                let wait = cts.airtime + params.max_propagation * 2 + rest;
                Some(self.transmit(cts, Exchange::Cts, wait, now, timing))
            }
            Some(answer) => {
                let wait = answer.airtime;
                Some(self.transmit(answer, Exchange::Answer, wait, now, timing))
            }
            None if self.current.is_some() => self.send_current(timing, now),
            None if !self.contenders[self.holder as usize].held.is_empty() => self.begin(self.holder, timing, cx),
            None => {
                self.txop_end = Time::ZERO;
                self.draw(self.holder, timing);
                None
            }
        }
    }

    fn transmit(&mut self, frame: Frame, exchange: Exchange, wait: Span, now: Time, timing: &Timing) -> Frame {
        self.freeze(timing, now);
        self.exchange = exchange;
        self.timeout = now + wait;
        let broadcast = frame.receiver.is_broadcast();
        match frame.control.kind {
            FrameKind::Rts => self.counters.rts += 1,
            FrameKind::Cts => self.counters.cts += 1,
            FrameKind::Ack => self.counters.acks += 1,
            FrameKind::BlockAck { .. } => self.counters.block_acks += 1,
            FrameKind::BlockAckRequest { .. } => self.counters.block_ack_requests += 1,
            FrameKind::AddbaRequest { .. } | FrameKind::AddbaResponse => {}
            FrameKind::Data if broadcast => self.counters.broadcasts += 1,
            FrameKind::Data => self.counters.data += 1,
        }
        frame
    }

    /// The answer did not come, or the frame needed none and has ended.
    pub(super) fn on_timeout(&mut self, timing: &Timing, cx: &mut Context) {
        match self.exchange {
            Exchange::Rts => {
                self.counters.rts_failures += 1;
                self.fail(timing, cx);
            }
            Exchange::Data if self.current.as_ref().is_some_and(|it| it.frame.receiver.is_broadcast()) => {
                // The medium owns a broadcast packet from its transmission on.
                self.contenders[self.holder as usize].held.retain(|held| !held.flying);
                self.succeed(timing, cx);
            }
            Exchange::Data => {
                self.counters.ack_failures += 1;
                self.fail(timing, cx);
            }
            Exchange::Cts | Exchange::Answer => self.response = None,
            Exchange::CtsToSelf => {
                if let Some(current) = &mut self.current {
                    current.needs_announcement = false;
                }
            }
            Exchange::Idle => {}
        }
        self.proceed(timing, cx.now);
    }

    /// The exchange of the holder failed: try again with a wider window, or give packets back to routing.
    fn fail(&mut self, timing: &Timing, cx: &mut Context) {
        let Some(current) = self.current.take() else { return };
        let (category, params) = (self.holder, &timing.params);
        let contender = &mut self.contenders[category as usize];
        let was_sent = self.exchange == Exchange::Data;
        for held in contender.held.iter_mut().filter(|held| held.flying) {
            held.sent += u32::from(was_sent);
        }
        let first = contender.held.front().copied();
        let series = first.and_then(|held| held.series);
        contender.tries += u32::from(series.is_some());
        let spent_series = series.map(|series| contender.tries >= series.tries());
        // An MPDU under an agreement has its own count, whether it is sent alone or with others.
        let agreed = |it: &Sender| (it.to, it.category, it.state) == (current.frame.receiver, category, State::Open);
        let is_data = current.frame.control.kind == FrameKind::Data;
        let by_mpdu = was_sent && is_data && self.senders.iter().any(agreed);
        let (failures, limit) = match (was_sent, current.announced_by) {
            (true, Announcement::Rts) => (&mut contender.failures.1, params.dcf.long_retry_limit),
            _ => (&mut contender.failures.0, params.dcf.short_retry_limit),
        };
        *failures += 1;
        let is_at_limit = spent_series.unwrap_or(!by_mpdu && *failures >= limit);
        let is_over = match &mut self.rates {
            Some(rates) if was_sent && is_data && spent_series.is_none() => {
                let mpdus = current.frame.control.mpdus().count().max(1) as u32;
                contender.attempt.fail(rates, mpdus, is_at_limit, cx.now).is_none()
            }
            _ => is_at_limit,
        };
        // An MPDU under an agreement is tried again when rate control has come to its end.
        let (spent, most) = (is_over && !by_mpdu, params.mpdu_retry_limit);
        let has_given_up = match first.and_then(|held| held.session) {
            // The first frame of a session ends with its series, and tells of it.
            Some(session) => self.give_up_of_session(category, timing, cx, |held| {
                held.sent >= most || is_over && held.sequence == Some(session.number)
            }),
            None => self.give_up(category, timing, cx, |held| spent || by_mpdu && held.sent >= most),
        };
        let contender = &mut self.contenders[category as usize];
        if has_given_up {
            contender.reset(timing.access(category));
        } else {
            contender.widen(timing.access(category));
            contender.unanswered |= was_sent;
        }
        if is_data && (has_given_up || is_over) {
            self.end_attempt(category, None, cx);
        }
        self.end_exchange(timing, cx);
    }

    /// The exchange of the holder succeeded.
    pub(super) fn succeed(&mut self, timing: &Timing, cx: &mut Context) {
        let category = self.holder;
        self.current = None;
        self.contenders[category as usize].reset(timing.access(category));
        let now = cx.now;
        if !timing.access(category).txop_limit.is_zero() && self.txop_end > now + timing.params.dcf.sifs {
            self.defer = now + timing.params.dcf.sifs;
            self.land(category);
            self.ask_for_packets(category, cx);
        } else {
            self.end_exchange(timing, cx);
        }
    }

    fn end_exchange(&mut self, timing: &Timing, cx: &mut Context) {
        let category = self.holder;
        self.txop_end = Time::ZERO;
        self.land(category);
        self.draw(category, timing);
        self.ask_for_packets(category, cx);
    }

    /// No packet of a category is on the air any more.
    fn land(&mut self, category: Category) {
        self.contenders[category as usize].held.iter_mut().for_each(|held| held.flying = false);
    }

    pub(super) fn ask_for_packets(&self, category: Category, cx: &mut Context) {
        if self.contenders[category as usize].first_packet().is_none() {
            cx.act(Action::MacReady { interface: self.interface });
        }
    }

    /// Gives up those frames of a category's transmission that are spent. Returns whether there were any.
    pub(super) fn give_up(
        &mut self,
        category: Category,
        timing: &Timing,
        cx: &mut Context,
        is_spent: impl Fn(&Held) -> bool,
    ) -> bool {
        let held = std::mem::take(&mut self.contenders[category as usize].held);
        let (spent, left) = held.into_iter().partition::<Vec<_>, _>(|it| it.flying && is_spent(it));
        self.contenders[category as usize].held = left.into();
        for it in &spent {
            match it.content {
                Content::Packet(packet) => self.return_packet(packet, it.to, cx),
                Content::Own(kind) => self.on_own_given_up(kind, it.to, category, cx.now),
            }
        }
        // A station outside does it itself.
        let numbered = spent.iter().find(|it| it.packet().is_some() && it.series.is_none() && it.sequence.is_some());
        if let Some(&Held { to, .. }) = numbered {
            let place = self.sender_place(category, to, timing);
            let sender = self.senders[place];
            if sender.state == State::Open {
                // The receiver must not wait for them.
                let start = self.window_start(category, &sender);
                let request = FrameKind::BlockAckRequest { start };
                self.contenders[category as usize].put_first(request, to, BLOCK_ACK_REQUEST_BYTES);
            }
        }
        !spent.is_empty()
    }

    fn return_packet(&mut self, packet: PacketId, to: InterfaceId, cx: &mut Context) {
        cx.act(Action::LinkFailed { interface: self.interface, packet, to, reason: DropReason::RetryLimit });
        self.counters.given_up += 1;
    }

    fn on_own_given_up(&mut self, kind: FrameKind, to: InterfaceId, category: Category, now: Time) {
        let sender = self.senders.iter_mut().find(|it| it.to == to && it.category == category);
        if let (Some(sender), FrameKind::AddbaRequest { .. } | FrameKind::BlockAckRequest { .. }) = (sender, kind) {
            sender.state = State::None { ask_at: now + PAUSE };
        }
    }

    /// An ACK came for the present frame.
    pub(super) fn on_ack(&mut self, ratio: f32, timing: &Timing, cx: &mut Context) {
        let is_awaited = |it: &Current| {
            !it.frame.control.is_aggregate() && !matches!(it.frame.control.kind, FrameKind::BlockAckRequest { .. })
        };
        let Some(current) = self.current.as_ref().filter(|it| self.exchange == Exchange::Data && is_awaited(it)) else {
            return;
        };
        let is_data = current.frame.control.kind == FrameKind::Data;
        self.timeout = Time::NEVER;
        self.report(self.holder, true, |_| true, cx);
        self.acknowledge(cx, |_| true);
        if is_data {
            self.end_attempt(self.holder, Some(Answered { sent: 1, delivered: 1, ratio }), cx);
        }
        self.succeed(timing, cx);
        self.proceed(timing, cx.now);
    }

    /// A block acknowledgement came for the present frame.
    pub(super) fn on_block_ack(
        &mut self,
        (start, received): (u16, u64),
        ratio: f32,
        timing: &Timing,
        cx: &mut Context,
    ) {
        let Some(control) = self.current.as_ref().map(|it| &it.frame.control) else { return };
        let is_request = matches!(control.kind, FrameKind::BlockAckRequest { .. });
        if self.exchange != Exchange::Data || !(is_request || control.is_aggregate()) {
            return;
        }
        self.timeout = Time::NEVER;
        let has = |number: u16| matches!(ahead(number, start), place @ ..WINDOW if received >> place & 1 == 1);
        let delivered = control.mpdus().filter(|mpdu| has(mpdu[0].sequence)).count() as u32;
        let answered = Answered { sent: control.mpdus().count() as u32, delivered, ratio };
        let arrived = |held: &Held| is_request || held.sequence.is_some_and(has);
        self.report(self.holder, true, arrived, cx);
        self.acknowledge(cx, arrived);
        let category = self.holder;
        for held in self.contenders[category as usize].held.iter_mut().filter(|held| held.flying) {
            held.sent += 1;
        }
        let most = timing.params.mpdu_retry_limit;
        self.give_up(category, timing, cx, |held| held.sent >= most);
        if !is_request {
            self.end_attempt(category, Some(answered), cx);
        }
        self.succeed(timing, cx);
        self.proceed(timing, cx.now);
    }

    /// Those frames of the holder's transmission have arrived.
    fn acknowledge(&mut self, cx: &mut Context, has: impl Fn(&Held) -> bool) {
        let (category, now) = (self.holder, cx.now);
        let senders = &mut self.senders;
        self.contenders[category as usize].held.retain(|held| {
            let arrived = held.flying && has(held);
            match held.content {
                Content::Packet(packet) if arrived => cx.hand_over(packet),
                Content::Own(FrameKind::AddbaRequest { .. }) if arrived => {
                    let asked = senders.iter_mut().find(|it| it.to == held.to && it.category == category);
                    if let Some(sender) = asked.filter(|it| it.state != State::Open) {
                        sender.state = State::None { ask_at: now + RESPONSE_WITHIN };
                    }
                }
                _ => {}
            }
            !arrived
        });
    }

    /// A frame that announces another one, or answers one.
    pub(super) fn control(&self, kind: FrameKind, receiver: InterfaceId, duration: Span, mode: &'static Mode) -> Frame {
        let bytes = match kind {
            FrameKind::Rts => RTS_BYTES,
            FrameKind::BlockAck { .. } => BLOCK_ACK_BYTES,
            _ => ACK_BYTES,
        };
        self.frame(receiver, bytes, mode, Control::plain(kind, duration))
    }

    /// A frame of the MAC itself waits for access before the packets of its category.
    pub(super) fn put_first(
        &mut self,
        kind: FrameKind,
        to: InterfaceId,
        category: Category,
        timing: &Timing,
        now: Time,
    ) {
        let contender = &mut self.contenders[category as usize];
        if !contender.held.iter().any(|held| held.content == Content::Own(kind) && held.to == to) {
            contender.put_first(kind, to, ADDBA_BYTES);
            if contender.backoff == Backoff::None {
                self.contend(category, timing, now);
            }
        }
    }
}

/// How long the announcement of a frame takes, with the spaces behind its frames.
pub(super) fn announcement(by: Announcement, timing: &Timing) -> Span {
    let (dcf, sifs) = (&timing.dcf, timing.params.dcf.sifs);
    match by {
        Announcement::None => Span::ZERO,
        Announcement::CtsToSelf => dcf.cts + sifs,
        Announcement::Rts => dcf.rts + dcf.cts + sifs * 2,
    }
}
