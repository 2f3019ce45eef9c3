// SPDX-License-Identifier: GPL-2.0-only
/*
 * ELFN, explicit link failure notification: G. Holland and N. Vaidya, "Analysis of TCP Performance over Mobile Ad Hoc
 * Networks", Wireless Networks 8, 2002. A sender that learns that its route is broken freezes: no timer runs, and the
 * first unacknowledged segment is sent every two seconds. Any acknowledgement restores the state.
 *
 * The notice is an ICMP error, host or network unreachable, that quotes an outstanding segment. TCP has no hook for it.
 * A socket of the module's own receives such errors before TCP does, as that of ping receives its replies.
 *
 * A probe is the kernel's own retransmission, whose timer is held at the interval between probes. The kernel then takes
 * all outstanding segments for lost; the end of the freeze takes that back, if no loss was known at its beginning. After
 * it the kernel finds losses as always.
 *
 * As an eBPF program this sees no ICMP error when it comes, and changes no timer. It sees at a timeout whether there
 * was one since the last acknowledgement (sk_err_soft), and then restores window and threshold when the next one comes.
 * Meanwhile the kernel's timer is that of RFC 6069.
 *
 * Window, growth and recovery are the kernel's Reno.
 */
#include "hopyard.h"

PARAMETER(race, 0, "a timeout came before the notice: 0 restores the state after it (as published), 1 that before it");
#ifndef HOPYARD_BPF
PARAMETER(probe_interval, 2000, "time between probes, in milliseconds");
#endif

/* Window and timer at some time. */
struct kept {
	u32 cwnd, cwnd_cnt, ssthresh, rto;
};

struct elfn {
	struct kept kept;
	/* That before the first timeout since the last new acknowledgement; a window of 0: there was none. */
	struct kept early;
	/* The estimate of the round trip, in the kernel's units. */
	u32 srtt, mdev, mdev_max, rttvar;
	/* When the sender froze, in microseconds, and what was the next byte then; 0: no sample can be older. */
	u64 since;
	u32 next;
	u32 una;
	/* The sender is frozen; a notice came while a program had the socket; no loss was known. */
	u8 frozen, noticed, open;
	u8 backoff;
};

HELPER void keep(struct kept *it, struct sock *sk)
{
	struct tcp_sock *tp = TCP(sk);

	it->cwnd = tp->snd_cwnd;
	it->cwnd_cnt = tp->snd_cwnd_cnt;
	it->ssthresh = tp->snd_ssthresh;
	it->rto = CONNECTION(sk)->icsk_rto;
}

HELPER void restore(const struct kept *it, struct sock *sk)
{
	struct tcp_sock *tp = TCP(sk);

	tp->snd_cwnd = larger(it->cwnd, 1);
	tp->snd_cwnd_cnt = it->cwnd_cnt;
	tp->snd_ssthresh = it->ssthresh;
}

HOOK(void, elfn_init, struct sock *sk)
{
	struct elfn *it = STATE(sk);

	it->early.cwnd = 0;
	it->since = 0;
	it->frozen = it->noticed = 0;
	it->una = TCP(sk)->snd_una;
}

/* The kernel asks for a threshold, before it changes the window. */
HOOK(u32, elfn_ssthresh, struct sock *sk)
{
	struct elfn *it = STATE(sk);

	if (!it->frozen)
		keep(&it->early, sk);
	return tcp_reno_ssthresh(sk);
}

#ifdef HOPYARD_BPF

HOOK(void, elfn_set_state, struct sock *sk, u8 state)
{
	struct elfn *it = STATE(sk);
	bool first = !CONNECTION(sk)->icsk_retransmits;

	if (state != TCP_CA_Loss || !it->early.cwnd)
		return;
	/* Host and network unreachable. */
	if ((sk->sk_err_soft == 113 || sk->sk_err_soft == 101) && (first || race))
		it->frozen = 1;
}

HOOK(void, elfn_in_ack_event, struct sock *sk, u32 flags)
{
	struct elfn *it = STATE(sk);

	if (it->una == TCP(sk)->snd_una)
		return;
	it->una = TCP(sk)->snd_una;
	if (it->frozen)
		restore(&it->early, sk);
	it->frozen = it->early.cwnd = 0;
}

#else

#include <linux/icmp.h>
#include <linux/ip.h>
#include <net/inet_hashtables.h>
#include <net/raw.h>

static struct tcp_congestion_ops elfn;
static struct socket *notices;

