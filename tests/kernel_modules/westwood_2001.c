// SPDX-License-Identifier: GPL-2.0-only
#include "hopyard_westwood_2001.c"

static void nothing(struct sock *sk, u8 state)
{
}

#define INIT westwood_init
#define PKTS_ACKED westwood_pkts_acked
#define IN_ACK_EVENT westwood_in_ack_event
#define SSTHRESH westwood_ssthresh
#define SET_STATE nothing
#define CWND_EVENT westwood_cwnd_event
#define CONG_AVOID westwood_cong_avoid
#define ESTIMATE ((struct westwood *)STATE(sk))->bandwidth
#include "drive.h"
