#include "tandem/cli/text/text_memory.h"

#include <algorithm>

#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/message.h"
#include "tandem/cli/options.h"

namespace tandem::cli {
namespace {

// Values that a step keeps for each token.
double activations(const TextConfig& c, const Recipe& r) {
  const models::GPT2Options& m = c.model;
  const auto width = static_cast<double>(m.n_embd()), layers = static_cast<double>(m.n_layer());
  const double inner = m.n_inner() > 0 ? static_cast<double>(m.n_inner()) : 4 * width;
  const double scores = static_cast<double>(m.n_head()) * static_cast<double>(c.context);
  const bool dropout = m.resid_pdrop() > 0;
  // A block saves its two sums and their normalisations, queries, keys, values and what is attended to, and both sides
  // of the activation function; with dropout also three vectors and, of attention, three matrices.
  double values = layers * (8 * width + 2 * inner + (dropout ? 3 * width : 0));
  // Gradients within a block.
  values += 4 * width + 2 * inner;
  if (r.precision != "fp32") values *= 0.7;  // measured: about half of them are of 16 bits
  if (dropout) values += (3 * layers + 2) * scores;
  return values + 2 * static_cast<double>(m.vocab_size());  // logits, and their gradients
}

std::string cures(const TextConfig& c, const Recipe& recipe, const Placement& placement, double available) {
  std::string batch = "--batch-size";
  Recipe smaller = recipe;
  while (smaller.batch_size % 2 == 0 && step_memory(c, smaller, placement) > available) {
    smaller.batch_size /= 2;
    smaller.accumulate *= 2;
  }
  if (smaller.batch_size < recipe.batch_size && step_memory(c, smaller, placement) <= available)
    batch += concat(" (", smaller.batch_size, " with --accumulate ", smaller.accumulate, " needs about ",
                    byte_size(step_memory(c, smaller, placement)), ")");
  return concat("lower ", batch, ", --context, --layers or --width",
                c.model.resid_pdrop() > 0 ? "; --dropout 0 keeps no attention scores" : "");
}

}  // namespace

double step_memory(const TextConfig& c, const Recipe& r, const Placement& p) {
  constexpr double kProgram = 32 << 20;
  const double devices = static_cast<double>(p.devices.size()), processes = p.team.size();
  const double parameters = text_parameters(c.model);
  // Each device has parameters and gradients; the root has the optimizer's state, and the average.
  double copies = 2 * devices + (r.optimizer == "adamw" ? 2 : r.momentum > 0 ? 1 : 0) + (r.ema > 0 ? 1 : 0);
  if (p.shards > 0) copies += 4;  // the sums of the pieces' gradients
  // Each device computes one piece of the batch at a time.
  const double part = p.shards > 0 ? std::min(1.0, devices / static_cast<double>(p.shards)) : 1 / processes;
  const double tokens = part * static_cast<double>(r.batch_size) * static_cast<double>(c.context);
  return p.team.local_size() * (kProgram + 4 * (copies * parameters + tokens * activations(c, r)));
}

std::string check_memory(const TextConfig& c, const Recipe& recipe, const Placement& placement,
                         const MachineMemory& machine, bool fixed) {
  const double need = step_memory(c, recipe, placement);
  if (machine.total == 0) return concat("memory   about ", byte_size(need), " in a training step");
  const std::string estimate = concat("a training step needs about ", byte_size(need), " of memory, ");
  if (need > machine.total && !fixed)
    throw UsageError(concat(estimate, "but this machine has ", byte_size(machine.total), "; ",
                            cures(c, recipe, placement, machine.available)));
  if (need > machine.available && placement.team.leads())
    print_error("tandem", concat("warning: ", estimate, "but only ", byte_size(machine.available),
                                 " are available: it may be killed, or swap",
                                 fixed ? "" : "; " + cures(c, recipe, placement, machine.available)));
  return concat("memory   about ", byte_size(need), " in a training step, of ", byte_size(machine.available),
                " available");
}

}  // namespace tandem::cli
