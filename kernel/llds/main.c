/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * main.c - llds.ko: the device, its calls, its io_uring commands.
 *
 * The successor of llds (2012), whose module kept one red-black tree for all users of /dev/llds.
 * The struct of a call is copied in once, used in kernel memory, and copied out if the call has an
 * answer. The user's memory is accessed with no lock held.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "store.h"
#ifdef CONFIG_IO_URING
#include "uring.h"
#endif

struct llds_file {
	struct llds_store *store; /* set once, by cmpxchg */
};

/* Returns the descriptor's store; makes a private one if it has none yet. */
static struct llds_store *file_store(struct file *file)
{
	struct llds_file *f = file->private_data;
	struct llds_store *store, *fresh;

	store = smp_load_acquire(&f->store); /* pairs with cmpxchg below */
	if (store)
		return store;
	fresh = llds_store_new((u64)READ_ONCE(llds_limit) << 20);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	store = cmpxchg(&f->store, NULL, fresh);
	if (!store)
		return fresh;
	llds_store_put(fresh);
	return store;
}

/* ---- calls: arg is the struct in kernel memory ---- */

static long call_attach(struct file *file, struct llds_attach *ask)
{
	struct llds_file *f = file->private_data;
	struct llds_store *store;
	int ret;

	if (READ_ONCE(f->store))
		return -EBUSY;
	ret = llds_attach(ask, file->f_mode, &store);
	if (ret)
		return ret;
	if (!cmpxchg(&f->store, NULL, store))
		return 0;
	llds_store_put(store);
	return -EBUSY;
}

static long call_set_limit(struct llds_store *store, u64 limit)
{
	if (!llds_may_manage(store))
		return -EPERM;
	if (limit > (u64)READ_ONCE(llds_limit) << 20 && limit > READ_ONCE(store->limit) &&
	    !capable(CAP_SYS_RESOURCE))
		return -EPERM;
	WRITE_ONCE(store->limit, limit);
	return 0;
}

/* The calls on data. The caller has checked the descriptor's mode. */
static long call_store(struct llds_store *store, unsigned int cmd, void *arg)
{
	switch (cmd) {
	case LLDS_GET:
		return llds_get_one(store, arg);
	case LLDS_SET:
		return llds_set_one(store, arg);
	case LLDS_DELETE:
		return llds_delete_one(store, arg);
	case LLDS_CAS:
		return llds_cas_one(store, arg);
	case LLDS_INCR:
		return llds_incr_one(store, arg);
	case LLDS_MGET:
		return llds_mget(store, arg);
	case LLDS_MSET:
		return llds_mset(store, arg);
	case LLDS_MDELETE:
		return llds_mdelete(store, arg);
	case LLDS_ITERATE:
		return llds_iterate(store, arg);
	case LLDS_STATS:
		llds_fill_stats(store, arg);
		return 0;
	case LLDS_CLEAR:
		return llds_clear(store);
	case LLDS_SET_LIMIT:
		return call_set_limit(store, *(u64 *)arg);
	}
	return -ENOTTY;
}

/* Returns the FMODE_* bits a call needs, or -ENOTTY. A call's number contains the size of its
 * struct, so a struct of another size is another call. */
static int call_needs(unsigned int cmd)
{
	switch (cmd) {
	case LLDS_GET:
	case LLDS_MGET:
	case LLDS_ITERATE:
		return (__force int)FMODE_READ;
	case LLDS_SET:
	case LLDS_DELETE:
	case LLDS_CAS:
	case LLDS_INCR:
	case LLDS_MSET:
	case LLDS_MDELETE:
	case LLDS_CLEAR:
	case LLDS_SET_LIMIT:
		return (__force int)FMODE_WRITE;
	case LLDS_STATS:
	case LLDS_ATTACH:
	case LLDS_REMOVE:
	case LLDS_GET_ABI:
		return 0;
	}
	return -ENOTTY;
}

static long call(struct file *file, unsigned int cmd, void *arg)
{
	struct llds_store *store;
	int needs = call_needs(cmd);

	/* the answers of cas and incr tell of old values */
	if (cmd == LLDS_CAS || cmd == LLDS_INCR)
		needs |= (__force int)FMODE_READ;
	if (needs & ~(__force int)file->f_mode)
		return -EBADF;
	switch (cmd) {
	case LLDS_ATTACH:
		return call_attach(file, arg);
	case LLDS_REMOVE:
		return llds_remove(((struct llds_name *)arg)->name);
	case LLDS_GET_ABI:
		*(u32 *)arg = LLDS_ABI;
		return 0;
	}
	store = file_store(file);
	return IS_ERR(store) ? PTR_ERR(store) : call_store(store, cmd, arg);
}

static long llds_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	union {
		struct llds_get get;
		struct llds_set set;
		struct llds_delete del;
		struct llds_cas cas;
		struct llds_incr incr;
		struct llds_batch batch;
		struct llds_iterate iterate;
		struct llds_stats stats;
		struct llds_attach attach;
		struct llds_name name;
		u64 limit;
		u32 abi;
	} arg;
	size_t size = _IOC_SIZE(cmd);
	long ret;

	if (call_needs(cmd) < 0)
		return -ENOTTY;
	memset(&arg, 0, sizeof(arg));
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&arg, (void __user *)user, size))
		return -EFAULT;
	ret = call(file, cmd, &arg);
	/* the answer, or for -ERANGE the room needed */
	if (_IOC_DIR(cmd) & _IOC_READ && (!ret || ret == -ERANGE) &&
	    copy_to_user((void __user *)user, &arg, size))
		return -EFAULT;
	return ret;
}

#ifdef CONFIG_IO_URING
static int llds_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct llds_uring *sqe = lath_uring_payload(cmd, struct llds_uring);
	u64 argument = READ_ONCE(sqe->argument);

	if (READ_ONCE(sqe->reserved))
		return -EINVAL;
	/* calls that allocate or copy much are run by a worker, so as not to delay the submitter */
	if (issue_flags & IO_URING_F_NONBLOCK && cmd->cmd_op != LLDS_GET)
		return -EAGAIN;
	return llds_ioctl(cmd->file, cmd->cmd_op, argument);
}
#endif

static int llds_open(struct inode *inode, struct file *file)
{
	struct llds_file *f = kzalloc(sizeof(*f), LLDS_GFP);

	if (!f)
		return -ENOMEM;
	file->private_data = f;
	return stream_open(inode, file);
}

static int llds_release(struct inode *inode, struct file *file)
{
	struct llds_file *f = file->private_data;

	if (f->store)
		llds_store_put(f->store);
	kfree(f);
	return 0;
}

static const struct file_operations llds_fops = {
	.owner = THIS_MODULE,
	.open = llds_open,
	.release = llds_release,
	.unlocked_ioctl = llds_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
#ifdef CONFIG_IO_URING
	.uring_cmd = llds_uring_cmd,
#endif
	.llseek = no_llseek,
};

static struct miscdevice llds_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "llds",
	.fops = &llds_fops,
	.mode = 0600,
};

static int __init llds_init(void)
{
	int ret = llds_store_init();

	if (ret)
		return ret;
	ret = misc_register(&llds_device);
	if (ret)
		llds_store_exit();
	return ret;
}

static void __exit llds_exit(void)
{
	misc_deregister(&llds_device);
	llds_store_exit();
}

module_init(llds_init);
module_exit(llds_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The lathwork authors");
MODULE_VERSION(LATH_VERSION);
MODULE_DESCRIPTION("Ordered key-value stores behind /dev/llds");
