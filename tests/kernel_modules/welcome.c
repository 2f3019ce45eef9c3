// SPDX-License-Identifier: GPL-2.0-only
#include "hopyard_welcome.c"

#define INIT welcome_init
#define PKTS_ACKED welcome_pkts_acked
#define IN_ACK_EVENT welcome_in_ack_event
#define SSTHRESH welcome_ssthresh
#define SET_STATE welcome_set_state
#define CWND_EVENT welcome_cwnd_event
#define CONG_AVOID welcome_cong_avoid
#define ESTIMATE ((struct welcome *)STATE(sk))->estimate
#include "drive.h"
