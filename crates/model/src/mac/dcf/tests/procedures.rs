//! The types for the standard and for ns-2 do what the parameters of their profiles say.

use proptest::prelude::*;

use super::*;

/// What a station does in a conversation that is drawn: its frames and actions, and then its state.
fn conversation<P: Procedure>(profile: &str, seed: u64) -> String {
    let mut bench = Station::<P>::new(profile, seed, |params| params.rts_threshold = Bytes::new(400 * (seed % 2)));
    let mut rng = Streams::new(seed, 0).stream("conversation");
    let (mut at, mut sent, mut actions) = (0, Vec::new(), Vec::new());
    for sequence in 0..60 {
        let most = 1 << rng.below(13);
        at = bench.cx.now.nanos() / 1000 + rng.below(most);
        bench.to(at);
        let (from, duration) = ([PEER, OTHER][rng.below(2) as usize], rng.below(3000));
        let to = if rng.below(2) == 0 { ME } else { InterfaceId(7) };
        match rng.below(6) {
            0 | 1 if bench.station.is_ready() => {
                bench.accept(at, if rng.below(5) == 0 { InterfaceId::BROADCAST } else { PEER });
            }
            0 | 1 => bench.noise(at, at + duration),
            2 => bench.broken_frame(at, at + duration),
            3 => {
                let frame = data(&mut bench, from, to, sequence, rng.below(2) == 0);
                bench.hear(at, &frame);
            }
            kind => {
                let kinds = [FrameKind::Rts, FrameKind::Cts, FrameKind::Ack];
                let kind = if kind == 4 { FrameKind::Cts } else { kinds[rng.below(3) as usize] };
                bench.hear(at, &control(kind, from, to, duration));
            }
        }
        sent.append(&mut bench.sent);
        actions.append(&mut bench.actions());
    }
    bench.to(at + 1_000_000);
    sent.append(&mut bench.sent);
    actions.append(&mut bench.actions());
    let station = format!("{:?}", bench.station);
    format!("{sent:?} {actions:?} {}", station.split("procedure").next().unwrap_or_default())
}

proptest! {
    #[test]
    fn a_profile_and_its_parameters_are_the_same(seed in any::<u64>()) {
        prop_assert_eq!(conversation::<Standard>(RFC, seed), conversation::<Mixed>(RFC, seed));
        prop_assert_eq!(conversation::<Ns2>(NS2, seed), conversation::<Mixed>(NS2, seed));
    }
}

#[test]
fn the_procedures_differ() {
    for profile in [RFC, NS2] {
        let differs = |seed| conversation::<Standard>(profile, seed) != conversation::<Ns2>(profile, seed);
        let different = (0..100).filter(|&seed| differs(seed)).count();
        assert!(different > 80, "{profile}: {different} conversations of 100 differ");
    }
}

#[test]
fn the_parameters_choose_the_procedure() {
    let follows = |params: &Params| [Standard::follows(params), Ns2::follows(params), Mixed::follows(params)];
    let (rfc, ns2) = (Params::of_profile(RFC), Params::of_profile(NS2));
    assert_eq!((follows(&rfc), follows(&ns2)), ([true, false, false], [false, true, false]));
    for place in 0..8 {
        for params in [&rfc, &ns2] {
            let mut other = params.clone();
            let habits = [
                &mut other.immediate_access,
                &mut other.draw_includes_cw,
                &mut other.eifs_replaces_difs,
                &mut other.nav_reset,
                &mut other.backoff_after_giving_up,
                &mut other.failures_per_packet,
                &mut other.final_carrier_check,
                &mut other.hears_out,
            ];
            *habits[place] = !*habits[place];
            assert_eq!(follows(&other), [false, false, true], "{other:?}");
        }
    }
}
