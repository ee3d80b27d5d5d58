/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * names.c - stores that outlive their descriptors: name, owner, mode.
 *
 * Names belong to the machine, not to a namespace. Owners are compared by kernel ids, so a user
 * namespace sees the stores of its own users; capabilities count in the initial user namespace
 * only. A name holds a reference to the module, as an open descriptor does.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/stat.h>
#include <linux/string.h>

#include "store.h"

/* fits in 32 bits on every machine; 0 would allow no store */
unsigned long llds_limit = 1024;
module_param_named(limit_mb, llds_limit, ulong, 0644);
MODULE_PARM_DESC(limit_mb,
		 "bytes of a store in MiB, unless it is given more by CAP_SYS_RESOURCE (1024)");

static unsigned int names_max = 1024;
module_param(names_max, uint, 0644);
MODULE_PARM_DESC(names_max, "named stores at most (1024)");

static DEFINE_MUTEX(names_lock);
static LIST_HEAD(names);
static unsigned int names_count;

static bool name_valid(const char *name)
{
	size_t i, size = strnlen(name, LLDS_NAME_MAX + 1);

	if (!size || size > LLDS_NAME_MAX)
		return false;
	for (i = 0; i < size; i++)
		if (!isalnum(name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}

static struct llds_store *find_name(const char *name)
{
	struct llds_store *store;

	list_for_each_entry(store, &names, link)
		if (!strcmp(store->name, name))
			return store;
	return NULL;
}

static bool may_open(const struct llds_store *store, fmode_t fmode)
{
	umode_t want = (fmode & FMODE_READ ? 4 : 0) | (fmode & FMODE_WRITE ? 2 : 0),
		mode = store->mode;

	if (uid_eq(current_fsuid(), store->owner))
		mode >>= 6;
	else if (in_group_p(store->group))
		mode >>= 3;
	return (mode & want) == want || capable(CAP_DAC_OVERRIDE);
}

bool llds_may_manage(const struct llds_store *store)
{
	return !store->named || uid_eq(current_fsuid(), store->owner) || capable(CAP_FOWNER);
}

static int create(const struct llds_attach *ask, fmode_t fmode, struct llds_store **store)
{
	u64 usual = (u64)READ_ONCE(llds_limit) << 20;

	if (!(ask->flags & LLDS_CREATE))
		return -ENOENT;
	if (!(fmode & FMODE_WRITE))
		return -EACCES;
	if (ask->limit > usual && !capable(CAP_SYS_RESOURCE))
		return -EPERM;
	if (names_count >= READ_ONCE(names_max))
		return -ENOSPC;
	*store = llds_store_new(ask->limit ?: usual);
	if (!*store)
		return -ENOMEM;
	strscpy((*store)->name, ask->name, sizeof((*store)->name));
	(*store)->owner = current_fsuid();
	(*store)->group = current_fsgid();
	(*store)->mode = ask->mode & ~current_umask();
	(*store)->named = true;
	llds_store_get(*store); /* the name's reference */
	__module_get(THIS_MODULE);
	list_add(&(*store)->link, &names);
	names_count++;
	return 0;
}

int llds_attach(const struct llds_attach *ask, fmode_t fmode, struct llds_store **store)
{
	int ret = 0;

	if (!name_valid(ask->name) || ask->flags & ~(LLDS_CREATE | LLDS_EXCLUSIVE) ||
	    ask->mode & ~0666)
		return -EINVAL;
	mutex_lock(&names_lock);
	*store = find_name(ask->name);
	if (!*store)
		ret = create(ask, fmode, store);
	else if ((ask->flags & (LLDS_CREATE | LLDS_EXCLUSIVE)) == (LLDS_CREATE | LLDS_EXCLUSIVE))
		ret = -EEXIST;
	else if (!may_open(*store, fmode))
		ret = -EACCES;
	else
		llds_store_get(*store);
	mutex_unlock(&names_lock);
	return ret;
}

int llds_remove(const char *name)
{
	struct llds_store *store;
	int ret = 0;

	if (!name_valid(name))
		return -EINVAL;
	mutex_lock(&names_lock);
	store = find_name(name);
	if (!store) {
		ret = -ENOENT;
	} else if (!llds_may_manage(store)) {
		ret = -EPERM;
	} else {
		list_del_init(&store->link);
		names_count--;
	}
	mutex_unlock(&names_lock);
	if (ret)
		return ret;
	llds_store_put(store);
	module_put(THIS_MODULE); /* the caller's descriptor holds another reference */
	return 0;
}
