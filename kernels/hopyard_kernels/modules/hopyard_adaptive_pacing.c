// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adaptive Pacing, TCP-AP: S. M. ElRakabawy, A. Klemm and C. Lindemann, "TCP with Adaptive Pacing for Multihop Wireless
 * Networks", MobiHoc 2005. Between two segments there is a gap of FHD (1 + 2 cov). FHD is the mean delay over four hops:
 * each round trip over h hops gives 2 (RTT/h + (s_data - s_ack)/b), which is four times the wait at a hop and the time to
 * send a segment. cov is the standard deviation of the last fifty round trips, divided by their mean.
 *
 * The gap is a limit to the kernel's pacing rate. The kernel's own rate, 1.2 or 2 windows in a round trip, holds where it
 * is lower. The kernel does not pace the first ten segments of a connection, and takes up to half of a gap off after
 * a segment that was late.
 *
 * h is 255, 128, 64 or 32 less the time to live of what the peer sends, and one; or the parameter "hops". As a module
 * this looks at all IPv4 packets that are received; as an eBPF program, at those for the sockets of a control group.
 *
 * Window, growth, recovery and timeouts are the kernel's Reno.
 */
#include "hopyard.h"

PARAMETER(hops, 0, "hops of the path; 0: from the time to live of received packets");
PARAMETER(bandwidth, 2000000, "rate of a hop, in bits per second");
PARAMETER(smoothing, 700, "weight of the old value in the mean delay, in thousandths");

#define SAMPLES 50
/* The longest round trip that counts, in microseconds: no sum of squares overflows. */
#define LONGEST 10000000

/* The last round trips in microseconds, their sum and the sum of their squares. */
struct history {
	u32 sample[SAMPLES];
	u64 sum, squares;
	u32 count, place;
};

struct pacing {
	/* The mean delay over four hops, in nanoseconds; 0: none. */
	u64 delay;
	/* Below this an acknowledgement may cover segments that arrived long before and waited behind a lost one. */
	u32 doubtful;
#ifndef HOPYARD_BPF
	struct history *history;
#endif
};

#ifdef HOPYARD_BPF

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct history);
} histories SEC(".maps");

/* The time to live of what a peer has sent last, by its address. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u32);
} lives SEC(".maps");

/* Sees what the sockets of a control group receive, and lets it pass. */
SEC("cgroup_skb/ingress") int pacing_received(struct __sk_buff *skb)
{
	struct iphdr header;
	u32 peer, life;

	if (bpf_skb_load_bytes(skb, 0, &header, sizeof(header)) || header.version != 4)
		return 1;
	peer = header.saddr;
	life = header.ttl;
	bpf_map_update_elem(&lives, &peer, &life, BPF_ANY);
	return 1;
}

static __always_inline struct history *history_of(struct sock *sk, struct pacing *it)
{
	return bpf_sk_storage_get(&histories, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
}

static __always_inline u32 life_of(struct sock *sk)
{
	u32 peer = sk->__sk_common.skc_daddr;
	u32 *life = bpf_map_lookup_elem(&lives, &peer);

	return life ? *life : 0;
}

/* An eBPF program writes no limit: it asks for it as a program does. */
static __always_inline void limit(struct sock *sk, u64 rate)
{
	u32 bytes = rate > 0xfffffffe ? 0xfffffffe : rate;

	bpf_setsockopt(sk, 1 /* SOL_SOCKET */, 47 /* SO_MAX_PACING_RATE */, &bytes, sizeof(bytes));
}

#else

#include <linux/hash.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

/* The time to live of what a peer has sent last. Peers with the same hash take the place of each other. */
#define PLACES_BITS 8
static struct {
	__be32 peer;
	u32 life;
} lives[1 << PLACES_BITS];

static int pacing_received(struct sk_buff *skb, struct net_device *device, struct packet_type *type,
			   struct net_device *original)
{
	if (skb->pkt_type == PACKET_HOST && skb_headlen(skb) >= sizeof(struct iphdr)) {
		const struct iphdr *header = (const struct iphdr *)skb->data;
		u32 place = hash_32((__force u32)header->saddr, PLACES_BITS);

		lives[place].peer = header->saddr;
		lives[place].life = header->ttl;
	}
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static struct packet_type received = {
	.type = cpu_to_be16(ETH_P_IP),
	.func = pacing_received,
};

static inline struct history *history_of(struct sock *sk, struct pacing *it)
{
	return it->history;
}

static inline u32 life_of(struct sock *sk)
{
	u32 place = hash_32((__force u32)sk->sk_daddr, PLACES_BITS);

	return lives[place].peer == sk->sk_daddr ? lives[place].life : 0;
}

static inline void limit(struct sock *sk, u64 rate)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_max_pacing_rate, rate);
}

#endif

