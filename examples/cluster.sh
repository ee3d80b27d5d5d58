#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# cluster.sh - three primaries and three replicas on loopback with the module: clients allocate from one pool, a primary is
# killed, and what was acknowledged with WAIT is compared with what is there. `./run test-valkey` prepares what it needs.
# KIND=redis takes Redis instead of Valkey.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LATH_VALKEY_MODULE=$PWD/build/valkey/lib/liblathwork-valkey.so
exec build/valkey-python/bin/python -B valkey/tests/show_cluster.py "${KIND:-valkey}"
