// Prints a thousand lines, as a program that reports every step would.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(void)
{
    for (int i = 1; i <= 1000; i++) {
        struct timespec now;
        if (clock_gettime(CLOCK_MONOTONIC, &now) < 0) {
            return 111;
        }
        printf("step %d: %ld ns\n", i, 20000 + now.tv_nsec % 10000);
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : 111;
}
