/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * single.c - calls on one key: values are copied between the user and entries. No lock is held
 * here, and the caller has copied the user's struct, once.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "store.h"

int llds_copy_out(struct llds_entry *entry, struct llds_get *get)
{
	get->size = entry->size;
	get->version = entry->version;
	get->expires = entry->expires;
	if (copy_to_user(u64_to_user_ptr(get->value), entry->data, min(entry->size, get->room)))
		return -EFAULT;
	return entry->size > get->room ? -ERANGE : 0;
}

int llds_get_one(struct llds_store *store, struct llds_get *get)
{
	struct llds_entry *entry;
	int ret;

	if (get->reserved)
		return -EINVAL;
	entry = llds_find(store, get->key);
	if (!entry)
		return -ENOENT;
	ret = llds_copy_out(entry, get);
	llds_entry_put(store, entry);
	return ret;
}

/* Returns a new entry with the user's bytes, or ERR_PTR. */
static struct llds_entry *entry_from_user(struct llds_store *store, u64 value, u32 size)
{
	struct llds_entry *entry = llds_entry_new(store, size);

	if (!IS_ERR(entry) && copy_from_user(entry->data, u64_to_user_ptr(value), size)) {
		llds_entry_free(store, entry);
		return ERR_PTR(-EFAULT);
	}
	return entry;
}

int llds_set_one(struct llds_store *store, struct llds_set *set)
{
	struct llds_op op = { .key = set->key, .flags = set->flags, .version = set->version };
	int ret;

	if (set->reserved ||
	    set->flags & ~(LLDS_ADD | LLDS_REPLACE | LLDS_IF_VERSION | LLDS_KEEP_EXPIRES) ||
	    (set->flags & LLDS_ADD && set->flags & (LLDS_REPLACE | LLDS_IF_VERSION)))
		return -EINVAL;
	op.new = entry_from_user(store, set->value, set->size);
	if (IS_ERR(op.new))
		return PTR_ERR(op.new);
	op.new->expires = set->expires;
	ret = llds_change(store, &op);
	if (ret)
		llds_entry_free(store, op.new);
	else
		set->version = op.new_version;
	return ret;
}

int llds_delete_one(struct llds_store *store, const struct llds_delete *del)
{
	struct llds_op op = { .key = del->key, .flags = del->flags, .version = del->version };

	return del->flags & ~LLDS_IF_VERSION ? -EINVAL : llds_change(store, &op);
}

/* Returns whether a held entry has these bytes of the user's: 1, 0 or -EFAULT. */
static int same_as_user(const struct llds_entry *entry, u64 address, u32 size)
{
	const u8 __user *user = u64_to_user_ptr(address);
	u8 part[256];
	u32 at, n;

	if (entry->size != size)
		return 0;
	for (at = 0; at < size; at += n) {
		n = min_t(u32, size - at, sizeof(part));
		if (copy_from_user(part, user + at, n))
			return -EFAULT;
		if (memcmp(part, entry->data + at, n))
			return 0;
	}
	return 1;
}

int llds_cas_one(struct llds_store *store, struct llds_cas *cas)
{
	struct llds_op op = { .key = cas->key, .flags = LLDS_IF_VERSION | LLDS_KEEP_EXPIRES };
	struct llds_entry *old;
	int ret;

	if (cas->expected_size > LLDS_VALUE_MAX)
		return -E2BIG;
	op.new = entry_from_user(store, cas->value, cas->size);
	if (IS_ERR(op.new))
		return PTR_ERR(op.new);
	do { /* on -EAGAIN the version is another one, but the bytes may be equal: compare again */
		old = llds_find(store, cas->key);
		if (!old) {
			ret = -ENOENT;
			break;
		}
		op.version = old->version;
		ret = same_as_user(old, cas->expected, cas->expected_size);
		llds_entry_put(store, old);
		if (ret <= 0) {
			ret = ret ?: -EAGAIN;
			break;
		}
		ret = llds_change(store, &op);
	} while (ret == -EAGAIN && !fatal_signal_pending(current));
	if (ret)
		llds_entry_free(store, op.new);
	else
		cas->version = op.new_version;
	return ret;
}

/* Parses decimal digits with an optional '-' and an optional NUL at the end. 0 | -EDOM */
static int parse_number(const struct llds_entry *entry, s64 *number)
{
	u32 size = entry->size;
	char text[24];

	if (size && !entry->data[size - 1])
		size--;
	if (!size || size > 20 || entry->data[0] == '+')
		return -EDOM;
	memcpy(text, entry->data, size);
	text[size] = 0;
	/* kstrtoll() would accept a newline at the end */
	return isdigit(text[size - 1]) && !kstrtoll(text, 10, number) ? 0 : -EDOM;
}

int llds_incr_one(struct llds_store *store, struct llds_incr *incr)
{
	char text[24];
	int ret;

	do {
		struct llds_entry *old = llds_find(store, incr->key);
		struct llds_op op = { .key = incr->key, .flags = LLDS_ADD };
		s64 number = 0, now;
		int size;

		if (old) {
			op.flags = LLDS_IF_VERSION | LLDS_KEEP_EXPIRES;
			op.version = old->version;
			ret = parse_number(old, &number);
			llds_entry_put(store, old);
			if (ret)
				return ret;
		}
		if (check_add_overflow((s64)number, (s64)incr->by, &now))
			return -ERANGE;
		size = scnprintf(text, sizeof(text), "%lld", now);
		op.new = llds_entry_new(store, size);
		if (IS_ERR(op.new))
			return PTR_ERR(op.new);
		memcpy(op.new->data, text, size);
		ret = llds_change(store, &op);
		if (!ret) {
			incr->now = now;
			incr->version = op.new_version;
			return 0;
		}
		llds_entry_free(store, op.new);
	} while ((ret == -EAGAIN || ret == -ENOENT || ret == -EEXIST) &&
		 !fatal_signal_pending(current));
	return ret;
}
