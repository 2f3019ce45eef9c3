//! The prices of radios, as whole numbers.

/// Attojoules: the energy of a power of one nanowatt in one nanosecond.
pub type Attojoules = i128;

/// Attojoules as joules.
#[must_use]
pub fn joules(energy: Attojoules) -> f64 {
    energy as f64 / 1e18
}

/// The prices of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// The power while the radio sends, in nanowatts.
    pub send: u64,
    /// The power while it hears a signal and does not send, in nanowatts.
    pub hear: u64,
    /// The power in all other time, in nanowatts; with prices of packets in all of the time.
    pub idle: u64,
    /// The power while it sleeps, in nanowatts; nothing if radios cannot.
    pub sleep: Option<u64>,
    /// Whether it hears those signals only that are strong enough to be decoded.
    pub only_decodable: bool,
    /// The prices of packets, which come on top of the power of an idle radio.
    pub packets: Option<PacketPrices>,
}

impl Prices {
    /// The prices of radios that sleep in a run in which energy is not counted.
    pub const NOTHING: Self = Self { send: 0, hear: 0, idle: 0, sleep: Some(0), only_decodable: false, packets: None };

    /// The power of the time in which a radio is idle, sends, or hears, in nanowatts.
    #[must_use]
    pub const fn power(&self, sends: bool, hears: bool) -> u64 {
        match (&self.packets, sends, hears) {
            (None, true, _) => self.send,
            (None, false, true) => self.hear,
            _ => self.idle,
        }
    }

    /// The greatest power, in nanowatts.
    #[must_use]
    pub fn most(&self) -> u64 {
        [(false, false), (false, true), (true, false)]
            .map(|(sends, hears)| self.power(sends, hears))
            .into_iter()
            .fold(self.sleep.unwrap_or(0), u64::max)
    }
}

/// The price of an operation on a packet, in attojoules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The part for a packet of any length.
    pub fixed: Attojoules,
    /// The further part for each of its bytes.
    pub per_byte: Attojoules,
}

impl Price {
    /// The energy of a packet of this size.
    #[must_use]
    pub fn of(self, bytes: u32) -> Attojoules {
        self.of_all(1, u64::from(bytes))
    }

    /// The energy of so many packets, which have so many bytes together.
    #[must_use]
    pub fn of_all(self, packets: u64, bytes: u64) -> Attojoules {
        self.fixed * Attojoules::from(packets) + self.per_byte * Attojoules::from(bytes)
    }
}

/// The prices of all operations; the fields are the fields of the model's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the model's parameters explain them")]
pub struct PacketPrices {
    pub send: Price,
    pub receive: Price,
    pub send_broadcast: Price,
    pub receive_broadcast: Price,
    pub overhear: Price,
    pub discard: Price,
}
