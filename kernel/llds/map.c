/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * map.c - a store shown to a process, read-only, so that it can look up keys without a call.
 *
 * LLDS_MAP gives a descriptor that can only be mapped. What it shows is the kernel's direct map: offset =
 * physical address, but a page that does not belong to the store reads as zeros. So links between nodes
 * and to entries lead, less one base, to the same place in the mapping, and no address in it faults.
 * Which page frames belong to the store is known under pages_lock; a page leaves the mappings before it is
 * freed, and zeros leave them before a page that is new to the store is used.
 *
 * A reader holds up nobody: it trusts what it read after it has looked at the leaf's word again
 * (src/index/tree/peek.h). When the store is cleared, `turn` tells it; an odd one: ask the kernel.
 *
 * Every store that is mapped has an inode, because mappings are found by it. It comes from a file system of
 * our own that nobody can mount.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "index/tree/peek.h"
#include "store.h"

#define AROUND 16 /* pages a fault looks at */
#define MAGIC 0x6c6c6473

static unsigned int who_maps = 1;
module_param_named(map, who_maps, uint, 0644);
MODULE_PARM_DESC(
	map, "who may map stores, and see kernel addresses in them: 0 nobody, 1 CAP_SYSLOG (default), 2 all");

static struct vfsmount *llds_mount;
static struct page *nothing; /* a page of zeros */

/* ---- what the mapping shows ---- */

void llds_map_forget(struct llds_store *store, unsigned long frame, unsigned long n)
{
	struct inode *inode = smp_load_acquire(&store->inode); /* pairs with prepare() */

	if (inode && mapping_mapped(inode->i_mapping))
		unmap_mapping_pages(inode->i_mapping, frame, n, true);
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct llds_store *store = vma->vm_file->private_data;
	unsigned long first = vma->vm_pgoff, end = first + vma_pages(vma), frame;
	vm_fault_t ret;

	down_read(&store->pages_lock);
	if (!xa_load(&store->pages, vmf->pgoff)) {
		WRITE_ONCE(store->voids, true);
		ret = vmf_insert_pfn(vma, vmf->address & PAGE_MASK, page_to_pfn(nothing));
		goto out;
	}
	ret = vmf_insert_pfn(vma, vmf->address & PAGE_MASK, vmf->pgoff);
	/* its neighbours will be wanted, too */
	frame = max(round_down(vmf->pgoff, AROUND), first);
	end = min(round_up(vmf->pgoff + 1, AROUND), end);
	for (; ret == VM_FAULT_NOPAGE && frame < end; frame++)
		if (frame != vmf->pgoff && xa_load(&store->pages, frame))
			ret = vmf_insert_pfn(vma, vma->vm_start + ((frame - first) << PAGE_SHIFT), frame);
out:
	up_read(&store->pages_lock);
	return ret;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault = map_fault,
};

static u64 window(void)
{
	return PAGE_ALIGN(__pa((char *)high_memory - 1) + 1);
}

static int map_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL; /* nothing is copied on a write */
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	if (vma->vm_pgoff + vma_pages(vma) > window() >> PAGE_SHIFT)
		return -EINVAL;
	vm_flags_mod(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &map_vm_ops;
	return 0;
}

static int map_release(struct inode *inode, struct file *file)
{
	llds_store_put(file->private_data);
	return 0;
}

static const struct file_operations map_fops = {
	.owner = THIS_MODULE,
	.mmap = map_mmap,
	.release = map_release,
	.llseek = no_llseek,
};

/* ---- the first page: where a walk begins ---- */

void llds_map_root(struct llds_store *store, struct llds_tree *tree)
{
	struct llds_head *head = smp_load_acquire(&store->head); /* pairs with prepare() */

	if (likely(!head) || READ_ONCE(head->root) == lath_peek_root(&tree->list))
		return;
	spin_lock(&store->head_lock);
	if (rcu_access_pointer(store->tree) == tree)
		WRITE_ONCE(head->root, lath_peek_root(&tree->list));
	spin_unlock(&store->head_lock);
}

