// The keys and values of tokens that a GPT-2 has read, so that the next ones are computed without reading these again.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::models {

struct GPT2Options;

/// Copies refer to the same cache. One cache serves one sequence of calls at a time.
class GPT2Cache {
 public:
  /// Room for `capacity` tokens in each of `batch` sequences of equal length, of the dtype and on the device of `like`:
  /// 2 n_layer batch capacity n_embd elements. Throws Error unless batch is positive and capacity is from 1 to
  /// n_positions.
  GPT2Cache(const GPT2Options& options, int64_t batch, int64_t capacity, const TensorOptions& like = {});

  int64_t batch() const;
  int64_t capacity() const;
  /// Tokens of each sequence that are in the cache.
  int64_t length() const;
  /// Bytes of the keys and values, including the free places.
  std::size_t nbytes() const;
  /// Forgets the tokens from `length` on. Throws Error if there are fewer.
  void truncate(int64_t length) const;

  /// Sequence n begins with padding[n] tokens that stand for nothing: no other token attends to them, and positions
  /// count from the first one behind them. Throws Error unless the cache is empty and there is a number from 0 on for
  /// each sequence.
  void set_padding(const std::vector<int64_t>& padding) const;
  /// The same, int64 [N] on the cache's device; undefined without padding.
  const Tensor& padding() const;

  /// For the model. Throws Error unless `tokens`, [N, T], fit: as many sequences, and T free places.
  void check_room(const Tensor& tokens, const GPT2Options& options) const;
  /// For layer `layer`: writes keys and values [N, heads, T, E / heads] behind those of the earlier tokens and returns
  /// views of all of them. length() changes with advance(), after the last layer.
  std::pair<Tensor, Tensor> append(int64_t layer, const Tensor& keys, const Tensor& values) const;
  void advance(int64_t tokens) const;

  /// With keys > 0 the model's calls take one token each, at a place that is kept on the device, and attend to the earlier
  /// ones of the first `keys` places: what they submit to the device does not depend on length(), so that a captured step
  /// can contain them. The place moves on with each; the caller must also call advance(1), after a replay, too. truncate()
  /// sets both. With 0: as without this call. Throws Error unless keys is 0, or above length() and at most the capacity.
  void keep_places_on_device(int64_t keys) const;
  /// The place [1], int64, or undefined.
  const Tensor& place() const;
  /// For the model, around a token at such a place: which keys it sees, to broadcast to [N, heads, 1, keys].
  void begin_token() const;
  const Tensor& visible() const;
  void end_token() const;

 private:
  void set_place() const;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tandem::models
