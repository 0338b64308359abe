// The optimizer of this process works on segments: leaves that are views of its slices of the flat buffers.
#include "tandem/parallel/sharded/zero_redundancy_optimizer.h"

#include <algorithm>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/core/memory_format.h"
#include "tandem/nn/files/archive.h"
#include "tandem/parallel/sharded/flat_slices.h"

namespace tandem::distributed {
namespace {

constexpr const char* kName = "ZeroRedundancyOptimizer";

std::shared_ptr<ProcessGroup> group_of(const ZeroRedundancyOptimizerOptions& options) {
  return given_or_default(options.process_group, kName, "call distributed::init_process_group() first");
}

// The numbers of the channels-last parameters, in whose order of memory a part of the state is: "0,4,".
std::string layout_of(const FlatSlices& flat) {
  std::string out;
  for (std::size_t i = 0; i < flat.parameters().size(); ++i)
    if (is_channels_last(dense_format(flat.parameters()[i]))) out += concat(i, ',');
  return out;
}

// Throws on all ranks if the parameters differ from rank 0's in number, shape, dtype, layout or group.
void compare_parameters(ProcessGroup& group, const std::vector<optim::OptimizerParamGroup>& groups, Device device) {
  uint64_t hash = 14695981039346656037u;
  for (const auto& part : groups) {
    std::string text = "group";
    for (const Tensor& p : part.params())
      text += concat(p.sizes(), p.dtype(), is_channels_last(dense_format(p)) ? "channels-last" : "");
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  const auto options = TensorOptions(kLong).device(device);
  Tensor all = empty({group.size()}, options);
  group.all_gather(all, full({1}, static_cast<int64_t>(hash), options))->wait();
  const Tensor seen = all.cpu();
  for (int rank = 1; rank < group.size(); ++rank)
    if (seen.data_ptr<int64_t>()[rank] != seen.data_ptr<int64_t>()[0])
      throw DistributedError(concat(kName, ": the parameters of rank ", rank,
                                    " differ from those of rank 0 in number, shape, dtype, layout or parameter group"));
}

}  // namespace

struct ZeroRedundancyOptimizerBase::Impl {
  ZeroRedundancyOptimizerOptions options;
  std::shared_ptr<ProcessGroup> group;
  FlatSlices flat;
  std::vector<Segment> segments;  // of this rank
  std::vector<Tensor> leaves;     // of the segments
  std::unique_ptr<detail::PartOptimizer> part;
  bool consolidated = false;

  Impl(ZeroRedundancyOptimizerOptions given, std::vector<Tensor> parameters)
      : options(std::move(given)),
        group(group_of(options)),
        flat(std::move(parameters), group->size()),
        segments(flat.segments(group->rank())) {
    for (const Segment& s : segments) leaves.push_back(slice(s).narrow(0, s.at, s.length).requires_grad_());
  }

  optim::Optimizer& optimizer() const { return part->optimizer(); }
  // This rank's slice of the segment's buffer.
  Tensor slice(const Segment& s) const { return slice(flat.buffers()[s.buffer]); }
  Tensor slice(const SlicedBuffer& buffer) const {
    const NoGradGuard no_grad;
    return buffer.data.narrow(0, group->rank() * buffer.slice, buffer.slice).detach();
  }
  optim::OptimizerParamState* state(std::size_t segment) const {
    auto& states = optimizer().state();
    const auto found = states.find(leaves[segment].impl());
    return found == states.end() ? nullptr : found->second.get();
  }

  // The part of each parameter group that this rank has; a group may be empty.
  std::vector<optim::OptimizerParamGroup> groups_of_leaves(
      const std::vector<optim::OptimizerParamGroup>& groups) const {
    std::vector<std::vector<Tensor>> of_parameter(flat.parameters().size());
    for (std::size_t i = 0; i < segments.size(); ++i) of_parameter[segments[i].parameter].push_back(leaves[i]);
    std::vector<optim::OptimizerParamGroup> out;
    std::size_t next = 0;
    for (const auto& group : groups) {
      std::vector<Tensor> own;
      for (std::size_t k = 0; k < group.params().size(); ++k, ++next)
        own.insert(own.end(), of_parameter[next].begin(), of_parameter[next].end());
      out.emplace_back(std::move(own), group.options().clone());
    }
    return out;
  }

