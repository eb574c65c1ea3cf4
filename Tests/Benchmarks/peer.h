// What the peers in C share.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpu_microseconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void check(int failed_call, const char *operation) {
    if (!failed_call) return;
    fprintf(stderr, "%s failed\n", operation);
    exit(1);
}
