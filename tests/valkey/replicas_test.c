/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * replicas_test.c - what commands tell replicas and the append-only file.
 *
 * Two stubs of a server. One is the primary: random commands run there, memory ends in some of
 * them, leases end, clients wait for room in pools. What it replicates runs on the other one, whose
 * clock is ahead, when the command is over. Then the keys of both must be equal, no replicated
 * command may have failed, and what a retry of a waiting client replicated must have served it. Now
 * and then all keys are written as a rewrite of the append-only file, which a third server loads.
 * replicas_test [commands] [seed]
 */
#include <stdarg.h>
#include <string.h>

#include "base/random.h"
#include "lathwork/config.h"
#include "map.h"
#include "stub.h"
#include "wait.h"

#define KEYS 6u
#define WORDS 600 /* of a command: a rewrite sends blocks of pairs */
#define CLIENTS 8u
#define AHEAD 5000

static const char *const names[KEYS] = { "numbers", "strings", "more", "pool", "spare", "spans" };
enum { NUMBERS, STRINGS, MORE, POOL, SPARE, SPANS };

struct vk_key {
	const char *name;
	const struct vk_type_methods *methods; /* NULL if the key does not exist */
	void *value;
	bool ready; /* signalled, clients are not yet served */
};

/* A server is the context of its commands. */
struct vk_ctx {
	struct vk_key keys[KEYS];
	int flags;
	long long ahead;
} primary, replica, restarted;

struct words {
	int argc;
	struct vk_string *argv[WORDS];
};

struct vk_blocked {
	vk_command_fn retry, timed_out;
	void (*gone)(struct vk_ctx *ctx, void *data);
	void *data; /* NULL: nobody */
	long long until;
	bool over; /* answered, not yet freed */
	struct words command;
};

static struct vk_ctx *now_running;
static const struct words *running; /* the command as it came */
static struct words sent[3000];	    /* replicated by the command that runs */
static unsigned int sent_count, served, refused, ended;
static struct vk_blocked clients[CLIENTS], *retried;
static long long clock_ms = 1000000;
static struct stub_timer {
	vk_timer_fn fn; /* NULL: none */
	void *data;
	uint64_t at, id;
} timers[24];
static bool paused;
static uint64_t state = 1;
static char digit_text[64][32];
static unsigned int digit_next;

#define below(n) draw(&state, n)

/* ---- strings and commands ---- */

static struct vk_string *make_string(struct vk_ctx *ctx, const char *data, size_t size)
{
	char *copy = vk.Alloc(size + 1);

	(void)ctx;
	memcpy(copy, data, size);
	copy[size] = 0;
	return (struct vk_string *)(void *)copy;
}

static void free_string(struct vk_ctx *ctx, struct vk_string *string)
{
	(void)ctx;
	vk.Free(string);
}

static void add_bytes(struct words *words, const char *data, size_t size)
{
	MUST(words->argc < WORDS);
	words->argv[words->argc++] = make_string(NULL, data, size);
}

static void add_word(struct words *words, const char *text)
{
	add_bytes(words, text, strlen(text));
}

static void copy_words(struct words *to, const struct words *from)
{
	int i;

	to->argc = 0;
	for (i = 0; i < from->argc; i++)
		add_word(to, (const char *)from->argv[i]);
}

static void free_words(struct words *words)
{
	while (words->argc)
		free_string(NULL, words->argv[--words->argc]);
}

static void add_formatted(struct words *to, const char *format, va_list list)
{
	for (; *format; format++) {
		if (*format == 's') {
			add_word(to, (const char *)va_arg(list, struct vk_string *));
		} else if (*format == 'c') {
			add_word(to, va_arg(list, const char *));
		} else if (*format == 'b') {
			const char *data = va_arg(list, const char *);

			add_bytes(to, data, va_arg(list, size_t));
		} else {
			struct vk_string **strings = va_arg(list, struct vk_string **);
			size_t n = va_arg(list, size_t), i;

			MUST(*format == 'v');
			for (i = 0; i < n; i++)
				add_word(to, (const char *)strings[i]);
		}
	}
}

/* A command that the running one sends; the caller fills it. NULL: nobody listens. */
static struct words *send(struct vk_ctx *ctx)
{
	if (ctx != &primary)
		return NULL;
	MUST(!paused && sent_count < sizeof(sent) / sizeof(sent[0]));
	return &sent[sent_count++];
}

