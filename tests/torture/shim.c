/* What a process sees of the clock and the disk, bent from outside: two numbers in the file named by TORTURE_SHIM.
   The first is added to the wall clock, the second is how long each flush to disk takes; both are seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile double *bent(void) {
    static volatile double *numbers;
    if (!numbers) {
        int file = open(getenv("TORTURE_SHIM"), O_RDONLY);
        numbers = mmap(0, 16, PROT_READ, MAP_SHARED, file, 0);
        close(file);
    }
    return numbers;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, at);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) at->tv_sec += (long)bent()[0];
    return result;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

static int flush(const char *name, int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, name);
    double seconds = bent()[1];
    struct timespec wait = {(long)seconds, (long)((seconds - (long)seconds) * 1e9)};
    if (seconds > 0) nanosleep(&wait, 0);
    return real(file);
}

int fsync(int file) { return flush("fsync", file); }
int fdatasync(int file) { return flush("fdatasync", file); }
