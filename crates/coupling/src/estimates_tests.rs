//! Compares Hopyard's Minstrel-HT with a kernel's. Both get the same reports, and their estimates must be equal.
//!
//! Linux renews its statistics with the first report after more than twelve ticks (`HZ / 20`; ticks come with 250 Hz,
//! at whole multiples of 4 ms of the simulated time). Hopyard's rate control gets the same reports at the time of the
//! tick before each, with an interval of twelve ticks.

use std::path::Path;

use hopyard_kernels::{FromNetwork, Network, Sending, Settings, Ticket};
use hopyard_model::address::InterfaceId;
use hopyard_model::mac::rate_control::{Candidates, Outcome as Fate, Rates, Tries, Used};
use hopyard_model::phy::Mode;
use hopyard_model::phy::mode::{Format, Guard};
use hopyard_scenario::Scenario;
use hopyard_wire::hwsim::{FromKernel, flags, rate_flags};

use super::*;
use crate::built::{Built, built};
use crate::hosts::NetworkError;

const TICK: Span = Span::from_millis(4);
/// When the statistics of the kernel are read, in units of 100 ms.
const READINGS: std::ops::Range<u64> = 11..30;
/// The receiver of all frames.
const TO: InterfaceId = InterfaceId(1);

/// A report about a frame, as the kernel gets it.
#[derive(Debug)]
struct Told {
    at: Time,
    /// Rates with their flags, and how often each was tried.
    tries: Vec<(u8, u16, u32)>,
    sent: u32,
    acknowledged: u32,
}

/// A network that keeps the reports for its first kernel.
struct Recorder<'a> {
    hosts: &'a mut Hosts<(Meters, ())>,
    /// The flags that a kernel gave with each frame, by the number of the frame. Most reports do not repeat them.
    series: BTreeMap<u64, Vec<u16>>,
    told: Vec<Told>,
}

impl Network for Recorder<'_> {
    type Error = NetworkError;

    fn next_event(&self) -> Option<Time> {
        self.hosts.next_event()
    }

    fn step(&mut self, until: Time) -> Result<(), NetworkError> {
        self.hosts.step(until)
    }

    fn departure(&mut self) -> Option<FromNetwork> {
        let departure = self.hosts.departure();
        if let Some(FromNetwork::Frame { to, frame }) = &departure
            && to.kernel == 0
        {
            self.told.extend(told(self.hosts.world.now(), frame, &self.series));
        }
        departure
    }

    fn send(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, NetworkError> {
        if let (Ok(FromKernel::Frame(it)), 0) = (FromKernel::parse(frame), ticket.port.kernel) {
            self.series.insert(it.cookie, it.series.iter().map(|stage| stage.flags).collect());
        }
        self.hosts.send(at, frame, ticket)
    }
}

/// Reads a report; nothing of a frame that was for all, or of one that another report tells of.
fn told(at: Time, message: &[u8], sent_with: &BTreeMap<u64, Vec<u16>>) -> Option<Told> {
    const STATUS: u8 = 3;
    let (mut found, mut series, mut of_rates, mut cookie) = (0, Vec::new(), None, 0);
    let mut rest = message.get(20..).filter(|_| message[16] == STATUS)?;
    while let [low, high, kind, 0, ..] = *rest {
        let size = usize::from(u16::from_le_bytes([low, high]));
        match (kind, &rest[4..size]) {
            (4, content) => found = u32::from_le_bytes(content.try_into().expect("four bytes")),
            (7, content) => series = content.chunks(2).map(|it| (it[0], u32::from(it[1]))).collect(),
            (8, content) => cookie = u64::from_le_bytes(content.try_into().expect("eight bytes")),
            (21, content) => {
                of_rates = Some(content.chunks(3).map(|it| u16::from_le_bytes([it[1], it[2]])).collect::<Vec<_>>());
            }
            _ => {}
        }
        rest = &rest[size.next_multiple_of(4).min(rest.len())..];
    }
    let count = |from: u32| found >> from & 0xff;
    let (sent, acknowledged) = match found & flags::AMPDU {
        0 => (1, u32::from(found & flags::ACKNOWLEDGED != 0)),
        _ => (count(flags::SENT), count(flags::ACKNOWLEDGED_OF)),
    };
    let of_rates = of_rates.or_else(|| sent_with.get(&cookie).cloned())?;
    let tries = series.into_iter().zip(of_rates).map(|((rate, tries), flags)| (rate, flags, tries));
    let tries = tries.take_while(|it| it.2 > 0).collect();
    (found & flags::NO_ACK == 0 && sent > 0).then_some(Told { at, tries, sent, acknowledged })
}

