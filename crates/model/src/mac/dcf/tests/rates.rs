//! Stations that choose the mode of each frame.

use hopyard_engine::Rng;

use super::*;

/// A station of 802.11a under a rate control.
fn adaptive(control: &str) -> Bench {
    let params = Params::of_amendment(RFC, Amendment::A);
    let config = rate_control::Config::of_profile(control, RFC).expect("a rate control");
    let draws: Vec<Rng> = vec![Streams::new(1, 0).node(0, "rates")];
    let timing =
        Timing::new(&params).with_rates(rate_control::Setup { config: &config, draws, floors: Default::default() });
    let identity = Identity { interface: ME, node: NodeId(0), station: 0 };
    let station = Dcf::new(identity, &timing, Streams::new(1, 0).node(0, "backoff"));
    Bench { station, timing, cx: Context::default(), sent: Vec::new() }
}

fn mbps(frame: &Frame) -> u64 {
    frame.mode.rate().bps() / 1_000_000
}

/// The mode of OFDM with a rate in Mb/s.
fn mode(timing: &Timing, rate: u64) -> &'static Mode {
    let modes = timing.params.every_mode(&rate_control::Config::of_profile("arf", RFC).expect("it is there"));
    modes.expect("possible").into_iter().find(|mode| mode.rate().bps() == rate * 1_000_000).expect("a mode")
}

/// A frame of another station, in this mode.
fn frame(bench: &mut Bench, kind: FrameKind, mode: &'static Mode, ratio: f32) -> Frame {
    let bytes = if kind == FrameKind::Data { 500 } else { ACK_BYTES };
    let packet = (kind == FrameKind::Data).then(|| bench.packet());
    let control = Control { kind, duration: Span::ZERO, sequence: 0, retry: false, ratio };
    let airtime = mode.airtime(bytes);
    Frame {
        transmitter: PEER,
        receiver: ME,
        airtime,
        bytes,
        preamble: mode.preamble,
        mode,
        packet,
        kept: true,
        control,
    }
}

/// Answers the frame that the station has begun to send at this time, one SIFS after its end.
fn answer(bench: &mut Bench, at: u64, sent: &Frame, kind: FrameKind, ratio: f32) -> u64 {
    let mode = bench.timing.ack_to(sent.mode).mode;
    let ack = frame(bench, kind, mode, ratio);
    bench.hear(at + sent.airtime.nanos() / 1000 + 16, &ack)
}

#[test]
fn an_ack_follows_the_mode_of_its_frame_and_tells_the_ratio() {
    for (rate, expected) in [(54, 24), (24, 24), (18, 12), (9, 6), (6, 6)] {
        let mut bench = adaptive("ideal");
        let mode = mode(&bench.timing, rate);
        let data = frame(&mut bench, FrameKind::Data, mode, 0.0);
        bench.hear(100, &data);
        let (_, ack) = bench.next_frame();
        assert_eq!((ack.control.kind, mbps(&ack)), (FrameKind::Ack, expected), "{rate} Mb/s");
        assert_eq!(ack.control.ratio, LEVEL.sinr().factor() as f32);
    }
    // The data frame counts with the time of the ACK in its own mode.
    let mut bench = adaptive("ideal");
    bench.accept(1000, PEER);
    let (at, data) = bench.next_frame();
    assert_eq!((mbps(&data), data.control.duration), (6, Span::from_micros(16 + 44)));
    let end = answer(&mut bench, at, &data, FrameKind::Ack, 1e9);
    let changed = |it: &Action| matches!(it, Action::RateChanged { interface: ME, neighbour: PEER });
    assert_eq!(bench.actions().iter().filter(|it| changed(it)).count(), 1);
    assert_eq!(bench.station.belief(PEER).expect("an ACK came").mode.rate().bps(), 54_000_000);
    bench.accept(end + 100, PEER);
    let (at, data) = bench.next_frame();
    assert_eq!((mbps(&data), data.control.duration), (54, Span::from_micros(16 + 28)));
    answer(&mut bench, at, &data, FrameKind::Ack, 1e9);
    assert!(!bench.actions().iter().any(changed));
    // Another neighbour is another link; a broadcast has the basic rate.
    bench.accept(at + 9000, OTHER);
    assert_eq!(mbps(&bench.next_frame().1), 6);
    let mut bench = adaptive("ideal");
    bench.accept(1000, InterfaceId::BROADCAST);
    assert_eq!(mbps(&bench.next_frame().1), 6);
}

#[test]
fn the_retry_limit_holds_unless_rate_control_gives_up_itself() {
    let mut bench = adaptive("arf");
    bench.accept(1000, PEER);
    let modes: Vec<u64> = (0..7).map(|_| mbps(&bench.next_frame().1)).collect();
    assert_eq!(modes, [6; 7]);
    bench.to(1_000_000);
    assert!(bench.sent.is_empty() && failed(&bench.actions()).is_some());
}

#[test]
fn the_chain_of_minstrel_announces_its_later_frames_and_gives_up_at_its_end() {
    let mut bench = adaptive("minstrel_ht");
    bench.accept(1000, PEER);
    let mut frames = Vec::new();
    while failed(&bench.cx.actions.iter().copied().collect::<Vec<_>>()).is_none() {
        let (at, sent) = bench.next_frame();
        if sent.control.kind == FrameKind::Rts {
            let cts = frame(&mut bench, FrameKind::Cts, sent.mode, 0.0);
            bench.hear(at + sent.airtime.nanos() / 1000 + 16, &cts);
        } else {
            frames.push((sent.control.kind, mbps(&sent)));
            // The ACK does not come.
            bench.to(at + sent.airtime.nanos() / 1000 + 16 + 44 + 5);
        }
    }
    // The first frame is a probe, in the place of the first stage. Three stages of an unknown rate have two tries.
    assert_eq!(frames.len(), 7);
    assert!(frames[0].1 > 6 && frames[1..].iter().all(|it| *it == (FrameKind::Data, 6)), "{frames:?}");
    assert_eq!((bench.station.counters.data, bench.station.counters.rts), (7, 6));
    // A receiver takes a frame that was announced, and one that was not.
    for announced in [false, true] {
        let mut bench = adaptive("minstrel_ht");
        let slowest = mode(&bench.timing, 6);
        let mut at = 100;
        if announced {
            let rts = Frame { bytes: RTS_BYTES, ..frame(&mut bench, FrameKind::Rts, slowest, 0.0) };
            let rts = Frame { control: Control { duration: Span::from_micros(900), ..rts.control }, ..rts };
            bench.hear(at, &rts);
            let (cts_at, cts) = bench.next_frame();
            assert_eq!(cts.control.kind, FrameKind::Cts);
            at = cts_at + cts.airtime.nanos() / 1000 + 16;
        }
        let data = frame(&mut bench, FrameKind::Data, slowest, 0.0);
        bench.hear(at, &data);
        assert_eq!(bench.next_frame().1.control.kind, FrameKind::Ack, "{announced}");
    }
}
