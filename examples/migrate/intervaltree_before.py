# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Meetings of a day in intervaltree."""
from intervaltree import Interval, IntervalTree

day = IntervalTree([Interval(9, 10, "standup"), Interval(9, 12, "review")])
day[14:16] = "interview"
print(sorted(meeting.data for meeting in day[9]))
print(sorted(day.overlap(11, 15)))
day.remove(Interval(9, 10, "standup"))
print(len(day), day.begin(), day.end())
