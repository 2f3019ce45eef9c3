//! The native part of `hopyard.CongestionControl`: the values that a class may read of its connection, and the values
//! that it may set. The arguments of events are simple objects.

use hopyard_engine::{Span, Time};
use hopyard_model::transport::congestion::{self, Answer, NetworkEvent, Phase, Restore, View};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The stage of an instance, which decides its allowed actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No event is being handled.
    Outside,
    /// An event in which all values may be set.
    Event,
    /// `on_sent`, in which windows cannot be set.
    Told,
}

/// The native part of an instance: the state of its connection, and the values that it has set during an event.
#[pyclass(subclass, module = "hopyard._core")]
#[derive(Debug)]
pub struct ControllerState {
    view: Option<View>,
    stage: Stage,
    /// The current windows, or the windows that this event has set.
    cwnd: f64,
    ssthresh: f64,
    windows_set: bool,
    rto_factor: Option<f64>,
    probe: Option<(Span, Restore)>,
    thawed: bool,
    pub deadline: Time,
    pub gap: Span,
    pub bandwidth: Option<f64>,
    /// Whether it sends less than it could.
    ///
    /// Rate samples then count as application limited.
    #[pyo3(get, set)]
    pub limits_itself: bool,
}

impl ControllerState {
    /// Starts an event.
    pub fn begin(&mut self, view: &View, stage: Stage) {
        self.view = Some(*view);
        self.stage = stage;
        (self.cwnd, self.ssthresh) = (view.cwnd, view.ssthresh);
        (self.windows_set, self.thawed) = (false, false);
        (self.rto_factor, self.probe) = (None, None);
    }

    /// Ends an event and returns the answer.
    pub fn end(&mut self) -> Answer {
        self.stage = Stage::Outside;
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        match (self.probe, self.rto_factor) {
            (Some((probe, restore)), _) => Answer::Freeze { probe, restore },
            (None, Some(rto)) => Answer::Rescale { cwnd, ssthresh, rto },
            (None, None) if self.thawed => Answer::Thaw,
            (None, None) if self.windows_set => Answer::Set { cwnd, ssthresh },
            (None, None) => Answer::Keep,
        }
    }

    fn view(&self) -> PyResult<&View> {
        self.view
            .as_ref()
            .ok_or_else(|| PyRuntimeError::new_err("nothing is known of a connection before its first event"))
    }

    /// Checks that an action that becomes an answer is allowed now.
    fn may(&self, what: &str) -> PyResult<()> {
        match self.stage {
            Stage::Event => Ok(()),
            Stage::Told => Err(PyRuntimeError::new_err(format!("{what} cannot be used in on_sent"))),
            Stage::Outside => Err(PyRuntimeError::new_err(format!("{what} can be used in events only"))),
        }
    }

    fn may_set(&self, what: &str) -> PyResult<()> {
        self.may(what)?;
        if self.probe.is_some() || self.thawed {
            let text = format!("{what} cannot be set in an event that freezes or thaws: the windows stay as they are");
            return Err(PyRuntimeError::new_err(text));
        }
        Ok(())
    }

    /// Checks that a freeze or a thaw is the only action of an event.
    fn may_freeze(&self, what: &str) -> PyResult<()> {
        self.may(what)?;
        if self.windows_set || self.rto_factor.is_some() || self.probe.is_some() || self.thawed {
            return Err(PyRuntimeError::new_err(format!("{what} goes with nothing else in one event")));
        }
        Ok(())
    }
}

/// A number from Python, if it is a number and `fits` accepts it.
fn number(value: &Bound<'_, PyAny>, what: &str, expected: &str, fits: fn(f64) -> bool) -> PyResult<f64> {
    match value.extract::<f64>() {
        Ok(number) if fits(number) => Ok(number),
        _ => Err(PyValueError::new_err(format!("{what} must be {expected}, not {}", value.repr()?))),
    }
}

/// Converts seconds to a span. More than the longest run means never.
fn span(seconds: f64) -> Span {
    Span::from_secs_f64(seconds.min(1e9))
}

