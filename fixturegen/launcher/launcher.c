/*
 * fixturegen-lnch: starts fresh processes and reports what the kernel says about each.
 *
 * launcher.py starts it once and sends requests on its stdin; replies leave by its stdout. All
 * numbers are 64-bit integers in the machine's own order.
 *
 *   request   kind, length, then length bytes
 *     DEFINE  id, timeout ns, output limit, flags, counts of CPUs, arguments, variables; the
 *             CPUs; then strings that end in NUL: program, folder, arguments, variables
 *     RUN     number of the first sample, then one case id for each sample
 *   reply     first a length and as many bytes of text (key=value lines) about the launcher;
 *             then for each sample a struct report and the bytes of its stdout and stderr
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifndef LINKED
#define LINKED "unknown"
#endif

enum { BLOCK_MOST = 1024, REQUEST_MOST = 64 << 20 };

pid_t self;
static int request_fd, reply_fd, error_fd = 2;
static struct start **cases;
static int64_t case_count;

static char reply[65536];
static size_t reply_used;
static int64_t flushed_ns;

_Noreturn void fatal(const char *what)
{
    dprintf(error_fd, "fixturegen-lnch: fatal: %s: %s\n", what, strerror(errno));
    _exit(111);
}

static _Noreturn void refuse(const char *what)
{
    dprintf(error_fd, "fixturegen-lnch: fatal: a request is malformed: %s\n", what);
    _exit(100);
}

int64_t now_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) < 0) fatal("clock_gettime");
    return t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- replies: gathered, so that Python is not woken for each sample ---- */

void flush_replies(int64_t at_ns)
{
    for (size_t sent = 0; sent < reply_used;) {
        ssize_t n = write(reply_fd, reply + sent, reply_used - sent);
        if (n < 0 && errno != EINTR) fatal("cannot write a reply");
        if (n > 0) sent += (size_t)n;
    }
    reply_used = 0;
    flushed_ns = at_ns;
}

int64_t last_flush_ns(void)
{
    return flushed_ns;
}

void put(const void *bytes, size_t length)
{
    if (length > sizeof reply - reply_used) flush_replies(now_ns());
    memcpy(reply + reply_used, bytes, length);
    reply_used += length;
}

void put_file(int fd, int64_t from, int64_t length)
{
    while (length > 0) {
        if (reply_used == sizeof reply) flush_replies(now_ns());
        size_t most = sizeof reply - reply_used;
        if ((size_t)length < most) most = (size_t)length;
        ssize_t n = pread(fd, reply + reply_used, most, from);
        if (n <= 0) fatal("cannot read a program's output");
        reply_used += (size_t)n;
        from += n;
        length -= n;
    }
}

/* ---- requests ---- */

/* Fill all of bytes; return 0 at the end of requests. */
static int read_all(void *bytes, size_t length)
{
    for (size_t got = 0; got < length;) {
        ssize_t n = read(request_fd, (char *)bytes + got, length - got);
        if (n < 0 && errno != EINTR) fatal("cannot read a request");
        if (n == 0 && got > 0) refuse("it ends early");
        if (n == 0) return 0;
        if (n > 0) got += (size_t)n;
    }
    return 1;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) fatal("out of memory");
    return memory;
}

static char *next_string(char **at, const char *end)
{
    char *string = *at, *nul = memchr(string, 0, (size_t)(end - string));
    if (!nul) refuse("a string without an end");
    *at = nul + 1;
    return string;
}

static cpu_set_t read_cpus(const char *numbers, int64_t count)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int64_t i = 0, cpu; i < count; i++) {
        memcpy(&cpu, numbers + i * 8, 8);
        if (cpu < 0 || cpu >= CPUS_MOST) refuse("a CPU out of range");
        CPU_SET((size_t)cpu, &cpus);
    }
    return count == 0 ? allowed_cpus : cpus;
}

