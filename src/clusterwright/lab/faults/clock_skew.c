/* Another time of day, SKEW_S seconds off, for every program that starts while /etc/ld.so.preload names this library.
 *
 * It needs no variable, file or lock and makes no system call of its own, so that sshd's sandbox permits it. Clocks
 * that count from boot are unchanged. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FIRST_DATE_S 500000000 /* seconds since 1970; what is less counts from the boot */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        now->tv_sec += SKEW_S;
    return failed;
}

time_t time(time_t *also)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (also)
        *also = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone; /* obsolete, says gettimeofday(2) */
    if (clock_gettime(CLOCK_REALTIME, &exact))
        return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

int timespec_get(struct timespec *now, int base)
{
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, now) ? base : 0;
}

/* A caller waits until a skewed time of day: the kernel gets the real one. */
static clockid_t meant(const struct timespec *until, struct timespec *really)
{
    *really = *until;
    if (until->tv_sec < FIRST_DATE_S)
        return CLOCK_MONOTONIC;
    really->tv_sec -= SKEW_S;
    return CLOCK_REALTIME;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    struct timespec really;
    clockid_t clock = meant(until, &really);
    return pthread_cond_clockwait(condition, mutex, clock, &really);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until)
{
    struct timespec really;
    clockid_t clock = meant(until, &really);
    return pthread_mutex_clocklock(mutex, clock, &really);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    struct timespec really;
    clockid_t clock = meant(until, &really);
    return sem_clockwait(semaphore, clock, &really);
}
