/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pool_commands.c - LATH.POOL.*
 *
 * Replicas and the append-only file get effects: which range was reserved, and which was freed.
 * Placement and the end of a lease are decided once, on the primary. While a slot moves here from
 * another server, that one is the primary of its keys.
 */
#include <errno.h>

#include "command.h"
#include "pool.h"
#include "wait.h"

struct vk_type *pool_type;
struct pool_counts pool_counts;

/* Leases that one command ends at most before it does its own work. */
#define LEASE_STEP 1000

int reply_no_pool(struct vk_ctx *ctx)
{
	return reply_error(ctx, "ERR no such pool");
}

static int reply_range(struct vk_ctx *ctx, const struct pool_range *range)
{
	vk.ReplyWithArray(ctx, 4);
	reply_number(ctx, range->first);
	reply_number(ctx, range->size);
	if (range->owner.data)
		vk.ReplyWithStringBuffer(ctx, range->owner.data, range->owner.size);
	else
		vk.ReplyWithNull(ctx);
	if (range->expires)
		reply_number(ctx, range->expires);
	else
		vk.ReplyWithNull(ctx);
	return VK_OK;
}

static bool over(const struct pool_range *range)
{
	return range->expires && range->expires <= (uint64_t)vk.Milliseconds();
}

/* ---- effects ---- */

static void replicate_reserve(struct opened *opened, const struct pool_range *range)
{
	struct vk_string *words[RANGE_WORDS];
	size_t n = pool_words(range, words);

	replicate(opened, "LATH.POOL.RESERVE", "sv", opened->name, words, n);
	words_free(words, n);
}

static void give(struct opened *opened, uint64_t first, const char *event)
{
	int ret = pool_give(opened->value, first);
	char text[VALUE_TEXT];

	LATH_ASSERT(!ret); /* the caller has found the range */
	(void)ret;
	replicate(opened, "LATH.POOL.FREE", "sb", opened->name, text, number_print(text, first));
	changed(opened, event);
	vk.SignalKeyAsReady(opened->ctx, opened->name);
}

/* Is this server the one that decides when leases of its keys end? Not a replica, not while it
 * loads or takes over what another one decided. */
static bool ends_leases(struct vk_ctx *ctx)
{
	int flags = vk.GetContextFlags(ctx);

	return flags & VK_CTX_PRIMARY && !(flags & (VK_CTX_REPLICATED | VK_CTX_LOADING));
}

static void end_lease(struct opened *opened, uint64_t first)
{
	give(opened, first, "lath.pool.expire");
	pool_counts.leases_ended++;
}

/* Frees ranges whose lease is over; replicas get the frees. Not in a retry, which may end without
 * serving. */
static void end_leases(struct opened *opened)
{
	struct pool_range range;
	int n = 0;

	if (!ends_leases(opened->ctx))
		return;
	for (; n < LEASE_STEP && pool_first_lease(opened->value, &range) && over(&range); n++)
		end_lease(opened, range.first);
	LATH_ASSERT(!n || opened->replicated); /* replicas end no leases by themselves */
}

/* Has the server's timer end the first lease, where leases end here; after `least`. */
static void watch_leases(struct opened *opened, uint64_t least)
{
	struct pool *pool = opened->value;
	struct pool_range range;
	uint64_t now;

	if (!pool_leased(pool) || !pool_first_lease(pool, &range))
		return;
	now = (uint64_t)vk.Milliseconds();
	if ((pool->due > now && pool->due <= range.expires) || !ends_leases(opened->ctx))
		return;
	pool->due = range.expires > now + least ? range.expires : now + least;
	wait_lease(opened->ctx, opened->name, pool->due, &pool->timer);
}

void pool_end_leases(struct vk_ctx *ctx, struct vk_string *name, uint64_t timer)
{
	bool paused = vk.AvoidReplicaTraffic();
	struct pool *pool;
	OPENED(opened);

	opened = (struct opened){ .ctx = ctx, .name = name };
	opened.key = vk.OpenKey(ctx, name, VK_READ | VK_WRITE);
	if (!opened.key || vk.ModuleTypeGetType(opened.key) != pool_type)
		return;
	opened.value = pool = vk.ModuleTypeGetValue(opened.key);
	if (pool->timer != timer)
		return;
	pool->timer = pool->due = 0;
	if (!paused)
		end_leases(&opened);
	watch_leases(&opened, paused ? PAUSE_STEP : 1);
}

