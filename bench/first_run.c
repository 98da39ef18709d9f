// The loop of p04-first-run as a person writes it to time it: one clock reading before and one
// after each iteration, no fault counter. Prints the first iteration and the median after 50.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LENGTH = 65536, ITERATIONS = 2050, SKIP = 50 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Not static, and called with a length that the compiler does not know: the same machine code as
// the rendered program's.
__attribute__((noinline)) void kernel(uint64_t *restrict out, const uint64_t *restrict in,
                                      size_t length)
{
    for (size_t i = 0; i < length; i++) {
        out[i] = 3 * in[i] + 1;
    }
}

static int ascending(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

int main(void)
{
    static uint64_t samples[ITERATIONS];
    uint64_t *out = calloc(LENGTH, sizeof *out), *in = calloc(LENGTH, sizeof *in), tiny[2] = {0, 0};
    if (out == NULL || in == NULL) {
        return 111;
    }
    for (size_t i = 0; i < LENGTH; i++) {
        in[i] = i;
    }
    for (size_t i = 0; i < ITERATIONS; i++) {
        samples[i] = now_ns(); // touched beforehand, and so is the clock
    }
    kernel(&tiny[0], &tiny[1], 1);
    size_t length = LENGTH;
    __asm__ volatile("" : "+r"(length));
    for (size_t i = 0; i < ITERATIONS; i++) {
        uint64_t start = now_ns();
        kernel(out, in, length);
        __asm__ volatile("" : : "r"(out) : "memory");
        samples[i] = now_ns() - start;
    }
    uint64_t first = samples[0];
    qsort(samples + SKIP, ITERATIONS - SKIP, sizeof *samples, ascending);
    printf("%" PRIu64 "\n%" PRIu64 "\n", first, samples[SKIP + (ITERATIONS - SKIP) / 2]);
    return fflush(stdout) == 0 ? 0 : 111;
}
