// The public calls of a process group: argument checks, and what each does with the engine.
#include <cstring>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/profile.h"
#include "tandem/core/reproducible.h"
#include "tandem/parallel/distributed/group_state.h"
#include "tandem/parallel/distributed/reduce_loops.h"

namespace tandem::distributed {

namespace {

void copy_into(Tensor to, const Tensor& from) {
  const NoGradGuard guard;
  to.copy_(from.view(to.sizes()));
}

// ---- arguments

class Arguments {
 public:
  Arguments(GroupState& group, Operation operation) : group_(group), name_(name(operation)) {
    group.check_member(name_);
    call.operation = operation;
  }
  /// Checks that the tensor is contiguous and where the engine can use it. `elementwise`: it may also be channels-last.
  void use(const char* what, const Tensor& tensor, bool elementwise = false) const {
    check(tensor.defined(), name_, ": ", what, " is undefined");
    // A step that is recorded on the CPU has no elements to send yet.
    if (profiler::is_on() && tensor.is_cpu()) tandem::detail::note_host_read(tensor, name_);
    const MemoryFormat format = elementwise ? tensor.suggest_memory_format() : MemoryFormat::Contiguous;
    check(tensor.is_contiguous(format), name_, ": ", what, " must be contiguous, got ", tensor, " with strides ",
          tensor.strides(), "; call contiguous()");
    if (group_.size == 1) return;
    const std::string& backend = group_.options.backend;
    if (group_.on_device())
      check(tensor.device() == resolve(*group_.options.device), name_, ": backend ", backend, " of this group is on ",
            *group_.options.device, ", but ", what, " is ", tensor, "; move it there, or use backend gloo");
    else
      check(tensor.is_cpu(), name_, ": backend ", backend, " works on CPU tensors, ", what, " is ", tensor,
            "; use backend nccl, or copy the tensor to the CPU");
  }
  /// The same, for a tensor that is written.
  void write(const char* what, const Tensor& tensor, bool elementwise = false) const {
    use(what, tensor, elementwise);
    tensor.impl()->versions().bump_version(name_);
  }
  void same(const char* what, const Tensor& tensor, const Tensor& as) const {
    check(tensor.dtype() == as.dtype() && tensor.sizes() == as.sizes(), name_, ": ", what,
          " must have the shape and dtype of the other tensors\n  expected ", as, "\n  got      ", tensor);
  }
  void list(const char* what, const Tensors& tensors, const Tensor& as, bool here, bool writes) const {
    const std::size_t expected = here ? static_cast<std::size_t>(group_.size) : 0;
    check(tensors.size() == expected, name_, ": expected ", expected, " ", what, " on rank ", group_.rank, ", got ",
          tensors.size());
    for (const Tensor& tensor : tensors) {
      writes ? write(what, tensor) : use(what, tensor);
      same(what, tensor, as);
    }
  }
  void shape(const Tensor& tensor) {
    call.set_shape(tensor.sizes());
    call.dtype = tensor.dtype();
    call.channels_last = is_channels_last(tensor.suggest_memory_format()) && !tensor.is_contiguous();
  }
  void root(int rank) {
    check(rank >= 0 && rank < group_.size, name_, ": root ", rank, " is not in the group of ", group_.size);
    call.root = rank;
  }
  void reduces(const Tensor& tensor, ReduceOp op) {
    const ReduceOp basic = op == ReduceOp::AVG ? ReduceOp::SUM : op;
    const bool has = reduce_function(tensor.dtype(), basic) != nullptr;
    check(has && (op != ReduceOp::AVG || tensor.is_floating_point()), name_, ": ", tensor.dtype(), " has no ", name(op),
          op == ReduceOp::AVG ? "; use sum, or a floating-point dtype" : "");
    const std::string& backend = group_.options.backend;
    // Every rank throws this before anything is submitted.
    check(group_.size == 1 || can_reduce(tensor.dtype(), basic), name_, ": backend ", backend, " has no ", name(basic),
          " of ", tensor.dtype(), "; convert the tensor, or use backend gloo");
    const bool adds = tensor.is_floating_point() && (basic == ReduceOp::SUM || basic == ReduceOp::PRODUCT);
    if (adds && group_.size > 2 && group_.on_device() && !folds())
      check_reproducible(name_, "NCCL adds in an order that depends on the machine");
    call.reduces = true;
    call.reduce_op = op;
  }
  /// The tensor whose first dimension holds one block per rank.
  void blocks(const char* what, const Tensor& whole, const Tensor& block) const {
    bool good = whole.dtype() == block.dtype() && whole.dim() == block.dim() && whole.dim() > 0;
    for (int64_t d = 0; good && d < whole.dim(); ++d)
      good = whole.size(d) == block.size(d) * (d == 0 ? group_.size : 1);
    check(good, name_, ": ", what, " must hold ", group_.size, " blocks along dimension 0\n  block ", block,
          "\n  whole ", whole);
  }