static bool open_pool(struct opened *opened, struct vk_ctx *ctx, struct vk_string **argv, int mode)
{
	if (!open_key(opened, ctx, argv, mode, pool_type))
		return false;
	if (!opened->value) {
		reply_no_pool(ctx);
		return false;
	}
	watch_leases(opened, 1);
	return true;
}

#define POOL_COMMAND(name, mode, least, most) \
	COMMAND(static, name, least, most, open_pool(opened, ctx, argv, mode))

/* A lease was set. */
static void lease_set(struct opened *opened, uint64_t first, uint64_t expires)
{
	char texts[2][VALUE_TEXT];

	replicate(opened, "LATH.POOL.LEASEAT", "sbb", opened->name, texts[0],
		  number_print(texts[0], first), texts[1], number_print(texts[1], expires));
	changed(opened, "lath.pool.lease");
	watch_leases(opened, 1);
}

/* ---- pools ---- */

static bool want_span(struct vk_ctx *ctx, struct vk_string **argv, uint64_t *first, uint64_t *size)
{
	if (!want_number(ctx, argv[0], "first", first) || !want_number(ctx, argv[1], "size", size))
		return false;
	if (pool_span(*first, *size))
		return true;
	return refuse(ctx, "ERR the range is empty or ends beyond 2^64 - 1");
}

COMMAND(static, create, 4, 4, open_key(opened, ctx, argv, TO_WRITE, pool_type))
{
	uint64_t first, size;
	struct pool *pool;

	if (!want_span(ctx, argv + 2, &first, &size))
		return VK_OK;
	if (opened->value)
		return reply_error(ctx, "ERR the key exists");
	pool = pool_create(first, size);
	if (!pool)
		return reply_no_memory(ctx);
	vk.ModuleTypeSetValue(opened->key, pool_type, pool);
	opened->value = pool;
	changed(opened, "lath.pool.create");
	replicate_call(opened, "LATH.POOL.CREATE", argv, argc);
	return vk.ReplyWithSimpleString(ctx, "OK");
}

POOL_COMMAND(add, TO_WRITE, 4, 4)
{
	uint64_t first, size;
	int ret;

	if (!want_span(ctx, argv + 2, &first, &size))
		return VK_OK;
	ret = pool_add(opened->value, first, size);
	if (ret == -EEXIST)
		return reply_error(ctx, "ERR part of it is in the pool");
	if (ret == -EINVAL)
		return reply_error(ctx, "ERR a pool has at most 2^64 - 1 numbers");
	if (ret)
		return reply_failure(ctx, ret);
	changed(opened, "lath.pool.add");
	vk.SignalKeyAsReady(ctx, argv[1]);
	replicate_call(opened, "LATH.POOL.ADD", argv, argc);
	return vk.ReplyWithSimpleString(ctx, "OK");
}

/* When a lease ends: a time, or ms from now on; 0: never. */
static bool want_lease(struct vk_ctx *ctx, const struct vk_string *string, bool from_now,
		       uint64_t *expires)
{
	uint64_t now = 0;

	if (!want_number(ctx, string, "the time", expires))
		return false;
	if (*expires && from_now)
		now = (uint64_t)vk.Milliseconds();
	if (*expires <= POOL_LEASE_MOST - now) {
		*expires += now;
		return true;
	}
	return refuse(ctx, "ERR invalid lease time");
}

/* ---- options ---- */

/* Groups of options, of each of which a command has one at most. */
enum { OWNER = 1, LEASE = 2, ALIGN = 4, PLACE = 8, WITHIN = 16, BLOCK = 32 };

struct wish {
	struct lath_hole_request want;
	struct pool_range range; /* owner and lease */
	uint64_t block;		 /* ms; 0: for ever */
	unsigned int seen;	 /* groups of options */
};

/* Each of these reads the words behind the name of an option. false: the reply says why */

