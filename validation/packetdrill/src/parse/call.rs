//! System calls.

use winnow::combinator::{alt, cut_err, delimited, dispatch, fail, opt, peek, preceded, separated};
use winnow::prelude::*;
use winnow::token::{any, take_till, take_while};

use super::{DEEPEST, Input, expected, space, symbol, word};
use crate::script::{Call, Value};

/// A system call with its result.
pub(super) fn call(input: &mut Input<'_>) -> ModalResult<Call> {
    let name = word.parse_next(input)?.to_owned();
    let arguments = cut_err(values('(', ')')).parse_next(input)?;
    cut_err(symbol('=')).parse_next(input)?;
    let result = cut_err(preceded(space, value)).parse_next(input)?;
    let error = opt(preceded(space, error_name)).parse_next(input)?;
    let note = delimited('(', take_till(0.., [')', '\n']), ')');
    opt(preceded(space, note)).parse_next(input)?;
    Ok(Call { name, arguments, result, error })
}

fn error_name(input: &mut Input<'_>) -> ModalResult<String> {
    ('E', take_while(1.., |c: char| c.is_ascii_uppercase() || c.is_ascii_digit()))
        .take()
        .map(str::to_owned)
        .parse_next(input)
}

/// Values between two characters, separated by commas.
fn values<'a>(open: char, close: char) -> impl FnMut(&mut Input<'a>) -> ModalResult<Vec<Value>> {
    move |input| {
        symbol(open).parse_next(input)?;
        input.state += 1;
        if input.state > DEEPEST {
            return cut_err(fail.context(expected("values that are nested less deep"))).parse_next(input);
        }
        let list = separated(0.., preceded(space, field), symbol(',')).parse_next(input)?;
        // A comma after the last value is allowed.
        opt(symbol(',')).parse_next(input)?;
        input.state -= 1;
        cut_err(symbol(close)).parse_next(input)?;
        Ok(list)
    }
}

/// A value, or a name with a value.
fn field(input: &mut Input<'_>) -> ModalResult<Value> {
    let first = value.parse_next(input)?;
    match opt(preceded((space, '=', space), value)).parse_next(input)? {
        Some(second) => Ok(Value::Field(Box::new(first), Box::new(second))),
        None => Ok(first),
    }
}

/// A value, or several with `|` between them.
fn value(input: &mut Input<'_>) -> ModalResult<Value> {
    let mut values: Vec<Value> = separated(1.., preceded(space, single), symbol('|')).parse_next(input)?;
    Ok(if values.len() == 1 { values.remove(0) } else { Value::Union(values) })
}

fn single(input: &mut Input<'_>) -> ModalResult<Value> {
    dispatch! { peek(any);
        '.' => "...".value(Value::Whatever),
        '"' => cut_err(delimited('"', take_till(0.., ['"', '\n']), '"')).map(|text: &str| Value::Text(text.to_owned())),
        '[' => values('[', ']').map(Value::List),
        '{' => values('{', '}').map(Value::Fields),
        '-' | '0'..='9' => alt((number, name)),
        'a'..='z' | 'A'..='Z' | '_' | '*' => name,
        _ => fail,
    }
    .context(expected("a value"))
    .parse_next(input)
}

/// A number, decimal or hexadecimal, that no letter follows.
fn number(input: &mut Input<'_>) -> ModalResult<Value> {
    (opt('-'), take_while(1.., |c: char| c.is_ascii_alphanumeric()))
        .verify_map(|(sign, text): (Option<char>, &str)| {
            let number = match text.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).ok()?,
                None => text.parse().ok()?,
            };
            Some(Value::Number(if sign.is_some() { -number } else { number }))
        })
        .parse_next(input)
}

/// A name, perhaps with arguments. A key of digits and hyphens counts as a name.
fn name(input: &mut Input<'_>) -> ModalResult<Value> {
    let name: &str =
        take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '*').parse_next(input)?;
    match opt(values('(', ')')).parse_next(input)? {
        Some(arguments) => Ok(Value::Apply(name.to_owned(), arguments)),
        None => Ok(Value::Name(name.to_owned())),
    }
}