static int stub_replicate(struct vk_ctx *ctx, const char *command, const char *format, ...)
{
	struct words *to = send(ctx);
	va_list list;

	if (!to)
		return VK_OK;
	add_word(to, command);
	va_start(list, format);
	add_formatted(to, format, list);
	va_end(list);
	return VK_OK;
}

static int stub_verbatim(struct vk_ctx *ctx)
{
	struct words *to = send(ctx);

	if (to)
		copy_words(to, running);
	return VK_OK;
}

static const struct command *command_named(const char *name)
{
	const struct command *lists[] = { map_commands, pool_commands, interval_commands };
	size_t n[] = { map_commands_count, pool_commands_count, interval_commands_count }, k, i;

	for (k = 0; k < 3; k++)
		for (i = 0; i < n[k]; i++)
			if (!strcmp(lists[k][i].name, name))
				return &lists[k][i];
	MUST(!"a command of the module");
	return NULL;
}

static void run(struct vk_ctx *server, const struct words *words)
{
	struct words copy = { 0 };

	copy_words(&copy, words);
	now_running = server;
	running = words;
	*last_error = 0;
	command_named((const char *)words->argv[0])->run(server, copy.argv, copy.argc);
	now_running = &primary;
	free_words(&copy);
}

/* Runs on another server a command that a primary replicated or a rewrite of its file wrote. An
 * error is a fault. */
static void repeat_on(struct vk_ctx *server, struct words *words)
{
	int i;

	run(server, words);
	if (*last_error) {
		for (i = 0; i < words->argc; i++)
			fprintf(stderr, "%s ", (const char *)words->argv[i]);
		fprintf(stderr, "is refused: %s\n", last_error);
		abort();
	}
}

static void stub_emit(struct vk_io *aof, const char *command, const char *format, ...)
{
	struct words words = { 0 };
	va_list list;

	(void)aof;
	add_word(&words, command);
	va_start(list, format);
	add_formatted(&words, format, list);
	va_end(list);
	repeat_on(&restarted, &words);
	free_words(&words);
}

/* ---- keys ---- */

static struct vk_key *key_named(struct vk_ctx *ctx, const struct vk_string *name)
{
	unsigned int i;

	for (i = 0; i < KEYS; i++)
		if (!strcmp(names[i], (const char *)name))
			return &ctx->keys[i];
	MUST(!"a key of the test");
	return NULL;
}

static struct vk_key *stub_open(struct vk_ctx *ctx, struct vk_string *name, int mode)
{
	struct vk_key *key = key_named(ctx, name);

	return key->methods || mode & VK_WRITE ? key : NULL;
}

static void stub_close(struct vk_key *key)
{
	MUST(key);
}

static int stub_type(struct vk_key *key)
{
	return key->methods ? VK_KEY_MODULE : VK_KEY_EMPTY;
}

static struct vk_type *stub_get_type(struct vk_key *key)
{
	return (struct vk_type *)(uintptr_t)key->methods;
}

static void *stub_get_value(struct vk_key *key)
{
	return key->value;
}

static int stub_set_value(struct vk_key *key, struct vk_type *type, void *value)
{
	MUST(!key->methods);
	key->methods = (const struct vk_type_methods *)(void *)type;
	key->value = value;
	return VK_OK;
}

static int stub_delete(struct vk_key *key)
{
	const struct vk_type_methods *methods = key->methods;

	if (!methods)
		return VK_OK;
	key->methods = NULL;
	if (methods->unlink && now_running == &primary)
		methods->unlink((struct vk_string *)(uintptr_t)key->name, key->value);
	methods->free(key->value);
	return VK_OK;
}

static int stub_exists(struct vk_ctx *ctx, struct vk_string *name)
{
	return key_named(ctx, name)->methods != NULL;
}

static void stub_ready(struct vk_ctx *ctx, struct vk_string *name)
{
	key_named(ctx, name)->ready = true;
}

static int stub_notify(struct vk_ctx *ctx, int type, const char *event, struct vk_string *name)
{
	(void)ctx;
	(void)type;
	MUST(*event && name);
	return VK_OK;
}

static int stub_modified(struct vk_ctx *ctx, struct vk_string *name)
{
	return key_named(ctx, name) ? VK_OK : VK_ERR;
}

/* ---- time and clients ---- */

static long long stub_clock(void)
{
	return clock_ms + now_running->ahead;
}

