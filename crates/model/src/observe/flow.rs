//! The meter of one flow: the packets that its source sent and its destination received, with their times.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use hopyard_engine::{Span, Time};

/// Counts one flow's packets between `from` and the end of the run; delays in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowMeter {
    from: Time,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets that arrived, duplicates included.
    pub arrived: u64,
    /// Data packets that arrived for the first time.
    pub unique: u64,
    /// Bytes of IP in the data packets that arrived, duplicates included.
    pub network_bytes: u64,
    /// Payload bytes handed to the receiving application in order.
    pub delivered: u64,
    /// Hops of the packets that arrived, added up.
    pub hops: u64,
    /// When the first packet arrived.
    pub first_arrival: Option<Time>,
    /// When the last packet arrived.
    pub last_arrival: Option<Time>,
    /// When the source first sent payload that it had never sent before.
    pub first_new: Option<Time>,
    /// When the application first got payload.
    pub first_delivery: Option<Time>,
    total_delivered: u64,
    total_network_bytes: u64,
    total_unique: u64,
    delay_sum: u128,
    delays: Histogram<u64>,
    /// The delay of the last packet, and the differences between one and the next, added up.
    last_delay: Option<u64>,
    jitter_sum: u128,
    /// Payload bytes sent for the first time.
    total_sent: u64,
    /// For each packet with new payload: the bytes sent up to its end, and when.
    first_sent: VecDeque<(u64, Time)>,
    application_delay_sum: u128,
    application_delays: u64,
}

/// Delays are kept to three digits between a microsecond and an hour.
const LONGEST_DELAY: u64 = 3_600_000_000_000;

impl FlowMeter {
    /// A meter that counts from this time on.
    ///
    /// # Panics
    /// Never: the histogram's bounds are constants that it accepts.
    #[must_use]
    pub fn new(from: Time) -> Self {
        // It grows with the longest delay: with room for all, ten thousand flows would need two gigabytes.
        let mut delays = Histogram::new_with_bounds(1_000, 2_000, 3).expect("bounds that a histogram accepts");
        delays.auto(true);
        Self {
            from,
            sent: 0,
            arrived: 0,
            unique: 0,
            network_bytes: 0,
            delivered: 0,
            hops: 0,
            first_arrival: None,
            last_arrival: None,
            first_new: None,
            first_delivery: None,
            total_delivered: 0,
            total_network_bytes: 0,
            total_unique: 0,
            delay_sum: 0,
            delays,
            last_delay: None,
            jitter_sum: 0,
            total_sent: 0,
            first_sent: VecDeque::new(),
            application_delay_sum: 0,
            application_delays: 0,
        }
    }

    /// The source sent a data packet with `new` bytes that were never sent before.
    pub fn on_sent(&mut self, new: u32, now: Time) {
        if new > 0 {
            self.total_sent += u64::from(new);
            self.first_sent.push_back((self.total_sent, now));
        }
        if now >= self.from {
            self.sent += 1;
            if new > 0 {
                self.first_new.get_or_insert(now);
            }
        }
    }

    /// A data packet arrived at the destination.
    pub fn on_arrival(&mut self, size: u32, hops: u8, created: Time, unique: bool, now: Time) {
        self.total_network_bytes += u64::from(size);
        self.total_unique += u64::from(unique);
        if now < self.from {
            return;
        }
        self.arrived += 1;
        self.unique += u64::from(unique);
        self.network_bytes += u64::from(size);
        self.hops += u64::from(hops);
        self.first_arrival.get_or_insert(now);
        self.last_arrival = Some(now);
        let delay = now.since(created).nanos();
        self.delay_sum += u128::from(delay);
        if let Some(last) = self.last_delay.replace(delay) {
            self.jitter_sum += u128::from(delay.abs_diff(last));
        }
        self.delays.record(delay.min(LONGEST_DELAY)).expect("a histogram that grows takes every delay");
    }

    /// The destination handed `bytes` more bytes to the application.
    pub fn on_delivered(&mut self, bytes: u64, now: Time) {
        self.total_delivered += bytes;
        while let Some(&(end, sent)) = self.first_sent.front()
            && end <= self.total_delivered
        {
            self.first_sent.pop_front();
            if now >= self.from {
                self.application_delay_sum += u128::from(now.since(sent).nanos());
                self.application_delays += 1;
            }
        }
        if now >= self.from && bytes > 0 {
            self.delivered += bytes;
            self.first_delivery.get_or_insert(now);
        }
    }