  // Schedulers and load() change the options of the whole groups.
  void take_options(const std::vector<optim::OptimizerParamGroup>& groups) const {
    for (std::size_t g = 0; g < groups.size(); ++g)
      optimizer().param_groups()[g].set_options(groups[g].options().clone());
  }

  // The gradients of the segments are views of the parameters' gradients.
  void use_gradients() {
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Segment& s = segments[i];
      const Tensor& p = flat.parameters()[s.parameter];
      const Tensor grad = p.grad();
      if (!grad.defined()) continue;
      check(grad.sizes() == p.sizes(), kName, ": the gradient's shape differs from its parameter's\n  parameter ", p,
            "\n  gradient  ", grad);
      leaves[i].mutable_grad() = flattened_like(grad.detach(), p).narrow(0, s.begin, s.length);
    }
  }

  void reduce_gradients() {
    const std::vector<char> used = used_anywhere();
    std::vector<Tensor> averages;
    for (const SlicedBuffer& buffer : flat.buffers()) averages.push_back(reduced(buffer));
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Segment& s = segments[i];
      if (used[s.parameter]) leaves[i].mutable_grad() = averages[s.buffer].narrow(0, s.at, s.length);
    }
  }

  // A parameter has a gradient if it has one on any rank.
  std::vector<char> used_anywhere() const {
    const auto count = static_cast<int64_t>(flat.parameters().size());
    Tensor used = zeros({count}, kByte);
    for (int64_t i = 0; i < count; ++i)
      used.data_ptr<uint8_t>()[i] = flat.parameters()[static_cast<std::size_t>(i)].grad().defined();
    Tensor shared = used.to(flat.buffers()[0].data.device());
    group->all_reduce(shared, ReduceOp::MAX)->wait();
    used = shared.cpu();
    return {used.data_ptr<uint8_t>(), used.data_ptr<uint8_t>() + count};
  }

  // The average gradient of this rank's slice. Each round sends the same part of every slice; two are on their way.
  Tensor reduced(const SlicedBuffer& buffer) const {
    const int ranks = group->size();
    const auto item = static_cast<int64_t>(buffer.data.element_size());
    const int64_t most =
        std::max<int64_t>(options.bucket_bytes / (item * ranks) / FlatSlices::kAlignment, 1) * FlatSlices::kAlignment;
    Tensor out = empty({buffer.slice}, buffer.data.options());
    WorkPtr before;
    for (int64_t at = 0; at < buffer.slice; at += most) {
      const int64_t length = std::min(most, buffer.slice - at);
      Tensor packed = zeros({ranks * length}, buffer.data.options());
      for (int rank = 0; rank < ranks; ++rank)
        flat.for_parts(buffer, rank * buffer.slice + at, length,
                       [&](std::size_t parameter, int64_t begin, int64_t count, int64_t to) {
                         const Tensor& p = flat.parameters()[parameter];
                         if (!p.grad().defined()) return;
                         packed.narrow(0, rank * length + to, count)
                             .copy_(flattened_like(p.grad().detach(), p).narrow(0, begin, count));
                       });
      WorkPtr work = group->reduce_scatter(out.narrow(0, at, length), packed, ReduceOp::AVG);
      if (before) before->wait();
      before = std::move(work);
    }
    if (before) before->wait();
    return out;
  }

  void receive_parameters() const {
    if (group->size() > 1) {
      std::vector<WorkPtr> works;
      for (const SlicedBuffer& buffer : flat.buffers())
        works.push_back(group->all_gather(buffer.data, slice(buffer).clone()));
      for (const WorkPtr& work : works) work->wait();
    }
    for (const Tensor& p : flat.parameters()) autograd::wrote(p, kName);
  }

