/*
 * What a program prints: stdout into a file in memory, which costs it least, and stderr into a
 * pipe, so that nothing it does to its stderr loses what went there before.
 *
 * Both may be opened anew (/dev/stdout, /dev/stderr). The file lies on a file system of its own,
 * which bounds it, can be appended to and emptied. Where nobody may mount one it is a sealed memfd:
 * that is bounded as well, but the kernel refuses both.
 */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STDERR_KEPT = 65536, USUAL = 16 << 20 }; /* the limit of most cases */

static int out_fd = -1, err_fd = -1, err_pipe[2] = {-1, -1};
static int64_t size, discards = -1; /* how much the file holds; what stdout is now */
static int sealed;
static volatile int64_t err_bytes;
static volatile sig_atomic_t collecting;

static int keep_fd(int fd)
{
    if (fd < 0) return -1;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    close(fd);
    return own;
}

/* ---- the file of stdout ---- */

struct place {
    int flags, fd;
    uid_t user;
    gid_t group;
};

static int put_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t put = write(fd, text, strlen(text));
    close(fd);
    return put < 0 ? -1 : 0;
}

/* In a mount namespace of its own, which ends with this process: the open file stays. */
static int open_inside(void *argument)
{
    struct place *place = argument;
    char text[64];
    if (place->flags & CLONE_NEWUSER) {
        snprintf(text, sizeof text, "%u %u 1", place->user, place->user);
        if (put_text("/proc/self/uid_map", text) < 0) _exit(1);
        snprintf(text, sizeof text, "%u %u 1", place->group, place->group);
        if (put_text("/proc/self/setgroups", "deny") < 0 ||
            put_text("/proc/self/gid_map", text) < 0)
            _exit(1);
    }
    snprintf(text, sizeof text, "size=%lld,mode=700", (long long)size);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("fixturegen", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, text) == 0)
        place->fd = open("/proc", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    _exit(0);
}

/* A file without a name on a file system of `size` bytes, -1 if none can be mounted here. */
static int open_enclosed(void)
{
    static const int ways[] = {CLONE_NEWNS, CLONE_NEWNS | CLONE_NEWUSER};
    struct place place = {.fd = -1, .user = geteuid(), .group = getegid()};
    for (size_t i = 0; i < 2 && place.fd < 0; i++) {
        place.flags = CLONE_VM | CLONE_FILES | SIGCHLD | ways[i];
        pid_t pid = clone(open_inside, child_stack_end(), place.flags, &place);
        if (pid > 0 && wait4(pid, NULL, 0, NULL) != pid) fatal("wait4");
    }
    return keep_fd(place.fd);
}

