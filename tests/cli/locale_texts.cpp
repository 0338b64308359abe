// Writes every kind of text with numbers in a locale: locale_texts NAME FOLDER. Exits with 77 if the locale
// does not exist or has no decimal comma.
#include <clocale>
#include <cstdio>
#include <iostream>
#include <locale>
#include <sstream>

#include "tandem/cli/draw/axis.h"
#include "tandem/cli/draw/curve_svg.h"
#include "tandem/cli/draw/progress.h"
#include "tandem/cli/draw/svg.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

bool choose(const char* name) {
  if (std::setlocale(LC_ALL, name) == nullptr) return false;
  try {
    std::locale::global(std::locale(name));
  } catch (const std::runtime_error&) {
    return false;
  }
  std::cout.imbue(std::locale());
  std::ostringstream text;
  text << 1234567.5;
  char c_text[8];
  std::snprintf(c_text, sizeof c_text, "%.1f", 0.5);
  return std::string(name) == "C" || (text.str().find(',') != std::string::npos && c_text[1] == ',');
}

template <class Value>
void show(const char* what, const Value& value) {
  std::ostringstream made_here;  // has the global locale
  made_here << value;
  std::cout << what << ": " << made_here.str() << '\n' << value << '\n';
}

void show_library(const std::string& folder) {
  show("tensor", tensor({0.5, 1234567.25, -1e-7}));
  show("large tensor", full({2, 2}, 1234567));
  show("matrix", arange(12345, 12351, kFloat).view({2, 3}) / 7);
  show("scalar", Scalar(1234.5));
  show("whole scalar", Scalar(int64_t{1234567}));
  show("sizes", IntArrayRef{1234, 5678});
  nn::Sequential net(nn::Linear(1234, 5678), nn::BatchNorm2d(nn::BatchNorm2dOptions(2000).eps(0.0025)),
                     nn::Dropout(0.25), nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.125)),
                     nn::LayerNorm(nn::LayerNormOptions({1500})), nn::Softplus(nn::SoftplusOptions().beta(1.5)));
  show("modules", net);
  show("options", TensorOptions(kFloat));
  try {
    full({1234567}, 0.5).view({1234, 0});
  } catch (const Error& error) {
    std::cout << error.what() << '\n';
  }
  std::cout << concat("concat: ", 1234567, " ", 0.5, " ", 1e-7f, " ", 1e20) << '\n';

  serialize::OutputArchive out;
  out.write("lr", 0.0625);
  out.write("steps", int64_t{1234567});
  out.write("t", full({3}, 1.5));
  out.save_to(folder + "/archive.safetensors");
  serialize::InputArchive in;
  in.load_from(folder + "/archive.safetensors");
  double lr = 0;
  in.read("lr", lr);
  std::cout << "read back: " << (lr == 0.0625 ? "the same" : "another number") << '\n';
}

void show_tool(const std::string& folder) {
  using namespace tandem::cli;
  std::cout << fixed(1234.5678, 2) << ' ' << fixed(1e12, 3) << ' ' << with_commas(1234567) << ' '
            << byte_size(1536 * 1024.0) << ' ' << clock_time(3725.4) << ' ' << svg_number(0.25) << '\n';
  std::cout << make_axis({0.1, 0.55, 2500.5}, 5, {}).label(0.25) << '\n';
  std::cout << progress_line({.title = "epoch", .fraction = 0.625, .fields = {"loss " + fixed(0.5, 4)}}, {}) << '\n';
  write_curve_svg(folder + "/curve.svg", {.title = "t",
                                          .note = "n",
                                          .train_accuracy = {0.1, 0.5},
                                          .test_accuracy = {0.2, 0.625},
                                          .train_loss = {2.5, 1.25},
                                          .test_loss = {2.25, 1.125}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !choose(argv[1])) return 77;
  show_library(argv[2]);
  show_tool(argv[2]);
}