/// The name of a mode in the kernel's table: the guard interval or preamble, and the rate.
fn name(mode: &Mode) -> (&'static str, String) {
    let mbps = mode.rate().bps() as f64 / 1e6;
    match (mode.format, mode.guard) {
        (Format::Ht { mcs }, Guard::Long) => ("LGI", format!("MCS{mcs}")),
        (Format::Ht { mcs }, Guard::Short) => ("SGI", format!("MCS{mcs}")),
        (Format::Dsss(_), _) => ("LP", format!("{mbps:.1}M")),
        _ => ("", format!("{mbps:.1}M")),
    }
}

/// The mode of a rate in a report.
fn mode(modes: &[&'static Mode], (rate, flags): (u8, u16)) -> &'static Mode {
    const LEGACY: [&str; 12] =
        ["1.0M", "2.0M", "5.5M", "11.0M", "6.0M", "9.0M", "12.0M", "18.0M", "24.0M", "36.0M", "48.0M", "54.0M"];
    let wanted = match flags & (rate_flags::HT | rate_flags::SHORT_GUARD) {
        0 if rate < 4 => ("LP", LEGACY[usize::from(rate)].to_owned()),
        0 => ("", LEGACY[usize::from(rate)].to_owned()),
        rate_flags::HT => ("LGI", format!("MCS{rate}")),
        _ => ("SGI", format!("MCS{rate}")),
    };
    modes.iter().find(|mode| name(mode) == wanted).unwrap_or_else(|| panic!("{wanted:?}"))
}

/// A line of the kernel's table.
struct Row {
    name: (String, String),
    is_fastest: bool,
    throughput: u64,
    probability: String,
    packets: u32,
}

fn rows(table: &str) -> Vec<Row> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let count = |at: usize| words[at].parse::<u32>().expect("a number");
        Row {
            name: (words[1].to_owned(), words[4].to_owned()),
            is_fastest: words[3].contains('A'),
            throughput: words[8].replace('.', "").parse().expect("a number"),
            probability: words[9].to_owned(),
            packets: count(15) + count(16),
        }
    };
    table.lines().map(row).collect()
}

