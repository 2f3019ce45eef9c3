use std::sync::Arc;

use super::*;
use crate::phy::draws::mix;

fn read_as(text: &str, reading: Reading) -> Links {
    Links::read("links", text.as_bytes(), &reading).unwrap_or_else(|bad| panic!("{bad}"))
}

fn read(text: &str) -> Links {
    read_as(text, Reading::default())
}

fn refused(text: &str) -> String {
    Links::read("links", text.as_bytes(), &Reading::default()).expect_err("a faulty file").to_string()
}

fn gains(links: &Links) -> Gains {
    // 1 W, a noise of a nanowatt, and thresholds above it.
    let levels = Levels { transmit: 1.0, noise: 1e-9, floor: 1e-9, thresholds: (1e-8, 1e-7) };
    Named { links: Arc::new(links.clone()), nodes: vec![0, 1, 2], key: 17 }.gains(&levels)
}

fn decibels(links: &Links, from: usize, to: u32, seconds: f64) -> f64 {
    let now = Time::ZERO + hopyard_engine::Span::from_secs_f64(seconds);
    10.0 * libm::log10(gains(links).median(from, to, now))
}

fn close(found: f64, expected: f64) -> bool {
    found == expected || (found - expected).abs() < 1e-9
}

#[test]
fn rows_are_losses_in_one_direction() {
    for text in ["from,to,loss_db\n0,1,80\n1,2,93.5\n", "# made\nloss_db;to;from\n80;1;0\n93.5;2;1\n"] {
        let links = read(text);
        assert!(close(decibels(&links, 0, 1, 0.0), -80.0) && close(decibels(&links, 1, 2, 99.0), -93.5));
        for (from, to) in [(1, 0), (2, 1), (0, 2)] {
            assert_eq!(gains(&links).median(from, to, Time::ZERO), 0.0, "{from} to {to} is deaf");
        }
        assert!(!links.change() && !gains(&links).change());
        assert_eq!(gains(&links).lists(), [vec![1], vec![2], vec![]]);
    }
}

#[test]
fn ratios_to_noise_follow_the_noise() {
    let links = read("from,to,snr_db\n0,1,20\n1,0,-inf\n");
    assert!(close(decibels(&links, 0, 1, 0.0), -70.0), "20 dB above a noise of -90 dB");
    assert_eq!(gains(&links).median(1, 0, Time::ZERO), 0.0);
}

#[test]
fn values_change_in_time() {
    let text = "time,from,to,loss_db\n1,0,1,80\n3,0,1,90\n5,0,1,inf\n7,0,1,70\n";
    let links = read(text);
    for (seconds, loss) in [(0.0, 80.0), (1.0, 80.0), (2.0, 85.0), (2.5, 87.5), (3.0, 90.0), (4.9, 90.0), (7.0, 70.0)] {
        assert!(close(decibels(&links, 0, 1, seconds), -loss), "{seconds} s: {}", decibels(&links, 0, 1, seconds));
    }
    assert_eq!(decibels(&links, 0, 1, 6.9), f64::NEG_INFINITY);
    let held = read_as(text, Reading { between: Between::Hold, ..Reading::default() });
    for (seconds, loss) in [(0.9, f64::INFINITY), (1.0, 80.0), (2.9, 80.0), (3.0, 90.0), (5.5, f64::INFINITY)] {
        assert!(close(decibels(&held, 0, 1, seconds), -loss), "{seconds} s");
    }
    assert!(links.change() && gains(&held).change());
}

#[test]
fn delivery_ratios_are_those_of_single_frames() {
    let links = read("from,to,delivery\n0,1,0.3\n1,0,1\n2,1,0\n");
    let gains = gains(&links);
    let arrives = |from, to, key| gains.gain(from, to, Time::ZERO, mix(key)) >= 1e-7;
    let share = (0..100_000).filter(|key| arrives(0, 1, *key)).count() as f64 / 1e5;
    assert!((share - 0.3).abs() < 0.005, "{share}");
    assert!((0..1000).all(|key| arrives(1, 0, key) && !arrives(2, 1, key)));
    // A lost frame is sensed, and the same transmission has the same fate.
    assert!((gains.gain(2, 1, Time::ZERO, 5) / 1e-9 - 1.0).abs() < 1e-6);
    assert_eq!(arrives(0, 1, 5), arrives(0, 1, 5));
    let medians = [(0, 1), (2, 1), (0, 2)].map(|(from, to)| gains.median(from, to, Time::ZERO));
    assert!(medians[0] > 1e-7 && medians[1] < 1e-8 && medians[2] == 0.0, "{medians:?}");
}

