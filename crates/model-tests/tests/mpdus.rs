//! Whole frames of 802.11 of stations outside: tried in the modes that the station has chosen, answered and counted by
//! EDCA.

use hopyard_engine::units::{Distance, Frequency, Power, Ratio};
use hopyard_engine::{Span, Time};
use hopyard_model::address::InterfaceId;
use hopyard_model::context::{Departure, DropReason, Effort};
use hopyard_model::mac::dcf::Amendment;
use hopyard_model::mac::{self, edca, rate_control};
use hopyard_model::observe::{FrameEdge, FrameView, Probe};
use hopyard_model::packet::{AmpduStatus, Body, Mpdu, Series, Stage};
use hopyard_model::params::Params as _;
use hopyard_model::phy::error_rate::thermal_noise;
use hopyard_model::phy::frame::Header;
use hopyard_model::phy::mode::{Band, Format, Guard, MODES, Name};
use hopyard_model::phy::{Mode, Sensitivity};
use hopyard_model::world::{Advanced, Spec, Watch, World};

use crate::common::network;

const A: InterfaceId = InterfaceId(0);
const B: InterfaceId = InterfaceId(1);
const ALL: InterfaceId = InterfaceId::BROADCAST;

/// The frames with a packet that were on the air: when, in which mode, how long the exchange goes on, and the bytes;
/// and the answers to them, each with its mode.
#[derive(Debug, Default)]
struct SentFrames(Vec<(Time, &'static Mode, Span, Vec<u8>)>, Vec<(Header, &'static Mode)>);

impl Probe for SentFrames {
    fn on_frame(&mut self, now: Time, _: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        match frame.packet.map(|it| &it.body) {
            _ if !matches!(edge, FrameEdge::Sent) => {}
            Some(Body::Mpdu(mpdu)) => self.0.push((now, frame.mode, frame.duration, mpdu.bytes.clone())),
            _ => self.1.push((frame.header, frame.mode)),
        }
    }
}

/// Two stations of 802.11g with this ratio of signal to noise at 50 m.
fn spec(db: f64) -> Spec {
    let mut spec = network("rfc", "static", &[(0.0, 0.0), (50.0, 0.0)]);
    let mut edca = edca::Params::of_profile("rfc");
    edca.dcf.standard = Amendment::G;
    edca.follow("standard");
    let noise = thermal_noise(Ratio::from_db(7.0), Frequency::new(20e6)).dbm();
    let channel = &mut spec.channels[0];
    let gain = channel.propagation.channel().threshold_for(Power::from_watts(1.0), Distance::new(50.0)).watts();
    let weakest = Sensitivity::Threshold(Power::from_dbm(-110.0));
    channel.radio.transmit_power = Power::from_watts(Power::from_dbm(noise + db).watts() / gain);
    (channel.radio.receive, channel.radio.sense) = (weakest.into(), weakest);
    channel.mac = mac::Config::Edca(edca.into());
    channel.rates = rate_control::Config::of_profile("minstrel_ht", "rfc").expect("a rate control");
    Spec { duration: Span::from_secs(1), ..spec }
}

fn world(spec: &Spec) -> World<SentFrames> {
    let mut world = World::with_probe(spec, SentFrames::default()).expect("a world");
    [A, B].into_iter().for_each(|it| world.attach_frames(it).expect("it has a radio"));
    world
}

/// The mode of OFDM at 2.4 GHz with a rate in Mb/s.
fn ofdm(rate: u64) -> &'static Mode {
    let is_it = |mode: &&Mode| {
        let is_wide = mode.body.bandwidth == Frequency::new(20e6);
        matches!(mode.format, Format::Ofdm) && mode.rate().bps() == rate * 1_000_000 && is_wide
    };
    let mut all = MODES.iter().filter(|mode| mode.extension > Span::ZERO).filter(is_it);
    all.next().expect("a mode")
}

