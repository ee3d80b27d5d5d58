# SPDX-License-Identifier: MIT OR GPL-2.0-only
lath bench sort --quick --json sort.json       # request queues, verified and measured with their peers
lath bench index --quick --n 1e5 --subjects lathwork,absl-btree,judy --json index.json
lath report --setup sort.json index.json       # charts with published figures and intervals
ls report.html report.md report-light.svg      # one page, one text, a picture for a README
