// Preloaded by conditions.sh: the wall clock shows another time, CLOCK_SHIFT seconds away, and goes on. Monotonic clocks and
// the times of files stay as they are. (libfaketime changes the sleep of Python 3.11, too.)
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const char* const shift = ::getenv("CLOCK_SHIFT");
  const long error = ::syscall(SYS_clock_gettime, clock, now);
  if (error == 0 && shift != nullptr && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += ::atol(shift);
  return static_cast<int>(error);
}

time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(timeval* out, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *out = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}
}