  /// The given numbers of rows per rank, or equal ones.
  std::vector<int64_t> splits(const char* what, const Tensor& tensor, IntArrayRef given) const {
    check(tensor.dim() > 0, name_, ": ", what, " needs at least 1 dimension, got ", tensor);
    const int64_t rows = tensor.size(0);
    if (given.empty()) {
      check(rows % group_.size == 0, name_, ": ", what, " ", tensor, " cannot be split into ", group_.size,
            " equal parts; give splits");
      return std::vector<int64_t>(static_cast<std::size_t>(group_.size), rows / group_.size);
    }
    int64_t sum = 0;
    bool good = given.size() == static_cast<std::size_t>(group_.size);
    for (const int64_t n : given) {
      good = good && n >= 0 && n <= rows;
      sum += good ? n : 0;
    }
    check(good && sum == rows, name_, ": expected ", group_.size, " splits of ", what, " ", tensor,
          " that sum to its rows, got ", given);
    return given.vec();
  }
  /// Submits run(engine, options). In a group of one rank `output`, if it is defined, receives `input` instead.
  template <class Call>
  WorkPtr submit(const Tensor& output, const Tensor& input, const Call& run) const {
    return group_.submit(call, [=](Engine* engine, const CallOptions& options) {
      if (engine != nullptr)
        run(*engine, options);
      else if (output.defined())
        copy_into(output, input);
    });
  }

  CallRecord call;

 private:
  // Device groups fold the blocks of reduce_scatter with tensor operations.
  bool folds() const { return call.operation == Operation::kReduceScatter && group_.on_device(); }
  bool can_reduce(ScalarType dtype, ReduceOp op) const {
    return folds() ? op <= ReduceOp::MAX : group_.engine->can_reduce(dtype, op);
  }

