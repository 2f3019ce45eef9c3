//! Packets.

use winnow::combinator::{alt, cut_err, delimited, opt, preceded, repeat, separated};
use winnow::prelude::*;
use winnow::token::{take_till, take_while};

use super::{Input, digits, expected, space, symbol, word};
use crate::script::{Content, Direction, Options, Packet, Segment, TcpOption};

/// A packet with its direction.
pub(super) fn packet(input: &mut Input<'_>) -> ModalResult<Packet> {
    let direction = alt(('<'.value(Direction::In), '>'.value(Direction::Out))).parse_next(input)?;
    let ip = opt(preceded(space, ip_fields)).parse_next(input)?.unwrap_or_default();
    let content = preceded(space, alt((segment.map(Content::Tcp), other))).parse_next(input)?;
    Ok(Packet { direction, ip, content })
}

/// Fields of the IP header in brackets or parentheses.
fn ip_fields(input: &mut Input<'_>) -> ModalResult<Vec<String>> {
    alt((delimited('[', take_till(1.., [']', '\n']), ']'), delimited('(', take_till(1.., [')', '\n']), ')')))
        .map(|text: &str| text.split(',').map(|field| field.trim().to_owned()).collect())
        .parse_next(input)
}

/// A packet of another protocol, or with addresses: the rest of the line.
fn other(input: &mut Input<'_>) -> ModalResult<Content> {
    const KINDS: [&str; 9] = ["icmp", "udp", "udplite", "encap", "ipv4", "ipv6", "gre", "mpls", "sctp"];
    take_till(1.., '\n')
        .verify(|text: &str| {
            let kind: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
            KINDS.contains(&kind.as_str()) || (kind.chars().all(|c| c.is_ascii_digit()) && text.contains('>'))
        })
        .map(|text: &str| Content::Other(text.trim_end().to_owned()))
        .context(expected("the flags of a segment, such as \"P.\", or the kind of another packet"))
        .parse_next(input)
}

fn segment(input: &mut Input<'_>) -> ModalResult<Segment> {
    let flags: &str = take_while(1.., |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '.' || c == '-')
        .verify(|text: &str| !text.bytes().all(|c| c.is_ascii_digit()))
        .parse_next(input)?;
    cut_err(|input: &mut Input<'_>| rest_of_segment(flags, input)).parse_next(input)
}

fn rest_of_segment(flags: &str, input: &mut Input<'_>) -> ModalResult<Segment> {
    opt((space, "seq")).parse_next(input)?;
    let (seq, len) = preceded(space, numbers).context(expected("sequence numbers: 1:1001(1000)")).parse_next(input)?;
    let ack = named("ack", input)?;
    let window = named("win", input)?;
    let urgent = named("urg", input)?;
    let options = opt(preceded(space, options)).parse_next(input)?.unwrap_or(Options::These(Vec::new()));
    Ok(Segment { flags: flags.to_owned(), seq, len, ack, window, urgent, options })
}

/// `seq:end(len)`: the length is that of the payload, so the end does not count SYN and FIN.
fn numbers(input: &mut Input<'_>) -> ModalResult<(u64, u32)> {
    (digits::<u32>, ':', digits::<u32>, '(', digits::<u32>, ')')
        .verify(|(seq, _, end, _, len, _)| seq.wrapping_add(*len) == *end)
        .map(|(seq, _, _, _, len, _)| (u64::from(seq), len))
        .parse_next(input)
}

/// A field with its name before it, if it is there.
fn named<T: std::str::FromStr>(name: &'static str, input: &mut Input<'_>) -> ModalResult<Option<T>> {
    opt(preceded((space, name, blank), cut_err(preceded(space, digits)))).parse_next(input)
}

fn blank(input: &mut Input<'_>) -> ModalResult<()> {
    take_while(1.., char::is_whitespace).void().parse_next(input)
}

fn options(input: &mut Input<'_>) -> ModalResult<Options> {
    let list = separated(0.., preceded(space, tcp_option), symbol(',')).map(Options::These);
    delimited('<', cut_err(preceded(space, alt(("...".value(Options::Any), list)))), cut_err(symbol('>')))
        .parse_next(input)
}

fn tcp_option(input: &mut Input<'_>) -> ModalResult<TcpOption> {
    alt((
        preceded(("mss", blank), alt((digits.map(Some), word.value(None)))).map(TcpOption::Mss),
        preceded(("wscale", blank), digits).map(TcpOption::WindowScale),
        ("TS", blank, "val", blank, digits, blank, "ecr", blank, digits)
            .map(|(_, _, _, _, value, _, _, _, echo)| TcpOption::Timestamps(value, echo)),
        preceded("sack", repeat(1.., preceded(blank, block))).map(TcpOption::Sack),
        other_option,
    ))
    .context(expected("an option of TCP"))
    .parse_next(input)
}

fn block(input: &mut Input<'_>) -> ModalResult<(u64, u64)> {
    (digits::<u32>, ':', digits::<u32>).map(|(start, _, end)| (u64::from(start), u64::from(end))).parse_next(input)
}

fn other_option(input: &mut Input<'_>) -> ModalResult<TcpOption> {
    take_till(1.., [',', '>', '\n'])
        .map(|text: &str| match text.trim() {
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::End,
            "sackOK" => TcpOption::SackPermitted,
            text => TcpOption::Other(text.to_owned()),
        })
        .parse_next(input)
}
