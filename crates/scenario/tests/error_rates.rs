//! Error rates of a file: which frames arrive in a scenario with them, and what is refused.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use hopyard_engine::Span;
use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;

/// A scenario of two nodes whose ratio of signal to noise is this, with these error rates; without them if there are
/// none. Datagrams of so many bytes go in frames that nobody answers.
fn load(rates: &str, snr: f64, payload: u32) -> Result<Scenario, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("hopyard-errors-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("per.csv"), rates).expect("a file");
    fs::write(folder.join("links.csv"), format!("from,to,snr_db\n0,1,{snr}\n1,0,{snr}\n")).expect("a file");
    let path = if rates.is_empty() { "" } else { "per.csv" };
    let text = format!(
        "duration = \"400 s\"\n[nodes]\ncount = 2\n[radio]\npropagation = \"table\"\ntable.path = \"links.csv\"\n\
         receive = \"-120 dBm\"\nsense = \"-120 dBm\"\nerror_rates = \"{path}\"\n[mac]\nmodel = \"tdma\"\n\
         tdma.slot = \"20 ms\"\n[routing]\nprotocol = \"static\"\n[link.arp]\nresolution = \"off\"\n\
         [traffic.cbr]\ninterval = \"100 ms\"\npacket_size = \"{payload} B\"\n\
         [[flow]]\nfrom = 0\nto = 1\nudp = true\ntraffic = \"cbr\"\n"
    );
    let scenario = Scenario::load(&text, "t.toml", Path::new(&folder), &[]).map_err(|it| it.to_string());
    let _ = fs::remove_dir_all(&folder);
    scenario
}

fn share(rates: &str, snr: f64, payload: u32) -> f64 {
    let mut spec = load(rates, snr, payload).expect("a scenario").spec(0);
    spec.duration = Span::from_secs(400);
    let outcome = world::simulate(&spec, &Watch::default()).expect("packets add up");
    outcome.flows[0].packets_arrived as f64 / 4000.0
}

/// Frames of 564 bytes have 500 bytes of payload, and the headers of UDP, IP and the MAC.
const RATES: &str = "mode,size,snr_db,per\n2 Mbps,564,5,1\n2 Mbps,564,15,0.2\n2 Mbps,564,25,0.1\n";

#[test]
fn frames_arrive_as_the_file_says() {
    let near = |found: f64, expected: f64| {
        let error = (expected * (1.0 - expected) / 4000.0_f64).sqrt();
        assert!((found - expected).abs() < 4.0 * error + 0.001, "{found} for {expected}");
    };
    for (snr, expected) in [(10.0, 0.4), (15.0, 0.8), (20.0, 0.85), (30.0, 0.9), (4.9, 0.0)] {
        near(share(RATES, snr, 500), expected);
    }
    // A frame of twice the size.
    near(share(RATES, 15.0, 1064), 0.64);
    // The formula loses nothing at this ratio, and does so for a mode that the file does not name.
    assert!(share("", 15.0, 500) > 0.999 && share(&RATES.replace("2 Mbps", "mcs7"), 15.0, 500) > 0.999);
}

#[test]
fn the_content_of_the_file_is_in_the_hash() {
    let hash = |rates: &str| load(rates, 15.0, 500).expect("a scenario").hash();
    assert_eq!(hash(RATES), hash(RATES));
    assert_ne!(hash(RATES), hash(&RATES.replace("0.2", "0.3")));
    assert_ne!(hash(RATES), hash(""));
}

#[test]
fn a_faulty_file_is_refused_with_its_lines() {
    let shown = load("mode,size,snr_db,per\n2 Mbps,564,5,1\n2 Mbps,564,x,0.2\n2 Mbps,564,9,-1\n", 15.0, 500);
    let shown = shown.map(|_| ()).expect_err("it is faulty");
    for expected in
        ["t.toml:9", "the file with error rates has 2 mistakes", "per.csv:3:", "-100 to 100 dB", "per.csv:4:", "0 to 1"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn a_file_without_a_mode_in_use_is_warned_of() {
    let warnings = |rates: &str| {
        let scenario = load(rates, 15.0, 500).expect("a scenario");
        scenario
            .warnings()
            .iter()
            .map(ToString::to_string)
            .filter(|it| it.contains("decides nothing"))
            .collect::<Vec<_>>()
    };
    assert_eq!(warnings(RATES), Vec::<String>::new());
    let [said] = &warnings(&RATES.replace("2 Mbps", "mcs7"))[..] else { panic!("it decides nothing") };
    assert!(said.contains("it has no mode in which frames are sent") && said.contains("expected 2 Mbps"), "{said}");
    assert_eq!(warnings(&format!("{RATES}mcs7,500,3,1\nmcs7,500,5,0\n")), Vec::<String>::new());
}