  // [parameter][entry of the state]: 0 where there is none on any rank; otherwise a count plus 1, or 1 for a tensor.
  std::vector<int64_t> table() const {
    const std::size_t entries = part->blank_state()->fields().size();
    const auto total = static_cast<int64_t>(flat.parameters().size() * entries);
    Tensor own = zeros({total}, kLong);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      optim::OptimizerParamState* of = state(i);
      if (of == nullptr) continue;
      const auto fields = of->fields();
      for (std::size_t f = 0; f < entries; ++f) {
        check(fields[f].tensor != nullptr || fields[f].count != nullptr, kName, ": the entry ", fields[f].name,
              " of the state of ", part->type(), " is neither a tensor nor a count");
        own.data_ptr<int64_t>()[segments[i].parameter * entries + f] =
            fields[f].tensor != nullptr ? fields[f].tensor->defined() : *fields[f].count + 1;
      }
    }
    Tensor shared = own.to(flat.buffers()[0].data.device());
    group->all_reduce(shared, ReduceOp::MAX)->wait();
    own = shared.cpu();
    return {own.data_ptr<int64_t>(), own.data_ptr<int64_t>() + total};
  }

  // Entry `field` of the state of a whole buffer, on rank `to` or on all; undefined on others.
  Tensor collect(const SlicedBuffer& buffer, std::size_t field, int to) const {
    Tensor own = zeros({buffer.slice}, buffer.data.options());
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Segment& s = segments[i];
      optim::OptimizerParamState* of = &flat.buffers()[s.buffer] == &buffer ? state(i) : nullptr;
      if (of == nullptr) continue;
      if (const Tensor value = *of->fields()[field].tensor; value.defined()) own.narrow(0, s.at, s.length).copy_(value);
    }
    Tensor all = to < 0 || to == group->rank() ? empty({group->size(), buffer.slice}, buffer.data.options()) : Tensor();
    if (to < 0)
      group->all_gather(all, own.unsqueeze(0))->wait();
    else
      group->gather(all.defined() ? all.unbind(0) : Tensors(), own, to)->wait();
    return all.defined() ? all.view({-1}) : all;
  }
};

ZeroRedundancyOptimizerBase::ZeroRedundancyOptimizerBase(const std::vector<optim::OptimizerParamGroup>& groups,
                                                         std::unique_ptr<optim::OptimizerOptions> defaults,
                                                         const MakePart& make, ZeroRedundancyOptimizerOptions options)
    : Optimizer(groups, std::move(defaults)) {
  const std::vector<Tensor> all = parameters();
  check(!all.empty(), kName, ": expected at least one parameter");
  check(options.bucket_bytes > 0, kName, ": bucket_bytes must be positive, got ", options.bucket_bytes);
  compare_parameters(*group_of(options), param_groups(), all[0].device());
  impl_ = std::make_unique<Impl>(std::move(options), all);
  impl_->part = make(impl_->groups_of_leaves(param_groups()));
  for (const SlicedBuffer& buffer : impl_->flat.buffers()) impl_->group->broadcast(buffer.data, 0)->wait();
  for (const Tensor& p : all) autograd::wrote(p, kName);
}
ZeroRedundancyOptimizerBase::~ZeroRedundancyOptimizerBase() = default;

const char* ZeroRedundancyOptimizerBase::name() const { return impl_ ? impl_->part->type() : kName; }
std::unique_ptr<optim::OptimizerParamState> ZeroRedundancyOptimizerBase::make_state() const {
  return impl_->part->blank_state();
}
const std::shared_ptr<ProcessGroup>& ZeroRedundancyOptimizerBase::process_group() const { return impl_->group; }

Tensor ZeroRedundancyOptimizerBase::step(LossClosure closure) {
  Tensor loss;
  if (closure) {
    const AutoGradMode enable(true);
    loss = closure();
  }
  const NoGradGuard no_grad;
  Impl& s = *impl_;
  check(size() == s.flat.parameters().size(), kName, ": parameters were added after construction");
  const Tensor moved = s.flat.moved();
  check(!moved.defined(), kName, ": the parameter ", moved,
        " got other memory, for example by Module::to(); construct the optimizer afterwards");
  state().clear();
  s.consolidated = false;
  s.take_options(param_groups());
  s.options.reduce_gradients ? s.reduce_gradients() : s.use_gradients();
  s.optimizer().step();
  s.optimizer().zero_grad();
  s.receive_parameters();
  return loss;
}

// ---- state

