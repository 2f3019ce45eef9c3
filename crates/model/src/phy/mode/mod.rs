//! Modes: how the bits of a frame are sent. One table has all of them.
//!
//! The time of a frame on the air, its bit errors, the rate of its answer and its rate in a capture follow from its
//! mode. A mode of a scenario that is in no row is refused where the scenario is read.
//!
//! Read: IEEE Std 802.11-1999 §15 (DSSS), IEEE Std 802.11b-1999 §18 (HR-DSSS), IEEE Std 802.11-2016 §17 (OFDM), §18
//! (ERP), §19 (HT), §21 (VHT). Left out: the header behind a short preamble is sent at 2 Mb/s (§18.2.2.2), and has the
//! bit errors of 1 Mb/s; HT without legacy preamble; LDPC, STBC and beamforming; VHT of 160 MHz and of more than four
//! streams.

mod alone;
mod find;
mod name;
mod row;
mod table;

pub use find::in_words;
pub use name::Name;
pub use row::{
    Band, Carrier, CodeRate, Coding, Constellation, DSSS_BANDWIDTH, Format, Guard, Mode, Modulation, Preamble,
};
pub use table::MODES;

#[cfg(test)]
mod tests;