/* The hops of the path, 0 if they are not known. */
HELPER u32 hops_of(struct sock *sk)
{
	u32 life;

	if (hops)
		return hops;
	life = life_of(sk);
	if (!life)
		return 0;
	return (life > 128 ? 255 : life > 64 ? 128 : life > 32 ? 64 : 32) - life + 1;
}

/* The whole part of a square root, or one more. Newton's steps, without a branch: eBPF's verifier follows each. */
HELPER u64 root(u64 number)
{
	u64 found = 1ull << 32;
	int i;

	number |= 1;
	for (i = 0; i < 40; i++)
		found = (found + number / found) / 2;
	return found;
}

HELPER void remember(struct history *it, u32 sample)
{
	u32 place = it->place;

	if (place >= SAMPLES)
		place = 0;
	if (it->count == SAMPLES) {
		it->sum -= it->sample[place];
		it->squares -= (u64)it->sample[place] * it->sample[place];
	} else {
		it->count++;
	}
	it->sample[place] = sample;
	it->sum += sample;
	it->squares += (u64)sample * sample;
	it->place = place + 1;
}

/* 1 + 2 cov, times a delay. */
HELPER u64 widened(const struct history *it, u64 delay)
{
	u64 n = it->count, spread, deviation;

	if (n < 2 || !it->sum)
		return delay;
	/* n (n - 1) times the variance. */
	spread = n * it->squares - it->sum * it->sum;
	deviation = root(spread / (n - 1) * n);
	/* The deviation is n times that of a sample, as the sum is n times the mean. */
	return delay + delay / 1000 * (2000 * deviation / it->sum);
}

HOOK(void, pacing_init, struct sock *sk)
{
	struct pacing *it = STATE(sk);

	it->delay = 0;
	it->doubtful = TCP(sk)->snd_una;
#ifndef HOPYARD_BPF
	/* Without memory there is no pacing. */
	it->history = kzalloc(sizeof(*it->history), GFP_ATOMIC);
	/* Segments that leave together have no gap. */
	sk->sk_gso_max_segs = 1;
#endif
}

HOOK(void, pacing_release, struct sock *sk)
{
#ifndef HOPYARD_BPF
	struct pacing *it = STATE(sk);

	kfree(it->history);
	it->history = NULL;
#endif
}

HOOK(u32, pacing_min_tso_segs, struct sock *sk)
{
	return 1;
}

HOOK(void, pacing_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct pacing *it = STATE(sk);
	struct tcp_sock *tp = TCP(sk);
	struct history *history;
	u32 round_trip = sample->rtt_us, h = hops_of(sk), one = segment(tp);
	u64 rate = larger(bandwidth, 1), delay, gap;

	if (sample->rtt_us <= 0 || CONNECTION(sk)->icsk_ca_state != TCP_CA_Open || !before(it->doubtful, tp->snd_una) || !h)
		return;
	history = history_of(sk, it);
	if (!history)
		return;
	round_trip = smaller(round_trip, LONGEST);
	/* In nanoseconds. The segment is longer than the acknowledgement by the payload. */
	delay = 2 * ((u64)round_trip * 1000 / h + (u64)one * 8 * 1000000000 / rate);
	if (it->delay)
		delay = (it->delay * smoothing + delay * (1000 - smaller(smoothing, 1000))) / 1000;
	it->delay = delay;
	remember(history, round_trip);
	gap = widened(history, delay);
	limit(sk, gap ? (u64)one * 1000000000 / gap : ~0ull);
}

HOOK(void, pacing_set_state, struct sock *sk, u8 state)
{
	struct pacing *it = STATE(sk);

	if (state >= TCP_CA_CWR)
		it->doubtful = TCP(sk)->snd_nxt;
}

HOOK(u32, pacing_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

HOOK(u32, pacing_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

HOOK(void, pacing_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

OPERATIONS(adaptive_pacing) = {
	.init = HOOKED(pacing_init),
	.release = HOOKED(pacing_release),
	.pkts_acked = HOOKED(pacing_pkts_acked),
	.set_state = HOOKED(pacing_set_state),
	.ssthresh = HOOKED(pacing_ssthresh),
	.min_tso_segs = HOOKED(pacing_min_tso_segs),
	.undo_cwnd = HOOKED(pacing_undo_cwnd),
	.cong_avoid = HOOKED(pacing_cong_avoid),
	OWNER
	.name = "adaptive_pacing",
};

#ifdef HOPYARD_BPF
REGISTERED(adaptive_pacing, struct pacing);
#else
static int __init pacing_start(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct pacing) > ICSK_CA_PRIV_SIZE);
	error = tcp_register_congestion_control(&adaptive_pacing);
	if (!error)
		dev_add_pack(&received);
	return error;
}

static void __exit pacing_end(void)
{
	dev_remove_pack(&received);
	tcp_unregister_congestion_control(&adaptive_pacing);
}

module_init(pacing_start);
module_exit(pacing_end);
#endif
DESCRIBED("Adaptive Pacing: a gap between segments, from the delay over four hops");
