/*
 * One sample: set what the case asks for, start it, wait for it, collect what it printed.
 *
 * Whatever can be set beforehand is set on the launcher itself, and only when it changes: the
 * measured window holds clone, setpgid, prctl, getppid, execve, the program, and wait4.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the launcher has set on itself; the next sample changes only what differs. */
static struct {
    const char *folder;
    cpu_set_t cpus;
    int randomises;
} state;

cpu_set_t allowed_cpus;
static int rcu_fd = -1, clones;
static int64_t rcu_last, rcu_last_ns; /* the latest reading, and when */
static volatile sig_atomic_t child_errno; /* written by the child, which shares this memory */
static _Alignas(64) char child_stack[16384];

char *child_stack_end(void)
{
    return child_stack + sizeof child_stack;
}

/* ---- what the program will find: folder, CPUs, address randomisation ---- */

/* Whether these are no longer the CPUs that were set: a cpuset was narrowed. The next sample sets
   its own again. */
static int moved(void)
{
    cpu_set_t now;
    if (sched_getaffinity(0, sizeof now, &now) < 0) fatal("sched_getaffinity");
    if (CPU_EQUAL(&now, &state.cpus)) return 0;
    CPU_ZERO(&state.cpus);
    errno = EINVAL;
    return 1;
}

/* Set what differs; 0, or the stage that failed with its errno. */
static int prepare(const struct start *start)
{
    int randomises = (start->flags & NO_ASLR) == 0;
    if (!state.folder || strcmp(state.folder, start->folder) != 0) {
        if (chdir(start->folder) < 0) return AT_FOLDER;
        state.folder = start->folder;
    }
    if (direct_output(start->limit, (start->flags & DISCARD) != 0) < 0) return AT_OUTPUT;
    if (!CPU_EQUAL(&start->cpus, &state.cpus)) {
        if (sched_setaffinity(0, sizeof start->cpus, &start->cpus) < 0) return AT_CPUS;
        state.cpus = start->cpus;
        rcu_last_ns = 0; /* it was of other CPUs */
        if (start->pinned && moved()) return AT_CPUS; /* the kernel gives what is left of them, without an error */
    }
    if (randomises != state.randomises) {
        if (personality(randomises ? PER_LINUX : ADDR_NO_RANDOMIZE) < 0) return AT_ASLR;
        state.randomises = randomises;
    }
    return ENDED;
}

/* ---- RCU ---- */

/* RCU soft interrupts so far on the CPUs in use; -1 if not recorded. */
static int64_t read_rcu(void)
{
    static char text[4096];
    if (rcu_fd < 0) return -1;
    ssize_t got = pread(rcu_fd, text, sizeof text - 1, 0);
    if (got < 0) fatal("cannot read /proc/softirqs");
    text[got] = 0;
    char *cpu = text, *end = strchr(text, '\n'), *count = strstr(text, "RCU:");
    if (!end || !count) return -1;
    rcu_last = 0;
    for (count += 4; (cpu = strstr(cpu, "CPU")) && cpu < end;) {
        unsigned long number = strtoul(cpu + 3, &cpu, 10), value = strtoul(count, &count, 10);
        if (number < CPUS_MOST && CPU_ISSET(number, &state.cpus)) rcu_last += (int64_t)value;
    }
    rcu_last_ns = now_ns();
    return rcu_last;
}

/* The reading before a sample. One costs 3 us, more than all else between two samples; so the
   reading after the one before serves, if nothing but collecting its output lies between. */
static int64_t rcu_before(void)
{
    return rcu_fd >= 0 && now_ns() - rcu_last_ns < 10000 ? rcu_last : read_rcu();
}

