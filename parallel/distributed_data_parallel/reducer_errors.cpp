#include "tandem/parallel/distributed_data_parallel/reducer_errors.h"

namespace tandem::distributed {
namespace {

constexpr const char* kSameEveryStep =
    "static_graph = true requires every step to use the same parameters equally often";

}  // namespace

void fail_incomplete(const ReducerOptions& options, const std::vector<std::string>& names,
                     const std::vector<char>& ready) {
  std::string list;
  int count = 0;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!ready[i] && ++count <= 10) list += (list.empty() ? "" : ", ") + names[i];
  if (count > 10) list += ", …";
  const char* cure =
      options.static_graph ? kSameEveryStep
      : options.find_unused_parameters
          ? "find_unused_parameters = true requires the loss to use every output of forward; return only "
            "those that it uses"
          : "if forward does not use every parameter in every step, set find_unused_parameters = true";
  fail("DistributedDataParallel: ", count, " of ", names.size(),
       " parameters had no gradient in the backward pass: ", list, "; ", cure);
}

void fail_surplus(const ReducerOptions& options, const std::string& name, bool second) {
  const char *what, *cure;
  if (options.static_graph) {
    what = second ? "more gradients than in the first step" : "a gradient, but had none in the first step";
    cure = kSameEveryStep;
  } else if (second) {
    what = "a second gradient in one backward pass, as from passes nested in it";
    cure =
        "the first one may have been sent already; set static_graph = true if all steps do the same, or reach the "
        "parameter once per pass";
  } else {
    what = "a gradient although the outputs of the last forward do not depend on it";
    cure = "call backward for these outputs only, and use parameters in forward only, outside of nested passes";
  }
  fail("DistributedDataParallel: parameter ", name, " received ", what, "; ", cure);
}

}  // namespace tandem::distributed
