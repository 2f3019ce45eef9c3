/* SPDX-License-Identifier: GPL-2.0-only
 *
 * A socket that is driven by lines of standard input, as the kernel drives it; after each line the state is printed.
 *
 *   ack TIME UNA SACKED RTT     an acknowledgement, at a time in microseconds; RTT in microseconds, -1: none
 *   loss NXT                    recovery begins: the threshold is asked for, and the state set
 *   recovered                   recovery ends
 *   timeout TIME NXT            the retransmission timer expires
 */
#include <stdio.h>

static struct tcp_sock tp = {
	.mss_cache = 1000, .snd_cwnd = 20, .snd_ssthresh = 0x7fffffff, .snd_wnd = 1000000, .packets_out = 10,
};
static struct sock *const sk = (struct sock *)&tp;

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return tp.snd_cwnd / 2 > 2 ? tp.snd_cwnd / 2 : 2;
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return tp.prior_cwnd;
}

/* The window stays, so that what the variant does is seen. */
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
}

static void set_state(u8 state);

static void acknowledge(unsigned long long time, u32 una, u32 sacked, int round_trip)
{
	struct ack_sample sample = { .rtt_us = round_trip };
	bool advanced = una != tp.snd_una;

	tp.tcp_mstamp = time;
	tp.snd_una = una;
	tp.sacked_out = sacked;
	if (advanced)
		tp.connection.icsk_retransmits = 0;
	PKTS_ACKED(sk, &sample);
	IN_ACK_EVENT(sk, 0);
	if (tp.connection.icsk_ca_state == TCP_CA_Loss && una >= tp.snd_nxt)
		set_state(TCP_CA_Open);
	if (advanced && tp.connection.icsk_ca_state != TCP_CA_Recovery)
		CONG_AVOID(sk, una, 1);
}

static void set_state(u8 state)
{
	SET_STATE(sk, state);
	tp.connection.icsk_ca_state = state;
}

static void lose(void)
{
	tp.prior_cwnd = tp.snd_cwnd;
	tp.snd_ssthresh = SSTHRESH(sk);
	set_state(TCP_CA_Recovery);
}

static void recover(void)
{
	tp.snd_cwnd = tp.snd_ssthresh;
	CWND_EVENT(sk, CA_EVENT_COMPLETE_CWR);
	set_state(TCP_CA_Open);
}

static void time_out(unsigned long long time)
{
	tp.tcp_mstamp = time;
	if (tp.connection.icsk_ca_state != TCP_CA_Loss) {
		tp.prior_cwnd = tp.snd_cwnd;
		tp.snd_ssthresh = SSTHRESH(sk);
		CWND_EVENT(sk, CA_EVENT_LOSS);
	}
	tp.snd_cwnd = 1;
	set_state(TCP_CA_Loss);
	tp.connection.icsk_retransmits++;
}

int main(void)
{
	char line[128];

	INIT(sk);
	while (fgets(line, sizeof line, stdin)) {
		unsigned long long time;
		u32 una, sacked;
		int round_trip;

		if (sscanf(line, "ack %llu %u %u %d", &time, &una, &sacked, &round_trip) == 4)
			acknowledge(time, una, sacked, round_trip);
		else if (sscanf(line, "loss %u", &tp.snd_nxt) == 1)
			lose();
		else if (sscanf(line, "timeout %llu %u", &time, &tp.snd_nxt) == 2)
			time_out(time);
		else
			recover();
		printf("%u %u %llu\n", tp.snd_cwnd, tp.snd_ssthresh, (unsigned long long)ESTIMATE);
	}
	return 0;
}
