// SPDX-License-Identifier: GPL-2.0-only
/*
 * WELCOME: A. Ghaleb-Seddik, Y. Ghamri-Doudane, S.-M. Senouci, "Coupling Loss and Delay Differentiation to Enhance TCP
 * Performance within Wireless Multi-hop Ad-hoc Networks", Journal of Communications 7(12), 2012. The reading is that of
 * the paper's text.
 *
 * A loss has one of three causes. If more than "eta" of the last ten round trips had grown, it is congestion, and the
 * answer is NewReno's. Otherwise duplicate acknowledgements mean a loss on the channel, and the window is at most what
 * the path holds by the bandwidth estimate; a timeout means a broken link. Then the timeout grows by 1/a and not by 2,
 * and the first acknowledgement sets the window to a times the old one, at most what the path holds (eq. 6), with
 * a = 2/3 at first. After four round trips over the new route, a is the old round trip divided by the new one, and
 * window and timeout are set again (eq. 3).
 *
 * The bandwidth estimate: A. Capone, L. Fratta and F. Martignon, IEEE TMC 3(2), 2004. Bytes and intervals are averaged
 * apart, and their quotient is smoothed over time.
 *
 * Growth, recovery and the retransmission timer are the kernel's. As an eBPF program this cannot change the timeout,
 * which then doubles.
 */
#include "hopyard.h"

PARAMETER(eta, 4, "more grown round trips than this mean congestion");
PARAMETER(growth, 50, "by how many thousandths a round trip must exceed the average to have grown");
PARAMETER(sample_each_ack, 0, "1: each acknowledgement gives a round trip; 0: one in each round trip");
PARAMETER(after_failure, 2, "window after a broken link: 0 as before, 1 half of it, 2 by the round trips");
PARAMETER(bandwidth_time, 1000000, "time constant of the bandwidth estimate, in microseconds");

/* How many round trips are kept (table I, RTT_SAMPLE_COUNT), and how many of a new route count (RTO_NEW_RTT_SAMPLES). */
#define SAMPLES 10
#define NEW_ROUTE 4
/* The factor a until it is known, Q16: 2/3. */
#define FACTOR 43691u
#define ONE 65536u

struct welcome {
	/* The bandwidth estimate in bytes per second, Q8; 0: none. */
	u64 estimate;
	/* When data was acknowledged last, in microseconds; 0: the next interval does not count. */
	u64 last;
	/* Means of acknowledged bytes (Q8) and of intervals in microseconds (Q4). */
	u32 bytes, interval;
	/* The first byte that was not acknowledged when the last ACK came. */
	u32 una;
	/* Segments from here on were first sent after the last loss, and after the last sample: only they give samples. */
	u32 fresh;
	/* The average of the round trips (Q3) and the shortest one, in microseconds; 0: none. */
	u32 average, shortest;
	/* Window and threshold after the recovery that is under way; 0: the kernel's. */
	u32 after_cwnd, after_ssthresh;
	/* Window and threshold when the kernel asked for a threshold; 0: it has not. */
	u32 asked_cwnd, asked_ssthresh;
	/* Before the link broke: the window, the timeout in jiffies, the average round trip (Q3). */
	u32 window, timeout, old_average;
	/* Round trips over the new route: their sum in microseconds. */
	u32 sum;
	/* Which of the last round trips had grown, a bit each. */
	u16 grown;
	u8 new_samples;
	/* A link is broken; something was acknowledged since; a is known and not used yet. */
	u8 failed, resumed, known;
};

/* e to the power of -part/whole, Q16. */
HELPER u32 decay(u64 part, u64 whole)
{
	u64 exponent = part * 94548 / whole;	/* to the base 2: log2(e) is 94548 in Q16 */
	u64 f = exponent & 0xffff, power;

	if (exponent >> 16 >= 16)
		return 0;
	/* The series of 2^-f. */
	power = 87 - (f * 10 >> 16);
	power = 630 - (f * power >> 16);
	power = 3638 - (f * power >> 16);
	power = 15743 - (f * power >> 16);
	power = 45426 - (f * power >> 16);
	power = ONE - (f * power >> 16);
	return power >> (exponent >> 16);
}

