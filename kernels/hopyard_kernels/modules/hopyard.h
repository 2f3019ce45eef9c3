/* SPDX-License-Identifier: GPL-2.0-only
 *
 * What lets one source be a module of a kernel, and a program for a running kernel's struct_ops (HOPYARD_BPF).
 *
 * Arithmetic is unsigned and in whole numbers: a kernel has no floating point, and eBPF no signed division. "Q8" means
 * a number with 8 binary places.
 */
#ifndef HOPYARD_H
#define HOPYARD_H

#ifdef HOPYARD_BPF

#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;

/* A hook of struct tcp_congestion_ops. */
#define HOOK(type, name, ...) SEC("struct_ops") type BPF_PROG(name, __VA_ARGS__)
/* How the table of hooks names one. */
#define HOOKED(name) ((void *)(name))
#define OPERATIONS(name) SEC(".struct_ops.link") struct tcp_congestion_ops name
#define OWNER
/* A parameter: the loader sets it before the program is loaded. */
#define PARAMETER(name, value, text) const volatile u32 name = (value)
#define REGISTERED(operations, state) _Static_assert(sizeof(state) <= 104, "ICSK_CA_PRIV_SIZE")
#define DESCRIBED(text) char _license[] SEC("license") = "GPL"
#define HELPER static __always_inline
/* The verifier gives `struct sock *` of these hooks the fields of a TCP socket. */
#define TCP(sk) ((struct tcp_sock *)(sk))
#define CONNECTION(sk) ((struct inet_connection_sock *)(sk))

static __always_inline bool before(u32 one, u32 other)
{
	return (s32)(one - other) < 0;
}

#else

#include <linux/module.h>
#include <net/tcp.h>

#define HOOK(type, name, ...) static type name(__VA_ARGS__)
#define HOOKED(name) name
#define OPERATIONS(name) static struct tcp_congestion_ops name
#define OWNER .owner = THIS_MODULE,
#define PARAMETER(name, value, text)         \
	static unsigned int name = (value);  \
	module_param(name, uint, 0644);      \
	MODULE_PARM_DESC(name, text)
#define REGISTERED(operations, state)                                      \
	static int __init operations##_start(void)                         \
	{                                                                  \
		BUILD_BUG_ON(sizeof(state) > ICSK_CA_PRIV_SIZE);           \
		return tcp_register_congestion_control(&operations);       \
	}                                                                  \
	static void __exit operations##_end(void)                          \
	{                                                                  \
		tcp_unregister_congestion_control(&operations);            \
	}                                                                  \
	module_init(operations##_start);                                   \
	module_exit(operations##_end)
#define DESCRIBED(text)       \
	MODULE_LICENSE("GPL"); \
	MODULE_AUTHOR("Hopyard"); \
	MODULE_DESCRIPTION(text)
#define HELPER static inline
#define TCP(sk) tcp_sk(sk)
#define CONNECTION(sk) inet_csk(sk)

#endif

/* The private state of a socket, ICSK_CA_PRIV_SIZE bytes, zero at first. */
#define STATE(sk) ((void *)CONNECTION(sk)->icsk_ca_priv)

HELPER u32 smaller(u32 one, u32 other)
{
	return one < other ? one : other;
}

HELPER u32 larger(u32 one, u32 other)
{
	return one > other ? one : other;
}

/* The payload of a full segment. */
HELPER u32 segment(const struct tcp_sock *tp)
{
	return larger(tp->mss_cache, 1);
}

#endif
