//! A TCP sender whose window or rate is decided outside the simulator.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopyard_engine::{Span, Time};
use hopyard_model::observe::Outcome;
use hopyard_model::transport::congestion::{
    Ack, Answer, CongestionControl, ExternalControl, Loss, Pace, Phase, RecoveryChoice, Timeout, View,
};
use hopyard_model::world::Watch;

/// The quantities of an observation, in order. Times are in seconds, amounts in segments.
pub const OBSERVED: [&str; 14] = [
    "elapsed",
    "round_trip",
    "min_round_trip",
    "srtt",
    "delivered",
    "lost",
    "timeouts",
    "cwnd",
    "ssthresh",
    "flight",
    "hops",
    "signal",
    "limited",
    "repeated",
];

/// When a decision is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decide {
    /// At each acknowledgement outside recovery, each loss and each timeout.
    Event,
    /// At the first acknowledgement of data that was sent after the decision before.
    RoundTrip,
    /// At this time, and then at intervals.
    Every(Time, Span),
}

/// The quantity that a decision sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sets {
    /// The congestion window in segments; with [`Decide::Event`] the threshold too.
    Window,
    /// The rate of payload in bit/s; the window is the receiver's.
    Rate,
}

/// The event that asks for a decision.
#[derive(Clone, Copy, Debug)]
enum Signal {
    Time,
    Ack,
    Loss,
    Timeout,
}

/// What the simulator says to the one who decides.
pub enum Turn {
    /// A decision is due. The observation of each agent follows those of the agents before it.
    Decide(Vec<f64>),
    /// The run has ended, with the last observations.
    Over(Vec<f64>, Box<Outcome>),
    /// The run has failed.
    Failed(String),
}

/// The place where the simulator asks for decisions.
pub struct Gate {
    pub turns: Sender<Turn>,
    /// Only the simulator's thread takes from it.
    pub actions: Mutex<Receiver<Vec<f64>>>,
    pub watch: Arc<Watch>,
    /// What is known of each agent.
    pub desks: Vec<Mutex<Desk>>,
}

impl Gate {
    /// Asks for a decision and waits for it. After nobody decides any more, the run stops soon.
    pub fn ask(&self, observation: Vec<f64>) -> Option<Vec<f64>> {
        let actions = self.actions.lock().unwrap_or_else(PoisonError::into_inner);
        let action = self.turns.send(Turn::Decide(observation)).ok().and_then(|()| actions.recv().ok());
        if action.is_none() {
            self.watch.cancel();
        }
        action
    }

    /// The knowledge of an agent.
    pub fn desk(&self, agent: usize) -> MutexGuard<'_, Desk> {
        // The simulator has one thread, so that nobody waits here.
        self.desks[agent].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The observations of all agents, for a decision that is due at a time.
    pub fn observe(&self, now: Time) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.desks.len() * OBSERVED.len());
        for agent in 0..self.desks.len() {
            self.desk(agent).seen.take(now, Signal::Time, &mut all);
        }
        all
    }
}

/// An agent: its last decision, and what its sender has seen since then.
#[derive(Default)]
pub struct Desk {
    pub seen: Seen,
    /// The value that was decided last.
    pub decided: Option<f64>,
}

/// The observations of a sender since the last decision.
#[derive(Default)]
pub struct Seen {
    since: Time,
    round_trips: f64,
    samples: u32,
    shortest: Option<Span>,
    delivered: f64,
    lost_before: f64,
    timeouts: u32,
    limited: bool,
    repeated: u32,
    view: Option<View>,
}

impl Seen {
    /// Nothing was seen before the flow starts.
    pub const fn begin(&mut self, start: Time) {
        self.since = start;
    }

    /// Puts the observation at the end of a row, and begins the next one.
    fn take(&mut self, now: Time, signal: Signal, row: &mut Vec<f64>) {
        let seconds = |span: Option<Span>| span.map_or(0.0, Span::seconds);
        let mean = if self.samples > 0 { self.round_trips / f64::from(self.samples) } else { 0.0 };
        let view = self.view;
        let of = |value: fn(&View) -> f64| view.as_ref().map_or(0.0, value);
        let lost = of(|view| view.lost);
        row.extend([
            now.max(self.since).since(self.since).seconds(),
            mean,
            seconds(self.shortest),
            seconds(view.and_then(|view| view.srtt)),
            self.delivered,
            lost - self.lost_before,
            f64::from(self.timeouts),
            of(|view| view.cwnd),
            of(|view| view.ssthresh),
            of(|view| view.flight),
            of(|view| f64::from(if view.ack_hops > 0 { view.ack_hops } else { view.hops })),
            f64::from(signal as u8),
            f64::from(u8::from(self.limited)),
            f64::from(self.repeated),
        ]);
        *self =
            Self { since: now.max(self.since), shortest: self.shortest, lost_before: lost, view, ..Self::default() };
    }
}

/// The congestion control of a sender that follows decisions.
pub struct Agent {
    pub gate: Arc<Gate>,
    pub number: usize,
    pub decide: Decide,
    pub sets: Sets,
    pub recovery: RecoveryChoice,
    gap: Span,
    /// When the next decision takes effect.
    next: Time,
    /// The round trip ends when more than this is acknowledged.
    end: u64,
}