/* Bytes were acknowledged. */
HELPER void acknowledged(struct welcome *it, u32 bytes, u64 now)
{
	u64 elapsed = now - it->last, kept, raw;
	u64 all = (u64)bytes << 8, time;

	if (!it->last) {
		it->last = now;
		return;
	}
	it->last = now;
	if (elapsed > 0x0fffffff)
		elapsed = 0x0fffffff;
	time = elapsed << 4;
	if (!it->bytes && !it->interval) {
		it->bytes = all;
		it->interval = time;
	} else {
		it->bytes = (9 * (u64)it->bytes + all) / 10;
		it->interval = (9 * (u64)it->interval + time) / 10;
	}
	if (!it->interval)
		return;
	raw = (u64)it->bytes * 16 * 1000000 / it->interval;
	/* No product below overflows. */
	if (raw > 1ull << 44)
		raw = 1ull << 44;
	kept = it->estimate ? decay(elapsed, larger(bandwidth_time, 1)) : 0;
	it->estimate = (kept * it->estimate + (ONE - kept) * raw) >> 16;
}

/* Eq. (5) and (7): the segments that the path holds by the estimate; 0 before there is one. */
HELPER u32 pipe_size(const struct welcome *it, const struct tcp_sock *tp)
{
	u64 segments;

	if (!it->estimate || !it->shortest)
		return 0;
	segments = it->estimate / 1000 * it->shortest / 1000 / 256 / segment(tp);
	return segments < 2 ? 2 : segments > 0x7fffffff ? 0x7fffffff : segments;
}

/* Figure 6. */
HELPER bool congested(const struct welcome *it)
{
	u32 count = 0, bits = it->grown;
	int i;

	/* Older samples are in higher places. */
	for (i = 0; i < SAMPLES; i++)
		count += bits >> i & 1;
	return count > eta;
}

/* The window after a broken link; a in Q16. */
HELPER u32 scaled(const struct welcome *it, const struct tcp_sock *tp, u32 a)
{
	u64 window = it->window;
	u32 pipe = pipe_size(it, tp);

	if (after_failure == 0)
		return larger(it->window, 1);
	if (after_failure == 1)
		return larger(it->window / 2, 1);
	window = window * a >> 16;
	if (pipe && window > pipe)
		window = pipe;
	return window < 1 ? 1 : window;
}

HOOK(void, welcome_init, struct sock *sk)
{
	struct welcome *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);

	it->estimate = it->last = 0;
	it->bytes = it->interval = it->average = it->shortest = 0;
	it->after_cwnd = it->after_ssthresh = it->asked_cwnd = it->asked_ssthresh = 0;
	it->window = it->timeout = it->old_average = it->sum = 0;
	it->grown = 0;
	it->new_samples = it->failed = it->resumed = it->known = 0;
	it->una = it->fresh = tp->snd_una;
}

/* A round trip. Those that a loss has lengthened are none: only segments that were sent after it count. */
HOOK(void, welcome_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct welcome *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);
	u32 round_trip = sample->rtt_us;

	if (sample->rtt_us <= 0 || CONNECTION(sk)->icsk_ca_state != TCP_CA_Open || !before(it->fresh, tp->snd_una))
		return;
	round_trip = smaller(round_trip, 0x0fffffff);
	if (it->failed && it->resumed && !it->known) {
		it->sum += smaller(round_trip, 0x0fffffff / NEW_ROUTE);
		it->new_samples++;
		it->known = it->new_samples >= NEW_ROUTE;
	}
	it->grown <<= 1;
	if (it->average) {
		if ((u64)round_trip * 8 * 1000 > (u64)it->average * (1000 + growth))
			it->grown |= 1;
		it->average += round_trip - it->average / 8;
	} else {
		it->average = round_trip * 8;
	}
	if (!it->shortest || round_trip < it->shortest)
		it->shortest = round_trip;
	if (!sample_each_ack)
		it->fresh = tp->snd_nxt;
}

HOOK(void, welcome_in_ack_event, struct sock *sk, u32 flags)
{
	struct welcome *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);
	u32 bytes = tp->snd_una - it->una;

	it->una = tp->snd_una;
	if (bytes)
		acknowledged(it, bytes, tp->tcp_mstamp);
}

/* A loss. Whether a timeout showed it, the kernel says later. */
HOOK(u32, welcome_ssthresh, struct sock *sk)
{
	struct welcome *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);
	u32 pipe = pipe_size(it, tp);

	it->asked_cwnd = tp->snd_cwnd;
	it->asked_ssthresh = tp->snd_ssthresh;
	it->after_cwnd = 0;
	if (congested(it))
		return tcp_reno_ssthresh(sk);
	it->after_cwnd = pipe ? smaller(tp->snd_cwnd, pipe) : tp->snd_cwnd;
	it->after_ssthresh = pipe ? pipe : tp->snd_ssthresh;
	return larger(it->after_cwnd, 2);
}

