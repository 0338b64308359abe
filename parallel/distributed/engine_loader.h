// Finds and loads engines: the shared libraries libtandem_NAME.so.
#pragma once
#include <string>

#include "tandem/parallel/distributed/engine.h"

namespace tandem::distributed {

/// The plugin of a backend, which stays loaded. It is looked for in the folders of $TANDEM_ENGINES (separated by
/// colons), beside libtandem, in tandem/ below that, and where the build tree has it. Throws Error if the name is
/// unknown, if the plugin is missing (with what to install), cannot be loaded, or was built for another version.
const EnginePlugin& load_engine(const std::string& backend);

}  // namespace tandem::distributed
