// Steps the wall clock of one process: LD_PRELOAD this library, and write the seconds to add as 8 bytes into the file
// that SOAK_CLOCK names. The kernel has no namespace for this clock, and libfaketime reads a file at each call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *step;
static int (*kernel_clock)(clockid_t, struct timespec *);
static int (*kernel_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
    static const int64_t none = 0;
    const char *path = getenv("SOAK_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    step = mapped == MAP_FAILED ? &none : mapped;
    kernel_clock = dlsym(RTLD_NEXT, "clock_gettime");
    kernel_wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!kernel_wait) kernel_wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    // Other libraries start before this one.
    if (!kernel_clock) begin();
    int status = kernel_clock(clock, time);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *step;
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
    if (real.tv_sec > 1000000000) real.tv_sec -= *step;
    return kernel_wait(condition, mutex, &real);
}