#[test]
fn event_logs_of_emane_hold_until_the_next_event() {
    let text = "-Inf nem:1 location gps 1,2,3\n0.0 nem:1 pathloss nem:2,90 nem:3,95.5,97 # a comment\n\
                10.0 nem:2 pathloss nem:1,80,70\n";
    let one = Reading { first_node: 1, ..Reading::default() };
    let bad = Links::read("links", text.as_bytes(), &one).expect_err("a time that is none").to_string();
    assert!(bad.starts_with("links:1: expected an event such as"), "{bad}");
    let links = read_as(&text.replace("-Inf", "-1"), one);
    for (from, to, before, after) in [(0, 1, 90.0, 70.0), (1, 0, 90.0, 80.0), (0, 2, 95.5, 95.5), (2, 0, 97.0, 97.0)] {
        assert!(close(decibels(&links, from, to, 9.9), -before) && close(decibels(&links, from, to, 10.0), -after));
    }
    assert_eq!(links.remarks(), ["line 1: 1 event of another kind was not read"]);
}

#[test]
fn the_last_event_before_the_start_holds_at_the_start() {
    let links = read("-2 nem:0 pathloss nem:1,95\n-1 nem:1 pathloss nem:0,80 nem:2,70\n3 nem:0 pathloss nem:1,60\n");
    for (from, to, at, loss) in [
        (0, 1, 0.0, 80.0),
        (1, 0, 0.0, 80.0),
        (1, 2, 0.0, 70.0),
        (2, 1, 2.9, 70.0),
        (1, 0, 2.9, 80.0),
        (1, 0, 3.0, 60.0),
    ] {
        assert!(close(decibels(&links, from, to, at), -loss), "{from} to {to} at {at} s");
    }
    let at_zero = read("-2 nem:0 pathloss nem:1,95\n0 nem:0 pathloss nem:1,80\n");
    assert!(close(decibels(&at_zero, 0, 1, 0.0), -80.0) && close(decibels(&at_zero, 1, 0, 0.0), -80.0));
    assert!(
        refused("-1 nem:0 pathloss nem:1,95\n-2 nem:0 pathloss nem:1,80\n")
            .starts_with("links:2: expected each pair once")
    );
}

#[test]
fn both_ends_of_a_link_may_report_it_in_an_event_log() {
    // Each report counts in its own direction, in any order.
    let text = "0 nem:0 pathloss nem:1,90\n0 nem:1 pathloss nem:0,95 nem:2,80\n0 nem:2 pathloss nem:1,80\n\
                5 nem:1 pathloss nem:0,99\n5 nem:0 pathloss nem:1,98\n9 nem:0 pathloss nem:1,70\n";
    let links = read(text);
    for (from, to, at, loss) in [
        (0, 1, 0.0, 90.0),
        (1, 0, 0.0, 95.0),
        (1, 2, 0.0, 80.0),
        (2, 1, 0.0, 80.0),
        (0, 1, 5.0, 98.0),
        (1, 0, 5.0, 99.0),
        (1, 0, 9.0, 70.0),
    ] {
        assert!(close(decibels(&links, from, to, at), -loss), "{from} to {to} at {at} s");
    }
    // The same report twice is a mistake, and so are two that name both directions.
    for text in [
        "0 nem:0 pathloss nem:1,90\n0 nem:0 pathloss nem:1,91\n",
        "0 nem:0 pathloss nem:1,90,91\n0 nem:1 pathloss nem:0,91\n",
    ] {
        let bad = refused(text);
        assert!(bad.starts_with("links:2: expected each pair once for each time: 0 s is there already"), "{bad}");
    }
}

#[test]
fn configurations_of_wmediumd_are_read_as_it_reads_them() {
    let ids = "ifaces : { ids = [\"02:00:00:00:00:00\", \"02:00:00:00:01:00\", \"02:00:00:00:02:00\"];\n";
    let snr = read(&format!("/* three */ {ids}links = ( (0, 1, 20), (1, 0, 15), (1, 2, 0) ); }};"));
    for (from, to, ratio) in [(0, 1, 20.0), (1, 0, 15.0), (1, 2, 0.0), (2, 1, 0.0), (0, 2, 30.0)] {
        assert!(close(decibels(&snr, from, to, 0.0), ratio - 90.0), "{from} to {to}");
    }
    assert_eq!(snr.remarks(), ["2 pairs without a link have 30 dB, as in wmediumd"]);
    // The format is found out behind any comment.
    for comment in ["/* two drones\n and a ground station */\n", "/*\n * from: 0\n */\n", "# one\n// two\n\n"] {
        let behind = read(&format!("{comment}{ids}links = ( (0, 1, 20), (1, 0, 15), (1, 2, 0) ); }};"));
        assert_eq!(behind.pairs().collect::<Vec<_>>(), snr.pairs().collect::<Vec<_>>(), "{comment}");
    }
    let lost = read(&format!(
        "{ids}}};\nmodel: {{ type = \"prob\"; # of loss\n default_prob = 1.0; links = ((0, 2, 0.25), (2, 1, 1.0)); }};\n"
    ));
    assert_eq!(lost.quantity(), Quantity::Delivery);
    assert_eq!(lost.pairs().collect::<Vec<_>>(), [(0, 2), (2, 0)]);
    let path_loss = refused(&format!("{ids}}}; model: {{ type = \"path_loss\"; }};"));
    assert!(path_loss.contains("links:2: expected model.type \"snr\" or \"prob\", found: path_loss"), "{path_loss}");
    let outside = refused(&format!("{ids}links = ((0, 3, 20)); }};"));
    assert!(outside.contains("links:2: expected interfaces 0 to 2, found: (0, 3, 20)"), "{outside}");
    assert!(refused("ifaces : { ids = [").contains("links:1: expected a value"));
}

