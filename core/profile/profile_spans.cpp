// Span buffers, interned names, and tracks of device streams.
#include "tandem/core/profile/profile_spans.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "tandem/core/backend/runtime.h"
#include "tandem/core/base/clock.h"
#include "tandem/core/base/fork.h"
#include "tandem/core/device.h"

namespace tandem::profiler::detail {

namespace {
struct Names {
  Names() = default;
  Names(const Names&) {}  // the parent's names stay valid
  std::mutex mutex;
  std::unordered_set<std::string> texts;
};
}  // namespace

const char* interned(std::string_view text) {
  // This thread's recent names, keyed by address. The text is compared too, since an address may be reused.
  thread_local const char* cache[64] = {};
  const char*& last = cache[(reinterpret_cast<uintptr_t>(text.data()) >> 3) % 64];
  if (last != nullptr && text == last) return last;
  static constinit tandem::detail::PerProcess<Names> all;
  Names& names = all.get();
  std::lock_guard lock(names.mutex);
  auto found = names.texts.find(std::string(text));
  if (found == names.texts.end()) {
    if (names.texts.size() >= 65536) return "(other)";
    found = names.texts.emplace(text.substr(0, text.find('\0'))).first;
  }
  return last = found->c_str();
}

void set_note(char (&note)[48], std::string_view text) {
  const bool cut = text.size() >= sizeof note;
  const std::size_t size = cut ? sizeof note - 4 : text.size();
  std::memcpy(note, text.data(), size);
  std::memcpy(note + size, cut ? "..." : "", cut ? 4 : 1);
}

SpanList::~SpanList() {
  for (Chunk* chunk = first_; chunk != nullptr;) {
    Chunk* next = chunk->next;
    delete chunk;
    chunk = next;
  }
}

bool SpanList::grow() {
  const int64_t wanted = last_ == nullptr ? 64 : std::min<int64_t>(4096, 4 * last_->size);
  const int64_t left = budget_.left.fetch_sub(wanted, std::memory_order_relaxed);
  const int64_t size = std::clamp<int64_t>(left, 0, wanted);
  if (size < wanted) budget_.left.fetch_add(wanted - size, std::memory_order_relaxed);
  if (size == 0) return false;
  auto chunk = std::make_unique<Chunk>();
  chunk->spans = std::make_unique<Span[]>(static_cast<std::size_t>(size));
  chunk->size = size;
  Chunk* const added = chunk.release();
  (last_ == nullptr ? first_ : last_->next).store(added, std::memory_order_release);
  last_ = added;
  return true;
}

void SpanList::add(const Span& span) {
  if ((last_ == nullptr || last_->count.load(std::memory_order_relaxed) == last_->size) && !grow()) {
    budget_.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const int64_t at = last_->count.load(std::memory_order_relaxed);
  last_->spans[static_cast<std::size_t>(at)] = span;
  last_->count.store(at + 1, std::memory_order_release);
}

StreamTrack::StreamTrack(const RuntimeKernels& runtime, StreamHandle stream, int64_t start_ns, Budget& budget,
                         std::size_t batch)
    : runtime_(runtime), stream_(stream), start_ns_(start_ns), budget_(budget), batch_(batch), spans_(budget) {
  anchor_ = runtime_.create_event();
  set_anchor();
}

StreamTrack::~StreamTrack() {
  try {
    for (const Pending& p : pending_) free_.insert(free_.end(), {p.begin, p.end});
    for (void* event : free_) runtime_.destroy_event(event);
    if (anchor_ != nullptr) runtime_.destroy_event(anchor_);
  } catch (...) {  // the device is gone, and its events with it
  }
}

// Relates the device's clock to the host's. The host learns of the event slightly late, so a device span
// never appears to start before the call that caused it.
void StreamTrack::set_anchor() {
  runtime_.record_event(anchor_, stream_);
  runtime_.synchronize_event(anchor_);
  anchor_ns_ = nanoseconds_now() - start_ns_;
}

void* StreamTrack::take() {
  if (free_.empty()) return runtime_.create_event();
  void* event = free_.back();
  free_.pop_back();
  return event;
}

void StreamTrack::give_back(void* event) noexcept try {
  if (event != nullptr) free_.push_back(event);
} catch (...) {  // one event fewer
}

void* StreamTrack::mark() noexcept {
  std::lock_guard lock(mutex_);
  void* event = nullptr;
  try {
    event = take();
    runtime_.record_event(event, stream_);
    return event;
  } catch (...) {
    give_back(event);
    return nullptr;
  }
}

void StreamTrack::add(void* begin, const Span& span) noexcept {
  void* const end = mark();
  bool full = false;
  try {
    std::lock_guard lock(mutex_);
    if (end == nullptr) {
      give_back(begin);
      budget_.dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    pending_.push_back({begin, end, span});
    full = pending_.size() >= batch_;
  } catch (...) {
    budget_.dropped.fetch_add(1, std::memory_order_relaxed);
  }
  if (full) {
    const Record reading("profiler: times of device spans", "profiler");
    resolve();
  }
}

void StreamTrack::resolve() noexcept {
  std::lock_guard lock(mutex_);
  std::size_t done = 0;
  try {
    const DeviceGuard guard(stream_.device);
    if (!pending_.empty()) runtime_.synchronize_event(pending_.back().end);
    for (; done < pending_.size(); ++done) {
      Pending& p = pending_[done];
      p.span.begin_ns = anchor_ns_ + static_cast<int64_t>(1e6 * runtime_.elapsed_ms(anchor_, p.begin));
      p.span.end_ns = p.span.begin_ns + static_cast<int64_t>(1e6 * runtime_.elapsed_ms(p.begin, p.end));
      spans_.add(p.span);
    }
    set_anchor();
  } catch (...) {
    budget_.dropped.fetch_add(static_cast<int64_t>(pending_.size() - done), std::memory_order_relaxed);
  }
  for (const Pending& p : pending_) {
    give_back(p.begin);
    give_back(p.end);
  }
  pending_.clear();
}

Creator creator_of(const MemoryLog::Event& event, const std::vector<std::shared_ptr<ThreadSpans>>& threads) {
  Creator creator;
  int64_t next = INT64_MAX, around = -1;
  for (const auto& thread : threads) {
    if (thread->number != event.thread) continue;
    thread->spans.each([&](const Span& span) {
      const bool kernel = std::string_view(span.category) == "kernel";
      if (kernel && span.begin_ns >= event.time_ns && span.begin_ns < next) {
        next = span.begin_ns;
        creator.kernel = span.name;
        creator.detail = span.note;
      }
      if (!kernel && span.begin_ns <= event.time_ns && span.end_ns > event.time_ns && span.begin_ns > around) {
        around = span.begin_ns;
        creator.inside = span.name;
      }
    });
  }
  return creator;
}

}  // namespace tandem::profiler::detail
