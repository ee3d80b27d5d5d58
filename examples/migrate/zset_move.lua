-- SPDX-License-Identifier: MIT OR GPL-2.0-only
-- One slice of a sorted set, which is in use, to a map: KEYS: the set, the map; ARGV: where to go on ("-inf" first), how many.
-- Returns where the next slice goes on, or false behind the last one. Writers write to both from before the first slice on.
local slice = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local last = slice[#slice]
for i = 1, #slice, 2 do
  redis.call('LATH.MAP.SET', KEYS[2], slice[i + 1], slice[i], 'FLOATS')
end
return last and #slice == 2 * ARGV[2] and '(' .. last
