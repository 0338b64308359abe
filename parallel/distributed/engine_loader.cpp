#include "tandem/parallel/distributed/engine_loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "tandem/core/base/fork.h"
#include "tandem/core/base/library_folder.h"
#include "tandem/core/base/suggest.h"
#include "tandem/core/error.h"
#include "tandem/parallel/distributed/process_group.h"

namespace tandem::distributed {

namespace {

struct Known {
  const char* name;
  const char* install;
};
constexpr Known kBackends[] = {{"gloo", "libgloo-dev"}, {"mpi", "libopenmpi-dev"}, {"nccl", "libnccl-dev and CUDA"}};

const Known& known_backend(const std::string& backend) {
  std::vector<std::string> names;
  for (const Known& known : kBackends) {
    if (backend == known.name) return known;
    names.emplace_back(known.name);
  }
  fail("process group: there is no backend \"", backend, "\"; expected gloo, mpi or nccl",
       did_you_mean(backend, names));
}

std::vector<std::string> folders(const std::string& backend) {
  std::vector<std::string> out;
  if (const char* given = std::getenv("TANDEM_ENGINES"); given != nullptr) {
    std::istringstream list(given);
    for (std::string folder; std::getline(list, folder, ':');)
      if (!folder.empty()) out.push_back(folder);
  }
  if (const std::string own = tandem::detail::library_folder(); !own.empty())
    for (const std::string& below : {std::string(), std::string("/tandem"), "/parallel/distributed/" + backend})
      out.push_back(own + below);
  return out;
}

const EnginePlugin& open_plugin(const std::string& backend, const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    fail(backend, ": ", path, " cannot be loaded: ", error == nullptr ? "unknown error" : error);
  }
  const auto* plugin = static_cast<const EnginePlugin*>(dlsym(library, "tandem_engine_plugin"));
  check(plugin != nullptr, backend, ": ", path, " is not an engine: it lacks the symbol tandem_engine_plugin");
  check(plugin->version == EnginePlugin::kVersion, backend, ": ", path,
        " was built for another version of Tandem (engine interface ", plugin->version, ", expected ",
        EnginePlugin::kVersion, "); build it again together with Tandem");
  check(plugin->name != nullptr && backend == plugin->name && plugin->make != nullptr, backend, ": ", path,
        " is the engine of another backend");
  return *plugin;
}

const EnginePlugin& find_plugin(const Known& backend) {
  const std::string file = concat("libtandem_", backend.name, ".so");
  const std::vector<std::string> looked = folders(backend.name);
  std::string list;
  for (const std::string& folder : looked) {
    const std::string path = folder + "/" + file;
    if (access(path.c_str(), F_OK) == 0) return open_plugin(backend.name, path);
    list += (list.empty() ? "" : ", ") + folder;
  }
  fail(backend.name, ": ", file, " was not found in ", list, "; install ", backend.install,
       " and build Tandem again, or set TANDEM_ENGINES to its folder");
}

// The engines in use. A forked child looks for them again: a thread that it lacks may have been doing so.
struct Loaded {
  Loaded() = default;
  Loaded(const Loaded&) {}
  std::mutex mutex;
  std::map<std::string, const EnginePlugin*> plugins;
};

}  // namespace

const EnginePlugin& load_engine(const std::string& backend) {
  static constinit tandem::detail::PerProcess<Loaded> per_process;
  const Known& known = known_backend(backend);
  Loaded& loaded = per_process.get();
  const std::lock_guard lock(loaded.mutex);
  const EnginePlugin*& plugin = loaded.plugins[backend];
  if (plugin == nullptr) plugin = &find_plugin(known);
  return *plugin;
}

std::vector<BackendInfo> backends() {
  std::vector<BackendInfo> out;
  for (const Known& known : kBackends) {
    BackendInfo info{known.name, "", ""};
    try {
      const EnginePlugin& plugin = load_engine(known.name);
      info.description = plugin.description == nullptr ? known.name : plugin.description;
    } catch (const Error& error) {
      info.missing = error.what();
    }
    out.push_back(std::move(info));
  }
  return out;
}

bool is_backend_available(const std::string& name) {
  try {
    load_engine(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tandem::distributed