static bool read_owner(struct vk_ctx *ctx, struct vk_string **words, struct wish *wish)
{
	return want_text(ctx, words[0], "OWNER", &wish->range.owner);
}

static bool read_lease(struct vk_ctx *ctx, struct vk_string **words, struct wish *wish)
{
	return want_lease(ctx, words[0], true, &wish->range.expires) &&
	       (wish->range.expires || refuse(ctx, "ERR invalid lease time"));
}

static bool read_leaseat(struct vk_ctx *ctx, struct vk_string **words, struct wish *wish)
{
	return want_lease(ctx, words[0], false, &wish->range.expires) &&
	       (wish->range.expires || refuse(ctx, "ERR invalid lease time"));
}

static bool read_align(struct vk_ctx *ctx, struct vk_string **words, struct wish *wish)
{
	uint64_t align;

	if (!want_number(ctx, words[0], "ALIGN", &align))
		return false;
	wish->want.align = align;
	return (align && !(align & (align - 1))) || refuse(ctx, "ERR ALIGN is not a power of two");
}

static bool read_place(struct vk_ctx *ctx, struct vk_string **words, struct wish *wish)
{
	return want_number(ctx, words[0], "the place", &wish->want.hint);
}

static bool read_within(struct vk_ctx *ctx, struct vk_string **words, struct wish *wish)
{
	uint64_t last;

	if (!want_number(ctx, words[0], "WITHIN", &wish->want.low) ||
	    !want_number(ctx, words[1], "WITHIN", &last))
		return false;
	wish->want.high = last + 1; /* 0 behind the highest number, as a request has it */
	return wish->want.low <= last || refuse(ctx, "ERR WITHIN is empty");
}

static bool read_block(struct vk_ctx *ctx, struct vk_string **words, struct wish *wish)
{
	/* the server adds the present time to it */
	return want_number(ctx, words[0], "BLOCK", &wish->block) &&
	       (wish->block <= INT64_MAX / 2 || refuse(ctx, "ERR timeout is out of range"));
}

static const struct option {
	const char *name;
	unsigned int group;
	int words; /* with the name */
	bool (*read)(struct vk_ctx *ctx, struct vk_string **words, struct wish *wish);
	enum lath_hole_policy policy; /* of a place */
} option_list[] = {
	{ "OWNER", OWNER, 2, read_owner, 0 },
	{ "LEASE", LEASE, 2, read_lease, 0 },
	{ "LEASEAT", LEASE, 2, read_leaseat, 0 },
	{ "ALIGN", ALIGN, 2, read_align, 0 },
	{ "FIRST", PLACE, 1, NULL, LATH_HOLE_FIRST },
	{ "LAST", PLACE, 1, NULL, LATH_HOLE_LAST },
	{ "BEST", PLACE, 1, NULL, LATH_HOLE_BEST },
	{ "NEAR", PLACE, 2, read_place, LATH_HOLE_NEAR },
	{ "NEXT", PLACE, 2, read_place, LATH_HOLE_NEXT },
	{ "EXACT", PLACE, 2, read_place, LATH_HOLE_EXACT },
	{ "WITHIN", WITHIN, 3, read_within, 0 },
	{ "BLOCK", BLOCK, 2, read_block, 0 },
};

/* Reads options of these groups, from argv[i] on. false: the reply says why */
static bool options(struct vk_ctx *ctx, struct vk_string **argv, int argc, int i,
		    unsigned int groups, struct wish *wish)
{
	const struct option *option,
		*end = option_list + sizeof(option_list) / sizeof(*option_list);

	for (; i < argc; i += option->words) {
		for (option = option_list; option < end; option++)
			if (is_word(argv[i], option->name))
				break;
		if (option == end || argc - i < option->words ||
		    !(groups & ~wish->seen & option->group))
			return refuse(ctx, SYNTAX);
		wish->seen |= option->group;
		if (option->group == PLACE)
			wish->want.policy = option->policy;
		if (option->read && !option->read(ctx, argv + i + 1, wish))
			return false;
	}
	return true;
}

/* ---- taking ---- */

