// Transforms for Dataset::map, applied to each example (Transform and its subclasses) or to the whole batch
// (BatchTransform, Collation, Stack). They run in the loader's workers, one copy per worker.
#pragma once
#include <functional>
#include <type_traits>
#include <vector>

#include "tandem/datasets/example.h"

namespace tandem::data::transforms {

template <typename InputBatch, typename OutputBatch>
class BatchTransform {
 public:
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  virtual ~BatchTransform() = default;
  virtual OutputBatch apply_batch(InputBatch input_batch) = 0;
};

template <typename Input, typename Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  using InputType = Input;
  using OutputType = Output;
  virtual OutputType apply(InputType input) = 0;

  std::vector<Output> apply_batch(std::vector<Input> input_batch) override {
    std::vector<Output> output_batch;
    output_batch.reserve(input_batch.size());
    for (auto&& input : input_batch) output_batch.push_back(apply(std::move(input)));
    return output_batch;
  }
};

/// Converts a batch of examples to one object.
template <typename T, typename BatchType = std::vector<T>>
using Collation = BatchTransform<BatchType, T>;

template <typename Input, typename Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using FunctionType = std::function<Output(Input)>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  Output apply_batch(Input input_batch) override { return function_(std::move(input_batch)); }

 private:
  FunctionType function_;
};

template <typename T, typename BatchType = std::vector<T>>
using Collate = BatchLambda<BatchType, T>;

template <typename Input, typename Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using FunctionType = std::function<Output(Input)>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  Output apply(Input input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

/// Transforms the data of an example and leaves its target unchanged.
template <typename Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  using E = Example<Tensor, Target>;
  virtual Tensor operator()(Tensor input) = 0;
  E apply(E input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

template <typename Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = std::function<Tensor(Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

namespace detail {
/// C values as float32 [C, 1, 1].
Tensor channel_values(ArrayRef<double> values);
/// Normalises stacked examples [B, …] as if each were normalised separately.
Tensor normalize_stacked(const Tensor& data, const Tensor& mean, const Tensor& stddev);
}  // namespace detail

/// (input - mean) / stddev for float images [C, H, W], with one value per channel or one for all.
template <typename Target = Tensor>
struct Normalize : public TensorTransform<Target> {
  Normalize(ArrayRef<double> mean_, ArrayRef<double> stddev_)
      : mean(detail::channel_values(mean_)), stddev(detail::channel_values(stddev_)) {}
  Tensor operator()(Tensor input) override { return input.sub(mean).div(stddev); }

  /// The same for a stacked batch, with bitwise identical results.
  using StackedSelf = Normalize;
  Example<Tensor, Target> apply_stacked(Example<Tensor, Target> batch) {
    batch.data = detail::normalize_stacked(batch.data, mean, stddev);
    return batch;
  }

  Tensor mean, stddev;
};

/// Stacks examples into one example; data and targets get a new first dimension.
template <typename T = Example<>>
struct Stack;

template <>
struct Stack<Example<>> : public Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override;
};
template <>
struct Stack<TensorExample> : public Collation<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override;
};
/// For examples that are lists of tensors, all of the same length.
template <>
struct Stack<std::vector<Tensor>> : public Collation<std::vector<Tensor>> {
  std::vector<Tensor> apply_batch(std::vector<std::vector<Tensor>> examples) override;
};

}  // namespace tandem::data::transforms