    /// When the meter begins to count.
    #[must_use]
    pub const fn from(&self) -> Time {
        self.from
    }

    /// Payload bytes handed to the application since the start of the run.
    #[must_use]
    pub const fn total_delivered(&self) -> u64 {
        self.total_delivered
    }

    /// IP bytes in the data packets that arrived since the start of the run, duplicates included.
    #[must_use]
    pub const fn total_network_bytes(&self) -> u64 {
        self.total_network_bytes
    }

    /// Data packets that arrived for the first time, since the start of the run.
    #[must_use]
    pub const fn total_unique(&self) -> u64 {
        self.total_unique
    }

    /// The mean delay of packets that arrived, each from its own transmission by the source. This is the delay that
    /// ns-2 scripts and papers report.
    #[must_use]
    pub fn mean_delay(&self) -> Option<Span> {
        mean(self.delay_sum, self.arrived)
    }

    /// The mean number of hops of packets that arrived.
    #[must_use]
    pub fn mean_hops(&self) -> Option<f64> {
        (self.arrived > 0).then(|| self.hops as f64 / self.arrived as f64)
    }

    /// The mean difference between the delays of two packets that arrived one after the other.
    #[must_use]
    pub fn jitter(&self) -> Option<Span> {
        mean(self.jitter_sum, self.arrived.saturating_sub(1))
    }

    /// The mean delay from the first transmission of payload to its delivery to the application.
    #[must_use]
    pub fn mean_application_delay(&self) -> Option<Span> {
        mean(self.application_delay_sum, self.application_delays)
    }

    /// A quantile of the delay of packets that arrived.
    #[must_use]
    pub fn delay_quantile(&self, quantile: f64) -> Option<Span> {
        (!self.delays.is_empty()).then(|| Span::from_nanos(self.delays.value_at_quantile(quantile)))
    }
}

fn mean(sum: u128, count: u64) -> Option<Span> {
    (count > 0).then(|| Span::from_nanos((sum / u128::from(count)) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    #[test]
    fn delays_by_copy_and_by_payload() {
        let mut meter = FlowMeter::new(Time::ZERO);
        meter.on_sent(1000, ms(0));
        meter.on_sent(1000, ms(1));
        // The first copy of the first packet is lost; its second is sent at 100 ms.
        meter.on_arrival(1040, 2, ms(1), true, ms(11));
        meter.on_sent(0, ms(100));
        meter.on_arrival(1040, 2, ms(100), true, ms(110));
        meter.on_delivered(2000, ms(110));
        assert_eq!((meter.sent, meter.arrived, meter.delivered), (3, 2, 2000));
        assert_eq!(meter.mean_delay(), Some(Span::from_millis(10)));
        // 110 ms for the first 1000 bytes, 109 ms for the next.
        assert_eq!(meter.mean_application_delay(), Some(Span::from_micros(109_500)));
        assert_eq!(meter.jitter(), Some(Span::ZERO));
        meter.on_arrival(1040, 2, ms(120), true, ms(150));
        assert_eq!(meter.jitter(), Some(Span::from_millis(10)), "0 and 20 ms");
        let median = meter.delay_quantile(0.5).expect("packets arrived").seconds();
        assert!((median - 0.010).abs() < 1e-4);
    }

    #[test]
    fn nothing_before_the_window_counts() {
        let mut meter = FlowMeter::new(ms(50));
        meter.on_sent(1000, ms(0));
        meter.on_arrival(1040, 1, ms(0), true, ms(10));
        meter.on_delivered(1000, ms(10));
        assert_eq!((meter.sent, meter.arrived, meter.delivered, meter.network_bytes), (0, 0, 0, 0));
        assert_eq!((meter.total_delivered(), meter.total_network_bytes()), (1000, 1040));
        assert_eq!((meter.mean_delay(), meter.first_new, meter.first_delivery), (None, None, None));
        // Retransmitted payload is not new. Payload that the application receives late counts from the beginning of the
        // window.
        meter.on_sent(0, ms(60));
        meter.on_sent(1000, ms(61));
        meter.on_delivered(0, ms(70));
        meter.on_delivered(1000, ms(80));
        assert_eq!((meter.first_new, meter.first_delivery), (Some(ms(61)), Some(ms(80))));
    }
}