static int stub_flags(struct vk_ctx *ctx)
{
	return ctx->flags;
}

static int stub_paused(void)
{
	return paused;
}

static uint64_t stub_timer(struct vk_ctx *ctx, long long ms, vk_timer_fn fn, void *data)
{
	static uint64_t id; /* each once */

	while (timers[++id % 24].fn)
		MUST(ctx && ms >= 0);
	timers[id % 24] = (struct stub_timer){ fn, data, (uint64_t)(clock_ms + ms), id };
	return id;
}

static int stub_stop_timer(struct vk_ctx *ctx, uint64_t id, void **data)
{
	struct stub_timer *timer = &timers[id % 24];

	MUST(ctx && id);
	if (!timer->fn || timer->id != id)
		return VK_ERR;
	timer->fn = NULL;
	if (data)
		*data = timer->data;
	return VK_OK;
}

static struct vk_blocked *stub_block(struct vk_ctx *ctx, vk_command_fn retry, vk_command_fn timeout,
				     void (*gone)(struct vk_ctx *, void *), long long ms,
				     struct vk_string **keys, int n, void *data)
{
	unsigned int i = 0;

	MUST(ctx == &primary && n == 1 && data && keys);
	while (clients[i].data)
		i++;
	MUST(i < CLIENTS);
	clients[i].retry = retry;
	clients[i].timed_out = timeout;
	clients[i].gone = gone;
	clients[i].data = data;
	clients[i].until = ms ? clock_ms + ms : INT64_MAX;
	copy_words(&clients[i].command, running);
	return &clients[i];
}

static bool somebody_can_wait(void)
{
	unsigned int i;

	for (i = 0; i < CLIENTS; i++)
		if (!clients[i].data)
			return true;
	return false;
}

static void *stub_waiter(struct vk_ctx *ctx)
{
	(void)ctx;
	return retried->data;
}

static void client_ends(struct vk_blocked *client)
{
	client->gone(&primary, client->data);
	client->data = NULL;
	client->over = false;
	free_words(&client->command);
}

/* Servers answer such a client at once, and free its data before the next command. */
static int stub_unblock(struct vk_blocked *client, void *data)
{
	MUST(client->data && !client->over && !data);
	retried = client;
	client->timed_out(&primary, client->command.argv, client->command.argc);
	client->over = true;
	ended++;
	return VK_OK;
}

static void free_unblocked(void)
{
	unsigned int i;

	for (i = 0; i < CLIENTS; i++)
		if (clients[i].over)
			client_ends(&clients[i]);
}

/* ---- replies, which nobody reads ---- */

static int reply_integer(struct vk_ctx *ctx, long long number)
{
	(void)ctx;
	(void)number;
	return VK_OK;
}

static int reply_length(struct vk_ctx *ctx, long length)
{
	(void)ctx;
	(void)length;
	return VK_OK;
}

static void reply_length_later(struct vk_ctx *ctx, long length)
{
	reply_length(ctx, length);
}

static int reply_text(struct vk_ctx *ctx, const char *text)
{
	(void)ctx;
	(void)text;
	return VK_OK;
}

static int reply_bytes(struct vk_ctx *ctx, const char *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return VK_OK;
}

static int reply_nothing(struct vk_ctx *ctx)
{
	(void)ctx;
	return VK_OK;
}

static struct vk_ctx *stub_detached(struct vk_ctx *ctx)
{
	return ctx;
}

static int stub_db(struct vk_ctx *ctx)
{
	(void)ctx;
	return 0;
}

static int stub_select(struct vk_ctx *ctx, int db)
{
	(void)ctx;
	return db;
}

static int stub_subscribe(struct vk_ctx *ctx, struct vk_event event, vk_event_fn fn)
{
	(void)ctx;
	return event.id && fn ? VK_OK : VK_ERR;
}

