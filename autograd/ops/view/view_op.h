// Views that pick some elements of their base: a linear map P and its adjoint, which puts values back into
// zeros. Each is the backward of the other. A map is a struct:
//
//   struct SelectMap {
//     static constexpr const char *pick_name = "SelectBackward", *put_name = "SelectBackwardBackward";
//     Tensor pick(const Tensor& x) const;                        // the public operation
//     void put(const Tensor& zeros, const Tensor& values) const; // without autograd
//     Dims sizes;                                                // of the base
//   };
#pragma once
#include "tandem/autograd/record.h"

namespace tandem::autograd {

template <class Map>
struct PutBackward final : Node {
  const char* label() const override { return Map::put_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = map.pick(g[0]); }
  Map map;
};

/// Zeros of map.sizes with `values` at the picked positions.
template <class Map>
Tensor put_back(const Map& map, const Tensor& values) {
  Tensor out = empty_raw(map.sizes, values.dtype(), values.device());
  fill_raw(out, 0);
  map.put(out, values);
  if (auto* node = record<PutBackward<Map>>(out, values)) node->map = map;
  return out;
}

template <class Map>
struct PickBackward final : Node {
  const char* label() const override { return Map::pick_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = put_back(map, g[0]); }
  Map map;
};

/// Copies `values` into the window of `zeros` (row-major) with this geometry.
inline void copy_to_window(const Tensor& zeros, const Tensor& values, IntArrayRef strides, int64_t offset) {
  copy_raw(alias(zeros, values.sizes(), strides, offset), values);
}

}  // namespace tandem::autograd
