// CapturedStep: a training step that is recorded once and then replayed as one launch.
//
//   cuda::CapturedStep step(
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
// On a CUDA device the function runs as it is for the first calls, then once more to record the work that it
// gives to the device: forward, backward and the optimizer. From then on a call copies its inputs into the
// recorded ones and replays; learning rates, step counts and random numbers are those of the moment, so that
// replayed steps give the bits of eager ones. Elsewhere the function just runs.
//
// What is recorded is the device's work alone. The function's host code does not run in a replay: schedulers
// and counters belong outside. It must not read values (item()) or wait, and what it keeps from one call to
// the next must lie in tensors that it writes in place. Outputs and gradients are written anew by every
// replay: clone what is to last. One thread.
//
// Where a step cannot be replayed it runs as it is, and one line on stderr says why: a shape, dtype, device,
// parameter or mode changed (each such signature gets a recording of its own, in time), or the function does
// what cannot be recorded (then for good; nothing of the failed recording has happened).
#pragma once
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/nn/module.h"
#include "tandem/nn/optim/optimizer.h"

namespace tandem::cuda {

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
      static_assert(std::is_void_v<F>, "a step takes a vector of tensors, or up to ten tensors");
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
  /// Calls of a signature that run as they are before it is recorded; at least 1.
  TANDEM_ARG(int, warm_up) = 3;
  /// Signatures that get a recording; further ones run as they are.
  TANDEM_ARG(int, most_graphs) = 8;
  /// Whether a new signature is said on stderr: not where it is expected, as with a last, smaller batch.
  TANDEM_ARG(bool, say_changes) = true;
};

class CapturedStep {
 public:
  /// `function` takes a const std::vector<Tensor>&, or tensors; it gives a tensor, a vector, pair or tuple of
  /// them, or nothing. `optimizers`: all that it steps; they outlive this.
  template <class F>
  requires(!std::is_convertible_v<F, std::unique_ptr<detail::StepFunction>>) explicit CapturedStep(
      F function, std::vector<optim::Optimizer*> optimizers = {}, CapturedStepOptions options = {})
      : CapturedStep(
            std::unique_ptr<detail::StepFunction>(new detail::StepFunctionOf<F>(std::move(function))),
            std::move(optimizers), options) {}
  CapturedStep(std::unique_ptr<detail::StepFunction> function, std::vector<optim::Optimizer*> optimizers,
               CapturedStepOptions options);
  ~CapturedStep();
  CapturedStep(CapturedStep&&) noexcept;
  CapturedStep& operator=(CapturedStep&&) noexcept;

  /// Train or eval mode, parameters and buffers of `module` are part of the signature too. It outlives this.
  void watch(nn::Module& module);

  /// One step; the function's outputs, detached. Throws what the function throws: a recording is then given
  /// up and nothing of it has happened.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);
  template <class... More>
  std::vector<Tensor> operator()(const Tensor& first, const More&... more) {
    return (*this)(std::vector<Tensor>{first, more...});
  }

  /// Whether the last call was a replay.
  bool captured() const;
  /// Replays so far: each is one launch.
  uint64_t launches() const;
  /// Recordings that there are.
  std::size_t graphs() const;
  /// The last line that went to stderr.
  const std::string& message() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::cuda
