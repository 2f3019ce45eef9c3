//! The statements of Python in a script: assertions about the connection's `tcp_info`, and names for values.
//!
//! Only this part of Python is read: `assert expression, message`, `name = expression`, `name += expression`,
//! `print(...)`, comments, and expressions of numbers, names, comparisons (also in chains), `and`, `or`, `not`,
//! `+ - * // / %`, `& | ^`, and parentheses. A message is not evaluated.

use std::collections::BTreeMap;

use winnow::combinator::{alt, cut_err, delimited, opt, preceded, repeat};
use winnow::prelude::*;
use winnow::token::{take_till, take_while};

/// The names that Linux's headers give to states (`enum tcp_ca_state`).
const CONSTANTS: [(&str, f64); 5] = [
    ("TCP_CA_Open", 0.0),
    ("TCP_CA_Disorder", 1.0),
    ("TCP_CA_CWR", 2.0),
    ("TCP_CA_Recovery", 3.0),
    ("TCP_CA_Loss", 4.0),
];

/// How deep an expression may be nested, and how long a statement may be, so that none exhausts the stack.
const DEEPEST: u32 = 64;
const LONGEST: usize = 2000;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Must hold; with its text.
    Assert(Expression, String),
    /// Gives a name a value.
    Set(String, Expression),
}

/// An expression. Truth is 1 or 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A name: of `tcp_info`, of a constant, or set before.
    Name(String),
    /// An operator with one operand: `-`, `not`.
    One(&'static str, Box<Self>),
    /// An operator with two operands.
    Two(Box<Self>, &'static str, Box<Self>),
    /// `a <= b < c`: each comparison must hold.
    Chain(Box<Self>, Vec<(&'static str, Self)>),
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// The name is not known.
    #[error("{0}")]
    Unknown(String),
    /// A division by zero.
    #[error("a division by zero")]
    DivisionByZero,
}

/// Reads the statements.
///
/// # Errors
/// When there is something else; with the text of that statement.
pub fn read(code: &str) -> Result<Vec<Statement>, String> {
    statements(code).iter().filter_map(|text| statement(text).transpose()).collect()
}

/// The texts of the statements, without comments. A backslash at the end of a line continues it.
fn statements(code: &str) -> Vec<String> {
    let joined = code.replace("\\\n", " ");
    let mut found = vec![String::new()];
    for line in joined.lines() {
        let mut quote = None;
        for c in line.chars() {
            match (quote, c) {
                (None, '#') => break,
                (None, ';') => found.push(String::new()),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    found.last_mut().expect("there is one").push(c);
                }
                _ => {
                    if quote == Some(c) {
                        quote = None;
                    }
                    found.last_mut().expect("there is one").push(c);
                }
            }
        }
        found.push(String::new());
    }
    found.into_iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty() && text != "\\").collect()
}

type Input<'a> = winnow::Stateful<&'a str, u32>;

fn statement(text: &str) -> Result<Option<Statement>, String> {
    if text.starts_with("print(") || text.starts_with("print ") {
        return Ok(None);
    }
    if text.len() > LONGEST {
        return Err(format!("statement of more than {LONGEST} bytes"));
    }
    let mut input = Input { input: text, state: 0 };
    let wrong = || format!("statement that is not read: {text}");
    let parsed = alt((assertion, assignment)).parse_next(&mut input).map_err(|_| wrong())?;
    if input.input.trim().is_empty() { Ok(Some(parsed)) } else { Err(wrong()) }
}

fn assertion(input: &mut Input<'_>) -> ModalResult<Statement> {
    preceded(("assert", blank), cut_err((expression.with_taken(), opt((space, ',', take_till(0.., '\n'))))))
        .map(|((expression, text), _)| Statement::Assert(expression, text.trim().to_owned()))
        .parse_next(input)
}

fn assignment(input: &mut Input<'_>) -> ModalResult<Statement> {
    (word, space, alt(("+=", "-=", "=")), expression)
        .map(|(name, (), sign, value)| {
            let before = Box::new(Expression::Name(name.to_owned()));
            let value = match sign {
                "+=" => Expression::Two(before, "+", Box::new(value)),
                "-=" => Expression::Two(before, "-", Box::new(value)),
                _ => value,
            };
            Statement::Set(name.to_owned(), value)
        })
        .parse_next(input)
}

fn space(input: &mut Input<'_>) -> ModalResult<()> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

fn blank(input: &mut Input<'_>) -> ModalResult<()> {
    take_while(1.., char::is_whitespace).void().parse_next(input)
}

fn word<'a>(input: &mut Input<'a>) -> ModalResult<&'a str> {
    preceded(space, take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_'))
        .verify(|text: &str| !text.starts_with(|c: char| c.is_ascii_digit()))
        .parse_next(input)
}

/// An operator that is a word.
fn keyword<'a>(wanted: &'static str) -> impl ModalParser<Input<'a>, &'static str, winnow::error::ContextError> {
    word.verify(move |text: &str| text == wanted).value(wanted)
}

