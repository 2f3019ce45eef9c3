//! Throughput of the 802.11 DCF when every station always has a packet to send (saturation).
//!
//! References: G. Bianchi, Performance analysis of the IEEE 802.11 distributed coordination function, IEEE JSAC 18
//! (2000) 535; I. Tinnirello, G. Bianchi, Y. Xiao, Refinements on IEEE 802.11 DCF modeling approaches, IEEE Trans.
//! Vehicular Technology 59 (2010) 1055. All stations hear each other. Frames are lost only by collisions, and a
//! collision destroys all its frames.
//!
//! The number of attempts is limited (Bianchi's model has no limit; see [`Dcf::attempts`]). With one station, both
//! methods of counting slots are plain arithmetic. Validated against ns-2 (24 cells with one station, and contention of
//! 2 to 10 stations), against a simulation of single slots, and against the constants of Bianchi's §V.

use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Rate};
use hopyard_model::phy::mode::{MODES, Mode, Preamble};

/// How the backoff counters of waiting stations behave while another station sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freezing {
    /// They count the busy period as one slot (Bianchi 2000). His examples are tests.
    #[cfg(test)]
    CountsBusySlot,
    /// They stop, and continue after the first idle slot. Only the station that has just sent can use that slot, if it
    /// draws zero (Tinnirello, Bianchi and Xiao 2010). This agrees with the standard (IEEE Std 802.11-1999 §9.2.5.2)
    /// and with ns-2.
    Stops,
}

/// The parameters of a DCF and of the packets that it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Dcf {
    /// Slot time.
    pub slot: Span,
    /// Short interframe space.
    pub sifs: Span,
    /// DCF interframe space.
    pub difs: Span,
    /// The time from the end of a collision to the first slot: EIFS, or the time that stations really wait.
    pub collision_recovery: Span,
    /// Preamble and PLCP header before every frame.
    pub plcp: Span,
    /// Propagation delay between any two stations.
    pub propagation: Span,
    /// Rate of data frames.
    pub data_rate: Rate,
    /// Rate of RTS, CTS and ACK.
    pub control_rate: Rate,
    /// The modes of data and of ACKs, where the times of frames do not follow from preamble and rates.
    pub modes: Option<(&'static Mode, &'static Mode)>,
    /// Bytes that a data frame adds to the packet.
    pub overhead: Bytes,
    /// Whether RTS and CTS go before data.
    pub rts: bool,
    /// The number of possible backoff values at the first attempt: CW + 1 for a contention window CW; CW in ns-2.
    pub first_draws: u32,
    /// The largest number of possible values. Each attempt doubles the number (in ns-2 not exactly: 31, 63, 127).
    pub last_draws: u32,
    /// Whether the number of values is one less than a power of two, as in ns-2.
    pub draws_less_one: bool,
    /// The number of attempts for each packet; `None` for no limit.
    pub attempts: Option<u32>,
    /// The method of counting slots.
    pub freezing: Freezing,
}

/// The bytes of an RTS.
const RTS: u32 = 20;
/// The bytes of a CTS, and of an ACK.
const CTS: u32 = 14;

/// A saturated cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// The probability that a station sends in a slot.
    pub tau: f64,
    /// The probability that its frame collides.
    pub collision: f64,
    /// Bits of payload per second, of all stations together.
    pub throughput: f64,
}

impl Dcf {
    /// DSSS and HR-DSSS as in IEEE Std 802.11b-1999, with the short preamble (§18.2.2.2) or the long one.
    pub fn ieee80211b(data_rate: Rate, control_rate: Rate, short_preamble: bool, rts: bool) -> Self {
        let plcp = if short_preamble { Preamble::Short } else { Preamble::Long }.span();
        let (sifs, difs) = (Span::from_micros(10), Span::from_micros(50));
        Self {
            slot: Span::from_micros(20),
            sifs,
            difs,
            // EIFS (§9.2.10): another station may be sending an ACK at 1 Mb/s.
            collision_recovery: sifs + plcp + MODES[0].body(CTS) + difs,
            plcp,
            propagation: Span::ZERO,
            data_rate,
            control_rate,
            modes: None,
            overhead: Bytes::new(28),
            rts,
            first_draws: 32,
            last_draws: 1024,
            draws_less_one: false,
            attempts: Some(7),
            freezing: Freezing::Stops,
        }
    }