#[test]
fn squares_have_a_line_for_each_sender() {
    let links = read("0 80 inf\n81, 0, 90\ninf 91 0\n");
    assert!(close(decibels(&links, 0, 1, 0.0), -80.0) && close(decibels(&links, 2, 1, 0.0), -91.0));
    assert_eq!(links.pairs().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 2), (2, 1)]);
    let uneven = refused("0 80\n80 0 90\n");
    let header = "other rows need a header such as from,to,loss_db";
    let expected =
        format!("links:2: expected 2 numbers, one for each line of a square of losses; {header}, found: 80 0 90");
    assert_eq!(uneven, expected);
    let rows = "0,1,80\n1,0,80\n1,2,82\n";
    let expected =
        format!("links:3: expected a square of losses with 0 on its diagonal; {header}, found: 82 in column 3");
    assert_eq!(refused(rows), expected);
    // Who says that it is a square may have anything there, as in ns-3.
    let said = read_as(rows, Reading { format: Format::Matrix, ..Reading::default() });
    assert_eq!(said.pairs().count(), 6);
}

#[test]
fn all_faults_are_named_with_line_and_value() {
    let bad = refused("from,to,delivery\n0,1,0.3\n1,1,0.5\n0,1,0.4\n1,0,1.5\n1,x,0.5\n1,2\n");
    assert_eq!(
        bad,
        "links:3: expected two different nodes, found: 1,1,0.5\n\
         links:4: expected each pair once: line 2 has it, found: 0,1,0.4\n\
         links:5: expected a delivery ratio of 0 to 1, found: 1,0,1.5\n\
         links:6: expected the number of a node, below 1000000, found: 1,x,0.5\n\
         links:7: expected 3 values, found: 1,2"
    );
    let back = refused("time,from,to,loss_db\n5,0,1,80\n3,0,1,80\n5,1,0,-3\n-1,0,2,80\n5,0,1,81\n");
    for fault in [
        "links:3: expected times of a pair that increase: this one comes after 5 s, found: 3,0,1,80",
        "links:4: expected a loss of 0 to 400 dB, or inf, found: 5,1,0,-3",
        "links:5: expected a time in seconds, from 0 to 1.6e9, found: -1,0,2,80",
        "links:6: expected each pair once for each time: 5 s is there already, found: 5,0,1,81",
    ] {
        assert!(back.contains(fault), "{back}");
    }
    for header in ["from,to", "from,to,loss_db,snr_db", "from,to,loss", "from,to,to,loss_db"] {
        assert!(refused(&format!("{header}\n0,1,3\n")).contains("links:1: expected a header such as"), "{header}");
    }
    assert_eq!(refused("from,to,loss_db\n"), "links: expected at least one pair of nodes");
}

#[test]
fn nodes_that_are_not_there_are_named() {
    let links = read_as("from,to,loss_db\n1,2,80\n2,9,80\n", Reading { first_node: 1, ..Reading::default() });
    let fault =
        |nodes: &[u32]| links.check_nodes("links", &nodes.iter().copied().collect()).map_err(|it| it.to_string());
    assert_eq!(fault(&[0, 1, 8]), Ok(()));
    assert_eq!(
        fault(&[0, 1]),
        Err("links:3: expected a node of this channel, 1 to 2 in the file, found: node 9".into())
    );
    // Files of some tools begin with node 1, and a row may stand for both directions.
    let from_one = Links::read("links", b"0.0 nem:1 pathloss nem:2,80 nem:3,80\n", &Reading::default()).expect("links");
    let bad = from_one.check_nodes("links", &[0, 1, 2].into()).expect_err("no node 3").to_string();
    let hint = "0 to 2 in the file; `first_node = 1` takes the file's nodes 1 to 3";
    assert_eq!(bad, format!("links:1: expected a node of this channel, {hint}, found: node 3"));
    // A file for a much larger network does not list all of its nodes.
    let rows: String = (0..3000).map(|node| format!("{node},{},80\n", node + 1)).collect();
    let bad = read(&format!("from,to,loss_db\n{rows}")).check_nodes("links", &[0, 1].into()).expect_err("two nodes");
    assert!(bad.count <= 1000 && bad.ended_at.is_some(), "{}", bad.count);
    let below = Links::read("links", b"from,to,loss_db\n0,2,80\n", &Reading { first_node: 1, ..Reading::default() });
    assert!(below.expect_err("node 0").to_string().contains("a node from `first_node` on, which is 1"));
}
