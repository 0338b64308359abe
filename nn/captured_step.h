// CapturedStep: a training step that is recorded once and then replayed: on a GPU as a single launch, on the CPU as a list
// of kernel calls without tape, allocations and checks.
//
//   CapturedStep step(
//       [&](const Tensor& images, const Tensor& labels) {
//         optimizer.zero_grad();
//         Tensor loss = cross_entropy_loss(net->forward(images), labels);
//         loss.backward();
//         optimizer.step();
//         return loss;
//       },
//       {&optimizer});
//   for (…) Tensor loss = step(images, labels)[0];
//
// The first calls run the function eagerly. One more call records the kernels that the function calls: forward, backward
// and the optimizer. From then on a call copies its inputs into the recorded ones and replays. Learning rates, step counts
// and random numbers are current at each replay, so replayed steps produce the same bits as eager ones.
//
// Only kernels are recorded. The function's host code does not run during a replay, so keep schedulers and counters
// outside. The function must not read or write elements on the host (item(), data_ptr()), synchronise, or call other
// processes, and any state it keeps between calls must be in tensors that it writes in place. Every replay overwrites the
// outputs and gradients: clone what must survive. Not thread-safe.
//
// A step that cannot be replayed runs eagerly, and one line on stderr gives the reason. Either a shape,
// dtype, device, parameter or mode changed (each such signature is recorded separately after its own
// warm-up), or the function does something that cannot be recorded (then every later call runs eagerly; a
// failed recording has no effect).
#pragma once
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/fusion_counts.h"
#include "tandem/nn/module.h"
#include "tandem/nn/optim/optimizer.h"

namespace tandem {

namespace detail {

class StepFunction {
 public:
  virtual ~StepFunction() = default;
  virtual std::vector<Tensor> run(const std::vector<Tensor>& inputs) = 0;
};

inline std::vector<Tensor> step_outputs(std::vector<Tensor> outputs) { return outputs; }
inline std::vector<Tensor> step_outputs(Tensor output) { return {std::move(output)}; }
template <class... T>
std::vector<Tensor> step_outputs(const std::tuple<T...>& outputs) {
  return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; }, outputs);
}
template <class A, class B>
std::vector<Tensor> step_outputs(const std::pair<A, B>& outputs) {
  return {outputs.first, outputs.second};
}

[[noreturn]] void wrong_input_count(std::size_t expected, std::size_t given);

template <class F>
class StepFunctionOf final : public StepFunction {
 public:
  explicit StepFunctionOf(F function) : function_(std::move(function)) {}
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) override {
    if constexpr (std::is_invocable_v<F&, const std::vector<Tensor>&>)
      return outputs([&]() -> decltype(auto) { return function_(inputs); });
    else
      return unpack(inputs, std::index_sequence<>());
  }

 private:
  template <std::size_t>
  using Input = const Tensor&;
  template <std::size_t... i>
  std::vector<Tensor> unpack(const std::vector<Tensor>& inputs, std::index_sequence<i...>) {
    if constexpr (std::is_invocable_v<F&, Input<i>...>) {
      if (inputs.size() != sizeof...(i)) wrong_input_count(sizeof...(i), inputs.size());
      return outputs([&]() -> decltype(auto) { return function_(inputs[i]...); });
    } else if constexpr (sizeof...(i) < 10) {
      return unpack(inputs, std::make_index_sequence<sizeof...(i) + 1>());
    } else {
      static_assert(std::is_void_v<F>, "a step function must take a vector of tensors or up to ten tensors");
    }
  }
  template <class Call>
  static std::vector<Tensor> outputs(Call&& call) {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return {};
    } else {
      return step_outputs(call());
    }
  }
  F function_;
};

}  // namespace detail

struct CapturedStepOptions {
  /// Eager calls per signature before it is recorded; at least 1.
  int warm_up = 3;
  /// Maximum number of recorded signatures; further signatures run eagerly.
  int max_graphs = 8;
  /// Whether to report a new signature on stderr. Turn off if one is expected, as for a smaller last batch.
  bool say_changes = true;
  /// Whether kernels that follow each other element by element are recorded as one, with the same bits.
  bool fuse = true;
};

class CapturedStep {
 public:
  /// `function` takes a const std::vector<Tensor>& or up to ten tensors. It returns a tensor, a vector, pair
  /// or tuple of tensors, or nothing. `optimizers`: every optimizer that it steps; each must outlive this. With one that
  /// cannot be replayed (Optimizer::can_be_replayed) the step runs eagerly.
  template <class F>
  requires(!std::is_convertible_v<F, std::unique_ptr<detail::StepFunction>>) explicit CapturedStep(
      F function, std::vector<optim::Optimizer*> optimizers = {}, CapturedStepOptions options = {})
      : CapturedStep(std::unique_ptr<detail::StepFunction>(new detail::StepFunctionOf<F>(std::move(function))),
                     std::move(optimizers), options) {}
  CapturedStep(std::unique_ptr<detail::StepFunction> function, std::vector<optim::Optimizer*> optimizers,
               CapturedStepOptions options);
  ~CapturedStep();
  CapturedStep(CapturedStep&&) noexcept;
  CapturedStep& operator=(CapturedStep&&) noexcept;

  /// Adds the train/eval mode, parameters and buffers of `module` to the signature. It must outlive this.
  void watch(nn::Module& module);

  /// Runs one step and returns the function's outputs, detached. Rethrows the function's exceptions; an
  /// exception during recording abandons the recording, which then has no effect.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);
  template <class... More>
  std::vector<Tensor> operator()(const Tensor& first, const More&... more) {
    return (*this)(std::vector<Tensor>{first, more...});
  }

  /// Whether the last call was a replay.
  bool captured() const;
  /// Number of replays so far; each is one launch.
  uint64_t launches() const;
  /// What fusion has done to the last recording.
  FusionCounts fused() const;
  /// Number of recordings.
  std::size_t graphs() const;
  /// The last line written to stderr.
  const std::string& message() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace cuda {
using tandem::CapturedStep;
using tandem::CapturedStepOptions;
}  // namespace cuda

}  // namespace tandem
