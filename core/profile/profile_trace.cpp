// The profile as a file: Chrome's Trace Event Format, complete events ("ph": "X") with times in microseconds.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/profile/profile_spans.h"

namespace tandem::profiler::detail {
namespace {

// The length of the UTF-8 character that `text` starts with; 0 if it is invalid.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned a = byte(0), b = byte(1);
  if (a < 0x80) return 1;
  if (a >= 0xC2 && a < 0xE0 && follows(1)) return 2;
  if (a >= 0xE0 && a < 0xF0 && follows(1) && follows(2) && !(a == 0xE0 && b < 0xA0) && !(a == 0xED && b >= 0xA0))
    return 3;
  if (a >= 0xF0 && a < 0xF5 && follows(1) && follows(2) && follows(3) && !(a == 0xF0 && b < 0x90) &&
      !(a == 0xF4 && b >= 0x90))
    return 4;
  return 0;
}

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path) { text_.reserve(kFlush + 4096); }

  Writer& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  Writer& number(int64_t value) { return raw(std::to_string(value)); }
  // Writes nanoseconds as microseconds.
  Writer& time(int64_t ns) {
    char digits[32];
    ns = std::max<int64_t>(ns, 0);
    std::snprintf(digits, sizeof digits, "%lld.%03d", static_cast<long long>(ns / 1000), static_cast<int>(ns % 1000));
    return raw(digits);
  }
  Writer& quoted(std::string_view text) {
    raw("\"");
    while (!text.empty()) {
      const std::size_t length = utf8_length(text);
      character(text, length);
      text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return raw("\"");
  }
  void end_line() {
    raw(",\n");
    if (text_.size() >= kFlush) flush();
  }
  void commit() {
    flush();
    file_.commit();
  }

 private:
  static constexpr std::size_t kFlush = 1 << 20;
  void character(std::string_view text, std::size_t length) {
    const char c = text.front();
    char code[8];
    if (length == 0) {
      raw("\\ufffd");
    } else if (c == '"' || c == '\\') {
      raw("\\").raw(text.substr(0, 1));
    } else if (length == 1 && static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      raw(code);
    } else {
      raw(text.substr(0, length));
    }
  }
  void flush() {
    file_.write(text_);
    text_.clear();
  }
  AtomicFile file_;
  std::string text_;
};

// Writes a track's metadata: its name and position.
void write_track(Writer& out, int64_t track, std::string_view name) {
  out.end_line();
  out.raw(R"({"ph":"M","pid":1,"tid":)").number(track).raw(R"(,"name":"thread_name","args":{"name":)");
  out.quoted(name).raw("}}");
  out.end_line();
  out.raw(R"({"ph":"M","pid":1,"tid":)").number(track).raw(R"(,"name":"thread_sort_index","args":{)");
  out.raw(R"("sort_index":)").number(track).raw("}}");
}

int64_t write_spans(Writer& out, int64_t track, const SpanList& spans) {
  int64_t count = 0;
  spans.each([&](const Span& span) {
    out.end_line();
    out.raw(R"({"ph":"X","pid":1,"tid":)").number(track).raw(R"(,"ts":)").time(span.begin_ns);
    out.raw(R"(,"dur":)").time(span.end_ns - span.begin_ns).raw(R"(,"name":)").quoted(span.name);
    out.raw(R"(,"cat":)").quoted(span.category);
    if (span.note[0] != '\0') out.raw(R"(,"args":{"detail":)").quoted(span.note).raw("}");
    out.raw("}");
    ++count;
  });
  return count;
}

// The bytes held on each device as counters. Changes of less than 1/500 of the peak since the last one are left out.
void write_memory(Writer& out, const MemoryLog& memory, const std::vector<MemoryLog::Peak>& peaks) {
  std::vector<int64_t> written(peaks.size(), -1);
  memory.each([&](const MemoryLog::Event& event, int64_t bytes) {
    std::size_t i = 0;
    while (!(peaks[i].device == event.device)) ++i;
    const int64_t change = std::abs(bytes - written[i]);
    if (written[i] >= 0 && bytes != peaks[i].bytes && change <= peaks[i].bytes / 500) return;
    written[i] = bytes;
    out.end_line();
    out.raw(R"({"ph":"C","pid":1,"ts":)").time(event.time_ns).raw(R"(,"name":)");
    out.quoted("tensors on " + event.device.str()).raw(R"(,"args":{"bytes":)").number(bytes).raw("}}");
  });
}

// The storages held at each device's peak.
void write_peaks(Writer& out, const Trace& trace, const std::vector<MemoryLog::Peak>& peaks) {
  const char* separator = "";
  out.raw(R"(,"memory":[)");
  for (const MemoryLog::Peak& peak : peaks) {
    out.raw(separator).raw(R"({"device":)").quoted(peak.device.str());
    out.raw(R"(,"peak_bytes":)").number(peak.bytes).raw(R"(,"peak_us":)").time(peak.time_ns);
    out.raw(R"(,"held_before":)").number(peak.before).raw(R"(,"largest":[)");
    const char* comma = "";
    for (const MemoryLog::Event& event : peak.largest) {
      const Creator creator = creator_of(event, trace.threads);
      out.raw(comma).raw(R"({"bytes":)").number(event.bytes).raw(R"(,"since_us":)").time(event.time_ns);
      out.raw(R"(,"kernel":)").quoted(creator.kernel != nullptr ? creator.kernel : "");
      out.raw(R"(,"detail":)").quoted(creator.detail);
      out.raw(R"(,"inside":)").quoted(creator.inside != nullptr ? creator.inside : "").raw("}");
      comma = ",\n";
    }
    out.raw("]}");
    separator = ",\n";
  }
  out.raw("]");
}

}  // namespace

int64_t write_trace(const std::string& path, const Trace& trace) {
  Writer out(path);
  out.raw(R"({"displayTimeUnit":"ms","traceEvents":[)");
  out.raw(
      "\n"
      R"({"ph":"M","pid":1,"name":"process_name","args":{"name":)");
  out.quoted(program_invocation_short_name).raw("}}");
  int64_t count = 0, device_track = 100'000;
  for (const auto& thread : trace.threads) {
    write_track(out, thread->number, thread->name);
    count += write_spans(out, thread->number, thread->spans);
    std::lock_guard lock(thread->tracks_mutex);
    for (const auto& track : thread->tracks) {
      const std::string name = track->stream().device.str() + " stream";
      write_track(out, ++device_track, thread->number == 1 ? name : name + " of " + thread->name);
      count += write_spans(out, device_track, track->spans());
    }
  }
  const std::vector<MemoryLog::Peak> peaks = trace.memory.peaks();
  write_memory(out, trace.memory, peaks);
  out.raw(
         "\n"
         R"(],"otherData":{"process_id":)")
      .number(getpid())
      .raw(R"(,"spans":)")
      .number(count);
  out.raw(R"(,"start_us":)").time(trace.start_ns);
  out.raw(R"(,"most_spans":)").number(trace.max_spans);
  out.raw(R"(,"dropped_spans":)").number(trace.dropped);
  out.raw(R"(,"dropped_storages":)").number(trace.memory.dropped());
  write_peaks(out, trace, peaks);
  out.raw("}}\n");
  out.commit();
  return count;
}

}  // namespace tandem::profiler::detail