    /// The time of a packet without a collision in seconds: with DIFS, without backoff. `size` is the packet's size in
    /// bytes with its IP header.
    pub fn exchange(&self, size: u32) -> f64 {
        let control = |bytes| self.airtime(self.control_rate, bytes);
        let handshake =
            if self.rts { control(RTS) + control(CTS) + 2.0 * (self.sifs + self.propagation).seconds() } else { 0.0 };
        let ack = self.modes.map_or_else(|| control(CTS), |(_, answer)| answer.airtime(CTS).seconds());
        let acknowledgement = (self.sifs + self.propagation + self.propagation).seconds() + ack;
        handshake + self.data(size) + acknowledgement + self.difs.seconds()
    }

    /// The time of a collision and of the wait after it, in seconds.
    pub fn collision(&self, size: u32) -> f64 {
        let frame = if self.rts { self.airtime(self.control_rate, RTS) } else { self.data(size) };
        frame + (self.propagation + self.collision_recovery).seconds()
    }

    /// Throughput in bits per second of one station that sends packets of `size` bytes with `payload` bytes each. It is
    /// the payload divided by the time of an exchange plus the mean backoff.
    pub fn one_station(&self, size: u32, payload: u32) -> f64 {
        let backoff = (f64::from(self.first_draws) - 1.0) / 2.0 * self.slot.seconds();
        f64::from(payload) * 8.0 / (self.exchange(size) + backoff)
    }

    /// The saturation of `stations` stations that send packets of `size` bytes with `payload` bytes each.
    pub fn saturation(&self, stations: u32, size: u32, payload: u32) -> Saturation {
        let others = f64::from(stations) - 1.0;
        // More collisions make stations wait longer, which makes collisions less likely. Therefore there is only one
        // root.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if 1.0 - libm::pow(1.0 - self.tau(middle), others) > middle { low = middle } else { high = middle }
        }
        let collision = (low + high) / 2.0;
        let tau = self.tau(collision);

        let idle = libm::pow(1.0 - tau, others + 1.0);
        let success = (others + 1.0) * tau * libm::pow(1.0 - tau, others);
        let failure = 1.0 - idle - success;
        let slot = self.slot.seconds();
        // The number of packets in a success, because a station that draws zero sends again at once. And the idle slot
        // after each busy period.
        let (packets, after) = match self.freezing {
            #[cfg(test)]
            Freezing::CountsBusySlot => (1.0, 0.0),
            Freezing::Stops => (1.0 / (1.0 - 1.0 / f64::from(self.first_draws)), slot),
        };
        let time =
            idle * slot + success * (packets * self.exchange(size) + after) + failure * (self.collision(size) + after);
        Saturation { tau, collision, throughput: success * packets * f64::from(payload) * 8.0 / time }
    }

    /// The probability that a station sends in a slot if its frames collide with probability `p`. It is the number of
    /// attempts for a packet, divided by the slots of these attempts and of the backoffs before them.
    fn tau(&self, p: f64) -> f64 {
        // All attempts with the largest window are equal. Without a limit they form a geometric series.
        let limit = self.attempts.unwrap_or(u32::MAX);
        let (mut attempts, mut slots) = (0.0, 0.0);
        let (mut draws, mut probability) = (self.first_draws, 1.0);
        for attempt in 0..limit {
            let waited = 1.0 + self.mean_backoff(draws);
            if draws == self.last_draws {
                let left = f64::from(limit - attempt);
                let rest = match self.attempts {
                    Some(_) if p == 1.0 => left,
                    Some(_) => (1.0 - libm::pow(p, left)) / (1.0 - p),
                    None => 1.0 / (1.0 - p),
                };
                attempts += probability * rest;
                slots += probability * rest * waited;
                break;
            }
            attempts += probability;
            slots += probability * waited;
            probability *= p;
            draws = (draws * 2 + u32::from(self.draws_less_one)).min(self.last_draws);
        }
        attempts / slots
    }

    /// The mean backoff, in slots as [`Self::tau`] counts them.
    fn mean_backoff(&self, draws: u32) -> f64 {
        match self.freezing {
            #[cfg(test)]
            Freezing::CountsBusySlot => (f64::from(draws) - 1.0) / 2.0,
            // Zero is not a backoff; it belongs to the success before. One is the slot after the busy period.
            Freezing::Stops => (f64::from(draws) - 2.0) / 2.0,
        }
    }

    fn data(&self, size: u32) -> f64 {
        let bytes = size + self.overhead.count() as u32;
        self.modes.map_or_else(|| self.airtime(self.data_rate, bytes), |(data, _)| data.airtime(bytes).seconds())
    }

    /// The time of a frame in seconds, to fractions of a nanosecond.
    fn airtime(&self, rate: Rate, bytes: u32) -> f64 {
        self.plcp.seconds() + f64::from(bytes) * 8.0 / rate.bps() as f64
    }
}

#[cfg(test)]
mod tests;
