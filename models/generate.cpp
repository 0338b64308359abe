// Generation of tokens.
#include "tandem/models/generate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/reproducible.h"
#include "tandem/nn/captured_step.h"

namespace tandem::models {
namespace {

struct Candidate {
  int64_t token;
  double weight;  // a logit, then exp of its distance to the largest
};

void check_options(const GenerateOptions& o) {
  check(o.max_new_tokens >= 0, "generate: max_new_tokens must not be negative, got ", o.max_new_tokens);
  check(o.temperature >= 0 && std::isfinite(o.temperature), "generate: temperature must be a number from 0 on, got ",
        o.temperature);
  check(o.top_k >= 0, "generate: top_k must not be negative, got ", o.top_k);
  check(o.top_p > 0 && o.top_p <= 1, "generate: top_p must be above 0 and at most 1, got ", o.top_p);
}

// Of equal weights, the first token counts as the more probable.
bool more_probable(const Candidate& a, const Candidate& b) {
  return a.weight > b.weight || (a.weight == b.weight && a.token < b.token);
}

void keep_top_p(std::vector<Candidate>& candidates, double top_p) {
  std::sort(candidates.begin(), candidates.end(), more_probable);
  double total = 0, sum = 0;
  for (const Candidate& c : candidates) total += c.weight;
  std::size_t count = 0;
  while (count < candidates.size() && sum < top_p * total) sum += candidates[count++].weight;
  candidates.resize(std::max<std::size_t>(1, count));
}

bool is_greedy(const GenerateOptions& o) { return o.temperature == 0 || o.top_k == 1; }
void check_number(double logit, int64_t token) {
  check(!std::isnan(logit), "generate: the logit of token ", token, " is NaN");
}

}  // namespace

Tensor detail::sample_tokens(const Tensor& logits, const Tensor& best, const Tensor& tokens,
                             const GenerateOptions& options, const Tensor& uniform) {
  const Tensor largest = best.to(kDouble).unsqueeze(1);
  const auto weights_of = [&](const Tensor& some) {
    return ((some.to(kDouble) - largest) / options.temperature).exp();
  };
  const int64_t vocabulary = logits.size(1), top_k = options.top_k == 0 ? vocabulary : options.top_k;
  Tensor weights;
  if (top_k < vocabulary || options.top_p < 1) {
    const auto [some, at] = topk(logits, std::min(top_k, vocabulary), -1);
    Tensor kept = weights_of(some);
    if (options.top_p < 1) {
      const Tensor sums = kept.cumsum(1), total = sums.narrow(1, sums.size(1) - 1, 1);
      const Tensor before = cat({zeros_like(total), sums.narrow(1, 0, sums.size(1) - 1)}, 1);
      kept = where(before < total * options.top_p, kept, 0);
    }
    weights = zeros(logits.sizes(), kept.options()).scatter(1, at, kept);
  } else {
    weights = weights_of(logits);
  }
  const Tensor sums = weights.cumsum(1), total = sums.narrow(1, vocabulary - 1, 1);
  const Tensor beyond = (sums > total * uniform.unsqueeze(1)).logical_and(weights > 0);
  const auto [found, first] = max(beyond.to(kByte), -1);
  return where(isfinite(best).logical_and(found > 0), first, tokens);
}

namespace {

bool has_hooks(nn::Module& net) {
  const auto modules = net.modules();
  return std::any_of(modules.begin(), modules.end(), [](const auto& m) { return m->has_forward_hooks(); });
}

// Reads tokens and draws the next ones. On a GPU this takes no look at them on the host, and a token at a time is read and
// drawn by a captured step, a new one for each doubling of the number of keys, because a launch a kernel would take longer
// than the kernels. Hooks would not run in it. Strict mode decodes as on the CPU: a softmax over a cache's unused places adds
// its terms in another order, and the host's draws have the C library's exponential function.
class Decoder {
 public:
  Decoder(const GPT2LMHeadModel& model, const GPT2Cache& cache, const GenerateOptions& options, int64_t batch,
          Device device)
      : net_(model),
        cache_(cache),
        options_(options),
        on_host_(device.is_cpu() || reproducible() == Reproducible::kStrict),
        captures_(!on_host_ && !has_hooks(*net_)),
        ended_(zeros({batch}, TensorOptions(kLong).device(device))),
        not_a_number_(full({batch}, -1, TensorOptions(kLong).device(device))) {}