/* Figure 7, after a timeout. */
HELPER void timed_out(struct sock *sk)
{
	struct welcome *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);
	u32 before_it = it->asked_cwnd, ssthresh = it->asked_ssthresh, pipe = pipe_size(it, tp);

	it->last = 0;
	it->after_cwnd = 0;
	if (!before_it) {
		/* A recovery was under way: it would have ended with this window. */
		before_it = smaller(tp->prior_cwnd, tp->snd_ssthresh);
		ssthresh = tp->snd_ssthresh;
	}
	if (congested(it)) {
		it->failed = 0;
		if (it->asked_cwnd)
			tp->snd_ssthresh = larger(it->asked_cwnd / 2, 2);
		return;
	}
	if (!it->failed || !CONNECTION(sk)->icsk_retransmits) {
		it->failed = 1;
		it->window = smaller(before_it, tp->snd_wnd / segment(tp));
		it->timeout = CONNECTION(sk)->icsk_rto;
		it->old_average = it->average;
		it->resumed = it->known = it->new_samples = 0;
		it->sum = 0;
		tp->snd_ssthresh = after_failure && pipe ? pipe : ssthresh;
	}
#ifndef HOPYARD_BPF
	/* The kernel doubles this after the retransmission: it grows by 1/a. */
	CONNECTION(sk)->icsk_rto = larger((u64)CONNECTION(sk)->icsk_rto * ONE / FACTOR / 2, 1);
#endif
}

HOOK(void, welcome_set_state, struct sock *sk, u8 state)
{
	struct welcome *it = STATE(sk);

	if (state == TCP_CA_Loss)
		timed_out(sk);
	else if (state == TCP_CA_Recovery || state == TCP_CA_CWR)
		it->failed = 0;
	if (state >= TCP_CA_CWR)
		it->fresh = TCP(sk)->snd_nxt;
	it->asked_cwnd = 0;
}

HOOK(void, welcome_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct welcome *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);

	if (event == CA_EVENT_COMPLETE_CWR && it->after_cwnd) {
		tp->snd_cwnd = larger(it->after_cwnd, 1);
		tp->snd_ssthresh = it->after_ssthresh;
		it->after_cwnd = 0;
	}
	if (event == CA_EVENT_TX_START)
		it->last = 0;
}

/* The loss was none: the kernel restores what was before. */
HOOK(u32, welcome_undo_cwnd, struct sock *sk)
{
	struct welcome *it = STATE(sk);

	it->after_cwnd = it->failed = 0;
	return tcp_reno_undo_cwnd(sk);
}

HOOK(void, welcome_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct welcome *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);
	u64 mean, a;

	if (it->failed && !it->resumed) {
		it->resumed = 1;
		tp->snd_cwnd = scaled(it, tp, FACTOR);
		return;
	}
	tcp_reno_cong_avoid(sk, ack, acked);
	if (!it->failed || !it->known)
		return;
	/* Eq. (3) and (6). */
	it->failed = 0;
	mean = larger(it->sum / NEW_ROUTE, 1);
	a = it->old_average ? ((u64)it->old_average << 13) / mean : FACTOR;
	if (a > 0xffffffff)
		a = 0xffffffff;
	if (after_failure == 2)
		tp->snd_cwnd = scaled(it, tp, a);
#ifndef HOPYARD_BPF
	CONNECTION(sk)->icsk_rto = clamp_t(u64, (u64)it->timeout * ONE / max_t(u64, a, 1), TCP_RTO_MIN, TCP_RTO_MAX);
#endif
}

OPERATIONS(welcome) = {
	.init = HOOKED(welcome_init),
	.pkts_acked = HOOKED(welcome_pkts_acked),
	.in_ack_event = HOOKED(welcome_in_ack_event),
	.ssthresh = HOOKED(welcome_ssthresh),
	.set_state = HOOKED(welcome_set_state),
	.cwnd_event = HOOKED(welcome_cwnd_event),
	.undo_cwnd = HOOKED(welcome_undo_cwnd),
	.cong_avoid = HOOKED(welcome_cong_avoid),
	OWNER
	.name = "welcome",
};

REGISTERED(welcome, struct welcome);
DESCRIBED("WELCOME distinguishes congestion, losses on the channel and broken links");