/// Rate control that learns of these reports.
fn replay(rates: &mut Rates, modes: &[&'static Mode], told: &[Told]) {
    for it in told {
        let used = |&(rate, flags, frames): &(u8, u16, u32)| Used {
            mode: mode(modes, (rate, flags)),
            frames,
            mpdus: frames * it.sent,
        };
        let tries = Tries { used: it.tries.iter().map(used).collect(), probe: false };
        let (sent, delivered) = (it.sent, it.acknowledged);
        let fate = Fate { tries: &tries, acknowledged: delivered > 0, sent, delivered, ratio: None };
        rates.report(TO, &fate, Time::from_nanos(it.at.nanos() / TICK.nanos() * TICK.nanos()));
    }
}

/// After how many reports a table was read that counts so many packets. The program that reads begins at this time, or
/// less than a millisecond before or after.
fn read_after(told: &[Told], at: Time, packets: u32) -> Option<usize> {
    let counts = told.iter().scan(0, |all, it| {
        *all += it.sent;
        Some(*all)
    });
    let after = counts.take_while(|it| *it <= packets).enumerate().last().filter(|it| it.1 == packets)?.0 + 1;
    let around = Span::from_millis(1);
    let is_then = told[after - 1].at < at + around && told.get(after).is_none_or(|it| it.at + around > at);
    is_then.then_some(after)
}

/// Compares all readings of a run, and returns how many estimates are neither 0 nor 100 %.
fn compare(metres: u32, radio: &str, amendment: &str, traffic: &str) -> Option<usize> {
    let Built { program, agent, .. } = built("6.1+wifi")?;
    let text = format!(
        "duration = \"3 s\"\n[nodes]\ncount = 2\nspacing = \"{metres} m\"\nsystem = \"linux\"\n\
         [radio]\nreceive = \"3000 m\"\nsense = \"3000 m\"\n{radio}\n\
         [mac]\nmodel = \"edca\"\nrate_control = \"minstrel_ht\"\nminstrel_ht.interval = \"48 ms\"\n{amendment}\n\
         [linux]\nwifi = \"ibss\"\nbeacon_interval = 100\n"
    );
    let scenario = Scenario::load(&text, "test.toml", Path::new(""), &[]).unwrap_or_else(|it| panic!("{it}"));
    let spec = scenario.spec(0);
    let run = |node, start, run: &str| Program {
        node: NodeId(node),
        arguments: shlex::split(run).expect("quotes in pairs"),
        start: Time::ZERO + Span::from_millis(start),
        environment: Vec::new(),
        folder: "/tmp".into(),
    };
    let table = "sh -c 'cat /sys/kernel/debug/ieee80211/phy0/netdev:wlan0/stations/*/rc_stats_csv'";
    let programs = [run(1, 600, "iperf3 -s -1 -i 0"), run(0, 1000, &format!("iperf3 -c node1 -t 9 {traffic}"))];
    let programs = programs.into_iter().chain(READINGS.map(|at| run(0, 100 * at, table))).collect();
    let options = Options {
        program,
        agent,
        modules: BTreeMap::new(),
        memory: 64,
        seed: 1,
        sample: Span::ZERO,
        sysctls: Vec::new(),
        programs,
        routers: Routers::of(&scenario, &spec),
        settings: Settings::default(),
    };
    let mut coupled = Coupled::start(&spec, &[], &options, ()).unwrap_or_else(|it| panic!("{it}"));
    let mut recorder = Recorder { hosts: &mut coupled.hosts, series: BTreeMap::new(), told: Vec::new() };
    coupled.kernels.advance(Time::ZERO + spec.duration, &mut recorder, || false).unwrap_or_else(|it| panic!("{it}"));
    let told = recorder.told;
    coupled.read().unwrap_or_else(|it| panic!("{it}"));

    let channel = &spec.channels[0];
    let modes = channel.mac.modes(&channel.rates).expect("modes");
    let candidates = Candidates { usual: modes[0], modes: modes.clone(), floors: BTreeMap::new() };
    let tables = coupled.programs()[2..].iter();
    let tables: Vec<_> =
        tables.map(|(it, state)| (it.start, rows(&String::from_utf8_lossy(&state.output[0].bytes())))).collect();
    // The kernel counts from the first beacon on that it hears of the neighbour.
    let (at, first) = &tables[0];
    let begin = (0..told.len()).find(|&begin| read_after(&told[begin..], *at, first[0].packets).is_some());
    let told = &told[begin.expect("the same packets")..];
    let mut rates = channel.rates.rates(&candidates, vec![Streams::new(1, 0).node(0, "rates")]);
    // The kernel knows the neighbour long before the first packet, so that the first report renews the statistics.
    rates.choose(TO, &Tries::default(), Time::ZERO);
    let (mut place, mut partial) = (0, 0);
    for (at, table) in &tables {
        let next = read_after(told, *at, table[0].packets).unwrap_or_else(|| {
            let before = told.iter().filter(|it| it.at <= *at).map(|it| it.sent).sum::<u32>();
            panic!("{metres} m, {at}: {} packets, and reports of {before}", table[0].packets)
        });
        replay(&mut rates, &modes, &told[place..next]);
        place = next;
        let Rates::MinstrelHt(links) = &rates else { panic!("the rate control of the scenario") };
        let own: BTreeMap<_, _> = links.estimates(TO).into_iter().map(|(mode, it)| (name(mode), it)).collect();
        let belief = rates.belief(TO).expect("a link");
        for row in table {
            let Some(estimate) = own.iter().find(|(name, _)| (name.0, &name.1) == (&*row.name.0, &row.name.1)) else {
                continue;
            };
            let thousandths = (estimate.1 * 1000.0) as u32;
            assert_eq!(
                format!("{}.{}", thousandths / 10, thousandths % 10),
                row.probability,
                "{metres} m, {at}: {:?}",
                row.name
            );
            partial += usize::from((1..1000).contains(&thousandths));
            if row.is_fastest {
                assert_eq!(name(belief.mode), *estimate.0, "{metres} m, {at}");
                let expected = row.throughput * 10 * 1200 * 8 / 1024 * 1000;
                assert_eq!(belief.throughput.map(|it| it.bps()), Some(expected), "{metres} m, {at}");
            }
        }
    }
    Some(partial)
}

/// On links with losses, every estimate that the kernel prints is Hopyard's to the last digit, and so are the fastest
/// rate and its expected throughput.
#[test]
fn the_estimates_are_those_of_linux() {
    let g = "edca.standard = \"g\"\nedca.rate = \"54 Mbps\"";
    let n = "edca.standard = \"n\"\nedca.band = \"2.4 GHz\"\nedca.rate = \"mcs15\"\nedca.guard_interval = \"short\"";
    let fading = "fading = \"rayleigh\"\nrayleigh.coherence = \"100 ms\"";
    let datagrams = |buffer: &str| format!("-u -b 200M -l 1400 -i 0 -w {buffer}");
    for (metres, radio, amendment, buffer) in
        [(500, "", g, "4K"), (650, "", g, "4K"), (300, fading, g, "4K"), (300, fading, n, "24K")]
    {
        let Some(partial) = compare(metres, radio, amendment, &datagrams(buffer)) else { return };
        assert!(partial > 10, "{metres} m: {partial}");
    }
}