  /// The tokens [N] after `tokens` [N, L], until the next call. `uniform` [N]: the draws, unless the most probable are taken.
  Tensor operator()(const Tensor& tokens, const Tensor& uniform) {
    std::vector<Tensor> inputs{tokens};
    if (uniform.defined()) inputs.push_back(uniform);
    if (!captures_ || tokens.size(1) != 1) {
      if (keys_ > 0) cache_.keep_places_on_device(keys_ = 0);
      return next(inputs);
    }
    if (keys_ <= cache_.length()) {
      constexpr int64_t kFewest = 64;
      keys_ = std::min(cache_.capacity(), std::max(kFewest, 2 * cache_.length()));
      cache_.keep_places_on_device(keys_);
      step_.emplace([this](const std::vector<Tensor>& in) { return next(in); }, std::vector<optim::Optimizer*>(),
                    CapturedStepOptions{.say_changes = false});
    }
    const GeneratorGuard own{Generator()};  // a recording resets the default generator
    const Tensor drawn = (*step_)(inputs)[0];
    cache_.advance(1);
    return drawn;
  }
  /// `drawn` on the host, and whether all sequences have ended. Throws Error if a logit of one that has not was NaN.
  std::pair<std::vector<int64_t>, bool> look(const Tensor& drawn) const {
    const Tensor seen = stack({drawn, not_a_number_, ended_}).cpu();
    const int64_t* data = seen.const_data_ptr<int64_t>();
    const int64_t batch = drawn.size(0);
    for (int64_t n = 0; n < batch; ++n)
      if (data[batch + n] >= 0) check_number(NAN, data[batch + n]);
    return {{data, data + batch}, std::find(data + 2 * batch, data + 3 * batch, 0) == data + 3 * batch};
  }

 private:
  Tensor next(const std::vector<Tensor>& inputs) {
    const Tensor features = net_->transformer->forward(inputs[0], cache_);
    const Tensor logits = net_->lm_head(features.select(1, features.size(1) - 1));
    Tensor tokens = draw(logits, inputs.size() > 1 ? inputs[1] : Tensor());
    if (options_.end_token < 0) return tokens;
    tokens = where(ended_ > 0, options_.end_token, tokens);
    ended_.copy_(tokens == options_.end_token);
    return tokens;
  }
  // The first of equally probable ones.
  Tensor draw(const Tensor& logits, const Tensor& uniform) {
    if (on_host_ && !is_greedy(options_)) {
      const Tensor drawn = ended_.clone().cpu(), numbers = uniform.cpu();
      for (int64_t n = 0; n < logits.size(0); ++n)
        if (int64_t& token = drawn.data_ptr<int64_t>()[n]; token == 0)
          token = sample_token(logits[n], options_, numbers.const_data_ptr<double>()[n]);
      return drawn.to(logits.device());
    }
    const auto [best, tokens] = max(logits, -1);
    not_a_number_.copy_(
        where((not_a_number_ < 0).logical_and(ended_ == 0).logical_and(isnan(best)), tokens, not_a_number_));
    return is_greedy(options_) ? tokens : detail::sample_tokens(logits, best, tokens, options_, uniform);
  }

  GPT2LMHeadModel net_;
  const GPT2Cache cache_;
  const GenerateOptions options_;
  const bool on_host_, captures_;
  int64_t keys_ = 0;             // on the device
  Tensor ended_, not_a_number_;  // [N]: 1 or 0; the first token whose logit was NaN, or -1
  std::optional<CapturedStep> step_;
};

}  // namespace

int64_t sample_token(const Tensor& logits, const GenerateOptions& options, double uniform) {
  check_options(options);
  check(logits.dim() == 1 && logits.numel() > 0 && logits.is_floating_point(),
        "sample_token: logits must be [vocab_size], got ", logits);
  const Tensor values = logits.detach().to(kCPU, kDouble).contiguous();
  const double* logit = values.const_data_ptr<double>();
  std::vector<Candidate> all;
  all.reserve(static_cast<std::size_t>(values.numel()));
  for (int64_t i = 0; i < values.numel(); ++i) {
    check_number(logit[i], i);
    all.push_back({i, logit[i]});
  }
  const auto best = std::min_element(all.begin(), all.end(), more_probable);
  const double largest = best->weight;
  if (is_greedy(options) || !std::isfinite(largest)) return best->token;
  const auto top_k = static_cast<std::size_t>(options.top_k);
  if (top_k > 0 && top_k < all.size()) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(top_k), all.end(), more_probable);
    all.resize(top_k);
  }
  for (Candidate& c : all) c.weight = std::exp((c.weight - largest) / options.temperature);
  if (options.top_p < 1) keep_top_p(all, options.top_p);
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  double total = 0, sum = 0;
  for (const Candidate& c : all) total += c.weight;
  for (const Candidate& c : all)
    if ((sum += c.weight) > uniform * total) return c.token;
  return best->token;  // uniform is 1 but for rounding
}

