// Preloaded into the sidecar: steps its wall clock, and measures its heap. Both through a file that SOAK_SHARED names.
// The kernel has no namespace for this clock, and libfaketime reads a file at each call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct shared {
    volatile int64_t step, used;
} alone, *shared;
static int (*kernel_clock)(clockid_t, struct timespec *);
static int (*kernel_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

// Blocks in use of all arenas, in bytes: private memory does not distinguish a leak from free blocks.
static void *measure(void *unused) {
    for (;; sleep(2)) {
        struct mallinfo2 heap = mallinfo2();
        shared->used = heap.uordblks + heap.hblkhd;
    }
    return unused;
}

static void begin(void) {
    const char *path = getenv("SOAK_SHARED");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof alone, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    shared = mapped == MAP_FAILED ? &alone : mapped;
    kernel_wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!kernel_wait) kernel_wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    kernel_clock = dlsym(RTLD_NEXT, "clock_gettime");
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    if (!kernel_clock) begin();
    if (shared != &alone) pthread_create(&thread, NULL, measure, NULL);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    // Other libraries start before this one.
    if (!kernel_clock) begin();
    int status = kernel_clock(clock, time);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += shared->step;
    return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int status = clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return status;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}

// A deadline of the wall clock is one of the stepped clock; one of the monotonic clock is a much smaller number.
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
    struct timespec real = *deadline;
    if (!kernel_wait) begin();
    if (real.tv_sec > 1000000000) real.tv_sec -= shared->step;
    return kernel_wait(condition, mutex, &real);
}