#[pymethods]
impl ControllerState {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            view: None,
            stage: Stage::Outside,
            cwnd: 0.0,
            ssthresh: 0.0,
            windows_set: false,
            rto_factor: None,
            probe: None,
            thawed: false,
            deadline: Time::NEVER,
            gap: Span::ZERO,
            bandwidth: None,
            limits_itself: false,
        }
    }

    /// The congestion window in segments.
    ///
    /// The segments that recovery added for duplicate acknowledgements are not part of it.
    #[getter]
    fn cwnd(&self) -> PyResult<f64> {
        self.view().map(|_| self.cwnd)
    }

    #[setter]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_set("cwnd")?;
        self.cwnd = number(value, "cwnd", "a finite number above zero", |n| n.is_finite() && n > 0.0)?;
        self.windows_set = true;
        Ok(())
    }

    /// The slow start threshold in segments.
    #[getter]
    fn ssthresh(&self) -> PyResult<f64> {
        self.view().map(|_| self.ssthresh)
    }

    #[setter]
    fn set_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_set("ssthresh")?;
        self.ssthresh = number(value, "ssthresh", "a number above zero", |n| n > 0.0)?;
        self.windows_set = true;
        Ok(())
    }

    /// Multiplies the retransmission timeout.
    fn rescale_rto(&mut self, factor: &Bound<'_, PyAny>) -> PyResult<()> {
        self.may_set("rescale_rto")?;
        self.rto_factor = Some(number(factor, "factor", "a finite number above zero", |n| n.is_finite() && n > 0.0)?);
        Ok(())
    }

    /// Stops sending, except for a probe every `probe` seconds.
    #[pyo3(signature = (probe, *, before_timeout=false))]
    fn freeze(&mut self, probe: &Bound<'_, PyAny>, before_timeout: bool) -> PyResult<()> {
        self.may_freeze("freeze")?;
        let probe = span(number(probe, "probe", "seconds, at least 1e-9", |n| n.is_finite() && n >= 1e-9)?);
        self.probe = Some((probe, if before_timeout { Restore::BeforeTimeout } else { Restore::AtFreeze }));
        Ok(())
    }

    /// Continues after a freeze.
    fn thaw(&mut self) -> PyResult<()> {
        self.may_freeze("thaw")?;
        self.thawed = true;
        Ok(())
    }

    /// The simulated time in seconds at which `on_timer` is called.
    ///
    /// None for never. It is None again when `on_timer` is called.
    #[getter(deadline)]
    fn get_deadline(&self) -> Option<f64> {
        (self.deadline < Time::NEVER).then(|| self.deadline.seconds())
    }

    #[setter(deadline)]
    fn set_deadline(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if value.is_none() {
            self.deadline = Time::NEVER;
            return Ok(());
        }
        let now = self.view.map_or(Time::ZERO, |view| view.now);
        let seconds = number(value, "deadline", "a time in seconds, or None", |n| n.is_finite() && n >= 0.0)?;
        let at = Time::ZERO + span(seconds);
        if at <= now {
            let text = format!("deadline must be later than now, {}, not {}", now.seconds(), value.repr()?);
            return Err(PyValueError::new_err(text));
        }
        self.deadline = at;
        Ok(())
    }

    /// The least time between two segments in seconds; 0 for a sender that does not pace.
    #[getter(pacing_gap)]
    fn get_pacing_gap(&self) -> f64 {
        self.gap.seconds()
    }

    #[setter(pacing_gap)]
    fn set_pacing_gap(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.gap = span(number(value, "pacing_gap", "seconds, zero or more", |n| n.is_finite() && n >= 0.0)?);
        Ok(())
    }

    /// The bandwidth that it estimates, in bytes per second.
    ///
    /// It can be sampled as the series `bandwidth`.
    #[getter(bandwidth)]
    fn get_bandwidth(&self) -> Option<f64> {
        self.bandwidth
    }

    #[setter(bandwidth)]
    fn set_bandwidth(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.bandwidth = if value.is_none() {
            None
        } else {
            let fits = |n: f64| n.is_finite() && n >= 0.0;
            Some(number(value, "bandwidth", "bytes per second, zero or more, or None", fits)?)
        };
        Ok(())
    }

    /// The simulated time in seconds.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.view().map(|view| view.now.seconds())
    }

    /// The segments that recovery has added to the window for duplicate acknowledgements.
    #[getter]
    fn inflation(&self) -> PyResult<f64> {
        self.view().map(|view| view.inflation)
    }

    /// The receiver's window in segments.
    #[getter]
    fn advertised(&self) -> PyResult<f64> {
        self.view().map(|view| view.advertised)
    }

    /// The segments that were sent and are not yet acknowledged (FlightSize of RFC 5681).
    #[getter]
    fn flight(&self) -> PyResult<f64> {
        self.view().map(|view| view.flight)
    }

    /// The segments estimated to be in the network (RFC 6675).
    ///
    /// Equal to `flight` where recovery keeps no scoreboard.
    #[getter]
    fn pipe(&self) -> PyResult<f64> {
        self.view().map(|view| view.pipe)
    }

    /// Whether the sender is repairing losses that it found without a timeout.
    #[getter]
    fn recovering(&self) -> PyResult<bool> {
        self.view().map(|view| view.recovering)
    }

    /// The segments deemed lost since the connection began.
    #[getter]
    fn lost(&self) -> PyResult<f64> {
        self.view().map(|view| view.lost)
    }

    /// Whether everything that the application has written was sent.
    #[getter]
    fn app_limited(&self) -> PyResult<bool> {
        self.view().map(|view| view.app_limited)
    }

    /// The payload of a full segment in bytes.
    #[getter]
    fn segment_size(&self) -> PyResult<u32> {
        self.view().map(|view| view.segment)
    }

    /// The first sequence number that is not acknowledged (SND.UNA of RFC 9293).
    #[getter]
    fn una(&self) -> PyResult<u64> {
        self.view().map(|view| view.una)
    }

    /// The sequence number to be sent next (SND.NXT of RFC 9293).
    ///
    /// After a timeout it lies below `max_seq`.
    #[getter]
    fn next_seq(&self) -> PyResult<u64> {
        self.view().map(|view| view.next)
    }

    /// The first sequence number that was never sent.
    #[getter]
    fn max_seq(&self) -> PyResult<u64> {
        self.view().map(|view| view.max)
    }

    /// The number of duplicate acknowledgements in a row.
    #[getter]
    fn duplicates(&self) -> PyResult<u32> {
        self.view().map(|view| view.duplicates)
    }

    /// The number of duplicate acknowledgements in a row that indicates a loss.
    #[getter]
    fn duplicate_threshold(&self) -> PyResult<u32> {
        self.view().map(|view| view.duplicate_threshold)
    }

    /// The smoothed round-trip time in seconds (SRTT of RFC 6298).
    ///
    /// None before the first sample.
    #[getter]
    fn srtt(&self) -> PyResult<Option<f64>> {
        self.view().map(|view| view.srtt.map(Span::seconds))
    }

    /// The retransmission timeout in seconds.
    #[getter]
    fn rto(&self) -> PyResult<f64> {
        self.view().map(|view| view.rto.seconds())
    }

    /// The hops to the receiver that the network layer reported last.
    ///
    /// 0 when it has reported none.
    #[getter]
    fn hops(&self) -> PyResult<u8> {
        self.view().map(|view| view.hops)
    }

    /// The hops that the latest acknowledgement took; 0 before the first.
    #[getter]
    fn ack_hops(&self) -> PyResult<u8> {
        self.view().map(|view| view.ack_hops)
    }

    /// The rate of data frames on the first link of the way in bit/s, as rate control last changed it.
    ///
    /// None where it is not known.
    #[getter]
    fn link_rate(&self) -> PyResult<Option<f64>> {
        self.view().map(|view| view.link_rate.map(|rate| rate.bps() as f64))
    }
}

