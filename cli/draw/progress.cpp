// The bar only needs "\r" and "erase to the end of the line".
#include "tandem/cli/draw/progress.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/base/number_text.h"

namespace tandem::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kMinBar = 6, kMaxBar = 40;

std::string repeat(const char* text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string bar(double fraction, int width, const Terminal& terminal) {
  const int done = static_cast<int>(std::floor(fraction * width + 1e-9));
  if (!terminal.unicode)
    return "[" + repeat("=", done) + (done < width ? ">" : "") + repeat(" ", width - done - 1) + "]";
  return styled(repeat("━", done), "36", terminal.colors) +
         (terminal.colors != 0 ? styled(repeat("━", width - done), "90", terminal.colors) : repeat("─", width - done));
}

}  // namespace

std::string progress_line(const ProgressView& view, const Terminal& terminal) {
  const int columns = std::max(terminal.columns - 1, 1);
  const double fraction = std::clamp(view.fraction, 0.0, 1.0);
  const bool known = view.fraction >= 0;
  const std::string percent = known ? number_text(std::floor(fraction * 100), 'f', 0, 3) + "%" : "";
  const int brackets = terminal.unicode ? 0 : 2;
  const int head = display_width(view.title) + (known ? 6 : 0);
  // As many fields as leave space for the shortest bar.
  std::string tail;
  int tail_width = 0;
  for (const std::string& field : view.fields) {
    const int width = display_width(field) + 2;
    if (head + tail_width + width + (known ? kMinBar + brackets + 1 : 0) > columns) break;
    tail += "  " + field;
    tail_width += width;
  }
  std::string line = view.title;
  if (known) {
    const int room = std::min(columns - head - tail_width - brackets - 1, kMaxBar);
    if (room >= kMinBar) line += " " + bar(fraction, room, terminal);
    line += " " + percent;
  }
  return fit(line + tail, columns);
}

std::vector<std::string> training_fields(const TrainingFigures& figures) {
  const double rate = std::isfinite(figures.images_per_second) ? figures.images_per_second : 0;
  return {"loss " + fixed(figures.loss, 4), "accuracy " + fixed(figures.accuracy, 4),
          with_commas(std::llround(rate)) + " images/s", clock_time(figures.seconds_left) + " left"};
}

ProgressBar::ProgressBar(const Terminal& terminal, std::FILE* out) : terminal_(terminal), out_(out) {}

ProgressBar::~ProgressBar() { clear(); }

bool ProgressBar::due() const { return terminal_.interactive && (!shown_ || Clock::now() - drawn_ >= kInterval); }

void ProgressBar::draw(const ProgressView& view) {
  if (!terminal_.interactive) return;
  if (const int columns = columns_of(fileno(out_)); columns > 0) terminal_.columns = columns;
  const std::string line = "\r" + progress_line(view, terminal_) + "\x1b[K";
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
  shown_ = true;
  drawn_ = Clock::now();
}

void ProgressBar::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
  shown_ = false;
}

void ProgressBar::print(const std::string& line) {
  clear();
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

}  // namespace tandem::cli
