// What Dataset::map applies to batches: to each example by itself (Transform and below), or to the batch as a
// whole (BatchTransform, Collation, Stack). They run in the loader's workers, a copy in each.
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

/// A batch of examples to one object.
template <typename T, typename BatchType = std::vector<T>>
using Collation = BatchTransform<BatchType, T>;

template <typename Input, typename Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using typename BatchTransform<Input, Output>::InputBatchType;
  using typename BatchTransform<Input, Output>::OutputBatchType;
  using FunctionType = std::function<OutputBatchType(InputBatchType)>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  OutputBatchType apply_batch(InputBatchType input_batch) override {
    return function_(std::move(input_batch));
  }

 private:
  FunctionType function_;
};

template <typename T, typename BatchType = std::vector<T>>
using Collate = BatchLambda<BatchType, T>;

template <typename Input, typename Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using typename Transform<Input, Output>::InputType;
  using typename Transform<Input, Output>::OutputType;
  using FunctionType = std::function<Output(Input)>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  OutputType apply(InputType input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

/// Changes the data of an example and leaves its target alone.
template <typename Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  using E = Example<Tensor, Target>;
  using typename Transform<E, E>::InputType;
  using typename Transform<E, E>::OutputType;
  virtual Tensor operator()(Tensor input) = 0;
  OutputType apply(InputType input) override {
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
/// float32 [C, 1, 1] of C values.
Tensor channel_values(ArrayRef<double> values);
/// `normalize(data)` for data [B, …] of stacked examples as if each example were normalised alone.
Tensor normalize_stacked(const Tensor& data, const Tensor& mean, const Tensor& stddev);
}  // namespace detail

/// (input - mean) / stddev, for float images [C, H, W]: one value a channel, or one for all.
template <typename Target = Tensor>
struct Normalize : public TensorTransform<Target> {
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev)
      : mean(detail::channel_values(mean)), stddev(detail::channel_values(stddev)) {}
  Tensor operator()(Tensor input) override { return input.sub(mean).div(stddev); }

  /// The same for a whole batch that is already stacked: same bits.
  using StackedSelf = Normalize;
  Example<Tensor, Target> apply_stacked(Example<Tensor, Target> batch) {
    batch.data = detail::normalize_stacked(batch.data, mean, stddev);
    return batch;
  }

  Tensor mean, stddev;
};

/// Examples to one example whose data and targets have a new first dimension.
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
/// Examples that are lists of tensors, all of one length.
template <>
struct Stack<std::vector<Tensor>> : public Collation<std::vector<Tensor>> {
  std::vector<Tensor> apply_batch(std::vector<std::vector<Tensor>> examples) override;
};

}  // namespace tandem::data::transforms
