// Starting and ending a profile, and recording the spans of threads.
//
// A profile is a session. A thread joins it with its first span and keeps what it needs of it alive, so a
// span that ends during or after the write of the file is merely lost.
#include "tandem/core/profile.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/base/fork.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/profile/profile_spans.h"
#include "tandem/core/threads/of_thread.h"

namespace tandem::profiler {
namespace detail {

constinit std::atomic<int> watchers{0};

namespace {

struct Session {
  Session(std::string path, int64_t most) : path(std::move(path)), most(most), budget(most), memory(most) {}
  const std::string path;
  const int64_t most, start_ns = nanoseconds_now();
  Budget budget;
  MemoryLog memory;
  uint64_t number = 0;
  std::vector<std::shared_ptr<ThreadSpans>> threads;  // guarded by State::mutex
};

struct State {
  State() = default;
  State(const State& parent) : sessions(parent.sessions.load() + 1) {}  // a running profile belongs to the parent
  std::mutex mutex;
  std::shared_ptr<Session> session;  // null: no profile is running
  std::atomic<uint64_t> sessions{0};
};
State& state() {
  static constinit tandem::detail::PerProcess<State> instance;
  return instance.get();
}

// The thread's state for the session that it joined.
thread_local int host_only = 0;
struct Local {
  uint64_t number = 0;
  std::shared_ptr<Session> session;
  std::shared_ptr<ThreadSpans> spans;
};

std::string thread_name(int number) {
  if (gettid() == getpid()) return "main";
  char name[16] = "", process[64] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  std::snprintf(process, sizeof process, "%.15s", program_invocation_short_name);
  if (*name == '\0' || std::strcmp(name, process) == 0) return concat("thread ", number);
  return name;
}

// The thread's part of the running session, or nullptr.
Local* join() {
  Local& local = tandem::detail::of_thread<Local>();
  if (local.number == state().sessions.load(std::memory_order_acquire)) [[likely]]
    return local.session ? &local : nullptr;
  std::lock_guard lock(state().mutex);
  if (!state().session) return nullptr;
  Session& session = *state().session;
  const int number = static_cast<int>(session.threads.size()) + 1;
  auto spans = std::make_shared<ThreadSpans>(session.budget, number, thread_name(number));
  session.threads.push_back(spans);
  local.spans = std::move(spans);  // releases the old spans before the session whose budget they use
  local.session = state().session;
  local.number = session.number;
  return &local;
}

void write_at_exit();

std::string mebibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / 1048576);
  return text;
}

// The running session, or nullptr. Unlike join(), does not make the thread a part of it.
std::shared_ptr<Session> running() {
  std::lock_guard lock(state().mutex);
  return state().session;
}

StreamTrack& track_of(Local& thread, Device device) {
  const RuntimeKernels& runtime = backend(device).runtime;
  const StreamHandle stream = runtime.current_stream(resolve(device));
  for (const auto& track : thread.spans->tracks)
    if (track->stream().handle == stream.handle && track->stream().device == stream.device) return *track;
  // Events are read before the device's library shuts down: it has already registered its atexit handler.
  static constinit std::atomic_flag registered;
  if (!registered.test_and_set(std::memory_order_relaxed)) std::atexit(write_at_exit);
  auto track = std::make_unique<StreamTrack>(runtime, stream, thread.session->start_ns, thread.session->budget);
  std::lock_guard lock(thread.spans->tracks_mutex);
  return *thread.spans->tracks.emplace_back(std::move(track));
}

// Ends the profile and writes it. Returns a summary of the file, or "" if no profile was running.
std::string end_session() {
  std::shared_ptr<Session> session;
  {
    std::lock_guard lock(state().mutex);
    session.swap(state().session);
    if (!session) return "";
    watchers.fetch_sub(1, std::memory_order_relaxed);
    state().sessions.fetch_add(1, std::memory_order_release);  // threads leave it, even if kernels are still recorded
  }
  for (const auto& thread : session->threads) {
    std::lock_guard lock(thread->tracks_mutex);
    for (const auto& track : thread->tracks) track->resolve();
  }
  const int64_t dropped = session->budget.dropped.load(std::memory_order_relaxed);
  const int64_t spans =
      write_trace(session->path, {session->threads, session->memory, session->most, dropped, session->start_ns});
  std::string text = concat(session->path, " holds a profile of ", spans, " spans",
                            dropped > 0 ? concat("; ", dropped, " more were dropped") : "");
  for (const MemoryLog::Peak& peak : session->memory.peaks())
    text += concat("; tensors on ", peak.device, " had at most ", mebibytes(peak.bytes));
  return text;
}

void write_at_exit() {
  try {
    if (const std::string said = end_session(); !said.empty()) std::fprintf(stderr, "tandem: %s\n", said.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: the profile could not be written: %s\n", error.what());
  }
}

std::string with_process_id(std::string path) {
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos;)
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

// Starts the profile for TANDEM_PROFILE when the library is loaded.
[[gnu::constructor]] void start_by_environment() {
  const char* path = std::getenv("TANDEM_PROFILE");
  if (path == nullptr || *path == '\0') return;
  try {
    start(path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: TANDEM_PROFILE: %s; continuing without a profile\n", error.what());
  }
}

}  // namespace

void begin_span(Open& open, const Device* device) noexcept try {
  Local* const thread = join();
  if (thread == nullptr) return;
  open.session = thread->number;
  open.begin_ns = nanoseconds_now();
  if (device == nullptr || host_only != 0) return;
  open.track = &track_of(*thread, *device);
  open.event = open.track->mark();
} catch (...) {  // without a track, only the host's span is recorded
}

void end_span(const Open& open, Span span) noexcept try {
  if (open.session == 0) return;
  const Local& local = tandem::detail::of_thread<Local>();
  if (local.number != open.session) return;
  const int64_t start = local.session->start_ns;
  span.begin_ns = open.begin_ns - start;
  span.end_ns = nanoseconds_now() - start;
  local.spans->spans.add(span);
  if (open.event != nullptr) open.track->add(open.event, span);
} catch (...) {  // out of memory: the span is lost
}

void note_created(const void* storage, Device device, std::size_t bytes) noexcept try {
  Local* const thread = join();
  if (thread == nullptr) return;
  thread->session->memory.created(storage, device, static_cast<int64_t>(bytes), memory_stats(device).current_bytes,
                                  nanoseconds_now() - thread->session->start_ns, thread->spans->number);
} catch (...) {  // out of memory: the event is lost
}

void note_freed(const void* storage, Device device, std::size_t bytes) noexcept try {
  if (const auto session = running())
    session->memory.freed(storage, device, static_cast<int64_t>(bytes), memory_stats(device).current_bytes,
                          nanoseconds_now() - session->start_ns);
} catch (...) {
}

std::string largest_storages(DeviceType type) {
  const auto session = is_on() ? running() : nullptr;
  if (!session) return "; with TANDEM_PROFILE=FILE this message lists the largest tensors";
  std::vector<std::shared_ptr<ThreadSpans>> threads;
  {
    std::lock_guard lock(state().mutex);
    threads = session->threads;
  }
  std::string text;
  for (const MemoryLog::Event& event : session->memory.largest_now(type)) {
    const Creator creator = creator_of(event, threads);
    text += concat(text.empty() ? "; the largest tensors: " : ", ", mebibytes(event.bytes), " on ", event.device,
                   " of ", creator.kernel != nullptr ? creator.kernel : "no kernel");
    if (!creator.detail.empty()) text += concat(" (", creator.detail, ")");
    if (creator.inside != nullptr) text += concat(" in ", creator.inside);
  }
  return text;
}

}  // namespace detail

void start(const std::string& given, int64_t max_spans) {
  using namespace detail;
  check(max_spans > 0, "profiler::start: expected at least one span, got ", max_spans);
  const std::string path = with_process_id(given);
  check_writable(path);
  static constinit std::atomic_flag registered;
  if (!registered.test_and_set(std::memory_order_relaxed)) std::atexit(write_at_exit);
  std::lock_guard lock(state().mutex);
  check(!state().session, "profiler::start: a profile is already running; call profiler::stop() first");
  auto session = std::make_shared<Session>(path, max_spans);
  session->number = state().sessions.load(std::memory_order_relaxed) + 1;
  state().session = std::move(session);
  state().sessions.fetch_add(1, std::memory_order_release);
  watchers.fetch_add(1, std::memory_order_relaxed);
}

void stop() { detail::end_session(); }

void name_thread(const char* name) noexcept {
  char kept[16];
  std::snprintf(kept, sizeof kept, "%s", name);
  pthread_setname_np(pthread_self(), kept);
}

void Record::begin(std::string_view name, const char* category, const Device* device) noexcept try {
  name_ = detail::interned(name);
  category_ = category;
  detail::begin_span(open_, device != nullptr && !device->is_cpu() ? device : nullptr);
} catch (...) {  // out of memory for the name
}

void Record::end() noexcept { detail::end_span(open_, {.name = name_, .category = category_}); }

HostOnly::HostOnly() { ++detail::host_only; }
HostOnly::~HostOnly() { --detail::host_only; }

}  // namespace tandem::profiler
