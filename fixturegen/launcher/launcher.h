/* What the parts of the launcher share. launcher.py mirrors the numbers and struct report. */
#ifndef FIXTUREGEN_LAUNCHER_H
#define FIXTUREGEN_LAUNCHER_H

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MILLISECOND INT64_C(1000000)
#define SECOND INT64_C(1000000000)

enum { DEFINE = 1, RUN = 2 };                                              /* requests */
enum { DISCARD = 1, NO_ASLR = 2 };                                         /* a case's flags */
enum { TIMED_OUT = 1, FLOODED = 2, STOPPED = 4, MOVED = 8 };               /* a report's flags */
enum { ENDED, AT_EXEC, AT_START, AT_FOLDER, AT_CPUS, AT_ASLR, AT_OUTPUT }; /* its stage */
enum { CPUS_MOST = 8 * sizeof(cpu_set_t) }; /* musl's CPU_SETSIZE is an eighth of it */
enum { FIRST_OWN_FD = 10 }; /* the launcher's own descriptors; they close on exec */

/* A case: how a program is to be started. */
struct start {
    int64_t timeout_ns, limit, flags;
    cpu_set_t cpus;
    int pinned; /* to CPUs of the case, not only to what the launcher was given */
    char *program, *folder, **argv, **envp;
};

/* What became of one sample; stdout_kept and stderr_kept bytes of output follow it. */
struct report {
    int64_t sequence, id, stage, code, flags, started_ns, wall_ns, user_us, system_us, maxrss_kb;
    int64_t minor_faults, major_faults, block_input, block_output, voluntary, involuntary;
    int64_t leftovers, rcu, stdout_bytes, stderr_bytes, stdout_kept, stderr_kept;
};

/* launcher.c */
extern pid_t self;
_Noreturn void fatal(const char *what);
int64_t now_ns(void);
void put(const void *bytes, size_t length);
void put_file(int fd, int64_t from, int64_t length);
void flush_replies(int64_t at_ns);
int64_t last_flush_ns(void);

/* launcher_tree.c: deadlines, and processes that a program leaves behind */
extern volatile sig_atomic_t child, timed_out, continued;
void take_signals(void);
void handle(int signal_number, void (*handler)(int));
pid_t keep_watch(void);
void set_deadline(int64_t ns);
int64_t kill_tree(pid_t group, int64_t bound_ns);
const char *tree_fact(void);

/* launcher_inherit.c */
void reset_inherited(void);

/* launcher_output.c: what a program prints */
void prepare_output(void);
int direct_output(int64_t limit, int discard);
void send_output(struct report *r, int64_t limit);

/* launcher_sample.c */
extern cpu_set_t allowed_cpus;
void prepare_samples(void);
char *child_stack_end(void); /* of what shares our memory, one at a time */
const char *start_fact(void);
const char *rcu_fact(void);
void sample(int64_t sequence, int64_t id, struct start *start);

#endif
