#include "tandem/cli/train/preparation.h"

#include "tandem/cli/data/find_data.h"
#include "tandem/cli/data/load_data.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/launch/many_processes.h"
#include "tandem/cli/text/text_memory.h"
#include "tandem/cli/text/train_text.h"
#include "tandem/cli/train/augmentation.h"
#include "tandem/cli/train/batches.h"
#include "tandem/cli/train/models.h"
#include "tandem/cli/train/sharded_run.h"

namespace tandem::cli {
namespace {

// Pixels of a side, to which image files are resized.
int64_t image_size_of(const TrainOptions& o, const RunConfig& c) {
  if (!c.input.empty()) return c.input[1];
  return o.image_size ? *o.image_size : image_size_for(c.model_or_file());
}

ImageSetPair load_images(const TrainOptions& o, const Team& team, Prepared& p) {
  RunConfig& c = p.checkpoint.config;
  const LoadOptions options{.image_size = image_size_of(o, c),
                            .validation_folder = c.validation_folder,
                            .validation = c.validation,
                            .seed = c.seed,
                            .keep_files = changes_each_image(c.recipe),
                            .skip_broken = c.skip_broken,
                            .starts_run = o.resume.empty()};
  LoadedData loaded = load_data(c.data, options);
  check(!o.image_size || has_image_files(c.data), "--image-size: only image files are resized; those of ", c.data,
        " are ", loaded.input()[1], " x ", loaded.input()[2]);
  if (team.leads()) print_skipped(loaded);
  const std::vector<int64_t> input = loaded.input();
  check(c.data_sum.empty() || (c.input == input && c.data_sum == loaded.sum), c.data,
        ": not the data that the run was started with");
  c.input = input;
  c.data_sum = loaded.sum;
  c.data_folder = loaded.folder;
  c.classes = loaded.classes;
  c.class_count = loaded.class_count;
  p.split = loaded.split;
  return std::move(loaded.images);
}

ImageSetPair read_data(const TrainOptions& o, const Team& team, Prepared& p) {
  RunConfig& c = p.checkpoint.config;
  try {
    if (c.text) {
      p.text = load_text(c, p.codec);
      return {{p.text->windows.train}, {p.text->windows.test}};
    }
    return load_images(o, team, p);
  } catch (const Error& error) {
    const bool moved = !o.resume.empty() && !o.line.has("data") && !is_data_name(c.data);
    refuse(error.what(), moved ? "; if the data has moved, give its new location with --data" : "");
  }
}

// A resumed run stays on its devices, unless others are named; a single device that is gone is replaced by
// the best. Several processes have recorded the first one's.
Placement placement_of(const TrainOptions& o, const Team& team, const RunConfig& c) {
  const bool on_cuda = !c.devices.empty() && c.devices.front().starts_with("cuda");
  if (o.line.has("devices") || c.devices.empty() || (team.several() && on_cuda))
    return use_placement(own_devices(team, o.devices), o.root, c.shards);
  try {
    return use_placement(c.devices, o.root.empty() ? c.root : o.root, c.shards);
  } catch (const UsageError& error) {
    if (!o.root.empty()) throw;
    if (c.devices.size() == 1) return use_placement(own_devices(team, {}), "", c.shards);
    refuse("the run's ", printable(error.what()), "; name other devices with --devices");
  }
}

void record(const Placement& placement, RunConfig& c) {
  c.devices.clear();
  for (const Device& device : placement.devices) c.devices.push_back(name_of(device));
  c.root = name_of(placement.root);
}

}  // namespace

std::string described(const Placement& p) {
  return concat(short_names_of(p.devices), p.devices.size() > 1 ? concat(", root ", name_of(p.root)) : "",
                p.shards > 0 ? ", " + counted(p.shards, "shard", "shards") : "",
                p.team.several() ? concat(" in ", counted(p.team.size(), "process", "processes"),
                                          p.fully_sharded ? ", fully sharded" : "")
                                 : "");
}

Prepared prepare(const TrainOptions& o, const Team& team, const std::function<Checkpoint()>& begin) {
  Prepared p;
  const MachineMemory machine = machine_memory();  // before a text takes some of it
  team.together([&] {
    if (o.resume.empty() || o.line.has("devices")) use_placement(o.devices, o.root, o.shards);
    use_threads(o.threads);
    p.checkpoint = begin();
    RunConfig& c = p.checkpoint.config;
    if (c.text)
      p.codec = tokenizer_of_run(o.resume, *c.text);
    else if (is_text_model(c.model))
      p.codec = start_text(o, c);
    p.placement = placement_of(o, team, p.checkpoint.config);
    const bool sharded = p.checkpoint.config.fully_sharded;
    require(!sharded || p.placement.devices.size() == 1, "--devices ", names_of(p.placement.devices),
            ": with --fully-sharded, each process has one device; start more --processes");
    p.placement.fully_sharded = sharded;
    p.placement.team = sharded && !team.several() ? team_of_one() : team;
    check_precision(o.recipe, p.placement.root.is_cpu());
    record(p.placement, c);
  });
  team.together([&] {
    if (team.leads() && !p.checkpoint.config.text) fetch_data(p.checkpoint.config.data);
  });
  team.together([&] { p.data = read_data(o, team, p); });
  team.together([&] {
    const RunConfig& c = p.checkpoint.config;
    if (p.text && p.placement.root.is_cpu())
      p.memory = check_memory(*c.text, c.recipe, p.placement, *p.text, machine, !o.resume.empty());
    // The batches of a text are all full.
    const int64_t images = p.data.train.count(), batch = c.recipe.batch_size;
    check_parts(team, c.text && images > batch ? batch : images, batch, c.shards);
    const DeviceGuard guard(p.placement.root);
    manual_seed(c.seed);
    p.data.train = placed_for(c.recipe, p.data.train, p.placement.root);
    p.data.test = placed(p.data.test, p.placement.root);
    if (c.validates()) p.data.validation = placed(p.data.validation, p.placement.root);
    check_workers(o.workers);
  });
  return p;
}

}  // namespace tandem::cli
