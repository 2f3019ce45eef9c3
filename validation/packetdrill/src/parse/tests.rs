use hopyard_engine::Span;

use super::*;
use crate::script::{Call, Content, Direction, Options, Packet, Segment, Stamp, TcpOption, Value};

fn script(text: &str) -> Script {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn event(text: &str) -> Event {
    script(text).events.remove(0)
}

fn packet(text: &str) -> Packet {
    match event(text).action {
        Action::Packet(packet) => packet,
        other => panic!("{other:?}"),
    }
}

fn segment(text: &str) -> Segment {
    match packet(text).content {
        Content::Tcp(segment) => segment,
        Content::Other(other) => panic!("{other}"),
    }
}

fn call(text: &str) -> Call {
    match event(text).action {
        Action::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

fn error(text: &str) -> String {
    parse(text).expect_err("an error").to_string()
}

#[test]
fn a_script_has_options_commands_and_events() {
    let read = script(
        "// a script\n--tolerance_usecs=7000\n--strict_segments // an option without a value\n\n\
         `sysctl -q a=1 \\\n b=2`\n/* two\nlines */ 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         +.25 %{ assert tcpi_snd_cwnd == 10 }%\n+0 `tc qdisc`\n`cleanup`\n",
    );
    assert_eq!(read.option("tolerance_usecs"), Some("7000"));
    assert_eq!(read.options[1], ("strict_segments".to_owned(), None));
    assert_eq!((read.setup, read.cleanup), (vec!["sysctl -q a=1 \\\n b=2".to_owned()], vec!["cleanup".to_owned()]));
    assert_eq!(read.events.iter().map(|event| event.line).collect::<Vec<_>>(), [8, 9, 10]);
    assert_eq!(read.events[1].action, Action::Code(" assert tcpi_snd_cwnd == 10 ".to_owned()));
    assert_eq!(read.events[2].action, Action::Command("tc qdisc".to_owned()));
}

#[test]
fn times_have_six_forms() {
    let at = |relative, micros| Stamp { relative, after: Span::from_micros(micros) };
    let when = |time: &str| event(&format!("{time} `x`")).when;
    assert_eq!(when("*"), When::Any);
    assert_eq!(when("1.000002"), When::At(at(false, 1_000_002)));
    assert_eq!(when("+.25"), When::At(at(true, 250_000)));
    assert_eq!(when("+.1~+.105"), When::Between(at(true, 100_000), at(true, 105_000)));
    assert_eq!(when("0...0.2"), When::During(at(false, 0), at(false, 200_000)));
    assert_eq!(when("+.002 ... 0.004"), When::During(at(true, 2000), at(true, 4000)), "from the same event");
}

#[test]
fn segments_have_flags_numbers_and_options() {
    let read = segment("+0 < SEW 0:0(0) win 32792 <mss 1000,sackOK,TS val 100 ecr 0,nop,wscale 7>");
    assert_eq!((read.flags.as_str(), read.seq, read.len, read.ack, read.window), ("SEW", 0, 0, None, Some(32_792)));
    let options = [
        TcpOption::Mss(Some(1000)),
        TcpOption::SackPermitted,
        TcpOption::Timestamps(100, 0),
        TcpOption::Nop,
        TcpOption::WindowScale(7),
    ];
    assert_eq!((read.options(), read.timestamps()), (&options[..], Some((100, 0))));
    let read = segment("+0 > P. 1:1001(1000) ack 7 <nop,nop, sack 2001:3001 6001:7001>");
    assert_eq!((read.len, read.ack, read.sack()), (1000, Some(7), &[(2001, 3001), (6001, 7001)][..]));
    assert_eq!(segment("0 > S. 0:0(0) ack 1 <...>").options, Options::Any);
    assert_eq!(segment("0 < U. 1:2(1) ack 1 win 5 urg 1").urgent, Some(1));
    assert_eq!(segment("0 < S 0:0(0) <mss MSS,FO 12ab>").options()[1], TcpOption::Other("FO 12ab".to_owned()));
    assert_eq!(segment("0 < . 4294967295:0(1) ack 1").seq, 4_294_967_295, "numbers wrap");
}

#[test]
fn other_packets_are_named() {
    let read = packet("0 < [ect0, ttl 3] . 1:1(0) ack 1");
    assert_eq!((read.direction, read.ip), (Direction::In, vec!["ect0".to_owned(), "ttl 3".to_owned()]));
    for text in ["icmp unreachable frag_needed mtu 1400 [1:1461(1460)]", "udp (8)", "encap psp spi 23 P. 1:2(1) ack 1"]
    {
        assert_eq!(packet(&format!("0 > {text}")).content, Content::Other(text.to_owned()));
    }
}

#[test]
fn calls_have_arguments_and_a_result() {
    let read = call("0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)");
    assert_eq!((read.name.as_str(), read.number(0), read.result.number()), ("connect", Some(3), Some(-1)));
    assert_eq!((read.error.as_deref(), &read.arguments[1]), (Some("EINPROGRESS"), &Value::Whatever));
    let read = call("0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0x2 (flags O_RDWR)");
    assert_eq!((read.mentions("O_NONBLOCK"), read.result.number(), read.word(1)), (true, Some(2), Some("F_SETFL")));
    assert_eq!(call("0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0").number(3), Some(1));
    let read = call("0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 40}, {..., 20}], msg_flags=0}, MSG_MORE) = 60");
    assert!(read.mentions("MSG_MORE") && read.mentions("msg_iov") && !read.mentions("msg_control"));
    assert_eq!(crate::features::asked(&read), Some(60));
    let read = call("0 poll([{fd=4,\n events=POLLOUT,\n revents=POLLOUT}], 1, 1000) = 1");
    assert_eq!(read.number(2), Some(1000));
    assert_eq!(call("0 open(\"/tmp/a\", O_RDONLY) = 5").arguments[0], Value::Text("/tmp/a".to_owned()));
    assert!(call("0 bind(3, {sa_family = AF_INET, sin_port = htons(8080)}, 16) = 0").mentions("htons"));
}

#[test]
fn errors_name_the_place() {
    assert_eq!(
        error("0 socket(...) = 3\nhello"),
        "line 2, column 1: expected an option, a command or the time of an event, found \"hello\""
    );
    assert_eq!(
        error("+0 > P. 1:1001(999) ack 1"),
        "line 1, column 9: expected sequence numbers: 1:1001(1000), found \"1:1001(999)\""
    );
    assert_eq!(error("+0 close(3) 0"), "line 1, column 13: expected `=`, found \"0\"");
    assert_eq!(error("+0 close(3"), "line 1, column 11: expected `)`, found the end");
    assert_eq!(error("+0 close(]) = 0"), "line 1, column 10: expected `)`, found \"])\"");
    assert_eq!(
        error("+0 > hello 1:1(0)"),
        "line 1, column 6: expected the flags of a segment, such as \"P.\", or the kind of another packet, found \"hello\""
    );
    assert_eq!(
        error("`a`\n0 `b`\n`c`\n0 `d`"),
        "line 4, column 1: expected the end, after a command without a time, found \"0\""
    );
    assert_eq!(error("0 `open"), "line 1, column 8: expected a command that ends with `, found the end");
    assert_eq!(
        error("0.1234567 `x`"),
        "line 1, column 1: expected a time in seconds, with at most six digits before and after the point, found \"0.1234567\""
    );
    assert_eq!(error("/* never ends"), "line 1, column 3: expected a comment that ends with */, found \"never\"");
}

#[test]
fn deep_values_are_refused() {
    let deep = format!("0 x({}", "[".repeat(100_000));
    assert!(error(&deep).contains("values that are nested less deep"), "{}", error(&deep));
    assert!(parse(&format!("0 x({}1{}) = 0", "[".repeat(31), "]".repeat(31))).is_ok());
}