fn expression(input: &mut Input<'_>) -> ModalResult<Expression> {
    input.state += 1;
    if input.state > DEEPEST {
        return cut_err(winnow::combinator::fail).parse_next(input);
    }
    let value = left(keyword("or"), left(keyword("and"), not)).parse_next(input)?;
    input.state -= 1;
    Ok(value)
}

/// Operators of one rank, which group from the left.
fn left<'a>(
    mut sign: impl ModalParser<Input<'a>, &'static str, winnow::error::ContextError>,
    mut operand: impl ModalParser<Input<'a>, Expression, winnow::error::ContextError>,
) -> impl ModalParser<Input<'a>, Expression, winnow::error::ContextError> {
    move |input: &mut Input<'a>| {
        let mut value = operand.parse_next(input)?;
        while let Some((sign, second)) = opt((sign.by_ref(), operand.by_ref())).parse_next(input)? {
            value = Expression::Two(Box::new(value), sign, Box::new(second));
        }
        Ok(value)
    }
}

fn not(input: &mut Input<'_>) -> ModalResult<Expression> {
    let signs: Vec<&str> = repeat(0.., keyword("not")).parse_next(input)?;
    let value = comparison(input)?;
    Ok(signs.iter().fold(value, |value, _| Expression::One("not", Box::new(value))))
}

fn comparison(input: &mut Input<'_>) -> ModalResult<Expression> {
    let first = bits(input)?;
    const SIGNS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
    let sign = preceded(space, alt(SIGNS.map(|sign| sign.value(sign))));
    let rest: Vec<(&'static str, Expression)> = repeat(0.., (sign, bits)).parse_next(input)?;
    Ok(if rest.is_empty() { first } else { Expression::Chain(Box::new(first), rest) })
}

fn bits(input: &mut Input<'_>) -> ModalResult<Expression> {
    let sign = |c: &'static str| preceded(space, c).value(c);
    left(sign("|"), left(sign("^"), left(sign("&"), sum))).parse_next(input)
}

fn sum(input: &mut Input<'_>) -> ModalResult<Expression> {
    left(preceded(space, alt(("+".value("+"), "-".value("-")))), product).parse_next(input)
}

fn product(input: &mut Input<'_>) -> ModalResult<Expression> {
    let sign = alt(("//".value("//"), "*".value("*"), "/".value("/"), "%".value("%")));
    left(preceded(space, sign), operand).parse_next(input)
}

fn operand(input: &mut Input<'_>) -> ModalResult<Expression> {
    let signs: Vec<char> = repeat(0.., preceded(space, '-')).parse_next(input)?;
    let inner = delimited((space, '('), cut_err(expression), (space, ')'));
    let value = alt((number, word.map(|name| Expression::Name(name.to_owned())), inner)).parse_next(input)?;
    Ok(signs.iter().fold(value, |value, _| Expression::One("-", Box::new(value))))
}

fn number(input: &mut Input<'_>) -> ModalResult<Expression> {
    let digits = |c: char| c.is_ascii_digit();
    let hex = preceded("0x", take_while(1..=13, |c: char| c.is_ascii_hexdigit()))
        .verify_map(|text: &str| u64::from_str_radix(text, 16).ok())
        .map(|value| value as f64);
    let decimal = (take_while(1..=15, digits), opt(('.', take_while(0..=15, digits))))
        .take()
        .verify_map(|text: &str| text.parse().ok());
    preceded(space, alt((hex, decimal))).map(Expression::Number).parse_next(input)
}

/// Values of names, as the statements of a script set them.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<String, f64>);

impl Names {
    /// Remembers a value.
    pub fn set(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value);
    }

    /// The value of a name.
    pub fn get(&self, name: &str, info: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let constant = || CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        self.0.get(name).copied().or_else(|| info(name)).or_else(constant)
    }

    /// The value of an expression; `info` gives that of a name of `tcp_info`.
    ///
    /// # Errors
    /// When a name has no value, or a divisor is zero.
    pub fn value(&self, expression: &Expression, info: &dyn Fn(&str) -> Option<f64>) -> Result<f64, NoValue> {
        match expression {
            Expression::Number(number) => Ok(*number),
            Expression::Name(name) => self.get(name, info).ok_or_else(|| NoValue::Unknown(name.clone())),
            Expression::One(sign, operand) => {
                let value = self.value(operand, info)?;
                Ok(if *sign == "-" { -value } else { truth(value == 0.0) })
            }
            Expression::Two(first, sign, second) => {
                let first = self.value(first, info)?;
                // Python evaluates the second operand of `and` and `or` only if it decides.
                match *sign {
                    "and" if first == 0.0 => return Ok(first),
                    "or" if first != 0.0 => return Ok(first),
                    _ => {}
                }
                apply(first, sign, self.value(second, info)?)
            }
            Expression::Chain(first, rest) => {
                let mut before = self.value(first, info)?;
                let mut holds = true;
                for (sign, next) in rest {
                    let next = self.value(next, info)?;
                    holds &= compare(before, sign, next);
                    before = next;
                }
                Ok(truth(holds))
            }
        }
    }
}

const fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

fn compare(first: f64, sign: &str, second: f64) -> bool {
    match sign {
        "==" => first == second,
        "!=" => first != second,
        "<=" => first <= second,
        ">=" => first >= second,
        "<" => first < second,
        _ => first > second,
    }
}

fn apply(first: f64, sign: &str, second: f64) -> Result<f64, NoValue> {
    if second == 0.0 && matches!(sign, "/" | "//" | "%") {
        return Err(NoValue::DivisionByZero);
    }
    let bits = |f: fn(i64, i64) -> i64| f(first as i64, second as i64) as f64;
    Ok(match sign {
        "and" | "or" => second,
        "+" => first + second,
        "-" => first - second,
        "*" => first * second,
        "/" => first / second,
        "//" => (first / second).floor(),
        "%" => first - second * (first / second).floor(),
        "&" => bits(|a, b| a & b),
        "|" => bits(|a, b| a | b),
        _ => bits(|a, b| a ^ b),
    })
}

/// The names in an expression, each once, in their order.
#[must_use]
pub fn names(expression: &Expression) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    collect(expression, &mut |name| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    });
    names
}

fn collect(expression: &Expression, found: &mut dyn FnMut(&str)) {
    match expression {
        Expression::Number(_) => {}
        Expression::Name(name) => found(name),
        Expression::One(_, operand) => collect(operand, found),
        Expression::Two(first, _, second) => {
            collect(first, found);
            collect(second, found);
        }
        Expression::Chain(first, rest) => {
            collect(first, found);
            rest.iter().for_each(|(_, next)| collect(next, found));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the statements with a window of 10, and returns what each assertion gives.
    fn run(code: &str) -> Vec<Result<bool, NoValue>> {
        let mut names = Names::default();
        let info = |name: &str| (name == "tcpi_snd_cwnd").then_some(10.0);
        let mut outcomes = Vec::new();
        for statement in read(code).unwrap() {
            match statement {
                Statement::Assert(expression, _) => {
                    outcomes.push(names.value(&expression, &info).map(|value| value != 0.0));
                }
                Statement::Set(name, expression) => {
                    let value = names.value(&expression, &info).unwrap();
                    names.set(&name, value);
                }
            }
        }
        outcomes
    }

    #[test]
    fn assertions_hold_or_do_not() {
        assert_eq!(run("assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd"), [Ok(true)]);
        assert_eq!(run(" assert tcpi_snd_cwnd == 11, 'cwnd=%d; more' % tcpi_snd_cwnd "), [Ok(false)]);
        assert_eq!(run("assert 5 <= tcpi_snd_cwnd <= 9\nassert 9 < tcpi_snd_cwnd < 0xb"), [Ok(false), Ok(true)]);
        assert_eq!(run("assert (tcpi_snd_cwnd & 2) != 0 and not tcpi_snd_cwnd == 3"), [Ok(true)]);
        assert_eq!(run("assert 2 + 3 * 4 == 14; assert -7 // 2 == -4; assert -7 % 4 == 1"), [const { Ok(true) }; 3]);
        assert_eq!(run("assert 6 ^ 5 | 8 == 11"), [Ok(true)], "comparisons bind less than bits");
    }

    #[test]
    fn names_keep_their_values() {
        let code = "# a comment\nprint(tcpi_snd_cwnd); cwnd = 8 # eight\ncwnd += 2; \\\n assert tcpi_snd_cwnd == cwnd";
        assert_eq!(run(code), [Ok(true)]);
    }

    #[test]
    fn unknown_names_have_no_value() {
        assert_eq!(run("assert tcpi_lost == 0"), [Err(NoValue::Unknown("tcpi_lost".to_owned()))]);
        assert_eq!(run("assert 1 or tcpi_lost"), [Ok(true)], "the second operand is not needed");
        assert_eq!(run("assert 1 / 0"), [Err(NoValue::DivisionByZero)]);
        let Statement::Assert(expression, _) = &read("assert a <= b + a").unwrap()[0] else { panic!() };
        assert_eq!(names(expression), ["a", "b"]);
    }

    #[test]
    fn other_statements_are_refused() {
        for code in [
            "for i in x: pass",
            "assert",
            "assert 1 +",
            "a.b = 3",
            "assert f(x)",
            &"(".repeat(1900),
            &"1+".repeat(9000),
        ] {
            assert!(read(code).is_err(), "{code:.20}");
        }
    }
}