  GroupState& group_;
  const char* const name_;
};

// ---- arithmetic on host or device memory

ReduceOp engine_op(ReduceOp op) { return op == ReduceOp::AVG ? ReduceOp::SUM : op; }

void divide(Tensor tensor, int size) {
  if (size == 1) return;
  if (!tensor.is_cpu()) {
    const NoGradGuard guard;
    tensor.div_(size);
    return;
  }
  dispatch(tensor.dtype(), TypeList<float, double, Half, BFloat16>{}, "avg", [&]<class T>(Type<T>) {
    using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto divisor = static_cast<Computed>(size);
    auto* at = static_cast<T*>(tensor.data_ptr());
    for (int64_t i = 0, n = tensor.numel(); i < n; ++i) at[i] = static_cast<T>(static_cast<Computed>(at[i]) / divisor);
  });
}

void fold_into(Tensor out, const Tensor& block, ReduceOp op) {
  if (out.is_cpu()) {
    void* to = out.data_ptr();
    return reduce_function(out.dtype(), op)(to, to, block.data_ptr(), static_cast<std::size_t>(out.numel()));
  }
  const NoGradGuard guard;
  if (op == ReduceOp::SUM)
    out.add_(block);
  else if (op == ReduceOp::PRODUCT)
    out.mul_(block);
  else  // Arguments::reduces() refuses all but MIN and MAX
    out.copy_(op == ReduceOp::MIN ? minimum(out, block) : maximum(out, block));
}

/// [P, …] for P tensors like `like`.
Tensor stack_for(const Tensor& like, int size) {
  const NoGradGuard guard;
  return empty({size, like.numel()}, like.options());
}

// Of reduce_scatter: ranks exchange a part of every block at a time, so that what they receive takes little memory.
class Rounds {
 public:
  /// For blocks like `block`.
  Rounds(const Tensor& block, int size)
      : size_(size), item_(static_cast<int64_t>(block.element_size())), count_(block.numel()) {
    const int64_t bytes = block.device().is_cpu() ? kBytes : kDeviceBytes;
    const int64_t most = std::max<int64_t>(bytes / (item_ * size_), 1);
    length_ = std::min(count_, most);
    const NoGradGuard guard;
    if (size_ > 1) received_ = empty({size_ * length_}, block.options());
    if (size_ > 1 && length_ < count_) packed_ = empty({size_ * length_}, block.options());
  }
  int size() const { return size_; }
  void reduce_scatter(Engine& engine, const Tensor& output, const Tensor& input, ReduceOp op,
                      const CallOptions& options) const {
    const NoGradGuard guard;
    const Tensor blocks = input.view({size_, count_}), out = output.view({count_});
    for (int64_t at = 0; at < count_; at += length_) {
      const int64_t length = std::min(length_, count_ - at);
      const auto part = [&](const Tensor& t) { return t.narrow(0, 0, size_ * length).view({size_, length}); };
      if (packed_.defined()) copy_into(part(packed_), blocks.narrow(1, at, length));
      const std::vector<std::size_t> bytes(static_cast<std::size_t>(size_), static_cast<std::size_t>(length * item_));
      const Tensor received = part(received_), here = out.narrow(0, at, length);
      engine.all_to_all((packed_.defined() ? packed_ : input).data_ptr(), bytes.data(), received.data_ptr(),
                        bytes.data(), options);
      copy_into(here, received.select(0, 0));
      for (int i = 1; i < size_; ++i) fold_into(here, received.select(0, i), op);
    }
  }

 private:
  // Of all blocks: few messages over a network, and little memory. Links between devices are so fast that the latency
  // of a round must not count (docs/results/scaling.md).
  static constexpr int64_t kBytes = 4 << 20, kDeviceBytes = 32 << 20;

