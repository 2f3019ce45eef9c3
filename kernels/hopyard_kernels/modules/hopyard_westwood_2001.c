// SPDX-License-Identifier: GPL-2.0-only
/*
 * Westwood as published: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi and R. Wang, "TCP Westwood: Bandwidth
 * Estimation for Enhanced Transport over Wireless Links", MobiCom 2001.
 *
 * Linux's own "westwood" is its successor Westwood+, which takes one sample of the bandwidth in each round trip. Here
 * each acknowledgement gives a sample, as in the paper: the data that it reports, divided by the time since the one
 * before (section 2.3 counts the data). A low-pass filter with a time constant, in Tustin's form, smooths the samples
 * (section 2.2); where there is none for a part of the time constant, a sample of zero is added. After a loss the
 * threshold is the bandwidth times the shortest round trip (section 3), and the window at most that; after a timeout
 * the window is one segment.
 *
 * Growth, recovery and timeouts are the kernel's.
 */
#include "hopyard.h"

PARAMETER(time_constant, 500000, "time constant of the filter, in microseconds");
PARAMETER(virtual_samples, 2, "a sample of zero is added after the time constant divided by this");

/* The most that a sample can be, in bytes per second, Q8: no product below overflows. */
#define MOST (1ull << 44)
/* After so many samples of zero nothing is left of any estimate: each leaves at most 1 - 1/MOST_PARTS of it. */
#define MOST_ZEROS 128
#define MOST_PARTS 10

struct westwood {
	/* The estimate and the last sample, in bytes per second, Q8. */
	u64 bandwidth, sample;
	/* When the last sample was taken, in microseconds; 0: never. */
	u64 last;
	/* Bytes that were reported since. */
	u32 waiting;
	/* Bytes that duplicates have reported, and that the next acknowledgement of new data covers again. */
	u32 reported;
	/* The first byte that was not acknowledged, and how many segments SACK had told of, when the last ACK came. */
	u32 una, sacked;
	/* The shortest round trip, in microseconds; 0: none. */
	u32 shortest;
	/* Window and threshold after the recovery that is under way; 0: none. */
	u32 after_cwnd, after_ssthresh;
};

HELPER u32 distance(void)
{
	u32 parts = virtual_samples;

	parts = parts < 2 ? 2 : parts > MOST_PARTS ? MOST_PARTS : parts;
	return larger(time_constant / parts, 1);
}

/* One step of the filter: b = ((2 tau - d) b + d (s + s')) / (2 tau + d) for samples at a distance d. */
HELPER void take(struct westwood *it, u64 sample, u32 elapsed)
{
	u64 both, twice = 2ull * time_constant;

	if (sample > MOST)
		sample = MOST;
	both = sample + it->sample;
	it->bandwidth = ((twice - elapsed) * it->bandwidth + elapsed * both) / (twice + elapsed);
	it->sample = sample;
}

/* Adds the samples of zero up to now. */
HELPER void fill(struct westwood *it, u64 now)
{
	u32 apart = distance();
	int i;

	for (i = 0; i < MOST_ZEROS; i++) {
		if (!it->last || it->last + apart >= now)
			return;
		take(it, ((u64)it->waiting << 8) * 1000000 / apart, apart);
		it->waiting = 0;
		it->last += apart;
		/* Below one byte per second nothing is left, and the next acknowledgement starts the clock again. */
		if (it->bandwidth < 256 && !it->sample)
			it->last = it->bandwidth = 0;
	}
	it->last = it->bandwidth = it->sample = 0;
}

HELPER void report(struct westwood *it, u32 bytes, u64 now)
{
	u64 elapsed;

	fill(it, now);
	if (!it->last) {
		it->last = now;
		return;
	}
	it->waiting += bytes;
	elapsed = now - it->last;
	if (!elapsed)
		return;
	take(it, ((u64)it->waiting << 8) * 1000000 / elapsed, elapsed);
	it->waiting = 0;
	it->last = now;
}

