// The plugin that the loader takes for Gloo's: the program that loads it has the engine.
#include <dlfcn.h>

#include "tandem/parallel/distributed/engine.h"

namespace {

using namespace tandem::distributed;

Engine* make_engine(const EngineOptions& options) {
  static const auto make =
      reinterpret_cast<Engine* (*)(const EngineOptions&)>(dlsym(RTLD_DEFAULT, "make_simulated_engine"));
  return make(options);
}

}  // namespace

extern "C" const EnginePlugin tandem_engine_plugin{EnginePlugin::kVersion, "gloo", "simulated", make_engine};