/* The owner has a range whose lease is over and has not been ended: wish->range.first is set. */
static bool owner_is_over(struct opened *opened, struct wish *wish)
{
	struct pool_range there;

	if (!wish->range.owner.data || !pool_owner(opened->value, wish->range.owner, &there) ||
	    !over(&there) || !ends_leases(opened->ctx))
		return false;
	wish->range.first = there.first;
	return true;
}

/* The owner has a range already: the same answer again, with a new lease if one was asked for.
 * false: it has none. */
static bool again(struct opened *opened, const struct wish *wish, uint64_t size, int *reply)
{
	struct vk_ctx *ctx = opened->ctx;
	struct pool_range there;
	int failure;

	if (!wish->range.owner.data || !pool_owner(opened->value, wish->range.owner, &there))
		return false;
	*reply = VK_OK;
	if (there.size != size) {
		reply_error(ctx, "OWNERBUSY the owner has a range of another size");
		return true;
	}
	if (wish->range.expires) {
		failure = pool_lease(opened->value, there.first, wish->range.expires);
		if (failure) {
			reply_failure(ctx, failure);
			return true;
		}
		lease_set(opened, there.first, wish->range.expires);
	}
	reply_number(ctx, there.first);
	return true;
}

/* For assertions: returns whether the pool has this range. */
static FOR_ASSERTIONS bool is_there(const struct pool *pool, const struct pool_range *range)
{
	struct pool_range there;

	return pool_find(pool, range->first, &there) && there.first == range->first &&
	       there.size == range->size && there.expires == range->expires;
}

/* Tells the server and its replicas of a range that was taken. */
static void taken(struct opened *opened, const struct pool_range *range, const char *event)
{
	LATH_ASSERT(is_there(opened->value, range));
	replicate_reserve(opened, range);
	changed(opened, event);
	watch_leases(opened, 1);
	reply_number(opened->ctx, range->first);
}

/* Returns VK_ERR if there is no room; then nothing has been replied and, in a retry, nothing was
 * changed. */
static int alloc(struct vk_ctx *ctx, struct vk_string **argv, int argc, struct wish *wish,
		 bool retry)
{
	OPENED(opened);
	int ret;

	*wish = (struct wish){ 0 };
	if (!open_pool(&opened, ctx, argv, VK_READ | VK_WRITE) ||
	    !want_number(ctx, argv[2], "size", &wish->want.size) ||
	    !options(ctx, argv, argc, 3, ~0u, wish))
		return VK_OK;
	if (!wish->want.size)
		return reply_error(ctx, "ERR size is 0");
	if (!retry)
		end_leases(&opened);
	if (owner_is_over(&opened, wish)) {
		if (retry) /* the timer ends that lease before this owner can have another range */
			return VK_ERR;
		end_lease(&opened, wish->range.first);
	}
	if (again(&opened, wish, wish->want.size, &ret))
		return ret;
	ret = pool_take(opened.value, &wish->want, &wish->range);
	if (ret == -ENOSPC) {
		/* Redis 7.0 stops if a retry has effects and then serves nobody. */
		LATH_ASSERT(!retry || !opened.changed);
		/* who waits counts on the timer, which a pool that was moved has at another name */
		if (wish->seen & BLOCK) {
			((struct pool *)opened.value)->due = 0;
			watch_leases(&opened, 1);
		}
		return VK_ERR;
	}
	if (ret == -EINVAL)
		return reply_error(ctx, "ERR the place is not aligned or not WITHIN");
	if (ret)
		return reply_failure(ctx, ret);
	pool_counts.allocated++;
	taken(&opened, &wish->range, "lath.pool.alloc");
	return VK_OK;
}

int reply_no_room(struct vk_ctx *ctx)
{
	pool_counts.refused++;
	return vk.ReplyWithNull(ctx);
}

/* For a client that waits, when the key was signalled as ready. */
static int alloc_again(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct wish wish;

	return wait_is_paused(ctx) ? VK_ERR : alloc(ctx, argv, argc, &wish, true);
}

