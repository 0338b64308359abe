// Generation of tokens.
#include "tandem/models/generate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tandem/autograd/ops.h"
#include "tandem/core/random/generator.h"
#include "tandem/nn/captured_step.h"

namespace tandem::models {
namespace {

struct Candidate {
  int64_t token;
  double weight;  // a logit, then exp of its distance to the largest
};

void check_options(const GenerateOptions& o) {
  check(o.max_new_tokens() >= 0, "generate: max_new_tokens must not be negative, got ", o.max_new_tokens());
  check(o.temperature() >= 0 && std::isfinite(o.temperature()),
        "generate: temperature must be a number from 0 on, got ", o.temperature());
  check(o.top_k() >= 0, "generate: top_k must not be negative, got ", o.top_k());
  check(o.top_p() > 0 && o.top_p() <= 1, "generate: top_p must be above 0 and at most 1, got ", o.top_p());
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

bool is_greedy(const GenerateOptions& o) { return o.temperature() == 0 || o.top_k() == 1; }
void check_number(double logit, int64_t token) {
  check(!std::isnan(logit), "generate: the logit of token ", token, " is NaN");
}

// logits [N, vocab_size]. The most probable tokens are found where the logits are, the first of equal ones.
std::vector<int64_t> next_tokens(const Tensor& logits, const GenerateOptions& options, const Tensor& uniform) {
  std::vector<int64_t> tokens;
  if (is_greedy(options)) {
    const auto [best, index] = max(logits, -1);
    const Tensor values = best.to(kCPU, kDouble), at = index.cpu();
    for (int64_t n = 0; n < at.numel(); ++n) {
      tokens.push_back(at.const_data_ptr<int64_t>()[n]);
      check_number(values.const_data_ptr<double>()[n], tokens.back());
    }
    return tokens;
  }
  const Tensor host = logits.cpu();
  for (int64_t n = 0; n < host.size(0); ++n)
    tokens.push_back(sample_token(host[n], options, uniform.defined() ? uniform.const_data_ptr<double>()[n] : 0));
  return tokens;
}

// The tokens that the model has not read. If they do not fit into the cache, it starts again with the last ones.
Tensor unread(const std::vector<Tensor>& columns, const GPT2Cache& cache) {
  const int64_t room = cache.capacity() - cache.length(), more = columns.back().size(1);
  if (more <= room) return columns.back();
  const int64_t kept = columns.size() == 1 ? cache.capacity() : std::max<int64_t>(1, cache.capacity() / 2);
  cache.truncate(0);
  const Tensor all = columns.size() == 1 ? columns[0] : cat(columns, 1);
  return all.narrow(1, all.size(1) - kept, kept);
}

bool has_hooks(nn::Module& net) {
  const auto modules = net.modules();
  return std::any_of(modules.begin(), modules.end(), [](const auto& m) { return m->has_forward_hooks(); });
}

// The logits [N, vocab_size] of the next tokens. On a GPU a token at a time is read by a captured step, a new one for each
// doubling of the number of keys, because a launch a kernel would take longer than the kernels. Hooks would not run in it.
class Reader {
 public:
  Reader(const GPT2LMHeadModel& model, const GPT2Cache& cache, Device device)
      : net_(model), cache_(cache), captures_(device.is_cuda() && !has_hooks(*net_)) {}
  Tensor operator()(const Tensor& tokens) {
    if (!captures_ || tokens.size(1) != 1) {
      if (keys_ > 0) cache_.keep_places_on_device(keys_ = 0);
      return read(tokens);
    }
    if (keys_ <= cache_.length()) {
      constexpr int64_t kFewest = 64;
      keys_ = std::min(cache_.capacity(), std::max(kFewest, 2 * cache_.length()));
      cache_.keep_places_on_device(keys_);
      step_.emplace([this](const Tensor& t) { return read(t); }, std::vector<optim::Optimizer*>(),
                    cuda::CapturedStepOptions().say_changes(false));
    }
    const GeneratorGuard own{Generator()};  // a recording resets the default generator
    const Tensor logits = (*step_)(tokens)[0];
    cache_.advance(1);
    return logits;
  }

 private:
  Tensor read(const Tensor& tokens) {
    const Tensor features = net_->transformer->forward(tokens, cache_);
    return net_->lm_head(features.select(1, features.size(1) - 1));
  }
  GPT2LMHeadModel net_;
  const GPT2Cache cache_;
  const bool captures_;
  int64_t keys_ = 0;  // on the device
  std::optional<cuda::CapturedStep> step_;
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
  const auto top_k = static_cast<std::size_t>(options.top_k());
  if (top_k > 0 && top_k < all.size()) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(top_k), all.end(), more_probable);
    all.resize(top_k);
  }
  for (Candidate& c : all) c.weight = std::exp((c.weight - largest) / options.temperature());
  if (options.top_p() < 1) keep_top_p(all, options.top_p());
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  double total = 0, sum = 0;
  for (const Candidate& c : all) total += c.weight;
  for (const Candidate& c : all)
    if ((sum += c.weight) > uniform * total) return c.token;
  return best->token;  // uniform is 1 but for rounding
}

namespace {

Tensor generate_padded(const GPT2LMHeadModel& model, const Tensor& prompt, const std::vector<int64_t>& padding,
                       const GenerateOptions& options) {
  check_options(options);
  GPT2LMHeadModel net = model;
  const int64_t positions = net->options.n_positions(), count = options.max_new_tokens();
  check(prompt.dim() == 2 && prompt.size(0) > 0 && prompt.size(1) > 0 && prompt.dtype() == kLong,
        "generate: the prompt must be int64 [N, T] with at least one token, got ", prompt);
  const bool fits = prompt.size(1) <= positions && count <= positions - prompt.size(1);
  check(fits || options.slide(), "generate: a prompt of ", prompt.size(1), " tokens and ", count,
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
  if (options.temperature() > 0) {
    const GeneratorGuard guard{Generator(options.seed())};
    uniform = rand({count, batch}, TensorOptions(kDouble));
  }
  Reader read(model, cache, weight.device());
  std::vector<Tensor> columns{prompt.to(weight.device())};
  std::vector<bool> ended(static_cast<std::size_t>(batch), false);
  for (int64_t step = 0; step < count; ++step) {
    std::vector<int64_t> tokens =
        next_tokens(read(unread(columns, cache)), options, uniform.defined() ? uniform[step] : uniform);
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      if (ended[n]) tokens[n] = options.end_token();
      ended[n] = ended[n] || tokens[n] == options.end_token();
    }
    columns.push_back(tensor(tokens).view({batch, 1}).to(weight.device()));
    if (options.on_tokens() && !options.on_tokens()(tokens)) break;
    if (std::find(ended.begin(), ended.end(), false) == ended.end()) break;
  }
  return cat(columns, 1).to(prompt.device());
}

}  // namespace

Tensor generate(const GPT2LMHeadModel& model, const Tensor& prompt, const GenerateOptions& options) {
  return generate_padded(model, prompt, {}, options);
}

std::vector<std::vector<int64_t>> generate(const GPT2LMHeadModel& model,
                                           const std::vector<std::vector<int64_t>>& prompts,
                                           const GenerateOptions& options) {
  check(!options.slide(), "generate: prompts of different lengths cannot slide");
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
    const int64_t* end = std::find(row + longest, row + all.size(1), options.end_token());
    if (end != row + all.size(1)) ++end;
    out.emplace_back(row + padding[static_cast<std::size_t>(n)], end);
  }
  return out;
}

}  // namespace tandem::models