static void define(int64_t length)
{
    int64_t head[7]; /* id, timeout, limit, flags, CPUs, arguments, variables */
    if (length < (int64_t)sizeof head || !read_all(head, sizeof head)) refuse("a short case");
    const int64_t rest = length - (int64_t)sizeof head;
    for (int i = 0; i < 7; i++)
        if (head[i] < 0 || (i > 3 && head[i] > length)) refuse("a number out of range");
    if (head[0] != case_count || head[4] * 8 > rest) refuse("counts that do not agree");
    char *at = allocate((size_t)rest + 1, 1), *end = at + rest;
    if (rest > 0 && !read_all(at, (size_t)rest)) refuse("a case without its strings");
    struct start *start = allocate(1, sizeof *start);
    start->timeout_ns = head[1];
    start->limit = head[2];
    start->flags = head[3];
    start->cpus = read_cpus(at, head[4]);
    start->pinned = head[4] > 0;
    at += head[4] * 8;
    start->program = next_string(&at, end);
    start->folder = next_string(&at, end);
    start->argv = allocate((size_t)head[5] + 2, sizeof(char *));
    start->envp = allocate((size_t)head[6] + 1, sizeof(char *));
    start->argv[0] = start->program;
    for (int64_t i = 0; i < head[5]; i++) start->argv[i + 1] = next_string(&at, end);
    for (int64_t i = 0; i < head[6]; i++) start->envp[i] = next_string(&at, end);
    cases = realloc(cases, (size_t)(case_count + 1) * sizeof *cases);
    if (!cases) fatal("out of memory");
    cases[case_count++] = start;
}

static void run_block(int64_t length)
{
    static int64_t block[BLOCK_MOST + 1];
    const int64_t count = length / 8 - 1;
    if (count < 0 || count > BLOCK_MOST || length % 8 != 0) refuse("a block of this length");
    if (!read_all(block, (size_t)length)) refuse("a block without its cases");
    for (int64_t i = 0; i < count; i++) {
        int64_t id = block[i + 1];
        if (id < 0 || id >= case_count) refuse("a case that is not defined");
        sample(block[0] + i, id, cases[id]);
    }
    flush_replies(now_ns()); /* Python answers with a block while the one sent ahead runs */
}

/* ---- setting up ---- */

static int own_fd(int fd)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (own < 0) fatal("cannot keep a descriptor");
    return own;
}

static void take_descriptors(void)
{
    error_fd = own_fd(2);
    request_fd = own_fd(0);
    reply_fd = own_fd(1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        fatal("cannot open /dev/null");
    close(null);
}

/* If the parent ends, SIGTERM: that takes the whole tree with it, not only the child. (A program
   itself gets SIGKILL if the process that started it ends.) */
static void take_place(pid_t parent, const char *name)
{
    const struct rlimit no_core = {0, 0};
    if (setsid() < 0 && getsid(0) != self) fatal("setsid");
    if (prctl(PR_SET_NAME, name) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
        fatal("prctl");
    if (parent > 0 && getppid() != parent) _exit(0); /* it ended before prctl */
    if (setrlimit(RLIMIT_CORE, &no_core) < 0) fatal("setrlimit");
}

static void say_hello(void)
{
    char text[512];
    const char *start = start_fact(), *rcu = rcu_fact(), *tree = tree_fact();
    int64_t length = snprintf(text, sizeof text, "start=%s\nlinked=%s\nrcu=%s\ntree=%s\n", start,
                              LINKED, rcu, tree);
    if (length >= (int64_t)sizeof text) refuse("LINKED is too long");
    memset(reply, 0, sizeof reply); /* touched now, so that the peak of memory never moves */
    put(&length, sizeof length);
    put(text, (size_t)length);
    flush_replies(now_ns());
}

int main(int argc, char **argv)
{
    int64_t head[2];
    pid_t parent = 0;
    self = getpid();
    take_descriptors();
    take_signals();
    for (int i = 1; i + 1 < argc; i += 2) /* --project is there for others to see in /proc */
        if (strcmp(argv[i], "--parent") == 0) parent = (pid_t)atoi(argv[i + 1]);
    take_place(parent, "fixturegen-lnch");
    reset_inherited();
    take_place(keep_watch(), "fixturegen-work");
    prepare_samples();
    say_hello();
    while (read_all(head, sizeof head)) {
        if (head[1] < 0 || head[1] > REQUEST_MOST) refuse("its length");
        if (head[0] == DEFINE)
            define(head[1]);
        else if (head[0] == RUN)
            run_block(head[1]);
        else
            refuse("its kind");
    }
    return 0;
}