fn stage(rate: u64, tries: u8) -> Stage {
    Stage { mode: ofdm(rate).row, tries, announced: false }
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

fn mpdu(bytes: Vec<u8>, stages: &[Stage], at: Time) -> Mpdu {
    let mut series = Series::default();
    series.0[..stages.len()].copy_from_slice(stages);
    Mpdu { bytes, series, priority: 0, aggregates: false, stamped: at, received: None }
}

/// A data frame of so many bytes.
fn data(bytes: usize) -> Vec<u8> {
    let mut frame = vec![7; bytes];
    frame[..2].copy_from_slice(&[8, 0]);
    frame
}

/// Goes to the end: what has left, and what was on the air.
fn finish(mut world: World<SentFrames>) -> (Vec<Departure>, SentFrames) {
    assert_eq!(world.advance(Time::NEVER, &Watch::default()), Advanced::Ended);
    let left = std::iter::from_fn(|| world.egress()).collect();
    (left, world.finish().expect("packets add up").1)
}

/// At 10 dB, 54 Mb/s never arrives and 6 Mb/s always does. The frame says from the second try on that it was sent
/// before, which is how its receiver gets it.
#[test]
fn a_frame_is_tried_in_its_modes_in_order() {
    let mut world = world(&spec(10.0));
    let stages = [stage(54, 2), stage(48, 1), stage(6, 4)];
    world.inject_mpdu(A, at(100), B, mpdu(data(1000), &stages, at(100))).expect("put in");
    let (left, sent) = finish(world);
    let modes: Vec<_> = sent.0.iter().map(|it| it.1.rate().bps() / 1_000_000).collect();
    assert_eq!(modes, [54, 54, 48, 6]);
    let retries: Vec<_> = sent.0.iter().map(|it| it.3[1]).collect();
    assert_eq!(retries, [0, 8, 8, 8]);
    // Its size on the air is that of the frame and its check sequence; SIFS and the ACK at 6 Mb/s follow.
    assert!(sent.0.iter().all(|it| it.2 >= Span::from_micros(10)), "{sent:?}");
    // The frame says how long, to the next whole microsecond.
    let said = |bytes: &[u8]| Span::from_micros(u16::from_le_bytes([bytes[2], bytes[3]]).into());
    assert!(sent.0.iter().all(|it| said(&it.3) == it.2), "{sent:?}");
    let [Departure::Frame { interface: B, from: A, bytes, received: Some(received), .. }, completed] = &left[..] else {
        panic!("{left:?}");
    };
    assert_eq!((&bytes[4..], bytes[1], received.mode), (&data(1000)[4..], 8, ofdm(6).row));
    let noise = thermal_noise(Ratio::from_db(7.0), Frequency::new(20e6)).dbm();
    assert!((received.dbm - noise - 10.0).abs() < 0.1, "{received:?}");
    let Departure::Completed { effort: Effort { tries: 4, ampdu: None }, result: Ok(()), .. } = completed else {
        panic!("{completed:?}")
    };
}

/// The series is the only limit, whatever the MAC's own limits of retries are.
#[test]
fn a_frame_is_given_up_at_the_end_of_its_series() {
    for tries in [1, 3, 20] {
        let mut world = world(&spec(10.0));
        world.inject_mpdu(A, at(100), B, mpdu(data(500), &[stage(54, tries)], at(100))).expect("put in");
        let (left, sent) = finish(world);
        assert_eq!(sent.0.len(), usize::from(tries));
        let [Departure::Completed { effort, result, .. }] = &left[..] else { panic!("{left:?}") };
        assert_eq!((effort.tries, *result), (u32::from(tries), Err(DropReason::RetryLimit)));
    }
}

/// Frames of a higher priority that are due at the same time cost no try, and no frame is given up for them.
#[test]
fn collisions_within_a_station_end_no_series() {
    let mut world = world(&Spec { duration: Span::from_secs(5), ..spec(5.0) });
    for number in 0..30 {
        let one = Mpdu { priority: [0, 5, 7][number % 3], ..mpdu(data(100), &[stage(54, 30)], at(100)) };
        world.inject_mpdu(A, at(100), B, one).expect("put in");
    }
    let (left, _) = finish(world);
    let tries = left.iter().map(|it| match it {
        Departure::Completed { effort, result: Err(DropReason::RetryLimit), .. } => effort.tries,
        other => panic!("{other:?}"),
    });
    assert_eq!(tries.collect::<Vec<_>>(), [30; 30]);
}

/// An ACK has the fastest basic rate that is not above the frame's, in its modulation. Without one, it has the fastest
/// mandatory rate: all of DSSS are mandatory. So it is in 802.11n too, whatever `rate` is.
#[test]
fn answers_follow_the_mode_of_the_frame() {
    let dsss = |rate: u64| Mode::dsss().find(|it| it.rate().bps() == rate * 1_000_000).expect("a mode").row;
    let modes = [(ofdm(9).row, 6), (ofdm(18).row, 12), (ofdm(54).row, 24), (dsss(1), 1), (dsss(11), 11)];
    for spec in [spec(35.0), ht_spec(35.0)] {
        for (mode, expected) in modes {
            let mut world = world(&spec);
            let stages = [Stage { mode, tries: 1, announced: false }];
            world.inject_mpdu(A, at(100), B, mpdu(data(100), &stages, at(100))).expect("put in");
            let (left, sent) = finish(world);
            assert_eq!(left.len(), 2, "{left:?}");
            let answers: Vec<_> = sent.1.iter().map(|it| (it.0, it.1.rate().bps() / 1_000_000)).collect();
            assert_eq!(answers, [(Header::Ack, expected)]);
        }
    }
}

/// A broadcast has the mode of its frame, not the basic rate, and no answer.
#[test]
fn a_broadcast_has_its_own_mode() {
    let mut world = world(&spec(30.0));
    world.inject_mpdu(A, at(100), ALL, mpdu(data(300), &[stage(24, 1)], at(100))).expect("put in");
    let (left, sent) = finish(world);
    assert_eq!(sent.0.iter().map(|it| (it.1.row, it.2)).collect::<Vec<_>>(), [(ofdm(24).row, Span::ZERO)]);
    let arrived = left.iter().filter(|it| matches!(it, Departure::Frame { interface: B, .. })).count();
    let completed = left
        .iter()
        .filter(|it| matches!(it, Departure::Completed { effort, result: Ok(()), .. } if effort.tries == 1))
        .count();
    assert_eq!((arrived, completed), (1, 1));
}

/// A beacon waits for the medium. Its timestamp tells when its first bit is on the air.
#[test]
fn a_beacon_has_the_time_of_the_air() {
    let mut world = world(&spec(30.0));
    let beacon = |stamp: u64| {
        let mut frame = vec![0; 60];
        frame[0] = 0x80;
        frame[24..32].copy_from_slice(&stamp.to_le_bytes());
        frame
    };
    world.inject_mpdu(B, at(100), ALL, mpdu(data(1500), &[stage(6, 1)], at(100))).expect("put in");
    world.inject_mpdu(A, at(400), ALL, mpdu(beacon(5_000_400), &[stage(6, 1)], at(400))).expect("put in");
    let (left, sent) = finish(world);
    let (begun, mode, _, bytes) = &sent.0[1];
    // The frame before takes more than 2 ms.
    assert!(*begun > at(2000), "{begun}");
    let bit = *begun + mode.preamble + mode.body(24);
    let stamp = u64::from_le_bytes(bytes[24..32].try_into().expect("8 bytes"));
    assert_eq!(stamp, 5_000_000 + bit.nanos() / 1000);
    let arrived = left.iter().find_map(|it| match it {
        Departure::Frame { interface: B, bytes, .. } => Some(bytes.to_vec()),
        _ => None,
    });
    assert_eq!(arrived.as_ref(), Some(bytes));
}

/// Frames of a higher priority go first, as frames of Hopyard's own do.
#[test]
fn the_priority_gives_the_category() {
    let mut world = world(&spec(30.0));
    for (number, priority) in [1_u8, 0, 5, 7].into_iter().enumerate() {
        // All come while the medium is busy with the first.
        let mut one = mpdu(data(400 + number), &[stage(54, 4)], at(100));
        one.priority = priority;
        world.inject_mpdu(A, at(100), ALL, one).expect("put in");
    }
    let (_, sent) = finish(world);
    assert_eq!(sent.0.len(), 4);
    assert_eq!(sent.0[0].3.len(), 403, "the category of voice has the shortest space");
    assert_eq!(sent.0.iter().map(|it| it.3.len()).max(), Some(403));
}

/// Two stations of 802.11n.
fn ht_spec(db: f64) -> Spec {
    let mut spec = spec(db);
    let mac::Config::Edca(edca) = &mut spec.channels[0].mac else { unreachable!("it is EDCA") };
    edca.dcf.standard = Amendment::N;
    edca.follow("standard");
    edca.dcf.band = Band::Low;
    edca.follow("band");
    edca.dcf.rate = Name::Ht(7);
    edca.dcf.carries_stations = true;
    edca.mpdu_retry_limit = 30;
    spec
}

/// The mode of HT at 2.4 GHz, on 20 MHz with the long guard interval.
fn ht(mcs: u8) -> Stage {
    let is_it = |mode: &&Mode| {
        let is_narrow = mode.body.bandwidth == Frequency::new(20e6) && mode.guard == Guard::Long;
        mode.format == Format::Ht { mcs } && is_narrow && mode.extension > Span::ZERO
    };
    Stage { mode: MODES.iter().find(is_it).expect("a mode").row, tries: 2, announced: false }
}

/// A frame of a session with this number.
fn of_session(number: u16, stages: &[Stage]) -> Mpdu {
    let mut bytes = data(1000);
    bytes[0] = 0x88;
    bytes[22..24].copy_from_slice(&(number << 4).to_le_bytes());
    Mpdu { aggregates: true, ..mpdu(bytes, stages, at(100)) }
}

/// Sends frames of a session that are all put in at once. Their numbers begin at 4090 and go on at 0. Returns the fates
/// of the frames in the order of their ends, the reports about aggregates, and the numbers that have arrived.
fn session(count: u16, db: f64, stages: &[Stage]) -> (Vec<Result<(), DropReason>>, Vec<AmpduStatus>, Vec<u16>) {
    let mut world = world(&ht_spec(db));
    for number in 0..count {
        let one = of_session((4090 + number) % 4096, stages);
        world.inject_mpdu(A, at(100), B, one).expect("put in");
    }
    let (left, _) = finish(world);
    let (mut fates, mut reports, mut arrived) = (Vec::new(), Vec::new(), Vec::new());
    for departure in left {
        match departure {
            Departure::Completed { effort, result, .. } => {
                fates.push(result);
                reports.extend(effort.ampdu);
            }
            Departure::Frame { bytes, .. } => arrived.push(u16::from_le_bytes([bytes[22], bytes[23]]) >> 4),
            other => panic!("{other:?}"),
        }
    }
    (fates, reports, arrived)
}

/// Frames that wait go together, and one report tells of all. Those of another priority, and those that are in no
/// session, go by themselves.
#[test]
fn frames_of_a_session_share_a_frame_on_the_air() {
    let (fates, reports, arrived) = session(40, 35.0, &[ht(7)]);
    assert_eq!(fates, [Ok(()); 40]);
    let counts: Vec<_> = reports.iter().map(|it| (it.tries, it.sent, it.acknowledged)).collect();
    assert_eq!(counts, [(1, 40, 40)]);
    assert_eq!(arrived, (4090..4096).chain(0..34).collect::<Vec<_>>());
    let mut world = world(&ht_spec(35.0));
    for (number, aggregates, priority) in [(1, true, 0), (2, true, 3), (3, false, 0), (4, true, 0)] {
        let one = Mpdu { aggregates, priority, ..mpdu(data(500 + number), &[ht(7)], at(100)) };
        world.inject_mpdu(A, at(100), B, one).expect("put in");
    }
    let (left, _) = finish(world);
    let told = left.iter().filter_map(|it| match it {
        Departure::Completed { token, effort, result: Ok(()), .. } => Some((token.0, effort.ampdu.map(|it| it.sent))),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(0, Some(2)), (3, None), (1, Some(1)), (2, None)]);
}

/// Where a part of the MPDUs is lost, these go again, with the series of the first of them; every MPDU that was
/// acknowledged counts once.
#[test]
fn lost_mpdus_of_a_session_go_again() {
    let (fates, reports, arrived) = session(40, 24.0, &[ht(7)]);
    assert_eq!(fates, [Ok(()); 40]);
    let sent: u32 = reports.iter().map(|it| it.sent).sum();
    let acknowledged: u32 = reports.iter().map(|it| it.acknowledged).sum();
    assert!(sent > 42 && acknowledged == 40, "{reports:?}");
    let mut numbers = arrived.clone();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!((arrived.len(), numbers.len()), (40, 40));
}

/// Nothing arrives: each time the series ends, the first frame ends with it, and reports the tries of all that were
/// on the air.
#[test]
fn the_first_frame_of_a_session_ends_with_its_series() {
    let (fates, reports, arrived) = session(5, 5.0, &[ht(7), ht(6)]);
    assert_eq!((fates, arrived), (vec![Err(DropReason::RetryLimit); 5], vec![]));
    let counts: Vec<_> = reports.iter().map(|it| (it.tries, it.sent, it.acknowledged)).collect();
    assert_eq!(counts, [(4, 5, 0), (4, 4, 0), (4, 3, 0), (4, 2, 0), (4, 1, 0)]);
    assert_eq!(reports[1].series.0[..2], [ht(7), ht(6)]);
    // With a series that is longer than the limit of an MPDU, all end at the same time.
    let (fates, reports, _) = session(5, 5.0, &[Stage { tries: 40, ..ht(7) }]);
    assert_eq!(fates, [Err(DropReason::RetryLimit); 5]);
    assert_eq!(reports.iter().map(|it| (it.tries, it.sent, it.acknowledged)).collect::<Vec<_>>(), [(30, 5, 0)]);
}

/// A request is answered by a block acknowledgement: the window of the receiver begins where the request says. Answers
/// have the priority of the frames.
#[test]
fn a_request_moves_the_window_of_the_scoreboard() {
    let mut world = world(&ht_spec(35.0));
    for number in 0..4 {
        world.inject_mpdu(A, at(100), B, Mpdu { priority: 4, ..of_session(number, &[ht(7)]) }).expect("put in");
    }
    let request = [&[0x84, 0, 0, 0][..], &[2; 12], &[4, 0x40], &(2_u16 << 4).to_le_bytes()].concat();
    world.inject_mpdu(A, at(100), B, Mpdu { priority: 4, ..mpdu(request, &[stage(6, 1)], at(100)) }).expect("put in");
    let (left, sent) = finish(world);
    let completed = left.iter().filter(|it| matches!(it, Departure::Completed { result: Ok(()), .. })).count();
    assert_eq!((completed, left.len()), (5, 10), "{left:?}");
    let answers: Vec<_> = sent.1.iter().map(|it| it.0).collect();
    let [all, rest] = [(0, 0b1111), (2, 0b11)].map(|(start, received)| Header::BlockAck { tid: 4, start, received });
    assert_eq!(answers, [all, rest]);
    // SIFS and 32 bytes at 6 Mb/s.
    assert_eq!(sent.0.last().map(|it| it.2), Some(Span::from_micros(10 + 68 + 6)));
}