  int size_;
  int64_t item_, count_, length_ = 0;  // in elements of a block
  Tensor packed_, received_;           // in flight with the call; nothing is packed if there is one round
};

// tensors[i] = stack[i], flat.
void unstack(const Tensors& tensors, const Tensor& stack) {
  const NoGradGuard guard;
  for (std::size_t i = 0; i < tensors.size(); ++i) copy_into(tensors[i], stack.select(0, static_cast<int64_t>(i)));
}

IntArrayRef row_of(const Tensor& tensor) { return tensor.sizes().slice(1, tensor.sizes().size() - 1); }

int64_t row_bytes(const Tensor& tensor) {
  int64_t bytes = static_cast<int64_t>(tensor.element_size());
  for (const int64_t size : row_of(tensor)) bytes *= size;
  return bytes;
}

std::vector<std::size_t> split_bytes(IntArrayRef rows, int64_t row_bytes) {
  std::vector<std::size_t> out;
  for (const int64_t n : rows) out.push_back(static_cast<std::size_t>(n * row_bytes));
  return out;
}

// Gloo would silently accept a wrong number of rows, or end the process, so all ranks check all splits.
void compare_splits(GroupState& group, const CallRecord& call, const std::vector<int64_t>& out,
                    const std::vector<int64_t>& in) {
  const auto ranks = static_cast<std::size_t>(group.size);
  std::vector<int64_t> own = in;
  own.insert(own.end(), out.begin(), out.end());
  const std::vector<int64_t> all = group.exchange(call, -3, own);
  for (std::size_t from = 0; from < ranks; ++from)
    for (std::size_t to = 0; to < ranks; ++to) {
      const int64_t sent = all[from * 2 * ranks + to], expected = all[to * 2 * ranks + ranks + from];
      if (sent == expected) continue;
      const std::string text =
          concat(call.label(), ": rank ", from, " sends ", sent, " rows to rank ", to, ", which expects ", expected);
      std::rethrow_exception(group.fail({Failure::kMismatch, call, 0, text}));
    }
}

}  // namespace

// ---- reductions

// The numbers to sum: a complex tensor's parts, as in PyTorch, and other tensors as they are.
Tensor summed(const char* operation, const Tensor& tensor, ReduceOp op) {
  if (!tensor.defined() || !tensor.is_complex()) return tensor;
  check(op == ReduceOp::SUM || op == ReduceOp::AVG, operation, ": ", tensor.dtype(), " has no ", name(op),
        "; use sum or avg");
  return view_as_real(tensor.detach());
}

WorkPtr ProcessGroup::all_reduce(const Tensor& whole, ReduceOp op, int bucket) {
  const Tensor tensor = summed("all_reduce", whole, op);
  Arguments arguments(*state_, Operation::kAllReduce);
  arguments.write("tensor", tensor, /*elementwise=*/true);
  arguments.reduces(tensor, op);
  arguments.shape(tensor);
  arguments.call.bucket = bucket < 0 ? -1 : bucket;
  return arguments.submit({}, {}, [tensor, op, size = size()](Engine& engine, const CallOptions& options) {
    engine.all_reduce(tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()), tensor.dtype(), engine_op(op),
                      options);
    if (op == ReduceOp::AVG) divide(tensor, size);
  });
}

WorkPtr ProcessGroup::reduce(const Tensor& whole, int root, ReduceOp op) {
  const Tensor tensor = summed("reduce", whole, op);
  Arguments arguments(*state_, Operation::kReduce);
  arguments.root(root);
  arguments.write("tensor", tensor, /*elementwise=*/true);
  arguments.reduces(tensor, op);
  arguments.shape(tensor);
  const bool here = rank() == root;
  return arguments.submit({}, {}, [tensor, op, root, here, size = size()](Engine& engine, const CallOptions& options) {
    engine.reduce(tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()), tensor.dtype(), engine_op(op), root,
                  options);
    if (op == ReduceOp::AVG && here) divide(tensor, size);
  });
}

WorkPtr ProcessGroup::reduce_scatter(const Tensor& whole, const Tensor& blocks, ReduceOp op) {
  const Tensor output = summed("reduce_scatter", whole, op), input = summed("reduce_scatter", blocks, op);
  Arguments arguments(*state_, Operation::kReduceScatter);
  arguments.write("output", output);
  arguments.use("input", input);
  arguments.reduces(output, op);
  arguments.blocks("input", input, output);
  arguments.shape(output);
  const Rounds rounds(output, size());
  return arguments.submit(output, input, [output, input, rounds, op](Engine& engine, const CallOptions& options) {
    rounds.reduce_scatter(engine, output, input, engine_op(op), options);
    if (op == ReduceOp::AVG) divide(output, rounds.size());
  });
}

// ---- data movement

WorkPtr ProcessGroup::broadcast(const Tensor& tensor, int root) {
  Arguments arguments(*state_, Operation::kBroadcast);
  arguments.root(root);
  rank() == root ? arguments.use("tensor", tensor, true) : arguments.write("tensor", tensor, true);
  arguments.shape(tensor);
  return arguments.submit({}, {}, [tensor, root](Engine& engine, const CallOptions& options) {
    engine.broadcast(tensor.data_ptr(), tensor.nbytes(), root, options);
  });
}