static void keep_round_trip(struct elfn *it, const struct tcp_sock *tp)
{
	it->srtt = tp->srtt_us;
	it->mdev = tp->mdev_us;
	it->mdev_max = tp->mdev_max_us;
	it->rttvar = tp->rttvar_us;
}

static void restore_round_trip(const struct elfn *it, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->srtt_us = it->srtt;
	tp->mdev_us = it->mdev;
	tp->mdev_max_us = it->mdev_max;
	tp->rttvar_us = it->rttvar;
	inet_csk(sk)->icsk_rto = it->kept.rto;
}

static void wait_for_probe(struct sock *sk)
{
	unsigned long interval = msecs_to_jiffies(max(probe_interval, 1u));

	inet_csk_reset_xmit_timer(sk, ICSK_TIME_RETRANS, interval, TCP_RTO_MAX);
}

/*
 * No window lets nothing out but what the timer repeats. A window of one segment would let new data out when nothing
 * counts as in flight, because the outstanding segments are taken for lost and the first one still waits in this node.
 */
static void block(struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = 0;
}

static void freeze(struct sock *sk)
{
	struct elfn *it = STATE(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct inet_connection_sock *icsk = inet_csk(sk);

	keep(&it->kept, sk);
	it->backoff = icsk->icsk_backoff;
	if (race && icsk->icsk_retransmits && it->early.cwnd) {
		it->kept = it->early;
		it->backoff = 0;
	}
	keep_round_trip(it, tp);
	it->open = icsk->icsk_ca_state <= TCP_CA_Disorder;
	it->frozen = 1;
	it->since = max_t(u64, tcp_clock_us(), 1);
	it->next = tp->snd_nxt;
	block(sk);
	/* Without a timeout the kernel does not bring the timer forward at a notice (RFC 6069). */
	icsk->icsk_retransmits = 0;
	icsk->icsk_backoff = 0;
	wait_for_probe(sk);
}

/* Takes back what the probes, which are timeouts for the kernel, have made of the outstanding segments. */
static void forget_losses(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sk_buff *skb = tcp_rtx_queue_head(sk);

	skb_rbtree_walk_from(skb)
		TCP_SKB_CB(skb)->sacked &= ~TCPCB_LOST;
	tp->lost_out = 0;
	tcp_clear_all_retrans_hints(tp);
	tp->undo_marker = 0;
	tp->frto = 0;
	if (!tp->retrans_out)
		tp->retrans_stamp = 0;
	inet_csk(sk)->icsk_ca_state = tp->sacked_out ? TCP_CA_Disorder : TCP_CA_Open;
	tp->high_seq = tp->snd_nxt;
}

static void thaw(struct sock *sk)
{
	struct elfn *it = STATE(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	it->frozen = 0;
	if (it->open && inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		forget_losses(sk);
	restore(&it->kept, sk);
	restore_round_trip(it, sk);
	inet_csk(sk)->icsk_backoff = it->backoff;
	if (tp->packets_out)
		inet_csk_reset_xmit_timer(sk, ICSK_TIME_RETRANS, inet_csk(sk)->icsk_rto, TCP_RTO_MAX);
}

static void elfn_set_state(struct sock *sk, u8 state)
{
	struct elfn *it = STATE(sk);
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (state != TCP_CA_Loss)
		return;
	if (it->noticed && !it->frozen) {
		/* The notice came before this timeout: its state is that before it. */
		freeze(sk);
		if (it->early.cwnd)
			it->kept = it->early;
	}
	it->noticed = 0;
	if (it->frozen) {
		/* The kernel has set a window of what it counts as in flight, and one. */
		block(sk);
		/* The kernel doubles this after the probe. */
		icsk->icsk_rto = max(msecs_to_jiffies(max(probe_interval, 1u)) / 2, 1ul);
	}
}

/* Segments that were sent before the freeze give no round trip: it would contain the outage. */
static void elfn_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct elfn *it = STATE(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!it->since || it->frozen)
		return;
	if (sample->rtt_us > 0 && sample->rtt_us >= (s64)(tp->tcp_mstamp - it->since))
		restore_round_trip(it, sk);
	else if (sample->rtt_us > 0)
		keep_round_trip(it, tp);
	if (!before(tp->snd_una, it->next))
		it->since = 0;
}

static void elfn_in_ack_event(struct sock *sk, u32 flags)
{
	struct elfn *it = STATE(sk);

	it->noticed = 0;
	if (it->frozen)
		thaw(sk);
	if (it->una != tcp_sk(sk)->snd_una)
		it->early.cwnd = 0;
	it->una = tcp_sk(sk)->snd_una;
}

/* A notice about a segment of this socket. */
static void notice(struct sock *sk, u32 seq)
{
	struct elfn *it = STATE(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->packets_out || before(seq, tp->snd_una) || !before(seq, tp->snd_nxt))
		return;
	if (sock_owned_by_user(sk)) {
		it->noticed = 1;
	} else if (it->frozen) {
		inet_csk(sk)->icsk_retransmits = 0;
		inet_csk(sk)->icsk_backoff = 0;
	} else {
		freeze(sk);
	}
}

/* An ICMP error: the socket whose segment it quotes is told, if this is its congestion control. */
static void read_notice(struct net *net, struct sk_buff *skb)
{
	const struct iphdr *outer, *inner;
	const struct icmphdr *icmp;
	const struct tcphdr *tcp;
	unsigned int length;
	struct sock *sk;

	if (!pskb_may_pull(skb, sizeof(*outer)))
		return;
	length = ip_hdrlen(skb) + sizeof(*icmp);
	if (!pskb_may_pull(skb, length + sizeof(*inner)))
		return;
	inner = (const struct iphdr *)(skb->data + length);
	length += inner->ihl * 4;
	/* Ports and sequence number. */
	if (inner->protocol != IPPROTO_TCP || inner->ihl < 5 || !pskb_may_pull(skb, length + 8))
		return;
	outer = (const struct iphdr *)skb->data;
	icmp = (const struct icmphdr *)(skb->data + outer->ihl * 4);
	inner = (const struct iphdr *)(icmp + 1);
	tcp = (const struct tcphdr *)(skb->data + length);
	if (icmp->type != ICMP_DEST_UNREACH || (icmp->code != ICMP_HOST_UNREACH && icmp->code != ICMP_NET_UNREACH))
		return;
	sk = __inet_lookup_established(net, net->ipv4.tcp_death_row.hashinfo, inner->daddr, tcp->dest, inner->saddr,
				       ntohs(tcp->source), inet_iif(skb), 0);
	if (!sk)
		return;
	if (sk_fullsock(sk)) {
		bh_lock_sock(sk);
		if (inet_csk(sk)->icsk_ca_ops == &elfn && inet_csk(sk)->icsk_ca_initialized)
			notice(sk, ntohl(tcp->seq));
		bh_unlock_sock(sk);
	}
	sock_gen_put(sk);
}

static void elfn_data_ready(struct sock *sk)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&sk->sk_receive_queue))) {
		read_notice(sock_net(sk), skb);
		consume_skb(skb);
	}
}

