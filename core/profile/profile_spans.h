// The profiler's internals: spans, per-thread buffers, and tracks of device streams.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/core/profile.h"
#include "tandem/core/profile/profile_memory.h"
#include "tandem/core/stream.h"

namespace tandem {
struct RuntimeKernels;
}

namespace tandem::profiler::detail {

struct Span {
  int64_t begin_ns = 0, end_ns = 0;  // relative to the profile's start
  const char* name = nullptr;        // a literal or interned
  const char* category = nullptr;
  char note[48] = "";  // shapes and the like, truncated to fit
};

/// A copy of `text` that is never freed; "(other)" beyond 65,536 different names.
const char* interned(std::string_view text);
/// Copies `text` into a span's note; longer text is cut and ends in "...".
void set_note(char (&note)[48], std::string_view text);
/// begin_span also records on the current stream of `device`, unless null. Call end_span exactly once, or not
/// at all if the span is abandoned.
void begin_span(Open& open, const Device* device) noexcept;
void end_span(const Open& open, Span span) noexcept;

/// The number of spans still allowed, and the number dropped.
struct Budget {
  explicit Budget(int64_t most) : left(most) {}
  std::atomic<int64_t> left, dropped{0};
};

/// Spans in chunks: one thread appends, and any thread may read the spans already appended.
class SpanList {
 public:
  explicit SpanList(Budget& budget) : budget_(budget) {}
  ~SpanList();
  SpanList(const SpanList&) = delete;
  SpanList& operator=(const SpanList&) = delete;
  void add(const Span& span);
  template <class F>
  void each(F&& f) const {
    for (const Chunk* chunk = first_.load(std::memory_order_acquire); chunk != nullptr;
         chunk = chunk->next.load(std::memory_order_acquire))
      for (int64_t i = 0, n = chunk->count.load(std::memory_order_acquire); i < n; ++i) f(chunk->spans[i]);
  }

 private:
  struct Chunk {
    std::unique_ptr<Span[]> spans;
    int64_t size = 0;
    std::atomic<int64_t> count{0};
    std::atomic<Chunk*> next{nullptr};
  };
  bool grow();
  Budget& budget_;
  std::atomic<Chunk*> first_{nullptr};
  Chunk* last_ = nullptr;
};

/// Spans of one stream, timed by pairs of events; one thread begins and ends them. Events are read in batches
/// of thousands, which waits for the stream. Never throws: a failed span counts as dropped.
class StreamTrack {
 public:
  static constexpr std::size_t kBatch = 4096;
  StreamTrack(const RuntimeKernels& runtime, StreamHandle stream, int64_t start_ns, Budget& budget,
              std::size_t batch = kBatch);
  ~StreamTrack();
  StreamTrack(const StreamTrack&) = delete;
  StreamTrack& operator=(const StreamTrack&) = delete;

  /// An event recorded now; nullptr if none can be created.
  void* mark() noexcept;
  /// Adds a span from `begin`, which mark() returned, to now. resolve() sets its times.
  void add(void* begin, const Span& span) noexcept;
  /// Reads the times of the pending spans.
  void resolve() noexcept;
  const SpanList& spans() const { return spans_; }
  StreamHandle stream() const { return stream_; }

 private:
  struct Pending {
    void *begin, *end;
    Span span;
  };
  void* take();
  void give_back(void* event) noexcept;
  void set_anchor();
  const RuntimeKernels& runtime_;
  StreamHandle stream_;
  int64_t start_ns_, anchor_ns_ = 0;
  Budget& budget_;
  std::size_t batch_;
  std::mutex mutex_;  // used by the owning thread and by the one that ends the profile
  void* anchor_ = nullptr;
  std::vector<void*> free_;
  std::vector<Pending> pending_;
  SpanList spans_;
};

/// The spans that one thread has recorded.
struct ThreadSpans {
  ThreadSpans(Budget& budget, int number_, std::string name_)
      : number(number_), name(std::move(name_)), spans(budget) {}
  int number;
  std::string name;
  SpanList spans;
  std::mutex tracks_mutex;  // guards the list; held briefly
  std::vector<std::unique_ptr<StreamTrack>> tracks;
};

/// The creator of a storage: the kernel that its thread ran next, which usually writes it,
/// and the innermost span around it.
struct Creator {
  const char* kernel = nullptr;
  std::string detail;  // the kernel's dtype and shapes
  const char* inside = nullptr;
};
Creator creator_of(const MemoryLog::Event& event, const std::vector<std::shared_ptr<ThreadSpans>>& threads);

/// The contents of a trace file.
struct Trace {
  const std::vector<std::shared_ptr<ThreadSpans>>& threads;
  const MemoryLog& memory;
  int64_t max_spans, dropped;
  int64_t start_ns;  // of the machine's clock, which all its processes share
};
/// Writes the trace to `path` and returns the number of spans. Throws Error.
int64_t write_trace(const std::string& path, const Trace& trace);

}  // namespace tandem::profiler::detail