WorkPtr ProcessGroup::all_gather(const Tensors& outputs, const Tensor& input) {
  Arguments arguments(*state_, Operation::kAllGather);
  arguments.use("input", input);
  arguments.list("outputs", outputs, input, true, true);
  arguments.shape(input);
  const Tensor received = stack_for(input, size());
  return arguments.submit(outputs[0], input, [outputs, input, received](Engine& engine, const CallOptions& options) {
    const std::vector<std::size_t> bytes(outputs.size(), input.nbytes());
    engine.all_gather(input.data_ptr(), received.data_ptr(), bytes.data(), options);
    unstack(outputs, received);
  });
}

WorkPtr ProcessGroup::all_gather(const Tensor& output, const Tensor& input) {
  Arguments arguments(*state_, Operation::kAllGather);
  arguments.write("output", output);
  arguments.use("input", input);
  arguments.blocks("output", output, input);
  arguments.shape(input);
  return arguments.submit(output, input, [output, input, size = size()](Engine& engine, const CallOptions& options) {
    const std::vector<std::size_t> bytes(static_cast<std::size_t>(size), input.nbytes());
    engine.all_gather(input.data_ptr(), output.data_ptr(), bytes.data(), options);
  });
}

WorkPtr ProcessGroup::all_gather(const Tensor& output, const Tensor& input, IntArrayRef rows) {
  Arguments arguments(*state_, Operation::kAllGather);
  arguments.write("output", output);
  arguments.use("input", input);
  const std::vector<int64_t> all = arguments.splits("output", output, rows);
  const int64_t own = all[static_cast<std::size_t>(rank())];
  check(input.dtype() == output.dtype() && input.dim() == output.dim() && input.size(0) == own &&
            row_of(input) == row_of(output),
        "all_gather: input must be the ", own, " rows of this rank\n  input  ", input, "\n  output ", output);
  arguments.shape(output);
  arguments.call.set_splits(all);
  return arguments.submit(
      output, input,
      [output, input, bytes = split_bytes(all, row_bytes(output))](Engine& engine, const CallOptions& options) {
        engine.all_gather(input.data_ptr(), output.data_ptr(), bytes.data(), options);
      });
}

WorkPtr ProcessGroup::all_to_all_table(const Tensor& output, const Tensor& input,
                                       const std::vector<std::vector<int64_t>>& table) {
  check_member("all_to_all_table");
  const auto ranks = static_cast<std::size_t>(size()), self = static_cast<std::size_t>(rank());
  std::vector<int64_t> out, all;
  check(table.size() == ranks, "all_to_all_table: expected ", size(), " lists, got ", table.size());
  for (const std::vector<int64_t>& list : table) {
    check(list.size() == ranks, "all_to_all_table: expected ", size(), " splits per rank, got ", list.size());
    out.push_back(list[self]);
    all.insert(all.end(), list.begin(), list.end());
  }
  return exchange(output, input, out, table[self], all);
}

WorkPtr ProcessGroup::all_to_all(const Tensor& output, const Tensor& input, IntArrayRef output_splits,
                                 IntArrayRef input_splits) {
  return exchange(output, input, output_splits, input_splits, {});
}

