/*
 * What does one launch cost at least? bare_loop [-q] CPU COUNT PROGRAM
 *
 * Pins itself to CPU, then vfork + execve + wait4, COUNT times; prints the wall ns of each
 * launch, or with -q only the wall ns of the whole loop.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) < 0) exit(111);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t launch(char *program)
{
    char *argv[] = {program, NULL}, *envp[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
    struct rusage usage;
    int status;
    int64_t began = now_ns();
    pid_t pid = vfork();
    if (pid == 0) {
        execve(program, argv, envp);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
        perror("bare_loop: fatal: cannot launch");
        exit(111);
    }
    return now_ns() - began;
}

int main(int argc, char **argv)
{
    int quiet = argc > 1 && strcmp(argv[1], "-q") == 0;
    if (argc != 4 + quiet) return 100;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)atoi(argv[1 + quiet]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) < 0) return 111;
    long count = atol(argv[2 + quiet]);
    int64_t *wall = calloc((size_t)count, sizeof *wall);
    if (!wall) return 111;
    int64_t began = now_ns();
    for (long i = 0; i < count; i++) wall[i] = launch(argv[3 + quiet]);
    int64_t total = now_ns() - began;
    for (long i = 0; i < count && !quiet; i++) printf("%lld\n", (long long)wall[i]);
    if (quiet) printf("%lld\n", (long long)total);
    return fflush(stdout) == 0 ? 0 : 111;
}