namespace {

// The part that the model reads next of `all` [N, L], whose last `more` tokens it has not read. If they do not fit into the
// cache, it starts again with the last ones.
Tensor unread(const Tensor& all, int64_t more, const GPT2Cache& cache) {
  const int64_t length = all.size(1);
  if (more <= cache.capacity() - cache.length()) return all.narrow(1, length - more, more);
  const int64_t kept = more == length ? cache.capacity() : std::max<int64_t>(1, cache.capacity() / 2);
  cache.truncate(0);
  return all.narrow(1, length - kept, kept);
}

// `all` [N, L] up to the place where the last sequence has ended; the new tokens begin at `begin`.
Tensor until_ended(const Tensor& all, int64_t begin, int64_t end_token) {
  const int64_t count = all.size(1) - begin;
  if (end_token < 0) return all.clone();
  const auto [ends, at] = max((all.narrow(1, begin, count) == end_token).to(kByte), 1);
  return all.narrow(1, 0, begin + where(ends > 0, at + 1, count).max().item<int64_t>()).clone();
}

Tensor generate_padded(const GPT2LMHeadModel& model, const Tensor& prompt, const std::vector<int64_t>& padding,
                       const GenerateOptions& options) {
  check_options(options);
  GPT2LMHeadModel net = model;
  const int64_t positions = net->options.n_positions(), count = options.max_new_tokens;
  check(prompt.dim() == 2 && prompt.size(0) > 0 && prompt.size(1) > 0 && prompt.dtype() == kLong,
        "generate: the prompt must be int64 [N, T] with at least one token, got ", prompt);
  const bool fits = prompt.size(1) <= positions && count <= positions - prompt.size(1);
  check(fits || options.slide, "generate: a prompt of ", prompt.size(1), " tokens and ", count,
        " new ones are more than the model's ", positions, " positions");
  check(!net->is_training(), "generate: the model is in training mode; call eval() first");
  if (count == 0) return prompt.clone();
  const NoGradGuard no_grad;
  const Tensor weight = net->lm_head->is_quantized() ? net->lm_head->weight_scale : net->lm_head->weight;
  const int64_t batch = prompt.size(0);
  const GPT2Cache cache(net->options, batch, fits ? prompt.size(1) + count - 1 : positions,
                        TensorOptions(weight.dtype()).device(weight.device()));
  if (!padding.empty()) cache.set_padding(padding);
  Tensor uniform;  // drawn at once, so that the numbers do not depend on when a sequence ends
  if (!is_greedy(options)) {
    const GeneratorGuard guard{Generator(options.seed)};
    uniform = rand({count, batch}, TensorOptions(kDouble)).to(weight.device());
  }
  Decoder decode(model, cache, options, batch, weight.device());
  const int64_t begin = prompt.size(1);
  const Tensor all = empty({batch, begin + count}, TensorOptions(kLong).device(weight.device()));
  all.narrow(1, 0, begin).copy_(prompt);
  int64_t length = begin;
  constexpr int64_t kUnseen = 8;  // tokens; a look at a GPU's waits for it
  for (int64_t step = 0; step < count; ++step) {
    const Tensor read = unread(all.narrow(1, 0, length), step == 0 ? begin : 1, cache);
    all.select(1, length++).copy_(decode(read, uniform.defined() ? uniform[step] : uniform));
    const bool told = options.on_tokens != nullptr;
    if (!told && step + 1 < count && !weight.device().is_cpu() && step % kUnseen != 0) continue;
    const auto [tokens, ended] = decode.look(all.select(1, length - 1));
    if (told && !options.on_tokens(tokens)) break;
    if (ended) break;
  }
  return until_ended(all.narrow(1, 0, length), begin, options.end_token).to(prompt.device());
}

}  // namespace

Tensor generate(const GPT2LMHeadModel& model, const Tensor& prompt, const GenerateOptions& options) {
  return generate_padded(model, prompt, {}, options);
}

std::vector<std::vector<int64_t>> generate(const GPT2LMHeadModel& model,
                                           const std::vector<std::vector<int64_t>>& prompts,
                                           const GenerateOptions& options) {
  check(!options.slide, "generate: prompts of different lengths cannot slide");
  check(!prompts.empty(), "generate: there are no prompts");
  std::size_t longest = 0;
  for (const auto& prompt : prompts) {
    check(!prompt.empty(), "generate: a prompt is empty; each needs at least one token");
    longest = std::max(longest, prompt.size());
  }
  std::vector<int64_t> tokens, padding;
  for (const auto& prompt : prompts) {
    padding.push_back(static_cast<int64_t>(longest - prompt.size()));
    tokens.insert(tokens.end(), longest - prompt.size(), prompt[0]);
    tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  }
  const auto count = static_cast<int64_t>(prompts.size());
  const Tensor all = generate_padded(model, tensor(tokens).view({count, -1}), padding, options).contiguous();
  std::vector<std::vector<int64_t>> out;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t* row = all.const_data_ptr<int64_t>() + n * all.size(1);
    const int64_t* end = std::find(row + longest, row + all.size(1), options.end_token);
    if (end != row + all.size(1)) ++end;
    out.emplace_back(row + padding[static_cast<std::size_t>(n)], end);
  }
  return out;
}

}  // namespace tandem::models
