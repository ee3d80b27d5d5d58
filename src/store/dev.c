/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dev.c - the kernel's store. Without its module there is none.
 */
#include "store/engine.h"

const struct store_backend store_dev_backend = { .scheme = "dev" };