/* Decide whether to record it, by what one reading costs: it grows with the number of CPUs. */
const char *rcu_fact(void)
{
    static char why[64];
    int64_t best = SECOND;
    int fd = open("/proc/softirqs", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return "not recorded: no /proc/softirqs";
    rcu_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (rcu_fd < 0) fatal("cannot keep a descriptor");
    close(fd);
    for (int i = 0; i < 8; i++) {
        int64_t began = now_ns(), count = read_rcu(), took = now_ns() - began;
        if (count < 0) best = -1;
        else if (took < best) best = took;
    }
    if (best >= 0 && best <= 20000) return "recorded";
    close(rcu_fd);
    rcu_fd = -1;
    if (best < 0) return "not recorded: no RCU line in /proc/softirqs";
    snprintf(why, sizeof why, "not recorded: one reading takes %d us", (int)(best / 1000));
    return why;
}

/* ---- the window ---- */

static int become_program(void *argument)
{
    const struct start *start = argument;
    if (setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == self)
        execve(start->program, start->argv, start->envp);
    child_errno = errno ? errno : ESRCH;
    _exit(127);
}

static pid_t start_process(struct start *start)
{
    if (clones)
        return clone(become_program, child_stack_end(), CLONE_VM | SIGCHLD, start);
    pid_t pid = vfork();
    if (pid == 0) become_program(start);
    return pid;
}

static int end_at_once(void *argument)
{
    (void)argument;
    _exit(0);
}

/* Some sandboxes refuse this form of clone; vfork costs 7 us more and a switch. */
const char *start_fact(void)
{
    memset(child_stack, 0, sizeof child_stack); /* touched now, so that the peak never moves */
    pid_t pid = clone(end_at_once, child_stack_end(), CLONE_VM | SIGCHLD, NULL);
    if (pid < 0 && errno != EPERM && errno != ENOSYS && errno != EINVAL) fatal("clone");
    clones = pid > 0;
    if (pid > 0 && wait4(pid, NULL, 0, NULL) != pid) fatal("wait4");
    return clones ? "clone" : "vfork";
}

static void record_usage(struct report *r, const struct rusage *u)
{
    r->user_us = u->ru_utime.tv_sec * INT64_C(1000000) + u->ru_utime.tv_usec;
    r->system_us = u->ru_stime.tv_sec * INT64_C(1000000) + u->ru_stime.tv_usec;
    r->maxrss_kb = u->ru_maxrss;
    r->minor_faults = u->ru_minflt;
    r->major_faults = u->ru_majflt;
    r->block_input = u->ru_inblock;
    r->block_output = u->ru_oublock;
    r->voluntary = u->ru_nvcsw;
    r->involuntary = u->ru_nivcsw;
}

/* Start it and wait for it; what lies between the two readings of the clock is measured. */
static void measure(struct start *start, struct report *r)
{
    struct rusage usage;
    int status = 0;
    timed_out = continued = child_errno = 0;
    set_deadline(start->timeout_ns);
    int64_t rcu = rcu_before(), began = now_ns();
    pid_t pid = start_process(start);
    if (pid < 0) {
        r->stage = AT_START;
        r->code = errno;
        set_deadline(0);
        return;
    }
    child = pid;
    for (;;) { /* it tells a stop too, which is told; only an end ends the wait */
        pid_t got = wait4(pid, &status, WUNTRACED | WCONTINUED, &usage);
        if (got < 0 && errno == ECHILD) fatal("wait4"); /* the child never sets that in errno */
        if (got < 0) continue;
        if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) break;
        r->flags |= STOPPED;
    }
    int64_t ended = now_ns();
    child = 0;
    set_deadline(0);
    if (rcu >= 0) r->rcu = (uint32_t)(read_rcu() - rcu);
    r->started_ns = began;
    r->wall_ns = ended - began;
    r->stage = child_errno ? AT_EXEC : ENDED;
    r->code = child_errno ? child_errno : status;
    if (continued) r->flags |= STOPPED; /* the launcher itself, and so the clock ran on */
    if (timed_out && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) r->flags |= TIMED_OUT;
    if (r->wall_ns > start->timeout_ns) r->flags |= TIMED_OUT;
    if (start->pinned && moved()) r->flags |= MOVED;
    record_usage(r, &usage);
    r->leftovers = kill_tree(pid, 5 * SECOND);
    if (r->leftovers < 0) fatal("processes that a program left behind cannot be killed");
}

void sample(int64_t sequence, int64_t id, struct start *start)
{
    struct report r = {.sequence = sequence, .id = id, .rcu = -1};
    r.stage = prepare(start);
    if (r.stage != ENDED) {
        r.code = errno;
        put(&r, sizeof r);
        return;
    }
    measure(start, &r);
    send_output(&r, start->limit);
    int64_t at = r.started_ns + r.wall_ns;
    if (r.wall_ns > 5 * MILLISECOND || at - last_flush_ns() > 20 * MILLISECOND) flush_replies(at);
}

/* Learn what the launcher has been given, so that a case without CPUs gets it back. */
void prepare_samples(void)
{
    if (sched_getaffinity(0, sizeof allowed_cpus, &allowed_cpus) < 0) fatal("sched_getaffinity");
    state.cpus = allowed_cpus;
    int persona = personality(0xffffffff);
    if (persona < 0) fatal("personality");
    state.randomises = (persona & ADDR_NO_RANDOMIZE) == 0;
    prepare_output(); /* what fails is tried again with a sample, and told */
}