// `all`: the splits of all ranks, where every rank knows them; otherwise the ranks compare theirs.
WorkPtr ProcessGroup::exchange(const Tensor& output, const Tensor& input, IntArrayRef output_splits,
                               IntArrayRef input_splits, IntArrayRef all) {
  Arguments arguments(*state_, Operation::kAllToAll);
  arguments.write("output", output);
  arguments.use("input", input);
  const std::vector<int64_t> out = arguments.splits("output", output, output_splits);
  const std::vector<int64_t> in = arguments.splits("input", input, input_splits);
  const bool splits = !output_splits.empty() || !input_splits.empty();
  check(output.dtype() == input.dtype() && row_of(output) == row_of(input), "all_to_all: rows differ\n  input  ", input,
        "\n  output ", output);
  if (!splits) arguments.same("output", output, input);
  arguments.call.set_shape(splits ? row_of(input) : input.sizes());
  arguments.call.dtype = input.dtype();
  arguments.call.splits = splits;
  if (!all.empty()) arguments.call.set_splits(all);
  check(size() > 1 || in == out, "all_to_all: this rank sends ", in, " rows to itself and expects ", out);
  // The group outlives its calls; a shared_ptr in its own queue would be a reference cycle.
  GroupState* const group = state_.get();
  const bool compares = splits && all.empty();
  return arguments.submit(output, input, [=, bytes = row_bytes(input)](Engine& engine, const CallOptions& options) {
    if (compares) compare_splits(*group, group->executing(), out, in);
    const auto out_bytes = split_bytes(out, bytes), in_bytes = split_bytes(in, bytes);
    engine.all_to_all(input.data_ptr(), in_bytes.data(), output.data_ptr(), out_bytes.data(), options);
  });
}

WorkPtr ProcessGroup::gather(const Tensors& outputs, const Tensor& input, int root) {
  Arguments arguments(*state_, Operation::kGather);
  arguments.root(root);
  arguments.use("input", input);
  const bool here = rank() == root;
  arguments.list("outputs", outputs, input, here, true);
  arguments.shape(input);
  const Tensor received = here ? stack_for(input, size()) : Tensor();
  return arguments.submit(here ? outputs[0] : Tensor(), input,
                          [outputs, input, received, root](Engine& engine, const CallOptions& options) {
                            void* out = received.defined() ? received.data_ptr() : nullptr;
                            engine.gather(input.data_ptr(), out, input.nbytes(), root, options);
                            unstack(outputs, received);
                          });
}

WorkPtr ProcessGroup::scatter(const Tensor& output, const Tensors& inputs, int root) {
  Arguments arguments(*state_, Operation::kScatter);
  arguments.root(root);
  arguments.write("output", output);
  const bool here = rank() == root;
  arguments.list("inputs", inputs, output, here, false);
  arguments.shape(output);
  const Tensor sent = here ? stack_for(output, size()) : Tensor();
  return arguments.submit(
      output, here ? inputs[0] : Tensor(), [output, inputs, sent, root](Engine& engine, const CallOptions& options) {
        const NoGradGuard guard;
        for (std::size_t i = 0; i < inputs.size(); ++i)
          sent.select(0, static_cast<int64_t>(i)).copy_(inputs[i].view({inputs[i].numel()}));
        engine.scatter(sent.defined() ? sent.data_ptr() : nullptr, output.data_ptr(), output.nbytes(), root, options);
      });
}

WorkPtr ProcessGroup::barrier() {
  Arguments arguments(*state_, Operation::kBarrier);
  return arguments.submit({}, {}, [](Engine& engine, const CallOptions& options) { engine.barrier(options); });
}

// ---- messages

namespace {

WorkPtr message(GroupState& group, Operation operation, const Tensor& tensor, int peer, int tag) {
  Arguments arguments(group, operation);
  check(peer >= 0 && peer < group.size && peer != group.rank, name(operation), ": expected another rank from 0 to ",
        group.size - 1, ", got ", peer, " on rank ", group.rank);
  check(tag >= 0, name(operation), ": expected a tag that is not negative, got ", tag);
  operation == Operation::kRecv ? arguments.write("tensor", tensor) : arguments.use("tensor", tensor);
  arguments.shape(tensor);
  arguments.call.root = peer;
  arguments.call.bucket = tag;
  return group.start_message(arguments.call, tensor);
}

}  // namespace

WorkPtr ProcessGroup::send(const Tensor& tensor, int to, int tag) {
  return message(*state_, Operation::kSend, tensor, to, tag);
}
WorkPtr ProcessGroup::recv(const Tensor& tensor, int from, int tag) {
  return message(*state_, Operation::kRecv, tensor, from, tag);
}

}  // namespace tandem::distributed
