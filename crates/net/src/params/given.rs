//! Values that a file may write in several ways: as a word, a number or a list.

use std::fmt;
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, de};

/// A value as a file writes it.
#[derive(Debug)]
pub enum Given<'a, T> {
    /// True or false.
    Choice(bool),
    /// Text.
    Word(&'a str),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Number(f64),
    /// A list.
    List(Vec<T>),
}

/// Reads a value that may be written in several ways. `expected` names them, and `read` takes those that there are.
///
/// # Errors
/// When `read` does not take the value, or an element of a list is no `E`.
pub fn read_given<'de, D, E, T>(
    deserializer: D,
    expected: &str,
    read: impl FnOnce(Given<'_, E>) -> Option<T>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: Deserialize<'de>,
{
    deserializer.deserialize_any(Visitor { expected, read, elements: PhantomData })
}

struct Visitor<'a, E, R> {
    expected: &'a str,
    read: R,
    elements: PhantomData<E>,
}

impl<'de, E: Deserialize<'de>, T, R: FnOnce(Given<'_, E>) -> Option<T>> de::Visitor<'de> for Visitor<'_, E, R> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_bool<X: de::Error>(self, choice: bool) -> Result<T, X> {
        let wrong = || X::invalid_type(de::Unexpected::Bool(choice), &self.expected);
        (self.read)(Given::Choice(choice)).ok_or_else(wrong)
    }

    fn visit_i64<X: de::Error>(self, number: i64) -> Result<T, X> {
        let wrong = || X::invalid_value(de::Unexpected::Signed(number), &self.expected);
        (self.read)(Given::Whole(number.into())).ok_or_else(wrong)
    }

    fn visit_u64<X: de::Error>(self, number: u64) -> Result<T, X> {
        let wrong = || X::invalid_value(de::Unexpected::Unsigned(number), &self.expected);
        (self.read)(Given::Whole(number.into())).ok_or_else(wrong)
    }

    fn visit_f64<X: de::Error>(self, number: f64) -> Result<T, X> {
        let wrong = || X::invalid_type(de::Unexpected::Float(number), &self.expected);
        (self.read)(Given::Number(number)).ok_or_else(wrong)
    }

    fn visit_str<X: de::Error>(self, word: &str) -> Result<T, X> {
        let wrong = || X::invalid_value(de::Unexpected::Str(word), &self.expected);
        (self.read)(Given::Word(word)).ok_or_else(wrong)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<T, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        let length = elements.len();
        (self.read)(Given::List(elements)).ok_or_else(|| de::Error::invalid_length(length, &self.expected))
    }
}