/// The sample of the delivery rate that an acknowledgement gives.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct RateSample {
    /// The payload in bytes that was delivered during `interval`.
    delivered: u64,
    /// The length of the sample in seconds; None when the sample is not valid.
    interval: Option<f64>,
    /// Whether the sender lacked data during the sample.
    ///
    /// The path may then be faster than `rate`.
    app_limited: bool,
    /// `total_delivered` at the time at which the segment that gives this sample was sent.
    prior_delivered: u64,
    /// The bytes delivered by this acknowledgement.
    newly_delivered: u64,
    /// The segments deemed lost since the last sample.
    newly_lost: u64,
    /// The bytes delivered since the connection began.
    total_delivered: u64,
    /// The segments estimated to be in the network before this acknowledgement.
    prior_pipe: f64,
    /// The round-trip time in seconds of the newest segment that is now delivered.
    ///
    /// None if that was sent more than once.
    round_trip: Option<f64>,
    /// `delivered` divided by `interval`, in bytes per second.
    ///
    /// None when the sample is not valid.
    rate: Option<f64>,
}

impl RateSample {
    fn new(sample: &congestion::RateSample) -> Self {
        Self {
            delivered: sample.delivered,
            interval: sample.interval.map(Span::seconds),
            app_limited: sample.app_limited,
            prior_delivered: sample.prior_delivered,
            newly_delivered: sample.newly_delivered,
            newly_lost: sample.newly_lost,
            total_delivered: sample.total_delivered,
            prior_pipe: sample.prior_pipe,
            round_trip: sample.round_trip.map(Span::seconds),
            rate: sample.rate(),
        }
    }

    fn object(sample: Option<&congestion::RateSample>, py: Python<'_>) -> PyResult<Option<Py<Self>>> {
        sample.map(|sample| Py::new(py, Self::new(sample))).transpose()
    }
}

/// New data was acknowledged.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct Ack {
    /// The payload that it acknowledges, in bytes.
    bytes: u64,
    /// The bytes that reached the receiver since the last event.
    ///
    /// Less than `bytes` where SACK had reported some earlier.
    delivered: u64,
    /// The number of segments that it acknowledges.
    segments: u32,
    /// The round-trip time in seconds of the newest segment that it covers.
    ///
    /// None if that was sent more than once.
    round_trip: Option<f64>,
    /// Where the sender stands.
    ///
    /// "open" is outside recovery, "partial" within it, "recovered" at its end.
    phase: &'static str,
    /// The number of duplicate acknowledgements in a row that came before it.
    duplicates: u32,
    /// Whether the congestion window kept the sender from sending more.
    window_limited: bool,
    /// A sample of the delivery rate, for a class with `wants_rate`; None otherwise.
    rate: Option<Py<RateSample>>,
}

