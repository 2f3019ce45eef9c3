/* SPDX-License-Identifier: GPL-2.0-only */
#define BPF_PROG(name, ...) name(__VA_ARGS__)
