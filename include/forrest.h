/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * forrest.h - where programs of 2012 look for the header of libforrest.
 */
#include "lathwork/forrest.h"
