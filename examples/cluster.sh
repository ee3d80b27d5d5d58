#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# cluster.sh - three primaries and three replicas on loopback with the module: a primary is killed while clients call, and
# what was acknowledged is compared with what is there. `./run test-valkey` prepares what it needs. KIND=redis takes Redis
# instead of Valkey. doc/valkey-cluster.md has the other faults.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LATH_VALKEY_MODULE=$PWD/build/valkey/lib/liblathwork-valkey.so
exec build/valkey-python/bin/python -B valkey/tests/cluster_faults.py --faults kill --rounds 1 --kind "${KIND:-valkey}"
