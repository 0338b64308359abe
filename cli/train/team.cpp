#include "tandem/cli/train/team.h"

#include <cstdlib>
#include <string>

#include "tandem/autograd/ops.h"
#include "tandem/cli/options.h"
#include "tandem/parallel/shared/model_sync.h"

namespace tandem::cli {
namespace {

using distributed::Environment;

// Long enough for a slow download or disk of one process; a process that has died is noticed at once.
constexpr distributed::Milliseconds kTimeout{600'000};

Environment environment() try { return Environment::read(); } catch (const Error& error) {
  throw UsageError(error.what());
}

}  // namespace

Team::Team(GroupPtr group, int local_rank, int local_size)
    : group_(std::move(group)), local_rank_(local_rank), local_size_(local_size) {}

Team Team::join() {
  const Environment e = environment();
  if (!e.launched() || e.world_size == 1) return {};
  distributed::ProcessGroupOptions options;
  options.timeout = kTimeout;
  Team team(distributed::init_process_group(options), e.local_rank, e.local_world_size);
  team.reported_elsewhere_ = e.launcher_has_store && !team.leads();
  return team;
}

Team::GroupPtr Team::group_for(Device device) const {
  if (!several() || device.is_cpu()) return group_;
  distributed::ProcessGroupOptions options;
  options.backend = "nccl";
  options.timeout = kTimeout;
  options.device = device;
  return distributed::ProcessGroup::make(std::make_shared<distributed::PrefixStore>("tandem/nccl", group_->store()),
                                         rank(), size(), options);
}

Team Team::first(int size) const {
  if (size == 1) return {};
  if (!several() || size == this->size()) return *this;
  std::vector<int> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(r);
  const GroupPtr some = group_->new_group(ranks);
  return some->is_member() ? Team(some, local_rank_, std::min(size, local_size_)) : Team();
}

void Team::sum(const Tensor& values) const {
  if (several()) group_->all_reduce(values)->wait();
}

double Team::sum(double value) const {
  const Tensor values = full({1}, value, kDouble);
  sum(values);
  return values.item<double>();
}

void Team::together(const std::function<void()>& f) const {
  std::exception_ptr error;
  int code = 0;
  try {
    f();
  } catch (const UsageError&) {
    error = std::current_exception();
    code = 2;
  } catch (const distributed::DistributedError&) {
    throw;  // there is nobody to talk to
  } catch (const std::exception&) {
    error = std::current_exception();
    code = 1;
  }
  if (several()) {
    const Tensor codes = distributed::gather_rows(*group_, full({1}, code, kInt));
    for (int r = 0; r < size(); ++r)
      if (const int its = codes.data_ptr<int>()[r]; its != 0 && r != rank())
        throw ReportedElsewhere{its};
      else if (its != 0)
        break;
  }
  if (error && several()) *others_informed_ = true;
  if (error) std::rethrow_exception(error);
}

int Team::guarded(const std::function<int()>& f) const {
  try {
    const int code = f();
    if (several()) group_->barrier()->wait();
    return code;
  } catch (const ReportedElsewhere&) {
    throw;
  } catch (const distributed::DistributedError&) {
    if (reported_elsewhere_) throw ReportedElsewhere{1};
    throw;  // the others know
  } catch (const std::exception& error) {
    if (several() && !*others_informed_) group_->abort(error.what());
    throw;
  }
}

}  // namespace tandem::cli