impl Ack {
    pub fn new(py: Python<'_>, ack: &congestion::Ack) -> PyResult<Self> {
        Ok(Self {
            bytes: ack.bytes,
            delivered: ack.delivered,
            segments: ack.segments,
            round_trip: ack.round_trip.map(Span::seconds),
            phase: match ack.phase {
                Phase::Open => "open",
                Phase::Partial => "partial",
                Phase::Recovered => "recovered",
            },
            duplicates: ack.duplicates,
            window_limited: ack.window_limited,
            rate: RateSample::object(ack.rate.as_ref(), py)?,
        })
    }
}

/// An acknowledgement arrived, of whatever kind.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct Arrival {
    /// The round trip in seconds of the newest segment delivered, if that was sent once.
    round_trip: Option<f64>,
}

impl Arrival {
    pub fn new(arrived: &congestion::Arrived) -> Self {
        Self { round_trip: arrived.round_trip.map(Span::seconds) }
    }
}

/// The window and the threshold before a reduction that turned out to be wrong.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct Before {
    /// The congestion window, in segments.
    cwnd: f64,
    /// The slow start threshold in segments, or three quarters of the window if that is more.
    ssthresh: f64,
}

impl Before {
    pub fn new(before: &congestion::Before) -> Self {
        Self { cwnd: before.cwnd, ssthresh: before.ssthresh }
    }
}

/// A duplicate acknowledgement.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct Duplicate {
    /// Its number among the duplicate acknowledgements in a row: 1 for the first.
    count: u32,
    /// The bytes that its SACK blocks report for the first time.
    sacked: u64,
    /// A sample of the delivery rate, for a class with `wants_rate`; None otherwise.
    rate: Option<Py<RateSample>>,
}

impl Duplicate {
    pub fn new(py: Python<'_>, duplicate: &congestion::Duplicate) -> PyResult<Self> {
        let rate = RateSample::object(duplicate.rate.as_ref(), py)?;
        Ok(Self { count: duplicate.count, sacked: duplicate.sacked, rate })
    }
}

/// A loss was found without a timeout.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct Loss {
    /// The simulated time in seconds at which the lost segment was last sent.
    sent: f64,
    /// How often the lost segment was sent so far.
    transmissions: u32,
}

impl Loss {
    pub fn new(loss: &congestion::Loss) -> Self {
        Self { sent: loss.sent.seconds(), transmissions: loss.transmissions }
    }
}

/// The retransmission timer expired.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct Timeout {
    /// How often the timer had gone off before, since the last acknowledgement of new data.
    repeated: u32,
}

impl Timeout {
    pub fn new(timeout: &congestion::Timeout) -> Self {
        Self { repeated: timeout.repeated }
    }
}

/// A segment was sent.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct Sent {
    /// Its first sequence number.
    seq: u64,
    /// Its payload in bytes.
    length: u32,
    /// Whether it was sent before.
    retransmission: bool,
}

impl Sent {
    pub fn new(sent: &congestion::Sent) -> Self {
        Self { seq: sent.seq, length: sent.len, retransmission: sent.retransmission }
    }
}

/// The network layer reports a change of the route to the receiver.
#[pyclass(frozen, get_all, module = "hopyard._core")]
#[derive(Debug)]
pub struct Route {
    /// What happened to the route.
    ///
    /// "lost"; "restored"; "hops" when the number of hops is known; "care_of" when the sender's node is registered with
    /// another agent of Mobile IP; "unreachable" when a node could not pass on a segment. Only a class with
    /// `wants_notices` is told of the last.
    kind: &'static str,
    /// The number of hops, with the kind "hops"; None otherwise.
    hops: Option<u8>,
    /// The segment's first sequence number, with the kind "unreachable"; None otherwise.
    seq: Option<u64>,
}

impl Route {
    pub fn new(event: NetworkEvent) -> Self {
        match event {
            NetworkEvent::RouteLost => Self { kind: "lost", hops: None, seq: None },
            NetworkEvent::RouteRestored => Self { kind: "restored", hops: None, seq: None },
            NetworkEvent::CareOfChanged => Self { kind: "care_of", hops: None, seq: None },
            NetworkEvent::HopCount(hops) => Self { kind: "hops", hops: Some(hops), seq: None },
            NetworkEvent::Unreachable { seq } => Self { kind: "unreachable", hops: None, seq: Some(seq) },
        }
    }
}