static void servers_begin(void)
{
	unsigned int i;

	stub_begin();
	vk.CreateString = make_string;
	vk.FreeString = free_string;
	vk.Replicate = stub_replicate;
	vk.ReplicateVerbatim = stub_verbatim;
	vk.EmitAOF = stub_emit;
	vk.OpenKey = stub_open;
	vk.CloseKey = stub_close;
	vk.KeyType = stub_type;
	vk.DeleteKey = stub_delete;
	vk.KeyExists = stub_exists;
	vk.ModuleTypeGetType = stub_get_type;
	vk.ModuleTypeGetValue = stub_get_value;
	vk.ModuleTypeSetValue = stub_set_value;
	vk.SignalKeyAsReady = stub_ready;
	vk.SignalModifiedKey = stub_modified;
	vk.NotifyKeyspaceEvent = stub_notify;
	vk.Milliseconds = stub_clock;
	vk.GetContextFlags = stub_flags;
	vk.AvoidReplicaTraffic = stub_paused;
	vk.CreateTimer = stub_timer;
	vk.StopTimer = stub_stop_timer;
	vk.BlockClientOnKeys = stub_block;
	vk.GetBlockedClientPrivateData = stub_waiter;
	vk.UnblockClient = stub_unblock;
	vk.GetDetachedThreadSafeContext = stub_detached;
	vk.GetSelectedDb = stub_db;
	vk.SelectDb = stub_select;
	vk.SubscribeToServerEvent = stub_subscribe;
	vk.WrongArity = reply_nothing;
	vk.ReplyWithLongLong = reply_integer;
	vk.ReplyWithArray = reply_length;
	vk.ReplySetArrayLength = reply_length_later;
	vk.ReplyWithSimpleString = reply_text;
	vk.ReplyWithStringBuffer = reply_bytes;
	vk.ReplyWithBigNumber = reply_bytes;
	vk.ReplyWithNull = reply_nothing;
	map_type = (struct vk_type *)(void *)&map_methods;
	pool_type = (struct vk_type *)(void *)&pool_methods;
	interval_type = (struct vk_type *)(void *)&interval_methods;
	primary.flags = VK_CTX_PRIMARY;
	replica.flags = VK_CTX_REPLICATED;
	replica.ahead = AHEAD;
	restarted.flags = VK_CTX_PRIMARY | VK_CTX_LOADING;
	restarted.ahead = AHEAD;
	for (i = 0; i < KEYS; i++)
		primary.keys[i].name = replica.keys[i].name = restarted.keys[i].name = names[i];
	now_running = &primary;
	MUST(wait_prepare(&primary) == VK_OK);
}

/* ---- what must be equal ---- */

static bool same(const struct vk_key *a, const struct vk_key *b)
{
	if (a->methods != b->methods)
		return false;
	if (!a->methods)
		return true;
	if (a->methods == &map_methods &&
	    ((struct map *)a->value)->keep != ((struct map *)b->value)->keep)
		return false;
	return digest_of(a->methods, a->value) == digest_of(b->methods, b->value);
}

static void equal(struct vk_ctx *other, const char *what)
{
	unsigned int i;
	int k;

	for (i = 0; i < KEYS; i++) {
		if (same(&primary.keys[i], &other->keys[i]))
			continue;
		fprintf(stderr, "%s: %s differs after", what, names[i]);
		for (k = 0; running && k < running->argc; k++)
			fprintf(stderr, " %s", (const char *)running->argv[k]);
		fprintf(stderr, "\n");
		abort();
	}
}

static void flush(void)
{
	const struct words *was = running;
	unsigned int i;

	for (i = 0; i < sent_count; i++) {
		repeat_on(&replica, &sent[i]);
		free_words(&sent[i]);
	}
	sent_count = 0;
	running = was;
	equal(&replica, "replica");
}

/* Lets clients of keys that were signalled try again, until nobody is served. */
static void serve(void)
{
	unsigned int i, k;

	for (k = 0; k < KEYS; k++) {
		struct vk_key *key = &primary.keys[k];
		bool was = key->ready;

		key->ready = false;
		for (i = 0; was && i < CLIENTS && key->methods; i++) {
			struct vk_blocked *client = &clients[i];

			if (!client->data || strcmp((char *)client->command.argv[1], names[k]))
				continue;
			retried = client;
			running = &client->command;
			if (client->retry(&primary, client->command.argv, client->command.argc) ==
			    VK_OK) {
				flush();
				client_ends(client);
				served++;
			} else {
				MUST(!sent_count); /* Redis 7.0 stops */
				refused++;
			}
		}
		running = NULL;
	}
}

static void rewritten(void)
{
	unsigned int i;

	for (i = 0; i < KEYS; i++)
		if (primary.keys[i].methods)
			primary.keys[i].methods->aof_rewrite(
				NULL, (struct vk_string *)(uintptr_t)names[i],
				primary.keys[i].value);
	running = NULL;
	equal(&restarted, "rewritten file");
	now_running = &restarted;
	for (i = 0; i < KEYS; i++)
		stub_delete(&restarted.keys[i]);
	now_running = &primary;
}

