/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * plugin_host.c FILE - opens a plugin in a thread, uses it and closes it. Then the thread ends, the
 * process forks, and the plugin is used once more.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *use(void *path)
{
	void *plugin = dlopen(path, RTLD_NOW);
	int (*work)(void);

	if (!plugin) {
		puts(dlerror());
		exit(1);
	}
	*(void **)&work = dlsym(plugin, "plugin_work");
	if (!work || work() || dlclose(plugin))
		exit(1);
	usleep(50000); /* the thread that reclaims looks for work */
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status;
	pid_t child;

	(void)argc;
	if (pthread_create(&thread, NULL, use, argv[1]) || pthread_join(thread, NULL))
		return 1;
	child = fork();
	if (!child)
		_exit(0);
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	use(argv[1]);
	puts("the plugin was opened and closed twice");
	return 0;
}