struct llds_tree *llds_map_replace(struct llds_store *store, struct llds_tree *fresh)
{
	struct llds_tree *old;
	struct llds_head *head;

	spin_lock(&store->head_lock);
	head = store->head;
	if (head) {
		WRITE_ONCE(head->turn, head->turn + 1);
		smp_wmb(); /* pairs with the barrier before the reader looks at it again */
		WRITE_ONCE(head->root, lath_peek_root(&fresh->list));
	}
	old = rcu_replace_pointer(store->tree, fresh, lockdep_is_held(&store->head_lock));
	if (head)
		smp_store_release(&head->turn, head->turn + 1); /* pairs with find() of dev_map.c */
	spin_unlock(&store->head_lock);
	return old;
}

/* The head and the inode, once a store. */
static int prepare(struct llds_store *store)
{
	struct llds_head *head;
	struct inode *inode;

	if (store->inode)
		return 0;
	head = llds_pages_new(store, PAGE_SIZE, false);
	if (IS_ERR(head))
		return PTR_ERR(head);
	inode = alloc_anon_inode(llds_mount->mnt_sb);
	if (IS_ERR(inode)) {
		llds_pages_free(store, head, PAGE_SIZE);
		return PTR_ERR(inode);
	}
	spin_lock(&store->head_lock);
	head->root = lath_peek_root(&rcu_dereference_protected(store->tree, true)->list);
	smp_store_release(&store->head, head);	 /* pairs with llds_map_root */
	smp_store_release(&store->inode, inode); /* pairs with llds_map_forget */
	spin_unlock(&store->head_lock);
	return 0;
}

void llds_map_end(struct llds_store *store)
{
	if (!store->inode)
		return;
	llds_pages_free(store, store->head, PAGE_SIZE);
	iput(store->inode);
}

/* ---- the call ---- */

static struct file *map_file(struct llds_store *store)
{
	struct file *file;

	ihold(store->inode);
	__module_get(THIS_MODULE); /* the file's; the caller's descriptor holds another one */
	file = alloc_file_pseudo(store->inode, llds_mount, "llds", O_RDONLY, &map_fops);
	if (IS_ERR(file)) {
		module_put(THIS_MODULE);
		iput(store->inode);
		return file;
	}
	llds_store_get(store);
	file->private_data = store;
	return file;
}

long llds_map(struct llds_store *store, struct llds_map __user *user)
{
	unsigned int who = READ_ONCE(who_maps);
	struct llds_map map = { .base = (unsigned long)__va(0),
				.size = window(),
				.layout = LATH_PEEK_LAYOUT };
	struct file *file;
	int ret;

	if (!who || (who == 1 && !capable(CAP_SYSLOG)))
		return -EPERM;
	mutex_lock(&store->map_lock);
	ret = prepare(store);
	mutex_unlock(&store->map_lock);
	if (ret)
		return ret;
	map.head = __pa(store->head);
	map.fd = get_unused_fd_flags(O_CLOEXEC);
	if (map.fd < 0)
		return map.fd;
	file = map_file(store);
	ret = PTR_ERR_OR_ZERO(file);
	if (!ret && copy_to_user(user, &map, sizeof(map))) {
		fput(file);
		ret = -EFAULT;
	}
	if (ret)
		put_unused_fd(map.fd);
	else
		fd_install(map.fd, file);
	return ret;
}

static int fs_init(struct fs_context *fc)
{
	return init_pseudo(fc, MAGIC) ? 0 : -ENOMEM;
}

/* no owner: this module makes the one mount there is, and ends it */
static struct file_system_type llds_fs = {
	.name = "llds",
	.init_fs_context = fs_init,
	.kill_sb = kill_anon_super,
};

int llds_map_init(void)
{
	nothing = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!nothing)
		return -ENOMEM;
	llds_mount = kern_mount(&llds_fs);
	if (IS_ERR(llds_mount)) {
		__free_page(nothing);
		return PTR_ERR(llds_mount);
	}
	return 0;
}

void llds_map_exit(void)
{
	kern_unmount(llds_mount);
	__free_page(nothing);
}
