// Rows of a GPU benchmark: one line of JSON per row, which tests/gpu_report.py collects in a table.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

inline void row(const char* source, const std::string& key, double value, const std::string& part = "") {
  std::printf(R"({"source": "%s", "row": "%s", "value": %.9g, "part": "%s"})"
              "\n",
              source, key.c_str(), value, part.c_str());
  std::fflush(stdout);
}
/// Reports why there is no figure. Only the first line of `why` is used; quotes become apostrophes.
inline void absent(const char* source, const std::string& key, std::string why) {
  why = why.substr(0, std::min<std::size_t>(why.find('\n'), 200));
  std::replace(why.begin(), why.end(), '"', '\'');
  std::replace(why.begin(), why.end(), '\\', '/');
  std::printf(R"({"source": "%s", "row": "%s", "absent": "%s"})"
              "\n",
              source, key.c_str(), why.c_str());
  std::fflush(stdout);
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}
/// The median of `repeats` calls, after `warm` others.
template <class F>
double median_of(int warm, int repeats, const F& seconds) {
  for (int i = 0; i < warm; ++i) seconds();
  std::vector<double> all;
  for (int i = 0; i < repeats; ++i) all.push_back(seconds());
  return median(all);
}

/// The convolutions of ResNet-50 at 224 x 224: channels in, size, channels out, kernel, stride.
struct ConvShape {
  int in, size, out, kernel, stride;
  int padding() const { return kernel / 2; }
  std::string name() const {
    return std::to_string(in) + "x" + std::to_string(size) + "x" + std::to_string(size) + " " + std::to_string(kernel) +
           "x" + std::to_string(kernel) + "/" + std::to_string(stride) + " -> " + std::to_string(out);
  }
};
inline const ConvShape kResNet50[] = {
    {3, 224, 64, 7, 2},    {64, 56, 64, 1, 1},   {64, 56, 64, 3, 1},    {64, 56, 256, 1, 1},   {256, 56, 64, 1, 1},
    {256, 56, 128, 1, 1},  {128, 56, 128, 3, 2}, {256, 56, 512, 1, 2},  {128, 28, 512, 1, 1},  {512, 28, 128, 1, 1},
    {128, 28, 128, 3, 1},  {512, 28, 256, 1, 1}, {256, 28, 256, 3, 2},  {512, 28, 1024, 1, 2}, {256, 14, 1024, 1, 1},
    {1024, 14, 256, 1, 1}, {256, 14, 256, 3, 1}, {1024, 14, 512, 1, 1}, {512, 14, 512, 3, 2},  {1024, 14, 2048, 1, 2},
    {512, 7, 2048, 1, 1},  {2048, 7, 512, 1, 1}, {512, 7, 512, 3, 1},
};
inline constexpr int kConvBatch = 32;

}  // namespace bench
