/* SPDX-License-Identifier: GPL-2.0-only */
#define SEC(name)
#define __ksym
