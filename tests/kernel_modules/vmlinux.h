/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The fields of a socket that Hopyard's TCP variants for Linux use: enough to run them as a usual program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum tcp_ca_event { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS };

struct sock {
	int sk_err_soft;
};

struct inet_connection_sock {
	struct sock sk;
	u8 icsk_ca_state, icsk_retransmits;
	u32 icsk_rto;
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock connection;
	u32 mss_cache, snd_una, snd_nxt, snd_cwnd, snd_cwnd_cnt, snd_ssthresh, prior_cwnd, snd_wnd;
	u32 packets_out, sacked_out;
	u64 tcp_mstamp;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct tcp_congestion_ops {
	void *init, *release, *pkts_acked, *in_ack_event, *ssthresh, *set_state, *cwnd_event, *undo_cwnd, *cong_avoid;
	void *min_tso_segs;
	char name[16];
};