static int alloc_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	struct wish wish;

	if (argc < 3)
		return vk.WrongArity(ctx);
	if (alloc(ctx, argv, argc, &wish, false) == VK_OK)
		return VK_OK;
	if (!(wish.seen & BLOCK) ||
	    vk.GetContextFlags(ctx) & (VK_CTX_DENY_BLOCKING | VK_CTX_LUA | VK_CTX_MULTI))
		return reply_no_room(ctx);
	return wait_begin(ctx, argv[1], wish.block, alloc_again);
}

POOL_COMMAND(reserve, TO_WRITE, 4, ANY_NUMBER)
{
	struct wish wish = { 0 };
	struct pool_range there;
	uint64_t first;
	int ret;

	if (!want_span(ctx, argv + 2, &wish.range.first, &wish.range.size) ||
	    !options(ctx, argv, argc, 4, OWNER | LEASE, &wish))
		return VK_OK;
	end_leases(opened);
	first = wish.range.first;
	if (owner_is_over(opened, &wish))
		end_lease(opened, wish.range.first);
	wish.range.first = first;
	if (wish.range.owner.data && pool_owner(opened->value, wish.range.owner, &there)) {
		if (there.first != first)
			return reply_error(ctx, "OWNERBUSY the owner has another range");
		again(opened, &wish, wish.range.size, &ret);
		return ret;
	}
	ret = pool_reserve(opened->value, &wish.range);
	if (ret == -EEXIST)
		return vk.ReplyWithNull(ctx);
	if (ret)
		return reply_failure(ctx, ret);
	taken(opened, &wish.range, "lath.pool.reserve");
	return VK_OK;
}

/* Finds the range that begins at a number, if it is that of `owner`, or with NULL nobody's; what a
 * primary or a file says is done without a name. 1 | 0 | -1: it has an owner, and the reply says so */
static int find_own(struct opened *opened, uint64_t first, const struct vk_string *owner,
		    struct pool_range *range)
{
	if (!pool_find(opened->value, first, range) || range->first != first)
		return 0;
	if (owner)
		return range->owner.data && !compare_bytes(range->owner, text_of(owner));
	if (!range->owner.data || !ends_leases(opened->ctx))
		return 1;
	reply_error(opened->ctx, "OWNED the range has an owner: OWNER has to name it");
	return -1;
}

POOL_COMMAND(free, TO_WRITE, 3, ANY_NUMBER)
{
	bool owned = argc > 3 && is_word(argv[argc - 2], "OWNER");
	const struct vk_string *owner = owned ? argv[argc - 1] : NULL;
	uint64_t first, size = 0;
	struct pool_range range;
	int found;

	if (argc > 4 + 2 * owned)
		return vk.WrongArity(ctx);
	if (owned && argc == 4) {
		found = pool_owner(opened->value, text_of(owner), &range);
	} else {
		if (!want_number(ctx, argv[2], "first", &first) ||
		    (argc - 2 * owned == 4 && !want_positive(ctx, argv[3], "size", &size)))
			return VK_OK;
		found = find_own(opened, first, owner, &range);
		if (found > 0 && size && size != range.size)
			return reply_error(ctx, "ERR the range has another size");
	}
	if (found < 0)
		return VK_OK;
	if (found)
		give(opened, range.first, "lath.pool.free");
	return vk.ReplyWithLongLong(ctx, found);
}

static int lease(struct opened *opened, struct vk_string **argv, int argc, bool absolute)
{
	struct vk_ctx *ctx = opened->ctx;
	struct pool_range range;
	uint64_t first, time;
	int ret;

	if (argc == 5)
		return vk.WrongArity(ctx);
	if (argc == 6 && !is_word(argv[4], "OWNER"))
		return reply_error(ctx, SYNTAX);
	if (!want_number(ctx, argv[2], "first", &first) ||
	    !want_lease(ctx, argv[3], !absolute, &time))
		return VK_OK;
	end_leases(opened);
	ret = find_own(opened, first, argc == 6 ? argv[5] : NULL, &range);
	if (ret < 0)
		return VK_OK;
	if (!ret || (over(&range) && ends_leases(ctx)))
		return vk.ReplyWithLongLong(ctx, 0);
	ret = pool_lease(opened->value, first, time);
	if (ret)
		return reply_failure(ctx, ret);
	lease_set(opened, first, time);
	end_leases(opened); /* it may be over already */
	return vk.ReplyWithLongLong(ctx, 1);
}

