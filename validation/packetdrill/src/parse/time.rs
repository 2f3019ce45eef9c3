//! Times of events.

use hopyard_engine::Span;
use winnow::combinator::{alt, cut_err, opt, preceded};
use winnow::prelude::*;
use winnow::token::take_while;

use super::{Input, expected, space};
use crate::script::{Stamp, When};

/// When an event happens.
pub(super) fn when(input: &mut Input<'_>) -> ModalResult<When> {
    if opt('*').parse_next(input)?.is_some() {
        return Ok(When::Any);
    }
    let first = stamp(input)?;
    let second = opt((preceded(space, alt(("~", "..."))), cut_err(preceded(space, stamp)))).parse_next(input)?;
    Ok(match second {
        None => When::At(first),
        Some(("~", second)) => When::Between(first, second),
        // The end of a call counts from where its beginning counts from.
        Some((_, second)) => When::During(first, Stamp { relative: first.relative, ..second }),
    })
}

fn stamp(input: &mut Input<'_>) -> ModalResult<Stamp> {
    (opt('+'), seconds)
        .map(|(sign, after)| Stamp { relative: sign.is_some(), after })
        .context(expected("a time in seconds, with at most six digits before and after the point"))
        .parse_next(input)
}

/// Seconds as a decimal number. A point belongs to it only if a digit follows: `0...1` is two numbers.
fn seconds(input: &mut Input<'_>) -> ModalResult<Span> {
    let digits = |least| take_while(least.., |c: char| c.is_ascii_digit());
    let (whole, part) = alt((
        (digits(1), opt(preceded('.', digits(1)))).map(|(whole, part): (&str, Option<&str>)| (whole, part)),
        preceded('.', digits(1)).map(|part: &str| ("0", Some(part))),
    ))
    .verify(|(whole, part): &(&str, Option<&str>)| whole.len() <= 6 && part.is_none_or(|part| part.len() <= 6))
    .parse_next(input)?;
    let micros = part.map_or(0, |part| format!("{part:0<6}").parse().unwrap_or(0));
    Ok(Span::from_micros(whole.parse::<u64>().unwrap_or(0) * 1_000_000 + micros))
}
