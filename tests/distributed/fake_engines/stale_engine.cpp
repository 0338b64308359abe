// A plugin of an earlier version of the interface.
#include "tandem/parallel/distributed/engine.h"

using namespace tandem::distributed;

extern "C" const EnginePlugin tandem_engine_plugin{EnginePlugin::kVersion - 1, "mpi", "stale", nullptr};