void ZeroRedundancyOptimizerBase::consolidate_state_dict(int to) {
  Impl& s = *impl_;
  check(to >= -1 && to < s.group->size(), kName, ".consolidate_state_dict: expected a rank below ", s.group->size(),
        ", or -1 for all, got ", to);
  const NoGradGuard no_grad;
  const bool here = to < 0 || to == s.group->rank();
  const std::vector<int64_t> table = s.table();
  const std::size_t entries = table.size() / s.flat.parameters().size();
  state().clear();
  const auto of = [&](std::size_t parameter) -> optim::OptimizerParamState& {
    return state_of<optim::OptimizerParamState>(s.flat.parameters()[parameter]);
  };
  const auto blank = make_state()->fields();
  for (std::size_t f = 0; f < entries; ++f) {
    for (std::size_t k = 0; k < s.flat.parameters().size(); ++k)
      if (const int64_t count = table[k * entries + f]; here && blank[f].count != nullptr && count > 0)
        *of(k).fields()[f].count = count - 1;
    for (const SlicedBuffer& buffer : s.flat.buffers()) {
      const auto has = [&](std::size_t parameter) { return table[parameter * entries + f] > 0; };
      if (blank[f].tensor == nullptr || std::none_of(buffer.parameters.begin(), buffer.parameters.end(), has)) continue;
      const Tensor all = s.collect(buffer, f, to);
      for (std::size_t i = 0; here && i < buffer.parameters.size(); ++i) {
        const Tensor& p = s.flat.parameters()[buffer.parameters[i]];
        if (!has(buffer.parameters[i])) continue;
        *of(buffer.parameters[i]).fields()[f].tensor = part_like(all, p, buffer.offsets[i]).clone();
      }
    }
  }
  s.consolidated = here;
}

void ZeroRedundancyOptimizerBase::save(serialize::OutputArchive& archive) const {
  check(impl_->consolidated, kName, ".save: rank ", impl_->group->rank(),
        " has only its part of the state; call consolidate_state_dict(", impl_->group->rank(),
        ") on every process after the last step, or save_part()");
  Optimizer::save(archive);
}

void ZeroRedundancyOptimizerBase::load(serialize::InputArchive& archive) {
  Optimizer::load(archive);  // the complete state, for a moment
  const NoGradGuard no_grad;
  Impl& s = *impl_;
  auto& own = s.optimizer().state();
  own.clear();
  for (std::size_t i = 0; i < s.segments.size(); ++i) {
    const Segment& segment = s.segments[i];
    const auto found = state().find(s.flat.parameters()[segment.parameter].impl());
    if (found == state().end()) continue;
    auto part = make_state();
    const auto from = found->second->fields(), to = part->fields();
    for (std::size_t f = 0; f < to.size(); ++f) {
      if (to[f].count != nullptr) *to[f].count = *from[f].count;
      if (to[f].tensor != nullptr && from[f].tensor->defined())
        *to[f].tensor = flattened_like(*from[f].tensor, s.flat.parameters()[segment.parameter])
                            .narrow(0, segment.begin, segment.length)
                            .clone();
    }
    own[s.leaves[i].impl()] = std::move(part);
  }
  state().clear();
  s.consolidated = false;
}

void ZeroRedundancyOptimizerBase::save_part(serialize::OutputArchive& archive) const {
  archive.write("rank", impl_->group->rank());
  archive.write("size", impl_->group->size());
  if (const std::string layout = layout_of(impl_->flat); !layout.empty()) archive.write("layout", layout);
  serialize::OutputArchive part;
  impl_->take_options(param_groups());
  impl_->optimizer().save(part);
  archive.write("part", part);
}

void ZeroRedundancyOptimizerBase::load_part(serialize::InputArchive& archive) {
  Impl& s = *impl_;
  int64_t rank = 0, ranks = 0;
  archive.read("rank", rank);
  archive.read("size", ranks);
  check(rank == s.group->rank() && ranks == s.group->size(), kName, ".load_part: the state of rank ", rank, " of ",
        ranks, " was saved, but this is rank ", s.group->rank(), " of ", s.group->size(),
        "; save the complete state to go on with other processes");
  std::string layout;
  if (archive.contains("layout")) archive.read("layout", layout);
  check(layout == layout_of(s.flat), kName,
        ".load_part: the layouts of the parameters, row-major or channels-last, differ from those that were saved");
  serialize::InputArchive part;
  archive.read("part", part);
  s.optimizer().load(part);
  for (std::size_t g = 0; g < param_groups().size(); ++g)
    param_groups()[g].set_options(s.optimizer().param_groups()[g].options().clone());
  state().clear();
  s.consolidated = false;
}

std::size_t ZeroRedundancyOptimizerBase::state_bytes() const {
  std::size_t sum = 0;
  for (const auto& item : impl_->optimizer().state())
    for (const optim::Field& field : item.second->fields())
      if (field.tensor != nullptr && field.tensor->defined()) sum += field.tensor->nbytes();
  return sum;
}
}  // namespace tandem::distributed
