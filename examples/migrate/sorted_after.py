# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Prices by time, and their order, in lathwork."""
from lathwork import SortedDict, SortedList

prices = SortedDict({1000 + 60 * i: 20 + i % 7 for i in range(100)})
prices[1030] = 99
del prices[1000]
print(prices.peekitem(0), list(prices.irange(1100, 1300)))
print(prices.bisect(4000), prices.keys()[-1])

order = SortedList(prices.values())
order.add(21.5)
print(order[len(order) // 2], order.bisect_left(24))
