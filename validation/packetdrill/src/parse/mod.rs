//! Reads the language of packetdrill.
//!
//! Read: the scripts and the documentation of google/packetdrill. A script has options, shell commands, and events: a
//! time, and a packet, a system call, a shell command or statements of Python. What the runner cannot play is read too,
//! so that it can be named.

mod call;
mod packet;
#[cfg(test)]
mod tests;
mod time;

use winnow::ascii::multispace1;
use winnow::combinator::{alt, cut_err, delimited, dispatch, fail, opt, peek, preceded, repeat};
use winnow::error::{ContextError, ParseError, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::stream::Location;
use winnow::token::{any, take_till, take_until, take_while};
use winnow::{LocatingSlice, Stateful};

use crate::script::{Action, Event, Script, When};

/// How deep values may be nested, so that no script exhausts the stack.
const DEEPEST: u32 = 32;

/// What is left of the text, and how deep the value is that is being read.
type Input<'a> = Stateful<LocatingSlice<&'a str>, u32>;

/// A script that cannot be read: where, what was found there and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What was expected.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// Reads a script.
///
/// # Errors
/// When the text is not in the language of packetdrill.
pub fn parse(text: &str) -> Result<Script, ScriptError> {
    let input = Stateful { input: LocatingSlice::new(text), state: 0 };
    let items = script.parse(input).map_err(|error| explain(text, &error))?;
    let mut script = Script::default();
    for (offset, item) in items {
        let line = position(text, offset).0;
        match item {
            Item::Option(name, value) => script.options.push((name, value)),
            Item::Command(command) if script.events.is_empty() => script.setup.push(command),
            Item::Command(command) => script.cleanup.push(command),
            Item::Event(when, action) if script.cleanup.is_empty() => script.events.push(Event { line, when, action }),
            Item::Event(..) => {
                let (line, column) = position(text, offset);
                return Err(ScriptError {
                    line,
                    column,
                    expected: "the end, after a command without a time".to_owned(),
                    found: found(&text[offset..]),
                });
            }
        }
    }
    Ok(script)
}

/// What a script consists of.
enum Item {
    Option(String, Option<String>),
    Command(String),
    Event(When, Action),
}

fn script(input: &mut Input<'_>) -> ModalResult<Vec<(usize, Item)>> {
    preceded(space, repeat(0.., (offset, item, space).map(|(offset, item, ())| (offset, item)))).parse_next(input)
}

fn offset(input: &mut Input<'_>) -> ModalResult<usize> {
    Ok(input.current_token_start())
}

fn item(input: &mut Input<'_>) -> ModalResult<Item> {
    dispatch! { peek(any);
        '-' => cut_err(option),
        '`' => cut_err(command).map(Item::Command),
        '0'..='9' | '+' | '.' | '*' => cut_err((time::when, preceded(space, action)))
            .map(|(when, action)| Item::Event(when, action)),
        _ => cut_err(fail.context(expected("an option, a command or the time of an event"))),
    }
    .parse_next(input)
}

fn option(input: &mut Input<'_>) -> ModalResult<Item> {
    let word = || take_while(1.., |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let value = preceded('=', take_till(1.., char::is_whitespace));
    (preceded("--", word()), opt(value))
        .map(|(name, value): (&str, Option<&str>)| Item::Option(name.to_owned(), value.map(str::to_owned)))
        .context(expected("an option such as --tolerance_usecs=4000"))
        .parse_next(input)
}

fn action(input: &mut Input<'_>) -> ModalResult<Action> {
    dispatch! { peek(any);
        '<' | '>' => packet::packet.map(Action::Packet),
        '`' => command.map(Action::Command),
        '%' => code.map(Action::Code),
        'a'..='z' | 'A'..='Z' | '_' => call::call.map(Action::Call),
        _ => fail.context(expected("a packet, a system call, a command or code")),
    }
    .parse_next(input)
}

fn command(input: &mut Input<'_>) -> ModalResult<String> {
    delimited('`', take_till(0.., '`'), '`')
        .map(|text: &str| text.trim().to_owned())
        .context(expected("a command that ends with `"))
        .parse_next(input)
}

fn code(input: &mut Input<'_>) -> ModalResult<String> {
    delimited("%{", take_until(0.., "}%"), "}%")
        .map(|text: &str| text.to_owned())
        .context(expected("code between %{ and }%"))
        .parse_next(input)
}

/// Blanks, ends of lines and comments.
fn space(input: &mut Input<'_>) -> ModalResult<()> {
    let line = ("//", take_till(0.., '\n')).void();
    let block = ("/*", cut_err((take_until(0.., "*/"), "*/")).context(expected("a comment that ends with */"))).void();
    repeat(0.., alt((multispace1.void(), line, block))).parse_next(input)
}

/// A character, after blanks.
fn symbol<'a>(wanted: char) -> impl ModalParser<Input<'a>, char, ContextError> {
    preceded(space, wanted).context(StrContext::Expected(StrContextValue::CharLiteral(wanted)))
}

fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

/// A word of letters, digits and underscores.
fn word<'a>(input: &mut Input<'a>) -> ModalResult<&'a str> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_').parse_next(input)
}

/// A number without a sign, decimal.
fn digits<T: std::str::FromStr>(input: &mut Input<'_>) -> ModalResult<T> {
    take_while(1.., |c: char| c.is_ascii_digit()).parse_to().context(expected("a number that fits")).parse_next(input)
}

/// Line and column of a place, both from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn found(rest: &str) -> String {
    match rest.split_whitespace().next() {
        None => "the end".to_owned(),
        Some(word) => format!("{:?}", word.chars().take(40).collect::<String>()),
    }
}

fn explain(text: &str, error: &ParseError<Input<'_>, ContextError>) -> ScriptError {
    let offset = error.char_span().start;
    let (line, column) = position(text, offset);
    let wanted: Vec<String> = error
        .inner()
        .context()
        .filter_map(|context| match context {
            StrContext::Expected(value) => Some(value.to_string()),
            _ => None,
        })
        .take(1)
        .collect();
    let expected = if wanted.is_empty() { "another character".to_owned() } else { wanted.join(" or ") };
    ScriptError { line, column, expected, found: found(&text[offset..]) }
}
