/* Does what a measured program should not. misbehave WHAT [ARGUMENT] */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void hang(void)
{
    for (int i = 1; i < 32; i++) signal(i, SIG_IGN);
    for (;;) pause();
}

/* Write 1 GiB; stop at the first refusal, or never mind it. */
static int flood(int fd, int stubborn)
{
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 1024; i++)
        if (write(fd, block, sizeof block) < 0 && !stubborn) return 1;
    return 0;
}

/* Leave a daemon behind: forked twice, in a session of its own; it holds our stdout. */
static int leave_daemon(void)
{
    int ready[2];
    char byte;
    if (pipe(ready) < 0) return 111;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            dprintf(1, "%d\n", getpid());
            if (write(ready[1], "", 1) != 1) _exit(111);
            hang();
        }
        _exit(0);
    }
    return wait(NULL) > 0 && read(ready[0], &byte, 1) == 1 ? 0 : 111;
}

/* An orphan that ends by itself before we do: the launcher inherits it, but kills nothing. */
static int leave_dead(void)
{
    int held[2];
    char byte;
    if (pipe(held) < 0) return 111;
    if (fork() == 0) {
        fork();
        _exit(0);
    }
    close(held[1]);
    return wait(NULL) > 0 && read(held[0], &byte, 1) == 0 ? 0 : 111;
}

/* Fork without end, every process in a session of its own if `scatter`; but never more than
   `most` in all, so that a launcher that fails this test does not take the machine with it. */
static void bomb(int most, int scatter)
{
    atomic_int *born = mmap(NULL, sizeof *born, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (born == MAP_FAILED) exit(111);
    while (atomic_fetch_add(born, 1) < most)
        if (fork() == 0 && scatter) setsid();
    alarm(60);
    for (;;) pause();
}

/* Open our stdout or stderr anew, as a shell does for `> /dev/stdout`, write there, and then again
   where we did before. */
static int reopen(const char *how, int stream)
{
    int mode = strcmp(how, "truncate") == 0 ? O_TRUNC : strcmp(how, "append") == 0 ? O_APPEND : 0;
    dprintf(stream, "before\n");
    int fd = open(stream == 1 ? "/dev/stdout" : "/dev/stderr", O_WRONLY | mode);
    if (fd < 0) dprintf(2, "open: %s\n", strerror(errno));
    if (fd >= 0 && dprintf(fd, "anew\n") < 0) dprintf(2, "write: %s\n", strerror(errno));
    dprintf(stream, "after\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "0";
    if (strcmp(what, "exit") == 0) return atoi(argument);
    if (strcmp(what, "signal") == 0) return raise(atoi(argument));
    if (strcmp(what, "crash") == 0) return *(volatile int *)(size_t)atoi(argument);
    if (strcmp(what, "hang") == 0) hang();
    if (strcmp(what, "flood") == 0) return flood(atoi(argument), 0);
    if (strcmp(what, "stubborn") == 0) return flood(atoi(argument), 1);
    if (strcmp(what, "daemon") == 0) return leave_daemon();
    if (strcmp(what, "daemon-hang") == 0 && leave_daemon() == 0) hang();
    if (strcmp(what, "dead") == 0) return leave_dead();
    if (strcmp(what, "bomb") == 0) bomb(atoi(argument), 0);
    if (strcmp(what, "scattered-bomb") == 0) bomb(atoi(argument), 1);
    if (strcmp(what, "reopen") == 0) return reopen(argument, argc > 3 ? atoi(argv[3]) : 1);
    if (strcmp(what, "set-flags") == 0)
        return fcntl(1, F_SETFL, 0) < 0 || fcntl(2, F_SETFL, O_NONBLOCK) < 0;
    if (strcmp(what, "seek") == 0) return lseek(1, 1L << 40, SEEK_SET) < 0;
    return 100;
}