static int listen_for_notices(void)
{
	int error = sock_create_kern(&init_net, AF_INET, SOCK_RAW, IPPROTO_ICMP, &notices);

	if (error)
		return error;
	raw_sk(notices->sk)->filter.data = ~(1u << ICMP_DEST_UNREACH);
	notices->sk->sk_data_ready = elfn_data_ready;
	return 0;
}

#endif

HOOK(u32, elfn_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

HOOK(void, elfn_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

OPERATIONS(elfn) = {
	.init = HOOKED(elfn_init),
	.ssthresh = HOOKED(elfn_ssthresh),
	.set_state = HOOKED(elfn_set_state),
#ifndef HOPYARD_BPF
	.pkts_acked = HOOKED(elfn_pkts_acked),
#endif
	.in_ack_event = HOOKED(elfn_in_ack_event),
	.undo_cwnd = HOOKED(elfn_undo_cwnd),
	.cong_avoid = HOOKED(elfn_cong_avoid),
	OWNER
	.name = "elfn",
};

#ifdef HOPYARD_BPF
REGISTERED(elfn, struct elfn);
#else
static int __init elfn_start(void)
{
	int error = listen_for_notices();

	BUILD_BUG_ON(sizeof(struct elfn) > ICSK_CA_PRIV_SIZE);
	if (error)
		return error;
	error = tcp_register_congestion_control(&elfn);
	if (error)
		sock_release(notices);
	return error;
}

static void __exit elfn_end(void)
{
	tcp_unregister_congestion_control(&elfn);
	sock_release(notices);
}

module_init(elfn_start);
module_exit(elfn_end);
#endif
DESCRIBED("ELFN: freezes when the route is broken, and probes");