impl Agent {
    /// The sender of an agent, by number. It repairs losses as the variant does in whose place it stands.
    pub fn new(gate: Arc<Gate>, number: usize, decide: Decide, sets: Sets, recovery: RecoveryChoice) -> Self {
        let next = match decide {
            Decide::Every(first, _) => first,
            Decide::Event | Decide::RoundTrip => Time::NEVER,
        };
        Self { gate, number, decide, sets, recovery, gap: Span::ZERO, next, end: 0 }
    }

    fn look(&self, view: &View) -> MutexGuard<'_, Desk> {
        let mut desk = self.gate.desk(self.number);
        desk.seen.view = Some(*view);
        desk
    }

    /// Asks for a decision about this event.
    fn ask(&self, signal: Signal, view: &View) -> Option<Vec<f64>> {
        let mut observation = Vec::with_capacity(OBSERVED.len());
        self.gate.desk(self.number).seen.take(view.now, signal, &mut observation);
        let action = self.gate.ask(observation)?;
        self.gate.desk(self.number).decided = action.first().copied();
        Some(action)
    }

    /// The last decision as an answer.
    fn settled(&mut self, view: &View) -> Answer {
        let Some(window) = self.aim(view) else { return Answer::Keep };
        self.set_pace(view);
        Answer::Set { cwnd: window, ssthresh: window }
    }

    /// Spaces segments by the decided rate, if a rate is decided.
    fn set_pace(&mut self, view: &View) {
        let decided = self.gate.desk(self.number).decided;
        if let Some(rate) = decided.filter(|_| self.sets == Sets::Rate) {
            self.gap = Span::from_secs_f64(f64::from(view.segment) * 8.0 / rate);
        }
    }

    /// The window of the last decision.
    fn aim(&self, view: &View) -> Option<f64> {
        let decided = self.gate.desk(self.number).decided?;
        Some(if self.sets == Sets::Window { decided } else { view.advertised })
    }

    /// The answer after an acknowledgement that no decision follows. After a timeout or a pause the window grows back
    /// to the decided one, as in slow start.
    fn grown(&self, ack: &Ack, view: &View) -> Answer {
        match self.aim(view) {
            Some(window) if view.cwnd < window => {
                let cwnd = (view.cwnd + f64::from(ack.segments)).min(window);
                Answer::Set { cwnd, ssthresh: window }
            }
            _ => Answer::Keep,
        }
    }

    /// The answer that is decided at this event. Nothing if losses and timeouts are TCP's.
    fn decided_at(&self, signal: Signal, view: &View) -> Option<Answer> {
        if (self.decide, self.sets) != (Decide::Event, Sets::Window) {
            return None;
        }
        match self.ask(signal, view).as_deref() {
            Some(&[cwnd, ssthresh]) => Some(Answer::Set { cwnd, ssthresh }),
            _ => Some(Answer::Keep),
        }
    }
}

impl CongestionControl for Agent {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        {
            let mut desk = self.look(view);
            desk.seen.delivered += ack.delivered as f64 / f64::from(view.segment);
            desk.seen.limited = ack.window_limited;
            if let Some(round_trip) = ack.round_trip {
                desk.seen.round_trips += round_trip.seconds();
                desk.seen.samples += 1;
                desk.seen.shortest = Some(desk.seen.shortest.map_or(round_trip, |it| it.min(round_trip)));
            }
        }
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        if let Some(answer) = self.decided_at(Signal::Ack, view) {
            return answer;
        }
        match self.decide {
            Decide::RoundTrip if view.una > self.end => {
                self.end = view.next;
                if self.ask(Signal::Ack, view).is_some() { self.settled(view) } else { Answer::Keep }
            }
            Decide::Event => {
                self.ask(Signal::Ack, view);
                self.set_pace(view);
                self.grown(ack, view)
            }
            Decide::RoundTrip | Decide::Every(..) => self.grown(ack, view),
        }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        drop(self.look(view));
        self.decided_at(Signal::Loss, view).unwrap_or(Answer::Keep)
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        {
            let mut desk = self.look(view);
            desk.seen.timeouts += 1;
            desk.seen.repeated = timeout.repeated;
        }
        let ssthresh = self.aim(view).unwrap_or(view.ssthresh).max(2.0);
        self.decided_at(Signal::Timeout, view).unwrap_or(Answer::Set { cwnd: 1.0, ssthresh })
    }

    fn on_timer(&mut self, view: &View) -> Answer {
        drop(self.look(view));
        if let Decide::Every(_, interval) = self.decide {
            while self.next <= view.now {
                self.next += interval;
            }
        }
        self.settled(view)
    }

    fn deadline(&self) -> Time {
        self.next
    }

    fn pace(&self) -> Pace {
        Pace::of(self.gap)
    }

    fn bandwidth(&self) -> Option<f64> {
        let decided = self.gate.desk(self.number).decided;
        decided.filter(|_| self.sets == Sets::Rate).map(|rate| rate / 8.0)
    }

    fn recovery(&self) -> RecoveryChoice {
        self.recovery
    }
}

impl ExternalControl for Agent {}
