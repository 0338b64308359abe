#include "tandem/cli/text/text_memory.h"

#include <algorithm>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"
#include "tandem/cli/train/evaluate.h"

namespace tandem::cli {
namespace {

// Values that a step keeps for each token.
double activations(const TextConfig& c, const Recipe& r) {
  const models::GPT2Options& m = c.model;
  const auto width = static_cast<double>(m.n_embd()), layers = static_cast<double>(m.n_layer());
  const double inner = m.n_inner() > 0 ? static_cast<double>(m.n_inner()) : 4 * width;
  // A block saves its two sums and their normalisations, queries, keys, values and what is attended to, and both sides
  // of the activation function; with dropout also three vectors.
  double values = layers * (8 * width + 2 * inner + (m.resid_pdrop() > 0 ? 3 * width : 0));
  // Gradients within a block.
  values += 4 * width + 2 * inner;
  if (r.half()) values *= 0.7;  // measured: about half of them are of 16 bits
  // Logits, and their gradients; measured with reduced precision, which has both also in 16 bits.
  return values + (r.half() ? 3.3 : 2) * static_cast<double>(m.vocab_size());
}

// Values at the peak of an evaluation in this process, which saves nothing for a backward pass.
double evaluated(const TextConfig& c, const Recipe& r, const Placement& p, const TextData& text) {
  const double windows = static_cast<double>(text.windows.test.images.size(0));
  const double most = static_cast<double>(evaluation_batch({text.windows.test}));
  // One batch on each device, if there are as many.
  const double devices = static_cast<double>(p.devices.size());
  const double together = windows >= most * devices * p.team.size() ? devices : 1;
  const auto width = static_cast<double>(c.model.n_embd());
  const double inner = c.model.n_inner() > 0 ? static_cast<double>(c.model.n_inner()) : 4 * width;
  // Logits; with reduced precision also in 16 bits.
  const double logits = (r.half() ? 1.5 : 1) * static_cast<double>(c.model.vocab_size());
  const double token = 4 * width + 2 * inner + logits;
  return together * std::min(windows, most) * static_cast<double>(c.context) * token;
}

// Values that a fully sharded step has whole: the embeddings and their gradients, and, measured, five times a block: two
// of them, the gradients of one, and what has been freed.
double gathered(const TextConfig& c) {
  const models::GPT2Options& m = c.model;
  const double root = static_cast<double>(m.n_embd()) * static_cast<double>(m.vocab_size() + m.n_positions() + 2);
  return 2 * root + 5 * (text_parameters(m) - root) / static_cast<double>(m.n_layer());
}

std::string cures(const TextConfig& c, const Recipe& recipe, const Placement& placement, const TextData& text,
                  double available) {
  std::string batch = "--batch-size";
  Recipe smaller = recipe;
  while (smaller.batch_size % 2 == 0 && run_memory(c, smaller, placement, text) > available) {
    smaller.batch_size /= 2;
    smaller.accumulate *= 2;
  }
  const double less = run_memory(c, smaller, placement, text);
  if (smaller.batch_size < recipe.batch_size && less <= available)
    batch += concat(" (", smaller.batch_size, " with --accumulate ", smaller.accumulate, " needs about ",
                    byte_size(less), ")");
  return concat("lower ", batch, ", --context, --layers or --width");
}

}  // namespace

double run_memory(const TextConfig& c, const Recipe& r, const Placement& p, const TextData& text) {
  constexpr double kProgram = 36 << 20;  // measured with the smallest model
  const double devices = static_cast<double>(p.devices.size()), processes = p.team.size();
  const double parameters = text_parameters(c.model);
  // Each device has parameters and gradients; the root has the optimizer's state, and the average.
  double copies = 2 * devices + (r.optimizer == "adamw" ? 2 : r.momentum > 0 ? 1 : 0) + (r.ema > 0 ? 1 : 0);
  if (p.shards > 0) copies += 4;  // the sums of the pieces' gradients
  const double values = p.fully_sharded ? copies * parameters / processes + gathered(c) : copies * parameters;
  // Each device computes one piece of the batch at a time.
  const double part = p.shards > 0 ? std::min(1.0, devices / static_cast<double>(p.shards)) : 1 / processes;
  const double tokens = part * static_cast<double>(r.batch_size) * static_cast<double>(c.context);
  const double step = tokens * activations(c, r);
  // Measured: of what a step has freed, an evaluation does not use about half, up to a limit.
  constexpr double kMaxKept = 8 << 20;  // values on each device
  const double working = std::max(step, evaluated(c, r, p, text) + std::min(step / 2, devices * kMaxKept));
  const double stored = static_cast<double>(text.train_tokens + text.validation_tokens) *
                        static_cast<double>(text.windows.train.images.element_size());
  // The text is read in pieces, which then become one list.
  return p.team.local_size() * (kProgram + stored + std::max(stored, 4 * (values + working)));
}

std::string check_memory(const TextConfig& c, const Recipe& recipe, const Placement& placement, const TextData& text,
                         const MachineMemory& machine, bool fixed) {
  constexpr double kSurely = 0.75;  // measured peaks are at least that share of the estimate
  const double need = run_memory(c, recipe, placement, text);
  if (machine.total == 0) return concat("memory   about ", byte_size(need), " to train");
  const std::string estimate = concat("training needs about ", byte_size(need), " of memory, ");
  if (kSurely * need > machine.total && !fixed)
    refuse(estimate, "but this machine has ", byte_size(machine.total), "; ",
           cures(c, recipe, placement, text, machine.available));
  if (need > machine.available && placement.team.leads())
    print_error("tandem", concat("warning: ", estimate, "but only ", byte_size(machine.available),
                                 " are available: it may be killed, or swap",
                                 fixed ? "" : "; " + cures(c, recipe, placement, text, machine.available)));
  return concat("memory   about ", byte_size(need), " to train, of ", byte_size(machine.available), " available");
}

}  // namespace tandem::cli
