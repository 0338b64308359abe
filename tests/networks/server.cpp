// Trains the networks that random_networks.py draws:  test_networks < DESCRIPTIONS
//   test_networks --describe   prints the elementwise functions (pointwise_table.h)
//
// A request is "train VARIANTS DTYPE", the lines of a description (network.h), and "end"; with VARIANTS 1 training is
// compared with itself. The answer: "loss NUMBER" for each step, "value NAME NUMBERS…" for each parameter and buffer,
// "error MESSAGE" or "differs MESSAGE", and "end". Numbers are hexadecimal. With VARIANTS 2 the answer is that of
// on_device (variants.h), or an error.
#include <cmath>
#include <cstdio>
#include <iostream>

#include "tandem/tests/networks/variants.h"

namespace tandem::testing {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void print(const char* kind, const std::string& name, const Tensor& x) {
  std::printf("%s %s", kind, name.c_str());
  const Tensor values = x.to(kDouble).contiguous();
  for (int64_t i = 0; i < values.numel(); ++i) {
    const double number = values.data_ptr<double>()[i];
    if (std::isnan(number))
      std::printf(" nan");  // whatever its sign, which is the processor's
    else
      std::printf(" %a", number);
  }
  std::printf("\n");
}

void answer(const Words& lines, int variants, ScalarType dtype) try {
  const auto description = std::make_shared<const Description>(lines);
  if (variants >= 2) {
    for (const std::string& text : on_device(description, dtype, Device(variants == 2 ? kCUDA : kCPU, 0)))
      std::printf("%s\n", one_line(text).c_str());
    return;
  }
  Training training(description, dtype);
  training.run();
  const Outcome plain = training.outcome();
  for (const Tensor& loss : plain.losses) print("loss", "", loss);
  for (const auto& [name, value] : plain.state) print("value", name, value);
  if (variants == 0) return;
  for (const std::string& text : differences(description, dtype, plain))
    std::printf("differs %s\n", one_line(text).c_str());
} catch (const std::exception& error) {
  std::printf("error %s\n", one_line(error.what()).c_str());
}

void serve() {
  std::string line;
  Words lines, request;
  while (std::getline(std::cin, line)) {
    if (line == "end") {
      answer(lines, std::stoi(request.at(1)), dtype_named(request.at(2)));
      std::printf("end\n");
      std::fflush(stdout);
    } else if (line.starts_with("train ")) {
      request = split_words(line, ' ');
      lines.clear();
    } else {
      lines.push_back(line);
    }
  }
}

}  // namespace
}  // namespace tandem::testing

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--describe") return tandem::testing::print_described(), 0;
  tandem::set_logical_devices(tandem::kCPU, 4);
  tandem::set_num_threads(1);
  tandem::testing::serve();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "test_networks: %s\n", error.what());
  return 2;
}
