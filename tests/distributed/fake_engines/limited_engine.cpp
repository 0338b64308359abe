// An engine that has no sum of int16, and does nothing.
#include "tandem/parallel/distributed/engine.h"

namespace {

using namespace tandem::distributed;
using tandem::ScalarType;

class LimitedEngine final : public Engine {
 public:
  void all_reduce(void*, std::size_t, ScalarType, ReduceOp, const CallOptions&) override {}
  void reduce(void*, std::size_t, ScalarType, ReduceOp, int, const CallOptions&) override {}
  void broadcast(void*, std::size_t, int, const CallOptions&) override {}
  void all_gather(const void*, void*, const std::size_t*, const CallOptions&) override {}
  void all_to_all(const void*, const std::size_t*, void*, const std::size_t*, const CallOptions&) override {}
  void gather(const void*, void*, std::size_t, int, const CallOptions&) override {}
  void scatter(const void*, void*, std::size_t, int, const CallOptions&) override {}
  void barrier(const CallOptions&) override {}
  std::unique_ptr<EngineRequest> send(const void*, std::size_t, int, const CallOptions&) override { return nullptr; }
  std::unique_ptr<EngineRequest> recv(void*, std::size_t, int, const CallOptions&) override { return nullptr; }
  void abort() noexcept override {}
  bool can_reduce(ScalarType dtype, ReduceOp op) const override {
    return dtype != ScalarType::Short || op == ReduceOp::MAX;
  }
};

Engine* make_engine(const EngineOptions&) { return new LimitedEngine; }

}  // namespace

extern "C" const EnginePlugin tandem_engine_plugin{EnginePlugin::kVersion, "nccl", "limited", make_engine};