static int open_sealed(void)
{
    int fd = keep_fd(memfd_create("stdout", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd >= 0 && ftruncate(fd, size) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static int open_stdout(int64_t limit)
{
    /* The kernel refuses a whole folio (up to 2 MiB) that crosses a memfd's end, so the end is a
       multiple of it; it lies beyond the limit, so that too much can be told from just enough. */
    const int64_t folio = 2 << 20;
    if (out_fd >= 0) close(out_fd);
    size = (limit / folio + 1) * folio;
    out_fd = open_enclosed();
    sealed = out_fd < 0;
    if (sealed) out_fd = open_sealed();
    if (out_fd >= 0) return 0;
    size = 0;
    return -1;
}

/* Every write goes to the end, whoever has opened it: as to a terminal, or a log. */
static int file_flags(void)
{
    return sealed ? 0 : O_APPEND;
}

/* The end of the last non-zero byte in [from, to), or `end` if all are zero. */
static int64_t last_byte(int64_t from, int64_t to, int64_t end)
{
    char bytes[4096];
    for (int64_t at = from; at < to; at += (int64_t)sizeof bytes) {
        ssize_t got = pread(out_fd, bytes, sizeof bytes, at);
        if (got <= 0) fatal("cannot read a program's output");
        if (got > to - at) got = (ssize_t)(to - at);
        while (got > 0 && bytes[got - 1] == 0) got--;
        if (got > 0) end = at + got;
    }
    return end;
}

/* Where a sealed file's content ends: at the shared offset, or after the last byte that was written
   past it through a description of the program's own (/dev/stdout opened anew). */
static int64_t sealed_end(void)
{
    int64_t end = lseek(out_fd, 0, SEEK_CUR), data, hole;
    if (end < 0) fatal("lseek");
    if (end > size) end = 0; /* the program moved it out of the file */
    for (hole = end; (data = lseek(out_fd, hole, SEEK_DATA)) >= 0;) {
        hole = lseek(out_fd, data, SEEK_HOLE);
        if (hole < 0) fatal("lseek SEEK_HOLE");
        end = last_byte(data, hole, end);
    }
    if (errno != ENXIO) fatal("lseek SEEK_DATA");
    return end;
}

static int64_t file_end(void)
{
    struct stat now;
    if (sealed) return sealed_end();
    if (fstat(out_fd, &now) < 0) fatal("fstat");
    return now.st_size;
}

/* Empty it: every sample meets the same empty file, and none sees another's output. */
static void reset_file(int64_t used)
{
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (used > 0 && (sealed ? fallocate(out_fd, mode, 0, size) : ftruncate(out_fd, 0)) < 0)
        fatal("cannot empty an output file");
    if (lseek(out_fd, 0, SEEK_SET) < 0) fatal("lseek");
    if (fcntl(out_fd, F_SETFL, file_flags()) < 0) fatal("fcntl F_SETFL"); /* it may have set some */
}

/* ---- the pipe of stderr ---- */

/* Move what is in the pipe to a file in which the last STDERR_KEPT bytes lie, as in a ring. */
static void collect(void)
{
    for (;;) {
        off_t at = err_bytes % STDERR_KEPT;
        ssize_t n = splice(err_pipe[0], NULL, err_fd, &at, (size_t)(STDERR_KEPT - at), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) fatal("cannot read a program's stderr");
        if (n <= 0) return;
        err_bytes += n;
    }
}

/* The pipe holds little, and whoever fills it waits for us: the kernel signals each write. */
static void on_output(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    if (collecting) collect();
    errno = saved;
}

static int open_stderr(void)
{
    err_fd = keep_fd(memfd_create("stderr", MFD_CLOEXEC));
    if (err_fd < 0 || pipe2(err_pipe, O_CLOEXEC) < 0) return -1;
    for (int i = 0; i < 2; i++) err_pipe[i] = keep_fd(err_pipe[i]);
    handle(SIGIO, on_output);
    if (fcntl(err_pipe[0], F_SETOWN, self) < 0 ||
        fcntl(err_pipe[0], F_SETFL, O_NONBLOCK | O_ASYNC) < 0)
        return -1;
    return dup2(err_pipe[1], 2);
}

/* ---- before a sample, and after ---- */

int direct_output(int64_t limit, int discard)
{
    if (err_pipe[1] < 0 && open_stderr() < 0) return -1;
    if (limit >= size) { /* also the first time */
        discards = -1;
        if (open_stdout(limit) < 0) return -1;
        reset_file(0);
    }
    if (discard != discards && dup2(discard ? 0 : out_fd, 1) < 0) return -1;
    discards = discard;
    collecting = 1;
    return 0;
}

void prepare_output(void)
{
    direct_output(USUAL, 0);
    collecting = 0;
}

void send_output(struct report *r, int64_t limit)
{
    collecting = 0; /* all writers have ended */
    collect();
    r->stdout_bytes = file_end();
    r->stderr_bytes = err_bytes;
    r->stdout_kept = r->stdout_bytes < limit ? r->stdout_bytes : limit;
    r->stderr_kept = r->stderr_bytes < STDERR_KEPT ? r->stderr_bytes : STDERR_KEPT;
    if (r->stdout_bytes > limit || r->stderr_bytes > limit) r->flags |= FLOODED;
    put(r, sizeof *r);
    put_file(out_fd, 0, r->stdout_kept);
    int64_t first = err_bytes < STDERR_KEPT ? 0 : err_bytes % STDERR_KEPT;
    put_file(err_fd, first, r->stderr_kept - first);
    put_file(err_fd, 0, first);
    reset_file(r->stdout_bytes);
    if (fcntl(err_pipe[1], F_SETFL, 0) < 0) fatal("fcntl F_SETFL");
    err_bytes = 0;
}
