//! The losses of signals between the stations of a channel: a law of path loss with obstacles, or the links of a file.

use hopyard_engine::Time;

use super::links::Gains;
use super::neighbours::Near;
use super::obstacles::{self, Obstacle};
use super::propagation::Channel;
use crate::mobility::Position;

/// The source of the gains between stations.
#[derive(Clone, Debug)]
pub struct Losses {
    channel: Channel,
    /// The gains of named links, in the place of the law.
    links: Option<Box<Gains>>,
    /// The obstacles that the direct path may meet, under the law.
    obstacles: Vec<Obstacle>,
}

impl Losses {
    /// The law of path loss with obstacles, or these links in its place.
    #[must_use]
    pub fn new(channel: Channel, obstacles: Vec<Obstacle>, links: Option<Gains>) -> Self {
        Self { channel, links: links.map(Box::new), obstacles }
    }

    /// Whether signals between stations that stand still differ in time.
    #[must_use]
    pub fn change(&self) -> bool {
        self.links.as_ref().is_some_and(|links| links.change())
    }

    /// The distance in metres up to which the gain is as high as this; nothing where distance alone does not decide.
    #[must_use]
    pub fn range(&self, gain: f64) -> Option<f64> {
        (self.links.is_none() && self.is_even()).then(|| self.channel.range(gain))
    }

    /// Whether gains are the same in both directions.
    #[must_use]
    pub const fn are_mutual(&self) -> bool {
        self.links.is_none()
    }

    /// The gain from a station to another at these positions, fading aside.
    #[must_use]
    pub fn median(&self, (from, here): (usize, Position), (to, there): (usize, Position), now: Time) -> f64 {
        match &self.links {
            Some(links) => links.median(from, to as u32, now),
            None => self.between(here, there),
        }
    }

    /// The gains to the stations near another, fading aside. They replace the content of `gains`.
    pub fn medians(&self, from: usize, near: &Near<'_>, now: Time, gains: &mut Vec<f64>) {
        match &self.links {
            Some(links) => {
                gains.clear();
                gains.extend(near.stations.iter().map(|&to| links.median(from, to, now)));
            }
            None => self.law(from, near, now, gains),
        }
    }

    /// Whether the law depends on the distance alone.
    fn is_even(&self) -> bool {
        self.obstacles.is_empty() && !self.channel.is_sited()
    }

    /// The gain of the law between two places.
    fn between(&self, one: Position, other: Position) -> f64 {
        self.channel.between(one, other) * obstacles::passes(&self.obstacles, one, other)
    }

    /// The gains of the law.
    #[inline]
    fn law(&self, from: usize, near: &Near<'_>, now: Time, gains: &mut Vec<f64>) {
        if self.is_even() {
            return self.channel.gains(near.squares, gains);
        }
        let here = near.paths.position(from, now);
        gains.clear();
        gains.extend(near.stations.iter().map(|&to| self.between(here, near.paths.position(to as usize, now))));
    }

    /// The gains of a signal to the stations near its sender, fading aside. `key` is the key of the transmission at a
    /// hearer.
    #[inline]
    pub fn gains(&self, from: usize, near: &Near<'_>, now: Time, key: impl Fn(u32) -> u64, gains: &mut Vec<f64>) {
        match &self.links {
            Some(links) => {
                gains.clear();
                gains.extend(near.stations.iter().map(|&to| links.gain(from, to, now, key(to))));
            }
            None => self.law(from, near, now, gains),
        }
    }
}