static void time_passes(void)
{
	unsigned int i;

	clock_ms += (long long)below(400);
	running = NULL;
	for (i = 0; i < 24; i++) {
		struct stub_timer due = timers[i];

		if (due.fn && due.at <= (uint64_t)clock_ms) {
			timers[i].fn = NULL;
			due.fn(&primary, due.data);
			free_unblocked();
			flush();
		}
	}
	for (i = 0; i < CLIENTS; i++)
		if (clients[i].data && clients[i].until <= clock_ms)
			stub_unblock(&clients[i], NULL);
	free_unblocked();
	serve();
}

/* ---- commands ---- */

static const char *number(uint64_t n)
{
	char *text = digit_text[digit_next++ % 64];

	snprintf(text, sizeof(digit_text[0]), "%llu", (unsigned long long)n);
	return text;
}

static const char *one_of(const char *const *words)
{
	unsigned int n = 0;

	while (words[n])
		n++;
	return words[below(n)];
}

/* Adds the words up to NULL. */
static void say(struct words *words, ...)
{
	const char *text;
	va_list list;

	va_start(list, words);
	while ((text = va_arg(list, const char *)))
		add_word(words, text);
	va_end(list);
}

static const char *some_entry(unsigned int key)
{
	static const char *const strings[] = { "a", "b", "bb", "carrot", "a longer name than most",
					       "d", "e", NULL };

	return key == NUMBERS ? number(below(20)) : one_of(strings);
}

static const char *some_value(void)
{
	static const char *const values[] = { "0", "1", "-7", "text", "a value of many bytes",
					      "",  NULL };

	return one_of(values);
}

static const char *some_owner(void)
{
	static const char *const owners[] = { "ann", "bob", "an owner of a longer name", NULL };

	return one_of(owners);
}

static void draw_map(struct words *w)
{
	static const char *const ends[] = { "MIN", "MAX", NULL };
	static const char *const bounds[] = { "[a", "(b", "[bb", "-", "+", "[e", NULL };
	unsigned int key = (unsigned int)below(3), i;
	const char *kind = key == NUMBERS ? "NUMBERS" : "STRINGS";

	switch (below(9)) {
	case 0:
		say(w, "LATH.MAP.CREATE", names[key], kind, NULL);
		break;
	case 1:
	case 2:
		say(w, "LATH.MAP.SET", names[key], some_entry(key), some_value(), kind, NULL);
		if (below(3) == 0)
			say(w, below(2) ? "NX" : "XX", NULL);
		break;
	case 3:
		say(w, "LATH.MAP.MSET", names[key], kind, NULL);
		for (i = 0; i < 1 + below(4); i++)
			say(w, some_entry(key), some_value(), NULL);
		break;
	case 4:
		say(w, "LATH.MAP.DEL", names[key], some_entry(key), some_entry(key), NULL);
		break;
	case 5:
		say(w, "LATH.MAP.INCR", names[key], some_entry(key), "3", kind, NULL);
		break;
	case 6:
		say(w, "LATH.MAP.CAS", names[key], some_entry(key), some_value(), some_value(),
		    NULL);
		break;
	case 7:
		say(w, "LATH.MAP.POP", names[key], one_of(ends), number(1 + below(2)), NULL);
		break;
	default:
		say(w, "LATH.MAP.DELRANGE", names[key], NULL);
		for (i = 0; i < 2; i++)
			say(w, key == NUMBERS ? number(below(20)) : one_of(bounds), NULL);
		if (below(2))
			say(w, "LIMIT", number(below(4)), NULL);
	}
}

/* A number of a pool. One of the pools ends with the last number that there is. */
static const char *place(unsigned int pool, uint64_t offset)
{
	return number((pool == POOL ? 100 : 0 - 60ull) + offset);
}

static void say_who(struct words *w)
{
	say(w, below(2) ? "OWNER" : NULL, some_owner(), NULL);
	say(w, below(2) ? "LEASE" : NULL, number(1 + below(900)), NULL);
}

