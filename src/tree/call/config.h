/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * config.h - the configuration of an index, for all that make one.
 */
#ifndef LATH_INDEX_CONFIG_H
#define LATH_INDEX_CONFIG_H

#include "lathwork/config.h"

/* Copy a configuration, NULL for the default one, and check it: 0 | -EINVAL. A caller compiled with
 * an older, shorter struct gets the defaults for what it does not know. long_values: a value_size
 * of more than a word is allowed. */
int lath_config_read(struct lath_config *to, const struct lath_config *from, bool long_values);

#endif /* LATH_INDEX_CONFIG_H */
