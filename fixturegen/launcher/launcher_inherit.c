/*
 * What programs inherit: set to what a fresh login has, where that is free. What the kernel refuses
 * stays as it is; Python reads what became of it from /proc and names it (machine/inherited.py).
 */
#include "launcher.h"

#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK = 8 << 20, OPEN_FILES = 1024, SLACK_NS = 50000 }; /* the kernel's own defaults */
enum { OF_PROCESS = 1 };                                       /* IOPRIO_WHO_PROCESS */

/* Set a soft limit as near to `wanted` as the hard one lets it come. */
static void limit(int resource, rlim_t wanted)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0) return;
    now.rlim_cur = wanted < now.rlim_max ? wanted : now.rlim_max;
    setrlimit(resource, &now);
}

void reset_inherited(void)
{
    const struct sched_param none = {0};
    /* The stack's decides where mmap begins: unlimited, addresses are laid out bottom up. */
    limit(RLIMIT_STACK, STACK);
    limit(RLIMIT_NOFILE, OPEN_FILES);
    limit(RLIMIT_AS, RLIM_INFINITY);
    limit(RLIMIT_DATA, RLIM_INFINITY);
    limit(RLIMIT_FSIZE, RLIM_INFINITY);
    limit(RLIMIT_CPU, RLIM_INFINITY);
    syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none); /* musl's function only fails */
    setpriority(PRIO_PROCESS, 0, 0);
    syscall(SYS_ioprio_set, OF_PROCESS, 0, 0); /* by nice, as if it had never been set */
    syscall(SYS_set_mempolicy, 0, NULL, 0);    /* MPOL_DEFAULT: memory of the node it runs on */
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    personality(PER_LINUX);
    umask(022);
}
