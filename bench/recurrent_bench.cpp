// Training and inference of recurrent layers: 50 steps, batch 32, input and hidden size 256. Prints processor time, so
// that figures on a busy machine remain comparable; recurrent_torch.py measures the same with PyTorch.
//
//   bench_recurrent [THREADS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tandem/core/base/clock.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

// The least and the median of 15 calls, after three, in milliseconds.
template <class F>
void measure(const char* layer, const char* what, F f) {
  for (int i = 0; i < 3; ++i) f();
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    const double begin = cpu_seconds_now();
    f();
    times.push_back((cpu_seconds_now() - begin) * 1e3);
  }
  std::sort(times.begin(), times.end());
  std::printf("%s %s %.2f %.2f\n", layer, what, times[0], times[7]);
}

template <class Layer>
void measure_layer(const char* name, Layer layer, const Tensor& x) {
  measure(name, "training", [&] {
    layer->zero_grad();
    std::get<0>(layer(x)).sum().backward();
  });
  measure(name, "inference", [&] {
    NoGradGuard no_grad;
    layer(x);
  });
}

}  // namespace

int main(int argc, char** argv) {
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const Tensor x = randn({50, 32, 256});
  measure_layer("lstm", nn::LSTM(256, 256), x);
  measure_layer("gru", nn::GRU(256, 256), x);
  measure_layer("rnn", nn::RNN(256, 256), x);
}
