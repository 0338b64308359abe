// The time of a training step (forward and backward) of a transformer encoder, for transformer.py. Prints the smallest
// and the median of the repetitions in milliseconds: processor time on one thread, which other programs disturb less.
//
//   bench_transformer THREADS REPETITIONS LAYERS WIDTH HEADS TOKENS BATCH DROPOUT
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tandem/core/base/clock.h"
#include "tandem/tandem.h"

using namespace tandem;

int main(int argc, char** argv) {
  if (argc < 9) {
    std::fprintf(stderr, "bench_transformer THREADS REPETITIONS LAYERS WIDTH HEADS TOKENS BATCH DROPOUT\n");
    return 2;
  }
  const auto number = [&](int i) { return static_cast<int64_t>(std::atoll(argv[i])); };
  set_num_threads(static_cast<int>(number(1)));
  manual_seed(0);
  nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(number(4), number(5))
                                                                   .dim_feedforward(4 * number(4))
                                                                   .dropout(std::atof(argv[8])),
                                                               number(3)));
  const Tensor x = randn({number(6), number(7), number(4)}), target = randn({number(6), number(7), number(4)});
  const auto step = [&] {
    encoder->zero_grad();
    mse_loss(encoder(x), target).backward();
  };
  const bool single = number(1) == 1;
  const auto now = [&] { return 1e3 * (single ? cpu_seconds_now() : seconds_now()); };
  step();
  std::vector<double> times;
  for (int64_t i = 0; i < number(2); ++i) {
    const double begin = now();
    step();
    times.push_back(now() - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf("%.2f %.2f\n", times.front(), times[times.size() / 2]);
}
