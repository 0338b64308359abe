// The key and value cache of GPT-2.
#include "tandem/models/gpt2_cache.h"

#include <vector>

#include "tandem/autograd/ops.h"
#include "tandem/models/gpt2.h"

namespace tandem::models {

struct GPT2Cache::State {
  int64_t batch, capacity, length = 0;
  Tensor padding{};
  std::vector<Tensor> keys, values;  // of each layer, [batch, heads, capacity, E / heads]
  Device device{kCPU, 0};
  int64_t places = 0;  // on the device
  Tensor place{}, visible{};
};

GPT2Cache::GPT2Cache(const GPT2Options& options, int64_t batch, int64_t capacity, const TensorOptions& like)
    : state_(std::make_shared<State>(State{.batch = batch, .capacity = capacity, .device = like.resolved_device()})) {
  check(batch > 0, "GPT2Cache: batch must be positive, got ", batch);
  check(capacity > 0 && capacity <= options.n_positions(),
        "GPT2Cache: capacity must be from 1 to n_positions = ", options.n_positions(), ", got ", capacity);
  const int64_t heads = options.n_head();
  check(heads > 0 && options.n_embd() % heads == 0, "GPT2Cache: n_head = ", heads,
        " must be positive and divide n_embd = ", options.n_embd());
  for (int64_t i = 0; i < options.n_layer(); ++i)
    for (std::vector<Tensor>* all : {&state_->keys, &state_->values})
      all->push_back(tandem::empty({batch, heads, capacity, options.n_embd() / heads}, like));
}

int64_t GPT2Cache::batch() const { return state_->batch; }
int64_t GPT2Cache::capacity() const { return state_->capacity; }
int64_t GPT2Cache::length() const { return state_->length; }
std::size_t GPT2Cache::nbytes() const {
  std::size_t sum = 0;
  for (const Tensor& t : state_->keys) sum += 2 * t.nbytes();
  return sum;
}

void GPT2Cache::truncate(int64_t length) const {
  check(length >= 0 && length <= state_->length, "GPT2Cache: cannot truncate to ", length, " tokens, the cache has ",
        state_->length);
  state_->length = length;
  if (place().defined()) set_place();
}

void GPT2Cache::set_padding(const std::vector<int64_t>& padding) const {
  check(state_->length == 0, "GPT2Cache: padding comes before all tokens, and the cache holds ", state_->length);
  check(static_cast<int64_t>(padding.size()) == state_->batch, "GPT2Cache: padding for ", padding.size(),
        " sequences, the cache is for ", state_->batch);
  for (const int64_t count : padding)
    check(count >= 0 && count < state_->capacity, "GPT2Cache: padding ", count, ", the capacity is ", state_->capacity);
  state_->padding = tensor(padding).to(state_->device);
}

const Tensor& GPT2Cache::padding() const { return state_->padding; }

void GPT2Cache::check_room(const Tensor& tokens, const GPT2Options& options) const {
  check(tokens.dim() == 2 && tokens.size(0) == state_->batch, "GPT2: the cache is for ", state_->batch,
        " sequences, so input_ids must be [", state_->batch, ", T], got ", tokens);
  check(!place().defined() || (tokens.size(1) == 1 && state_->length < state_->places),
        "GPT2: with places on the device a cache takes one token at a time, up to ", state_->places, " in all, got ",
        tokens, " behind ", state_->length);
  check(tokens.size(1) <= state_->capacity - state_->length, "GPT2: the cache has room for ", state_->capacity,
        " tokens and holds ", state_->length, ", so ", tokens.size(1),
        " more do not fit; make it with a larger capacity (n_positions = ", options.n_positions(),
        " is the most), or truncate it");
  check(static_cast<int64_t>(state_->keys.size()) == options.n_layer() &&
            (state_->keys.empty() || (state_->keys[0].size(1) == options.n_head() &&
                                      state_->keys[0].size(1) * state_->keys[0].size(3) == options.n_embd())),
        "GPT2: the cache was made for a model of another size");
}

std::pair<Tensor, Tensor> GPT2Cache::append(int64_t layer, const Tensor& keys, const Tensor& values) const {
  const auto i = static_cast<std::size_t>(layer);
  if (place().defined()) {
    const Tensor &all_keys = state_->keys[i], &all_values = state_->values[i];
    all_keys.index_copy_(2, place(), keys.to(all_keys.dtype()));
    all_values.index_copy_(2, place(), values.to(all_values.dtype()));
    return {state_->keys[i].slice(2, 0, state_->places), state_->values[i].slice(2, 0, state_->places)};
  }
  const int64_t begin = state_->length, end = begin + keys.size(2);
  state_->keys[i].slice(2, begin, end).copy_(keys);
  state_->values[i].slice(2, begin, end).copy_(values);
  return {state_->keys[i].slice(2, 0, end), state_->values[i].slice(2, 0, end)};
}

void GPT2Cache::advance(int64_t tokens) const { state_->length += tokens; }

void GPT2Cache::keep_places_on_device(int64_t keys) const {
  check(keys == 0 || (keys > state_->length && keys <= state_->capacity), "GPT2Cache: ", keys,
        " places on the device must be more than the ", state_->length, " tokens and at most the capacity, ",
        state_->capacity);
  state_->places = keys;
  state_->place = state_->visible = Tensor();
  if (keys == 0) return;
  state_->place = empty({1}, TensorOptions(kLong).device(state_->device));
  set_place();
}
void GPT2Cache::set_place() const {
  const NoGradGuard no_grad;
  state_->place.fill_(state_->length);
  // Hidden keys count as 0, which times something that is no number would not be 0.
  for (const auto* all : {&state_->keys, &state_->values})
    for (const Tensor& t : *all) t.narrow(2, state_->length, state_->places - state_->length).zero_();
}
const Tensor& GPT2Cache::place() const { return state_->place; }
void GPT2Cache::begin_token() const {
  const Tensor at = arange(state_->places, place().options()), earlier = at <= place();
  state_->visible =
      state_->padding.defined() ? earlier.logical_and(at >= state_->padding.view({-1, 1, 1, 1})) : earlier;
}
const Tensor& GPT2Cache::visible() const { return state_->visible; }
void GPT2Cache::end_token() const {
  state_->visible = Tensor();
  state_->place.add_(1);
}

}  // namespace tandem::models
