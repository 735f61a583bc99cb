/* Makes the clocks of a process run at another rate. To be loaded in front of its libraries.
 *
 * The environment variable CLOCK_RATE has the rate in thousandths. The clocks that count from the start of the machine
 * run at it from the start of the process on, and a wait for a futex ends when they say so. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000LL

static int (*true_clock_gettime)(clockid_t, struct timespec *);
static long (*true_syscall)(long, ...);
static long long rate = 1000;
/* The values of the clocks at the start of the process. */
static long long begin[CLOCK_BOOTTIME + 1];

static long long nanoseconds(const struct timespec *time) {
  return time->tv_sec * BILLION + time->tv_nsec;
}

static struct timespec timespec(long long nanoseconds) {
  return (struct timespec){.tv_sec = nanoseconds / BILLION, .tv_nsec = nanoseconds % BILLION};
}

static int is_skewed(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE ||
         clock == CLOCK_BOOTTIME;
}

__attribute__((constructor)) static void start(void) {
  if (true_syscall) return;
  const char *text = getenv("CLOCK_RATE");
  if (text && atoll(text) > 0) rate = atoll(text);
  true_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  for (clockid_t clock = 0; clock <= CLOCK_BOOTTIME; clock++) {
    struct timespec time;
    if (is_skewed(clock) && true_clock_gettime(clock, &time) == 0) begin[clock] = nanoseconds(&time);
  }
  true_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  start();
  int outcome = true_clock_gettime(clock, time);
  if (outcome == 0 && is_skewed(clock))
    *time = timespec(begin[clock] + (nanoseconds(time) - begin[clock]) * rate / 1000);
  return outcome;
}

long syscall(long number, ...) {
  start();
  long a[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
  va_end(arguments);
  struct timespec deadline;
  /* Such a wait has an absolute deadline. */
  if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && !(a[1] & FUTEX_CLOCK_REALTIME) && a[3]) {
    long long start_of_clock = begin[CLOCK_MONOTONIC];
    long long said = nanoseconds((const struct timespec *)a[3]);
    deadline = timespec(start_of_clock + (said - start_of_clock) * 1000 / rate);
    a[3] = (long)&deadline;
  }
  return true_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