static void draw_alloc(struct words *w, unsigned int key)
{
	const char *pool = names[key];
	static const char *const policies[] = { "FIRST", "LAST", "BEST", NULL };
	static const char *const hints[] = { "NEAR", "NEXT", "EXACT", NULL };

	say(w, "LATH.POOL.ALLOC", pool, number(1 + below(12)), NULL);
	if (below(3) == 0)
		say(w, "ALIGN", number(1ull << below(4)), NULL);
	if (below(4) == 0)
		say(w, one_of(policies), NULL);
	else if (below(4) == 0)
		say(w, one_of(hints), place(key, below(60)), NULL);
	if (below(4) == 0)
		say(w, "WITHIN", place(key, below(30)), place(key, 20 + below(40)), NULL);
	say_who(w);
	if (below(2) && somebody_can_wait())
		say(w, "BLOCK", number(below(2) * below(2000)), NULL);
}

static void draw_pool(struct words *w)
{
	unsigned int key = below(4) ? POOL : SPARE;
	const char *pool = names[key];
	uint64_t at;

	switch (below(10)) {
	case 0:
		say(w, "LATH.POOL.CREATE", pool, place(key, 0), "40", NULL);
		break;
	case 1:
		say(w, "LATH.POOL.ADD", pool, place(key, 40 + 4 * below(6)), "4", NULL);
		break;
	case 2:
		say(w, "LATH.POOL.RESERVE", pool, place(key, below(40)), number(1 + below(6)),
		    NULL);
		say_who(w);
		break;
	case 3:
	case 4:
		say(w, "LATH.POOL.FREE", pool, below(2) ? place(key, below(60)) : NULL, NULL);
		say(w, below(3) ? "OWNER" : NULL, some_owner(), NULL);
		break;
	case 5:
	case 6:
		at = below(2) ? (uint64_t)clock_ms - 100 : 0;
		say(w, at ? "LATH.POOL.LEASEAT" : "LATH.POOL.LEASE", pool, place(key, below(40)),
		    number(at + below(900)), below(3) ? "OWNER" : NULL, some_owner(), NULL);
		break;
	default:
		draw_alloc(w, key);
	}
}

static void draw_spans(struct words *w)
{
	static const char *const commands[] = { "LATH.INTERVAL.ADD", "LATH.INTERVAL.ADDNX",
						"LATH.INTERVAL.REM", "LATH.INTERVAL.REM", NULL };
	const char *command = one_of(commands);
	uint64_t i, n = strcmp(command, "LATH.INTERVAL.ADDNX") ? 1 + below(3) : 1;

	say(w, command, names[SPANS], NULL);
	for (i = 0; i < n; i++) {
		uint64_t first = below(5);

		say(w, number(first), number(first + below(3)), some_value(), NULL);
	}
}

static void one_command(void)
{
	static void (*const draws[])(struct words *words) = { draw_map, draw_pool, draw_spans };
	struct words words = { 0 };

	draws[below(3)](&words);
	fail_in = below(4) ? 0 : 1 + (long)below(6);
	run(&primary, &words);
	fail_in = 0;
	flush();
	serve();
	free_words(&words);
}

/* DEL, which the servers replicate by themselves. */
static void delete_key(unsigned int i)
{
	running = NULL;
	stub_delete(&primary.keys[i]);
	now_running = &replica;
	stub_delete(&replica.keys[i]);
	now_running = &primary;
}

static void servers_end(void)
{
	unsigned int i;

	paused = false;
	for (i = 0; i < CLIENTS; i++)
		if (clients[i].data)
			stub_unblock(&clients[i], NULL);
	for (i = 0; i < KEYS; i++)
		delete_key(i);
	clock_ms += 1ll << 40; /* timers end, as their keys have gone */
	time_passes();
	lath_rcu_single_step(1000000);
	MUST(!blocks);
}

int main(int argc, char **argv)
{
	unsigned long commands = argc > 1 ? strtoul(argv[1], NULL, 0) : 20000, i;

	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	servers_begin();
	for (i = 0; i < commands; i++) {
		if (below(100) == 0)
			paused = !paused;
		if (!paused)
			one_command();
		if (below(5) == 0)
			time_passes();
		if (below(200) == 0)
			delete_key((unsigned int)below(KEYS));
		if (below(500) == 0)
			rewritten();
	}
	servers_end();
	printf("%lu commands: %u served, %u not, %u ended\n", commands, served, refused, ended);
	MUST(commands < 20000 || (served && refused && ended && pool_counts.leases_ended));
	return 0;
}
