// Example: the element of a data set at one index: data and a target, or only data.
#pragma once
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem::data {

template <typename Data = Tensor, typename Target = Tensor>
struct Example {
  using DataType = Data;
  using TargetType = Target;

  Example() = default;
  Example(Data data_, Target target_) : data(std::move(data_)), target(std::move(target_)) {}

  Data data;
  Target target;
};

namespace example {
using NoTarget = void;
}

/// An example without a target; converts to and from its data.
template <typename Data>
struct Example<Data, example::NoTarget> {
  using DataType = Data;
  using TargetType = example::NoTarget;

  Example() = default;
  Example(Data data_) : data(std::move(data_)) {}
  operator Data&() { return data; }
  operator const Data&() const { return data; }

  Data data;
};

using TensorExample = Example<Tensor, example::NoTarget>;

}  // namespace tandem::data