/* The segments that the path holds without a queue. */
HELPER u32 pipe_size(const struct westwood *it, const struct tcp_sock *tp)
{
	/* Bytes in Q8: at most 2^44 bytes per second for 2^18 microseconds and more are beyond any window. */
	u64 bytes = it->bandwidth / 1000 * it->shortest / 1000 / 256;
	u64 segments = bytes / segment(tp);

	return segments < 2 ? 2 : segments > 0x7fffffff ? 0x7fffffff : segments;
}

HOOK(void, westwood_init, struct sock *sk)
{
	struct westwood *it = STATE(sk);

	it->bandwidth = it->sample = it->last = 0;
	it->waiting = it->reported = it->sacked = it->shortest = 0;
	it->after_cwnd = it->after_ssthresh = 0;
	it->una = TCP(sk)->snd_una;
}

HOOK(void, westwood_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood *it = STATE(sk);
	s32 round_trip = sample->rtt_us;

	if (round_trip > 0 && (!it->shortest || round_trip < it->shortest))
		it->shortest = round_trip;
}

/* Section 2.3, AckedCount: a duplicate reports one segment, and what follows only what no duplicate has reported. */
HOOK(void, westwood_in_ack_event, struct sock *sk, u32 flags)
{
	struct westwood *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);
	u32 bytes = tp->snd_una - it->una, one = segment(tp);

	if (bytes && bytes > one) {
		if (it->reported >= bytes) {
			it->reported -= bytes;
			bytes = one;
		} else {
			bytes -= it->reported;
			it->reported = 0;
		}
	} else if (!bytes && tp->packets_out && tp->sacked_out > it->sacked) {
		/* The kernel counts duplicates as SACKed segments where there is no SACK. */
		it->reported += one;
		bytes = one;
	}
	it->una = tp->snd_una;
	it->sacked = tp->sacked_out;
	if (bytes)
		report(it, bytes, tp->tcp_mstamp);
}

/* Section 3.1. The kernel reduces the window to what this returns, and the window never increases. */
HOOK(u32, westwood_ssthresh, struct sock *sk)
{
	struct westwood *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);

	it->after_ssthresh = pipe_size(it, tp);
	it->after_cwnd = smaller(tp->snd_cwnd, it->after_ssthresh);
	return larger(it->after_cwnd, 2);
}

HOOK(void, westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct westwood *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);

	if (!it->after_ssthresh)
		return;
	if (event == CA_EVENT_COMPLETE_CWR) {
		tp->snd_cwnd = smaller(tp->snd_cwnd, larger(it->after_cwnd, 1));
		tp->snd_ssthresh = it->after_ssthresh;
		it->after_ssthresh = 0;
	}
	if (event == CA_EVENT_LOSS) {
		/* Section 3.2. The filter's clock has gone on. */
		fill(it, tp->tcp_mstamp);
		tp->snd_ssthresh = pipe_size(it, tp);
		it->after_ssthresh = 0;
	}
}

/* The loss was none: the kernel restores what was before. */
HOOK(u32, westwood_undo_cwnd, struct sock *sk)
{
	struct westwood *it = STATE(sk);

	it->after_ssthresh = 0;
	return tcp_reno_undo_cwnd(sk);
}

HOOK(void, westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

OPERATIONS(westwood_2001) = {
	.init = HOOKED(westwood_init),
	.pkts_acked = HOOKED(westwood_pkts_acked),
	.in_ack_event = HOOKED(westwood_in_ack_event),
	.ssthresh = HOOKED(westwood_ssthresh),
	.cwnd_event = HOOKED(westwood_cwnd_event),
	.undo_cwnd = HOOKED(westwood_undo_cwnd),
	.cong_avoid = HOOKED(westwood_cong_avoid),
	OWNER
	.name = "westwood_2001",
};

REGISTERED(westwood_2001, struct westwood);
DESCRIBED("Westwood as published in 2001");