POOL_COMMAND(lease, TO_WRITE, 4, 6)
{
	return lease(opened, argv, argc, false);
}

POOL_COMMAND(leaseat, TO_WRITE, 4, 6)
{
	return lease(opened, argv, argc, true);
}

/* ---- looking ---- */

POOL_COMMAND(find, TO_READ, 3, 3)
{
	struct pool_range range;
	uint64_t number;

	if (!want_number(ctx, argv[2], "number", &number))
		return VK_OK;
	if (!pool_find(opened->value, number, &range) || over(&range))
		return vk.ReplyWithNull(ctx);
	return reply_range(ctx, &range);
}

POOL_COMMAND(owner, TO_READ, 3, 3)
{
	struct pool_range range;

	if (!pool_owner(opened->value, text_of(argv[2]), &range) || over(&range))
		return vk.ReplyWithNull(ctx);
	return reply_range(ctx, &range);
}

struct window {
	uint64_t low, high;
	uint64_t offset, limit; /* of what the window shows */
};

/* [WITHIN low high] [LIMIT [offset] count] */
static bool window_options(struct vk_ctx *ctx, struct vk_string **argv, int argc,
			   struct window *window)
{
	int i;

	*window = (struct window){ 0, UINT64_MAX, 0, UINT64_MAX };
	for (i = 2; i < argc; i++) {
		if (is_word(argv[i], "WITHIN") && i + 2 < argc) {
			if (!want_number(ctx, argv[i + 1], "WITHIN", &window->low) ||
			    !want_number(ctx, argv[i + 2], "WITHIN", &window->high))
				return false;
			i += 2;
		} else if (is_word(argv[i], "LIMIT")) {
			if (!want_limit(ctx, argv, argc, &i, &window->offset, &window->limit))
				return false;
		} else
			return refuse(ctx, SYNTAX);
	}
	return true;
}

POOL_COMMAND(ranges, TO_READ, 2, ANY_NUMBER)
{
	struct pool_range range;
	struct pool_iter iter;
	struct window window;
	bool outside;
	long n = 0;

	if (!window_options(ctx, argv, argc, &window))
		return VK_OK;
	vk.ReplyWithArray(ctx, VK_LENGTH_LATER);
	pool_iter_begin(&iter, opened->value, window.low);
	pool_skip(&iter, window.offset);
	while ((uint64_t)n < window.limit && pool_next(&iter, &range, &outside) &&
	       range.first <= window.high) {
		if (outside)
			continue;
		reply_range(ctx, &range);
		n++;
	}
	vk.ReplySetArrayLength(ctx, n);
	return VK_OK;
}

POOL_COMMAND(holes, TO_READ, 2, ANY_NUMBER)
{
	uint64_t first, size;
	struct pool_iter iter;
	struct window window;
	long n = 0;

	if (!window_options(ctx, argv, argc, &window))
		return VK_OK;
	vk.ReplyWithArray(ctx, VK_LENGTH_LATER);
	pool_iter_begin(&iter, opened->value, window.low);
	while ((uint64_t)n < window.limit &&
	       pool_next_free(&iter, n ? 0 : window.offset, &first, &size) &&
	       first <= window.high) {
		if (size - 1 > window.high - first)
			size = window.high - first + 1;
		vk.ReplyWithArray(ctx, 2);
		reply_number(ctx, first);
		reply_number(ctx, size);
		n++;
	}
	vk.ReplySetArrayLength(ctx, n);
	return VK_OK;
}

static void reply_field(struct vk_ctx *ctx, const char *name, uint64_t value)
{
	vk.ReplyWithSimpleString(ctx, name);
	reply_number(ctx, value);
}

