// Continues sequences of tokens with a GPT-2, token by token.
#pragma once
#include <functional>
#include <vector>

#include "tandem/models/gpt2.h"

namespace tandem::models {

/// Gets the next token of every sequence as soon as it is drawn; false ends the generation after it.
using TokenCallback = std::function<bool(const std::vector<int64_t>& tokens)>;

struct GenerateOptions {
  int64_t max_new_tokens = 100;
  /// Divides the logits; 0: always the most probable token, the first of equal ones.
  double temperature = 1;
  /// Draws from the most probable tokens only, so many; 0: from all.
  int64_t top_k = 0;
  /// Draws from the most probable tokens only, as few as have this probability together (A. Holtzman et al.: The
  /// curious case of neural text degeneration. 2019). Applied after top_k.
  double top_p = 1;
  /// The same seed draws the same tokens on one device; a larger max_new_tokens continues them. A GPU's logits and sums
  /// have other last bits than a CPU's, except in strict mode (core/reproducible.h).
  uint64_t seed = 0;
  /// A sequence ends with this token and is filled up with it while others continue; -1: none.
  int64_t end_token = -1;
  /// Goes on when all positions of the model are used: it then forgets the first half of the tokens and reads the
  /// others again. A longer prompt is read from its last n_positions tokens on.
  bool slide = false;
  TokenCallback on_tokens = nullptr;
};

/// The prompts [N, T], int64, and behind them up to max_new_tokens tokens, on the prompts' device. The model must be in
/// evaluation mode. Throws Error, before any computation, for options out of range or if T + max_new_tokens is larger
/// than n_positions, unless it slides. On a GPU tokens are read by captured steps, unless a module has hooks or the mode
/// is strict.
Tensor generate(const GPT2LMHeadModel& model, const Tensor& prompt, const GenerateOptions& options = {});

/// The same for prompts of different lengths, together: the tokens of each prompt and the new ones, up to the end
/// token. Shorter prompts are filled up at their beginning with tokens that no other attends to, so each gets the most
/// probable tokens that it would get alone. Throws Error also on options that slide.
std::vector<std::vector<int64_t>> generate(const GPT2LMHeadModel& model,
                                           const std::vector<std::vector<int64_t>>& prompts,
                                           const GenerateOptions& options = {});

/// The token for the logits [vocab_size] of the next one: with top_k and top_p applied, the first whose cumulative
/// probability, in the order of the tokens, is larger than `uniform`, from [0, 1). Throws Error if a logit is NaN.
int64_t sample_token(const Tensor& logits, const GenerateOptions& options, double uniform);

namespace detail {
/// sample_token() for logits [N, vocab_size] where they are: nothing is read on the host. `best` [N] are the largest
/// ones, `tokens` [N] theirs, `uniform` [N] the numbers, float64. NaN is not looked for.
Tensor sample_tokens(const Tensor& logits, const Tensor& best, const Tensor& tokens, const GenerateOptions& options,
                     const Tensor& uniform);
}  // namespace detail

}  // namespace tandem::models
