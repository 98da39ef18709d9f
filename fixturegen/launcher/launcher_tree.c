/* The launcher's hold on the processes below it: the deadline, SIGTERM, and what is left over. */
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_US = 10000, TICKS_MOST = 500 }; /* how often, and how long, a child is killed */

volatile sig_atomic_t child, timed_out, continued;
static volatile sig_atomic_t ticks, watching;

static void kill_process(pid_t pid)
{
    pid_t group = getpgid(pid);
    if (group > 0 && group != self) kill(-group, SIGKILL); /* atomic, also for a fork bomb */
    kill(pid, SIGKILL); /* an error is no news: the next pass sees who is still there */
}

/* Kill all that descend from parent. A child of another thread, or deeper than the walk, or
   born meanwhile, becomes the launcher's own (it is a subreaper) and is found by the next pass. */
static void kill_below(pid_t parent, int depth)
{
    char text[512];
    ssize_t got;
    pid_t pid = 0;
    snprintf(text, sizeof text, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    while ((got = read(fd, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
            } else if (pid > 0) {
                if (depth > 0) kill_below(pid, depth - 1);
                kill_process(pid);
                pid = 0;
            }
        }
    }
    close(fd);
}

/* Kill and reap all descendants, `group` first. Return how many had to be killed, or -1 if some
   are still there after bound_ns. */
int64_t kill_tree(pid_t group, int64_t bound_ns)
{
    const struct timespec nap = {0, 100000};
    const int64_t end = now_ns() + bound_ns;
    int64_t killed = 0;
    for (;;) {
        int status;
        pid_t pid = wait4(-1, &status, WNOHANG, NULL);
        if (pid < 0) return errno == ECHILD ? killed : -1;
        if (pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) killed++;
        if (now_ns() > end) return -1;
        if (pid > 0) continue;
        if (group > 0) kill(-group, SIGKILL);
        kill_below(self, 32);
        nanosleep(&nap, NULL);
    }
}

const char *tree_fact(void)
{
    return access("/proc/thread-self/children", R_OK) == 0
               ? "walked"
               : "only the program's process group: no /proc/thread-self/children";
}

/* The handlers do the whole job, so that no signal is lost between a check and wait4. */
static void on_term(int signal_number)
{
    (void)signal_number;
    if (getpid() != self) _exit(127); /* a child that shares our memory and is no program yet */
    if (watching && child > 0) { /* it does the same, and its end is ours; also if it is stopped */
        kill(child, SIGTERM);
        kill(child, SIGCONT);
        return;
    }
    kill_tree(child, SECOND);
    _exit(128 + SIGTERM);
}

static void on_deadline(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    if (getpid() == self && child > 0) { /* else the repeating timer comes again */
        timed_out = 1;
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
        if (++ticks > TICKS_MOST) fatal("a program at its deadline cannot be killed");
    }
    errno = saved;
}

/* Arm the timer, 0 disarms it. It repeats: the first may come before `child` is known. */
void set_deadline(int64_t ns)
{
    struct itimerval timer = {{0, ns > 0 ? TICK_US : 0}, {ns / SECOND, ns % SECOND / 1000}};
    if (ns > 0 && ns < 1000) timer.it_value.tv_usec = 1;
    ticks = 0;
    if (setitimer(ITIMER_REAL, &timer, NULL) < 0) fatal("setitimer");
}

static void on_continue(int signal_number)
{
    (void)signal_number;
    if (getpid() == self) continued = 1;
}

void handle(int signal_number, void (*handler)(int))
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = handler;
    sigfillset(&action.sa_mask);
    if (sigaction(signal_number, &action, NULL) < 0 && errno != EINVAL) fatal("sigaction");
}

void take_signals(void)
{
    sigset_t none;
    for (int i = 1; i <= SIGRTMAX; i++)
        if (i != SIGKILL && i != SIGSTOP) handle(i, SIG_DFL); /* Python leaves some ignored */
    handle(SIGALRM, on_deadline);
    handle(SIGTERM, on_term);
    handle(SIGCONT, on_continue);
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0) fatal("sigprocmask");
}

/* Go on in a child, and return its parent, which sleeps until the child ends. However that was, by
   SIGKILL too, all that it had started is then the parent's (a subreaper), is killed, and the
   parent ends in the same way. If the parent is killed, the child gets SIGTERM. */
pid_t keep_watch(void)
{
    const pid_t watcher = self;
    int status;
    watching = 1;
    pid_t pid = fork();
    if (pid < 0) fatal("fork");
    if (pid == 0) {
        watching = 0;
        self = getpid();
        return watcher;
    }
    child = pid;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) fatal("waitpid");
    child = 0;
    kill_tree(0, 5 * SECOND);
    if (WIFSIGNALED(status)) raise(WTERMSIG(status));
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