POOL_COMMAND(stat, TO_READ, 2, 2)
{
	const struct pool *pool = opened->value;
	struct lath_hole_stats holes;

	pool_holes(pool, 256, &holes);
	vk.ReplyWithMap(ctx, 8);
	reply_field(ctx, "capacity", pool->capacity);
	reply_field(ctx, "allocated", pool->taken);
	reply_field(ctx, "free", pool->capacity - pool->taken);
	reply_field(ctx, "ranges", pool_count(pool) - pool->outside);
	reply_field(ctx, "leases", pool_leased(pool));
	reply_field(ctx, "largest-hole", holes.largest);
	reply_field(ctx, "holes", holes.holes);
	reply_field(ctx, "fragmentation-permille", holes.fragmentation_permille);
	return VK_OK;
}

/* ---- the list ---- */

static int help_command(struct vk_ctx *ctx, struct vk_string **argv, int argc)
{
	(void)argv;
	return reply_help(ctx, argc, pool_commands, pool_commands_count);
}

#define PAGE "[LIMIT {[offset:integer] count:integer}]"

const struct command pool_commands[] = {
	{ "LATH.POOL.CREATE", create_command, COMMAND_ADD | COMMAND_FAST,
	  "key first:integer size:integer", "O(1)", "Makes a pool of the numbers from first on" },
	{ "LATH.POOL.ADD", add_command, COMMAND_ADD | COMMAND_FAST,
	  "key first:integer size:integer", "O(log N)", "Adds numbers to a pool" },
	{ "LATH.POOL.ALLOC", alloc_command, COMMAND_ADD | COMMAND_BLOCKS,
	  "key size:integer [ALIGN align:integer] "
	  "[(FIRST|LAST|BEST|{NEAR near:integer}|{NEXT from:integer}|{EXACT at:integer})] "
	  "[WITHIN {min:integer max:integer}] [OWNER owner] [LEASE milliseconds:integer] "
	  "[BLOCK milliseconds:integer]",
	  "O(log N)", "Takes a range of numbers; an owner that asks again gets the same" },
	{ "LATH.POOL.RESERVE", reserve_command, COMMAND_ADD | COMMAND_FAST,
	  "key first:integer size:integer [OWNER owner] "
	  "[({LEASE milliseconds:integer}|{LEASEAT unix-time-milliseconds:time})]",
	  "O(log N)", "Takes exactly this range" },
	{ "LATH.POOL.FREE", free_command, COMMAND_CHANGE | COMMAND_FAST,
	  "key ({first:integer [size:integer] [OWNER owner]}|{OWNER owner})", "O(log N)",
	  "Frees a range" },
	{ "LATH.POOL.LEASE", lease_command, COMMAND_UPDATE | COMMAND_FAST,
	  "key first:integer milliseconds:integer [OWNER owner]", "O(log N)",
	  "Sets when the lease of a range ends, from now; 0: never" },
	{ "LATH.POOL.LEASEAT", leaseat_command, COMMAND_UPDATE | COMMAND_FAST,
	  "key first:integer unix-time-milliseconds:time [OWNER owner]", "O(log N)",
	  "Sets when the lease of a range ends; 0: never" },
	{ "LATH.POOL.FIND", find_command, COMMAND_FAST, "key number:integer", "O(log N)",
	  "Returns the range that contains a number: first, size, owner, end of the lease" },
	{ "LATH.POOL.OWNER", owner_command, COMMAND_FAST, "key owner", "O(log N)",
	  "Returns the range of an owner" },
	{ "LATH.POOL.RANGES", ranges_command, COMMAND_READ,
	  "key [WITHIN {min:integer max:integer}] " PAGE,
	  "O(log N + M) for M ranges returned or skipped",
	  "Returns the ranges that are taken, in order" },
	{ "LATH.POOL.HOLES", holes_command, COMMAND_READ,
	  "key [WITHIN {min:integer max:integer}] " PAGE,
	  "O(log N + M) for M holes returned or skipped, plus the ranges between them",
	  "Returns what is free, in order" },
	{ "LATH.POOL.STAT", stat_command, COMMAND_READ, "key", "O(1)",
	  "Returns sizes and numbers of what is taken and of what is free" },
	{ "LATH.POOL.HELP", help_command, COMMAND_FAST, "", "O(1)", "Describes the commands" },
};
const size_t pool_commands_count = sizeof(pool_commands) / sizeof(pool_commands[0]);
